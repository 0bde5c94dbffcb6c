import { compose } from '../../../strings/compose.ts'
import { ui } from '../../../strings/ui.ts'
import { Field } from '../../../ui/field.tsx'
import { Input, TextArea } from '../../../ui/input.tsx'
import { SearchInput } from '../../../ui/search-input.tsx'
import { Select } from '../../../ui/select.tsx'
import { useTenantChoices } from '../../../ui/tenant-filter.tsx'
import type { FieldsProps } from './email-fields.tsx'
import { readMetadata } from './message-draft.ts'

/** An org without tenants sees nothing. */
export const TenantField = ({ draft, change, faults }: FieldsProps) => {
  const choices = useTenantChoices(draft.tenant, ({ status }) => status === 'active')
  if (!choices) return null
  return (
    <>
      {choices.search && <SearchInput label={ui.findTenant} {...choices.search} />}
      <Field label={compose.tenant} optional help={compose.tenantHelp} error={faults.of('tenant_id')}>
        <Select
          value={draft.tenant}
          onValue={(tenant) => change({ tenant })}
          options={[{ value: '', label: compose.noTenant }, ...choices.options]}
        />
      </Field>
    </>
  )
}

export const LabelFields = ({ draft, change, faults }: FieldsProps) => {
  const { fault } = readMetadata(draft.metadata)
  return (
    <>
      <Field label={compose.tags} optional help={compose.tagsHelp} error={faults.of('tags')}>
        <Input value={draft.tags} onChange={(event) => change({ tags: event.target.value })} />
      </Field>
      <Field label={compose.metadata} optional help={compose.metadataHelp} error={fault ?? faults.of('metadata')}>
        <TextArea
          value={draft.metadata}
          rows={2}
          spellCheck={false}
          className="min-h-14 font-mono"
          onChange={(event) => change({ metadata: event.target.value })}
        />
      </Field>
    </>
  )
}
