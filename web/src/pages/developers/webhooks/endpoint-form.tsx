import type { ReactNode } from 'react'
import { webhooks } from '../../../strings/webhooks.ts'
import { CheckGroup, RadioGroup } from '../../../ui/check-group.tsx'
import { SaveForm } from '../../../ui/save-form.tsx'
import { Switch } from '../../../ui/switch.tsx'
import { fieldsOf, TextField } from '../../../ui/text-field.tsx'
import type { FormState } from '../../../ui/use-save.ts'
import { type EventName, eventNames, meaningOf } from './event-list.ts'

export type EndpointValues = {
  url: string
  description: string
  all: boolean
  events: string[]
  enabled: boolean
  tenant: string
}

export const emptyEndpoint: EndpointValues = {
  url: '',
  description: '',
  all: true,
  events: [],
  enabled: true,
  tenant: '',
}

export const endpointBody = ({ url, description, all, events, enabled }: EndpointValues) => ({
  url,
  description: description.trim() || null,
  events: all ? (['*'] as '*'[]) : (events as EventName[]),
  enabled,
})

const words = webhooks.fields

const choices = eventNames.map((name) => ({
  value: name,
  label: (
    <span title={meaningOf(name)} className="font-mono text-xs">
      {name}
    </span>
  ),
}))

type Props = {
  values: EndpointValues
  onChange: (part: Partial<EndpointValues>) => void
  form: FormState
  onSubmit: () => void
  action?: string
  /** Next to the button. */
  more?: ReactNode
  /** The tenant is chosen when the endpoint is made; later it can be switched off instead. */
  editing?: boolean
}

export const EndpointForm = ({ values, onChange, form, editing = false, ...submit }: Props) => {
  const field = fieldsOf(values, onChange, form.fault)
  return (
    <SaveForm {...submit} form={form} gate="requireDeveloperSession" label={webhooks.title}>
      <TextField
        label={words.url}
        help={words.urlHelp}
        type="url"
        placeholder="https://example.com/hooks"
        {...field('url')}
      />
      <TextField label={words.description} optional {...field('description')} />
      <RadioGroup
        legend={words.events}
        value={values.all ? 'all' : 'chosen'}
        onValue={(value) => onChange({ all: value === 'all' })}
        choices={[
          { value: 'all', label: words.all },
          { value: 'chosen', label: words.chosen },
        ]}
      />
      {!values.all && (
        <div className="rounded-md border p-3">
          <CheckGroup
            legend={words.chosen}
            choices={choices}
            value={values.events}
            onValue={(events) => onChange({ events })}
            error={form.fault('events')}
          />
        </div>
      )}
      {editing ? (
        <Switch
          label={words.enabled}
          help={words.enabledHelp}
          checked={values.enabled}
          onChecked={(enabled) => onChange({ enabled })}
        />
      ) : (
        <TextField label={words.tenant} help={words.tenantHelp} optional {...field('tenant', 'tenant_id')} />
      )}
    </SaveForm>
  )
}
