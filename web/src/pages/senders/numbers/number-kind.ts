import type { components } from '../../../api/schema.gen.ts'
import type { FieldGroup, Values } from '../../../parts/resource/form-fields.tsx'
import type { FormResource } from '../../../parts/resource/form-resource.ts'
import { routesOf } from '../../../parts/resource/form-routes.ts'
import { createdColumn, statusColumn } from '../../../parts/resource/row-status.tsx'
import { numbers } from '../../../strings/senders.ts'
import { optionsOf } from '../../../ui/select.tsx'
import { useCampaignOptions } from '../options.ts'

type PhoneNumber = components['schemas']['PhoneNumber']

const nameOf = ({ e164, sender_id, id }: PhoneNumber): string => e164 ?? sender_id ?? id

/** A number needs a campaign, a sender id has a name instead. Later only the campaign of a number can change. */
const useGroups = () => {
  const options = useCampaignOptions()
  return ({ kind = 'number' }: Values): FieldGroup[] => [
    {
      title: numbers.sender,
      fields: [
        {
          name: 'kind',
          label: numbers.kind,
          kind: 'select',
          options: optionsOf(numbers.kinds),
          initial: 'number',
          required: true,
          fixed: true,
        },
        { name: 'iso_country', label: numbers.country, help: numbers.countryHelp, required: true, fixed: true },
        ...(kind === 'alphanumeric'
          ? [
              {
                name: 'sender_id',
                label: numbers.senderId,
                help: numbers.senderIdHelp,
                required: true,
                fixed: true,
              } as const,
            ]
          : [
              {
                name: 'type',
                label: numbers.type,
                kind: 'select',
                options: optionsOf(numbers.types),
                required: true,
                fixed: true,
              } as const,
              {
                name: 'campaign_id',
                label: numbers.campaign,
                help: numbers.campaignHelp,
                kind: 'select',
                options,
                required: true,
              } as const,
            ]),
      ],
    },
  ]
}

const { check: _, ...routes } = routesOf<PhoneNumber>('/api/internal/phone-numbers', true)

export const numberKind: FormResource<PhoneNumber> = {
  name: 'numbers',
  title: numbers.title,
  create: numbers.create,
  gate: 'requireDeveloperSession',
  liveOnly: true,
  titleOf: nameOf,
  columns: [
    {
      id: 'sender',
      header: numbers.sender,
      className: 'font-mono',
      cell: ({ e164, sender_id }) => e164 ?? sender_id ?? numbers.waiting,
    },
    {
      id: 'kind',
      header: numbers.kind,
      className: 'hidden md:table-cell',
      cell: ({ kind }) => numbers.kinds[kind],
    },
    {
      id: 'type',
      header: numbers.type,
      className: 'hidden w-28 lg:table-cell',
      cell: ({ type }) => (type ? numbers.types[type] : '–'),
    },
    {
      id: 'country',
      header: numbers.country,
      className: 'hidden w-24 sm:table-cell',
      cell: ({ iso_country }) => iso_country,
    },
    statusColumn(),
    createdColumn(),
  ],
  facts: (row) => [
    { name: numbers.kind, value: numbers.kinds[row.kind] },
    { name: numbers.country, value: row.iso_country },
    { name: numbers.type, value: row.type && numbers.types[row.type] },
    { name: numbers.campaign, value: row.campaign_id },
    { name: numbers.capabilities, value: row.capabilities.join(', ') },
  ],
  ...routes,
  canChange: ({ kind }) => kind === 'number',
  deleteHelp: numbers.delete,
  useGroups,
  empty: { title: numbers.empty, help: numbers.emptyHelp },
}
