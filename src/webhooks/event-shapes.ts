/** The schemas of events as endpoints receive them. */
import { z } from 'zod'
import { eventFieldTexts } from './event-field-texts.ts'
import { eventEnvelopeOf, type KnownEvent, knownEvents, sampleOf } from './samples.ts'

const envelope = {
  event: z.string().describe('The name of the event, such as `message.delivered`.'),
  timestamp: z.iso.datetime().describe('When the event happened.'),
  environment: z.enum(['live', 'test']).describe('The environment of the send that caused the event.'),
  tenant_id: z.string().nullable().describe('The tenant that the event belongs to. `null` for the organisation.'),
  delivery_id: z
    .string()
    .describe('The id of the delivery. It stays the same on retries, so you can use it to ignore repeated events.'),
}

export const exampleEnvelope = (event: KnownEvent) =>
  eventEnvelopeOf(sampleOf(event), {
    tenantId: null,
    timestamp: '2026-01-15T12:00:00.000Z',
    deliveryId: 'whd_test',
  })

export const EnvelopeShape = z
  .strictObject({
    event: envelope.event,
    data: z.record(z.string(), z.unknown()).describe('The fields of the event. Fields may be added later.'),
    timestamp: envelope.timestamp,
    environment: envelope.environment
      .optional()
      .describe('The environment of the send that caused the event. Absent on events that no send caused.'),
    tenant_id: envelope.tenant_id,
    delivery_id: envelope.delivery_id,
  })
  .meta({ id: 'WebhookEnvelope', examples: [exampleEnvelope('message.delivered')] })

/** The body of one event, with the names of its data fields. Fields may be added to the data later. */
export const eventShape = (event: KnownEvent) => {
  const { data, environment } = sampleOf(event)
  const fields = Object.keys(data).map((name) => {
    const text = eventFieldTexts[name]
    return [name, text === undefined ? z.unknown() : z.unknown().describe(text)] as const
  })
  return z
    .object({
      event: z.literal(event).describe('The name of the event.'),
      data: z.looseObject(Object.fromEntries(fields)).describe('The fields of the event. Fields may be added later.'),
      timestamp: envelope.timestamp,
      ...(environment !== null && { environment: envelope.environment }),
      tenant_id: envelope.tenant_id,
      delivery_id: envelope.delivery_id,
    })
    .meta({ examples: [exampleEnvelope(event)] })
}

export const EventSamples = z
  .strictObject({
    data: z
      .array(
        z.strictObject({
          event: z.string().describe('The name of the event.'),
          sample: EnvelopeShape.describe('A sample of the body that endpoints receive.'),
        }),
      )
      .describe('Every event type.'),
  })
  .meta({
    id: 'WebhookEvents',
    examples: [{ data: [{ event: 'message.delivered', sample: exampleEnvelope('message.delivered') }] }],
  })

export const eventSamples = knownEvents.map((event) => ({ event, sample: exampleEnvelope(event) }))
