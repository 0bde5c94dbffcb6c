import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import type { components } from '../../../api/schema.gen.ts'
import { webhooks } from '../../../strings/webhooks.ts'
import { StatusDot } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { Field } from '../../../ui/field.tsx'
import { Select } from '../../../ui/select.tsx'
import { Form } from '../../../ui/templates.tsx'
import { useSubmit } from '../../sign-in/use-submit.ts'
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
  const client = useQueryClient()
  const [event, setEvent] = useState<EventName>('webhook.test')
  const [fired, setFired] = useState<Fired>()
  const form = useSubmit()
  const fire = () =>
    form.submit(async () => {
      setFired(undefined)
      const params = { path: { id: endpointId } }
      setFired(await unwrap(api.POST('/api/internal/webhooks/{id}/test', { params, body: { event } })))
      await client.invalidateQueries({ queryKey: ['webhook-deliveries'] })
    })
  return (
    <div className="flex flex-col gap-4">
      <p className="text-muted text-sm">{words.help}</p>
      <Form
        onSubmit={fire}
        error={form.rest}
        actions={
          <Button type="submit" look="primary" busy={form.busy} gate="requireDeveloperSession">
            {words.send}
          </Button>
        }
      >
        <Field label={words.event} help={meaningOf(event)} error={form.fault('event')}>
          <Select
            value={event}
            onValue={(name) => setEvent(name as EventName)}
            options={eventNames.map((name) => ({ value: name, label: name }))}
          />
        </Field>
      </Form>
      {fired && <Answer fired={fired} />}
    </div>
  )
}
