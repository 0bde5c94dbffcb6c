/** The schemas of deliveries: of test deliveries, their attempts and their replays. */
import { z } from 'zod'
import { givenInstant } from '../platform/ground/bounded-text.ts'
import { EnvelopeShape, exampleEnvelope } from './event-shapes.ts'
import { knownEvents } from './samples.ts'

const at = z.iso.datetime()
const deliveryId = 'whd_01k5w3v8q6e9rbx2t7m4n0c1yz'

/** The outcome of one HTTP request to an endpoint. */
const outcome = {
  response_status: z.int().nullable().describe('The HTTP status of the response, or `null` if there was none.'),
  response_body: z.string().nullable().describe('The first 1 KB of the response body, or `null`.'),
  duration_ms: z.int().describe('The duration of the request, in milliseconds.'),
  error: z
    .enum(['timeout', 'connection', 'tls', 'dns', 'url_not_allowed'])
    .nullable()
    .describe('Why there was no response, or `null`.'),
}
const exampleOutcome = { response_status: 200, response_body: 'ok', duration_ms: 42, error: null }

export const TestFired = z
  .strictObject({
    delivery_id: z.string().describe('The id of the delivery, such as `whd_…`.'),
    event: z.string().describe('The event that was sent.'),
    success: z.boolean().describe('Whether the endpoint returned a 2xx status.'),
    ...outcome,
  })
  .meta({
    id: 'TestFired',
    examples: [{ delivery_id: deliveryId, event: 'message.delivered', success: true, ...exampleOutcome }],
  })

const attempt = z.strictObject({
  attempt: z.int().describe('The number of the attempt, starting at 1.'),
  at: at.describe('When the attempt started.'),
  ...outcome,
})
export type Attempt = z.output<typeof attempt>

export const deliveryStatuses = ['pending', 'delivered', 'failed', 'canceled'] as const

const delivery = {
  id: z.string().describe('The id of the delivery, such as `whd_…`. It is also in the payload.'),
  endpoint_id: z.string().describe('The id of the endpoint.'),
  event: z.string().describe('The event that is delivered.'),
  environment: z
    .enum(['live', 'test'])
    .nullable()
    .describe('The environment of the send that caused the event. `null` if no send caused it.'),
  tenant_id: z.string().nullable().describe('The tenant of the event, or `null`.'),
  status: z.enum(deliveryStatuses).describe('A `pending` delivery is attempted again. The other statuses are final.'),
  attempt_count: z.int().describe('The number of attempts so far.'),
  max_attempts: z.int().describe('The number of attempts after which the delivery fails.'),
  next_attempt_at: at.nullable().describe('When the next attempt is due. `null` if there is none.'),
  replay_of: z.string().nullable().describe('The delivery that this one repeats, or `null`.'),
  replayed_as: z.string().nullable().describe('The delivery that repeats this one, or `null`.'),
  created_at: at.describe('When the delivery was created.'),
  delivered_at: at.nullable().describe('When the endpoint accepted the event, or `null`.'),
  attempts: z.array(attempt).describe('The attempts, oldest first.'),
}
const example = {
  id: deliveryId,
  endpoint_id: 'whe_01k5w3v8q6e9rbx2t7m4n0c1yz',
  event: 'message.delivered',
  environment: 'live',
  tenant_id: null,
  status: 'delivered',
  attempt_count: 1,
  max_attempts: 8,
  next_attempt_at: null,
  replay_of: null,
  replayed_as: null,
  created_at: '2026-01-15T12:00:00.000Z',
  delivered_at: '2026-01-15T12:00:01.000Z',
  attempts: [{ attempt: 1, at: '2026-01-15T12:00:01.000Z', ...exampleOutcome }],
}

export const Delivery = z.strictObject(delivery).meta({ id: 'WebhookDelivery', examples: [example] })
export const DeliveryWithPayload = z
  .strictObject({ ...delivery, payload: EnvelopeShape.describe('The body that is sent to the endpoint.') })
  .meta({
    id: 'WebhookDeliveryWithPayload',
    examples: [{ ...example, payload: exampleEnvelope('message.delivered') }],
  })

/** For the dashboard: what the endpoint is sent, and the message that the event is about. */
export const DeliveryDetail = DeliveryWithPayload.extend({
  headers: z
    .record(z.string(), z.string().nullable())
    .describe(
      'The headers of a request. `null`: a time or a signature, which is made for each attempt and not stored.',
    ),
  message_id: z.string().nullable().describe('The message that the event is about, or `null`.'),
}).meta({ id: 'WebhookDeliveryDetail' })

const replayed = {
  delivery_id: z.string().describe('The id of the new delivery.'),
  replay_of: z.string().describe('The id of the delivery that is repeated.'),
}
const exampleReplay = { delivery_id: 'whd_01k5w3v8q6e9rbx2t7m4n0c1z0', replay_of: deliveryId }

export const Replayed = z.strictObject(replayed).meta({ id: 'ReplayedDelivery', examples: [exampleReplay] })

/** PostgreSQL has no year zero. */
const instant = givenInstant
  .refine((text) => !Number.isNaN(Date.parse(text)) && !text.startsWith('0000'), {
    message: 'Must be a date and time with an offset, such as 2026-01-15T12:00:00Z.',
  })
  .transform((text) => new Date(text))
  .meta({ format: 'date-time' })

export const ReplayFailed = z
  .strictObject({
    since: instant.optional().describe('Replay only deliveries created at or after this time, in ISO 8601.'),
    until: instant.optional().describe('Replay only deliveries created at or before this time, in ISO 8601.'),
    event: z.enum(knownEvents).optional().describe('Replay only deliveries of this event.'),
  })
  .default({})
  .meta({ id: 'ReplayFailed', examples: [{ since: '2026-01-15T00:00:00Z', event: 'message.bounced' }] })
export type ReplayFailed = z.output<typeof ReplayFailed>

export const ReplayedFailed = z
  .strictObject({
    replayed: z.int().describe('The number of deliveries that are repeated.'),
    has_more: z.boolean().describe('Whether there are more failed deliveries. Repeat the request to replay them.'),
    data: z.array(Replayed).describe('The new deliveries, oldest first.'),
  })
  .meta({ id: 'ReplayedFailed', examples: [{ replayed: 1, has_more: false, data: [exampleReplay] }] })
