import { z } from 'zod'
import { givenId } from '../platform/ground/bounded-text.ts'
import { knownEvents } from './samples.ts'

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
const description = z.string().max(200).nullable().describe('A note for people, up to 200 characters, or `null`.')

/** Rejects unknown fields, so that a misspelled one is never ignored. */
export const CreateWebhook = z
  .strictObject({
    url,
    events: events.default(['*']),
    description: description.default(null),
    tenant_id: givenId
      .nullish()
      .describe('The tenant whose events the endpoint receives. Defaults to the tenant of the API key.'),
    enabled: z.boolean().default(true).describe('Whether events are delivered.'),
  })
  .meta({
    id: 'CreateWebhook',
    examples: [{ url: 'https://example.com/hooks', events: ['message.delivered', 'message.bounced'] }],
  })
export type CreateWebhook = z.output<typeof CreateWebhook>

export const PatchWebhook = z
  .strictObject({
    url: url.optional(),
    events: events.optional(),
    description: description.optional(),
    enabled: z
      .boolean()
      .optional()
      .describe('Whether events are delivered. `true` also resets `consecutive_failures` to 0.'),
  })
  .meta({ id: 'PatchWebhook', examples: [{ events: ['*'], enabled: true }] })
export type PatchWebhook = z.output<typeof PatchWebhook>

export const RotateWebhook = z
  .strictObject({
    overlap_hours: z.int().min(0).max(24).default(0).meta({
      description: 'Hours for which `Webhook-Signature` also has a signature with the old secret.',
    }),
  })
  .default({ overlap_hours: 0 })
  .meta({ id: 'RotateWebhook', examples: [{ overlap_hours: 1 }] })
export type RotateWebhook = z.output<typeof RotateWebhook>

const at = z.iso.datetime()
const endpoint = {
  id: z.string().describe('The id of the endpoint, such as `whe_…`.'),
  url: z.string().describe('The URL that events are sent to.'),
  description: z.string().nullable().describe('Your note about the endpoint, or `null`.'),
  events: z.array(z.string()).describe('The events that the endpoint receives, or `*` for every event.'),
  enabled: z.boolean().describe('Whether events are delivered.'),
  disabled_reason: z
    .enum(['auto', 'manual'])
    .nullable()
    .describe('`auto` if the endpoint was disabled because it kept failing, `manual` if you disabled it, or `null`.'),
  disabled_at: at.nullable().describe('When the endpoint was disabled, or `null`.'),
  consecutive_failures: z.int().describe('The number of deliveries that failed since the last success.'),
  tenant_id: z
    .string()
    .nullable()
    .describe('The tenant whose events the endpoint receives. `null` for all events of the organisation.'),
  created_at: at.describe('When the endpoint was created.'),
  updated_at: at.describe('When the endpoint was last changed.'),
  secret_rotated_at: at.nullable().describe('When the signing secret was last rotated, or `null`.'),
}
const endpointId = 'whe_01k5w3v8q6e9rbx2t7m4n0c1yz'
const exampleEndpoint = {
  id: endpointId,
  url: 'https://example.com/hooks',
  description: null,
  events: ['message.delivered', 'message.bounced'],
  enabled: true,
  disabled_reason: null,
  disabled_at: null,
  consecutive_failures: 0,
  tenant_id: null,
  created_at: '2026-01-15T12:00:00.000Z',
  updated_at: '2026-01-15T12:00:00.000Z',
  secret_rotated_at: null,
}
const secret = z.string().describe('The signing secret. Store it now: it is not shown again.')
// Too short to be a secret, so that scanners for secrets ignore it.
const exampleSecret = 'whsec_MfKQ9r8G…'

export const Webhook = z.strictObject(endpoint).meta({ id: 'Webhook', examples: [exampleEndpoint] })
export const CreatedWebhook = z
  .strictObject({ ...endpoint, secret })
  .meta({ id: 'CreatedWebhook', examples: [{ ...exampleEndpoint, secret: exampleSecret }] })
export const RotatedWebhook = z
  .strictObject({
    id: endpoint.id,
    secret,
    secret_rotated_at: at.describe('When the signing secret was rotated.'),
    previous_secret_expires_at: at
      .optional()
      .describe('Until when the old secret also signs. Present only if `overlap_hours` is not 0.'),
  })
  .meta({
    id: 'RotatedWebhook',
    examples: [
      {
        id: endpointId,
        secret: exampleSecret,
        secret_rotated_at: '2026-01-15T12:00:00.000Z',
        previous_secret_expires_at: '2026-01-15T13:00:00.000Z',
      },
    ],
  })

export const TestFire = z
  .strictObject({ event: z.enum(knownEvents).default('webhook.test').describe('The event to send a sample of.') })
  .default({ event: 'webhook.test' })
  .meta({ id: 'TestFire', examples: [{ event: 'message.delivered' }] })
