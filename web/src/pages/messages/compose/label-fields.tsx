import { compose } from '../../../strings/compose.ts'
import { ui } from '../../../strings/ui.ts'
import { SearchInput } from '../../../ui/search-input.tsx'
import { useTenantChoices } from '../../../ui/tenant-filter.tsx'
import { fieldsOf, SelectField, TextAreaField, TextField } from '../../../ui/text-field.tsx'
import type { FieldsProps } from './email-fields.tsx'
import { readMetadata } from './message-draft.ts'

/** An org without tenants sees nothing. */
export const TenantField = ({ draft, change, faults }: FieldsProps) => {
  const choices = useTenantChoices(draft.tenant, ({ status }) => status === 'active')
  if (!choices) return null
  return (
    <>
      {choices.search && <SearchInput label={ui.findTenant} {...choices.search} />}
      <SelectField
        label={compose.tenant}
        optional
        help={compose.tenantHelp}
        error={faults.of('tenant_id')}
        value={draft.tenant}
        onValue={(tenant) => change({ tenant })}
        options={[{ value: '', label: compose.noTenant }, ...choices.options]}
      />
    </>
  )
}

export const LabelFields = ({ draft, change, faults }: FieldsProps) => {
  const { fault } = readMetadata(draft.metadata)
  const field = fieldsOf(draft, change, faults.of)
  return (
    <>
      <TextField label={compose.tags} optional help={compose.tagsHelp} {...field('tags')} />
      <TextAreaField
        label={compose.metadata}
        optional
        help={compose.metadataHelp}
        rows={2}
        spellCheck={false}
        className="min-h-14 font-mono"
        {...field('metadata')}
        error={fault ?? faults.of('metadata')}
      />
    </>
  )
}
