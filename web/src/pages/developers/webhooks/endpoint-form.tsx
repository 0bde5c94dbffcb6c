import type { ReactNode } from 'react'
import { webhooks } from '../../../strings/webhooks.ts'
import { CheckGroup, RadioGroup } from '../../../ui/check-group.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { Switch } from '../../../ui/switch.tsx'
import { Form } from '../../../ui/templates.tsx'
import type { useSubmit } from '../../sign-in/use-submit.ts'
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
  form: ReturnType<typeof useSubmit>
  onSubmit: () => void
  actions: ReactNode
  /** The tenant is chosen when the endpoint is made; later it can be switched off instead. */
  editing?: boolean
}

export const EndpointForm = ({ values, onChange, form, onSubmit, actions, editing = false }: Props) => (
  <Form onSubmit={onSubmit} error={form.rest} actions={actions} label={webhooks.title}>
    <Field label={words.url} help={words.urlHelp} error={form.fault('url')}>
      <Input
        type="url"
        placeholder="https://example.com/hooks"
        value={values.url}
        onChange={(event) => onChange({ url: event.target.value })}
      />
    </Field>
    <Field label={words.description} error={form.fault('description')} optional>
      <Input value={values.description} onChange={(event) => onChange({ description: event.target.value })} />
    </Field>
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
      <Field label={words.tenant} help={words.tenantHelp} error={form.fault('tenant_id')} optional>
        <Input value={values.tenant} onChange={(event) => onChange({ tenant: event.target.value })} />
      </Field>
    )}
  </Form>
)
