import type { ReactNode } from 'react'
import { scopeGroups } from '../../../parts/scope-list.ts'
import { apiKeys } from '../../../strings/api-keys.ts'
import { CheckGroup, RadioGroup } from '../../../ui/check-group.tsx'
import { SaveForm } from '../../../ui/save-form.tsx'
import { optionsOf } from '../../../ui/select.tsx'
import { fieldsOf, TextAreaField, TextField } from '../../../ui/text-field.tsx'
import type { FormState } from '../../../ui/use-save.ts'
import { type KeyValues, useDomainChoices } from './key-data.tsx'

const words = apiKeys.fields

type Props = {
  values: KeyValues
  onChange: (part: Partial<KeyValues>) => void
  form: FormState
  onSubmit: () => void
  action?: string
  /** Next to the button. */
  more?: ReactNode
  /** For a key that exists: an empty expiry changes nothing. */
  editing?: boolean
  /** In a dialog, where the form is longer than the screen. */
  inDialog?: boolean
}

const AccessFields = ({ values, onChange, form }: Pick<Props, 'values' | 'onChange' | 'form'>) => (
  <>
    <RadioGroup
      legend={words.access}
      value={values.access}
      onValue={(access) => onChange({ access: access as KeyValues['access'] })}
      choices={optionsOf(apiKeys.access)}
    />
    {values.access === 'chosen' && (
      <div className="flex flex-col gap-4 rounded-md border p-3">
        {scopeGroups.map(([group, scopes]) => (
          <CheckGroup
            key={group}
            legend={group}
            value={values.scopes}
            onValue={(chosen) => onChange({ scopes: chosen })}
            choices={scopes.map((scope) => ({
              value: scope,
              label: <span className="font-mono text-xs">{scope}</span>,
            }))}
          />
        ))}
        {form.fault('scopes') && (
          <p role="alert" className="text-bad text-sm">
            {form.fault('scopes')}
          </p>
        )}
      </div>
    )}
  </>
)

const RestrictionFields = ({ values, onChange, form, editing }: Omit<Props, 'onSubmit'>) => {
  const { data: domains = [] } = useDomainChoices()
  const field = fieldsOf(values, onChange, form.fault)
  return (
    <>
      {domains.length > 0 && (
        <CheckGroup
          legend={words.domains}
          help={words.domainsHelp}
          choices={domains}
          value={values.domains}
          onValue={(chosen) => onChange({ domains: chosen })}
          error={form.fault('allowed_domain_ids')}
        />
      )}
      <TextAreaField label={words.cidrs} help={words.cidrsHelp} optional {...field('cidrs', 'allowed_cidrs')} />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label={words.expires}
          help={editing ? words.keepExpiry : words.expiresHelp}
          optional
          inputMode="numeric"
          {...field('expires', 'expires_in_days')}
        />
        <TextField
          label={words.rate}
          help={words.rateHelp}
          optional
          inputMode="numeric"
          {...field('rate', 'rate_limit_per_minute')}
        />
      </div>
      <TextField label={words.tenant} help={words.tenantHelp} optional {...field('tenant', 'tenant_id')} />
    </>
  )
}

export const KeyForm = ({ onSubmit, action, more, inDialog = false, ...props }: Props) => {
  const { values, onChange, form } = props
  return (
    <SaveForm
      onSubmit={onSubmit}
      form={form}
      gate="requireOwnerSession"
      action={action}
      more={more}
      label={apiKeys.title}
      wide={inDialog}
      pinned={inDialog}
    >
      <TextField
        label={words.name}
        help={words.nameHelp}
        error={form.fault('name')}
        value={values.name}
        onText={(text) => onChange({ name: text })}
      />
      <AccessFields {...props} />
      <RestrictionFields {...props} />
    </SaveForm>
  )
}
