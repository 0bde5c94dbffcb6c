import type { components } from '../../../api/schema.gen.ts'
import type { FieldGroup } from '../../../parts/resource/form-fields.tsx'
import type { FormResource } from '../../../parts/resource/form-resource.ts'
import { routesOf } from '../../../parts/resource/form-routes.ts'
import { createdColumn, statusColumn } from '../../../parts/resource/row-status.tsx'
import { brands, senders } from '../../../strings/senders.ts'
import { optionsOf } from '../../../ui/select.tsx'
import { useBrandOptions } from '../options.ts'

type Campaign = components['schemas']['Campaign']

const consent: FieldGroup = {
  title: brands.consent,
  fields: [
    { name: 'message_flow', label: brands.flow, help: brands.flowHelp, kind: 'area', required: true },
    { name: 'opt_in_keywords', label: brands.optInKeywords, help: senders.onePerLine, kind: 'lines' },
    { name: 'opt_in_message', label: brands.optInMessage },
    { name: 'help_keyword', label: brands.helpKeyword, initial: 'HELP' },
    { name: 'help_message', label: brands.helpMessage },
    { name: 'stop_keyword', label: brands.stopKeyword, initial: 'STOP' },
    { name: 'privacy_policy_url', label: brands.privacy },
    { name: 'terms_url', label: brands.terms },
    { name: 'opt_in_evidence_url', label: brands.evidence, help: brands.evidenceHelp },
  ],
}

const content: FieldGroup = {
  title: brands.content,
  fields: [
    { name: 'embedded_link', label: brands.links, kind: 'check' },
    { name: 'embedded_phone', label: brands.phones, kind: 'check' },
    { name: 'age_gated', label: brands.ageGated, kind: 'check' },
    { name: 'direct_lending', label: brands.lending, kind: 'check' },
  ],
}

const useGroups = () => {
  const options = useBrandOptions()
  const purpose: FieldGroup = {
    title: brands.purpose,
    fields: [
      { name: 'brand_id', label: brands.brand, kind: 'select', options, required: true },
      { name: 'name', label: senders.name, required: true },
      { name: 'kind', label: brands.kind, kind: 'select', options: optionsOf(brands.kinds), required: true },
      { name: 'use_case', label: brands.useCase, help: brands.useCaseHelp, required: true },
      { name: 'description', label: brands.description, kind: 'area', required: true },
      { name: 'sample_messages', label: brands.samples, help: brands.samplesHelp, kind: 'lines', required: true },
    ],
  }
  return () => [purpose, consent, content]
}

/** A campaign cannot be changed once it is registered. */
const { change: _, ...routes } = routesOf<Campaign>('/api/internal/campaigns', true)

export const campaignKind: FormResource<Campaign> = {
  name: 'campaigns',
  title: brands.campaigns,
  create: brands.newCampaign,
  gate: 'requireDeveloperSession',
  liveOnly: true,
  titleOf: ({ name }) => name,
  columns: [
    { id: 'name', header: senders.name, cell: ({ name }) => name },
    {
      id: 'kind',
      header: brands.kind,
      className: 'hidden w-52 md:table-cell',
      cell: ({ kind }) => brands.kinds[kind],
    },
    {
      id: 'use',
      header: brands.useCase,
      className: 'hidden font-mono lg:table-cell',
      cell: ({ use_case }) => use_case,
    },
    statusColumn(),
    createdColumn(),
  ],
  facts: (row) => [
    { name: brands.kind, value: brands.kinds[row.kind] },
    { name: brands.useCase, value: row.use_case },
    { name: brands.description, value: row.description },
    { name: brands.flow, value: row.message_flow },
    { name: brands.samples, value: row.sample_messages.join(' · ') },
    { name: senders.registryStatus, value: row.provider_status },
    { name: senders.registryId, value: row.provider_id },
  ],
  ...routes,
  deleteHelp: brands.deleteCampaign,
  useGroups,
  missingOf: ({ provider_missing_fields }) => provider_missing_fields ?? [],
  empty: { title: brands.emptyCampaigns, help: brands.emptyCampaignsHelp },
}
