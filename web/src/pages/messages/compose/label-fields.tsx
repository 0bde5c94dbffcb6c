import { compose } from '../../../strings/compose.ts'
import { Field } from '../../../ui/field.tsx'
import { Input, TextArea } from '../../../ui/input.tsx'
import { Select } from '../../../ui/select.tsx'
import { useTenantChoices } from '../../../ui/tenant-filter.tsx'
import type { FieldsProps } from './email-fields.tsx'
import { readMetadata } from './message-draft.ts'

/** An org with more tenants than a list can show types an id. One without tenants sees nothing. */
export const TenantField = ({ draft, change, faults }: FieldsProps) => {
  const data = useTenantChoices()
  if (!data || (data.data.length === 0 && draft.tenant === '')) return null
  const active = data.data.filter(({ id, status }) => status === 'active' || id === draft.tenant)
  return (
    <Field label={compose.tenant} optional help={compose.tenantHelp} error={faults.of('tenant_id')}>
      {data.has_more ? (
        <Input
          value={draft.tenant}
          placeholder="ten_…"
          onChange={(event) => change({ tenant: event.target.value.trim() })}
        />
      ) : (
        <Select
          value={draft.tenant}
          onValue={(tenant) => change({ tenant })}
          options={[
            { value: '', label: compose.noTenant },
            ...active.map(({ id, name }) => ({ value: id, label: name })),
          ]}
        />
      )}
    </Field>
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
