import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import type { components } from '../../../api/schema.gen.ts'
import { webhooks } from '../../../strings/webhooks.ts'
import { StatusDot } from '../../../ui/badge.tsx'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { SaveForm } from '../../../ui/save-form.tsx'
import { SelectField } from '../../../ui/text-field.tsx'
import { useSave } from '../../../ui/use-save.ts'
import { type EventName, eventNames, meaningOf } from './event-list.ts'

const words = webhooks.test
type Fired = components['schemas']['TestFired']

const Answer = ({ fired }: { fired: Fired }) => {
  const { success, response_status, response_body, duration_ms, error } = fired
  const text = error
    ? webhooks.deliveries.noAnswer[error]
    : success
      ? words.succeeded(response_status)
      : words.refused(response_status)
  return (
    <div role="status" className="flex flex-col gap-2 rounded-md border p-3">
      <StatusDot tone={success ? 'ok' : 'bad'}>{text}</StatusDot>
      <p className="text-muted text-xs">{webhooks.deliveries.took(duration_ms)}</p>
      {response_body && <CodeBlock label={words.body} code={response_body} />}
    </div>
  )
}

export const TestFire = ({ endpointId }: { endpointId: string }) => {
  const [event, setEvent] = useState<EventName>('webhook.test')
  const [fired, setFired] = useState<Fired>()
  const form = useSave(
    () => {
      setFired(undefined)
      const params = { path: { id: endpointId } }
      return unwrap(api.POST('/api/internal/webhooks/{id}/test', { params, body: { event } }))
    },
    { done: setFired, refreshes: [['webhook-deliveries']] },
  )
  return (
    <div className="flex flex-col gap-4">
      <p className="text-muted text-sm">{words.help}</p>
      <SaveForm onSubmit={form.save} form={form} gate="requireDeveloperSession" action={words.send}>
        <SelectField
          label={words.event}
          help={meaningOf(event)}
          error={form.fault('event')}
          value={event}
          onValue={(name) => setEvent(name as EventName)}
          options={eventNames.map((name) => ({ value: name, label: name }))}
        />
      </SaveForm>
      {fired && <Answer fired={fired} />}
    </div>
  )
}
