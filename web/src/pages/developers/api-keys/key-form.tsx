import type { ReactNode } from 'react'
import { apiKeys } from '../../../strings/api-keys.ts'
import { CheckGroup, RadioGroup } from '../../../ui/check-group.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input, TextArea } from '../../../ui/input.tsx'
import { Form } from '../../../ui/templates.tsx'
import type { useSubmit } from '../../sign-in/use-submit.ts'
import { type KeyValues, useDomainChoices } from './key-data.ts'
import { scopeGroups } from './scope-list.ts'

const words = apiKeys.fields

type Props = {
  values: KeyValues
  onChange: (part: Partial<KeyValues>) => void
  form: ReturnType<typeof useSubmit>
  onSubmit: () => void
  actions: ReactNode
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
      choices={Object.entries(apiKeys.access).map(([value, label]) => ({ value, label }))}
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

const RestrictionFields = ({ values, onChange, form, editing }: Omit<Props, 'onSubmit' | 'actions'>) => {
  const { data: domains = [] } = useDomainChoices()
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
      <Field label={words.cidrs} help={words.cidrsHelp} error={form.fault('allowed_cidrs')} optional>
        <TextArea value={values.cidrs} onChange={(event) => onChange({ cidrs: event.target.value })} />
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          label={words.expires}
          help={editing ? words.keepExpiry : words.expiresHelp}
          error={form.fault('expires_in_days')}
          optional
        >
          <Input
            inputMode="numeric"
            value={values.expires}
            onChange={(event) => onChange({ expires: event.target.value })}
          />
        </Field>
        <Field label={words.rate} help={words.rateHelp} error={form.fault('rate_limit_per_minute')} optional>
          <Input inputMode="numeric" value={values.rate} onChange={(event) => onChange({ rate: event.target.value })} />
        </Field>
      </div>
      <Field label={words.tenant} help={words.tenantHelp} error={form.fault('tenant_id')} optional>
        <Input value={values.tenant} onChange={(event) => onChange({ tenant: event.target.value })} />
      </Field>
    </>
  )
}

export const KeyForm = ({ onSubmit, actions, inDialog = false, ...props }: Props) => {
  const { values, onChange, form } = props
  return (
    <Form
      onSubmit={onSubmit}
      error={form.rest}
      actions={actions}
      label={apiKeys.title}
      wide={inDialog}
      pinned={inDialog}
    >
      <Field label={words.name} help={words.nameHelp} error={form.fault('name')}>
        <Input value={values.name} onChange={(event) => onChange({ name: event.target.value })} />
      </Field>
      <AccessFields {...props} />
      <RestrictionFields {...props} />
    </Form>
  )
}
