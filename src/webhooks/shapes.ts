import { z } from 'zod'
import { givenId, givenInstant } from '../ground/bounded-text.ts'
import { type KnownEvent, knownEvents, sampleOf } from './samples.ts'

const url = z
  .string()
  .max(2048)
  .refine((text) => URL.canParse(text), { message: 'Must be a URL, such as https://example.com/hooks.' })
  .meta({ description: 'An https URL with a public address, on port 443 or a port from 1024 up.', format: 'uri' })
const events = z
  .array(z.enum(['*', ...knownEvents]))
  .max(200)
  .transform((names) => [...new Set(names)])
  .meta({ description: 'Event names, or `*` for every event. An empty list pauses the endpoint.' })
const description = z.string().max(200).nullable()

/** Rejects unknown fields, so that a misspelled one is never ignored. */
export const CreateWebhook = z
  .strictObject({
    url,
    events: events.default(['*']),
    description: description.default(null),
    tenant_id: givenId.nullable().optional().meta({ description: 'Defaults to the tenant of the API key.' }),
    enabled: z.boolean().default(true),
  })
  .meta({ id: 'CreateWebhook' })
export type CreateWebhook = z.output<typeof CreateWebhook>

export const PatchWebhook = z
  .strictObject({
    url: url.optional(),
    events: events.optional(),
    description: description.optional(),
    enabled: z.boolean().optional().meta({ description: '`true` also resets `consecutive_failures` to 0.' }),
  })
  .meta({ id: 'PatchWebhook' })
export type PatchWebhook = z.output<typeof PatchWebhook>

export const RotateWebhook = z
  .strictObject({
    overlap_hours: z.int().min(0).max(24).default(0).meta({
      description: 'Hours for which `Webhook-Signature` also has a signature with the old secret.',
    }),
  })
  .default({ overlap_hours: 0 })
  .meta({ id: 'RotateWebhook' })
export type RotateWebhook = z.output<typeof RotateWebhook>

const at = z.iso.datetime()
const endpoint = {
  id: z.string(),
  url: z.string(),
  description: z.string().nullable(),
  events: z.array(z.string()),
  enabled: z.boolean(),
  disabled_reason: z.enum(['auto', 'manual']).nullable(),
  disabled_at: at.nullable(),
  consecutive_failures: z.int(),
  tenant_id: z.string().nullable(),
  created_at: at,
  updated_at: at,
  secret_rotated_at: at.nullable(),
}

export const Webhook = z.strictObject(endpoint).meta({ id: 'Webhook' })
export const CreatedWebhook = z.strictObject({ ...endpoint, secret: z.string() }).meta({ id: 'CreatedWebhook' })
export const RotatedWebhook = z
  .strictObject({
    id: z.string(),
    secret: z.string(),
    secret_rotated_at: at,
    previous_secret_expires_at: at.optional().meta({ description: 'Present when `overlap_hours` is not 0.' }),
  })
  .meta({ id: 'RotatedWebhook' })

export const TestFire = z
  .strictObject({ event: z.enum(knownEvents).default('webhook.test') })
  .default({ event: 'webhook.test' })
  .meta({ id: 'TestFire' })

const attemptError = z.enum(['timeout', 'connection', 'tls', 'dns', 'url_not_allowed']).nullable()

export const TestFired = z
  .strictObject({
    delivery_id: z.string(),
    event: z.string(),
    success: z.boolean(),
    response_status: z.int().nullable(),
    response_body: z.string().nullable(),
    duration_ms: z.int(),
    error: attemptError,
  })
  .meta({ id: 'TestFired' })

export const deliveryStatuses = ['pending', 'delivered', 'failed', 'canceled'] as const

const delivery = {
  id: z.string(),
  endpoint_id: z.string(),
  event: z.string(),
  environment: z.enum(['live', 'test']).nullable(),
  tenant_id: z.string().nullable(),
  status: z.enum(deliveryStatuses),
  attempt_count: z.int(),
  max_attempts: z.int(),
  next_attempt_at: at.nullable(),
  replay_of: z.string().nullable(),
  replayed_as: z.string().nullable(),
  created_at: at,
  delivered_at: at.nullable(),
  attempts: z.array(
    z.strictObject({
      attempt: z.int(),
      at,
      response_status: z.int().nullable(),
      response_body: z.string().nullable().meta({ description: 'The first 1 KB of the response body.' }),
      duration_ms: z.int(),
      error: attemptError,
    }),
  ),
}

export const EnvelopeShape = z
  .strictObject({
    event: z.string(),
    data: z.record(z.string(), z.unknown()),
    timestamp: at,
    environment: z.enum(['live', 'test']).optional().meta({ description: 'Absent on events that no send caused.' }),
    tenant_id: z.string().nullable(),
    delivery_id: z.string(),
  })
  .meta({ id: 'WebhookEnvelope' })

/** The body of one event, with the names of its data fields. Fields may be added to the data later. */
export const eventShape = (event: KnownEvent) => {
  const { data, environment } = sampleOf(event)
  const fields = Object.keys(data).map((name) => [name, z.unknown()] as const)
  return z.object({
    event: z.literal(event),
    data: z.looseObject(Object.fromEntries(fields)),
    timestamp: at,
    ...(environment !== null && { environment: z.enum(['live', 'test']) }),
    tenant_id: z.string().nullable(),
    delivery_id: z.string(),
  })
}

export const Delivery = z.strictObject(delivery).meta({ id: 'WebhookDelivery' })
export const DeliveryWithPayload = z
  .strictObject({ ...delivery, payload: EnvelopeShape })
  .meta({ id: 'WebhookDeliveryWithPayload' })

export const Replayed = z
  .strictObject({ delivery_id: z.string(), replay_of: z.string() })
  .meta({ id: 'ReplayedDelivery' })

/** PostgreSQL has no year zero. */
const instant = givenInstant
  .refine((text) => !Number.isNaN(Date.parse(text)) && !text.startsWith('0000'), {
    message: 'Must be a date and time with an offset, such as 2026-01-15T12:00:00Z.',
  })
  .transform((text) => new Date(text))
  .meta({ format: 'date-time' })

export const ReplayFailed = z
  .strictObject({
    since: instant.optional(),
    until: instant.optional(),
    event: z.enum(knownEvents).optional(),
  })
  .default({})
  .meta({ id: 'ReplayFailed' })
export type ReplayFailed = z.output<typeof ReplayFailed>

export const ReplayedFailed = z
  .strictObject({ replayed: z.int(), has_more: z.boolean(), data: z.array(Replayed) })
  .meta({ id: 'ReplayedFailed' })

export const EventSamples = z
  .strictObject({ data: z.array(z.strictObject({ event: z.string(), sample: EnvelopeShape })) })
  .meta({ id: 'WebhookEvents' })
