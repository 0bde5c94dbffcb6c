import { z } from 'zod'
import { patternText } from '../ground/bounded-text.ts'
import { channels } from '../ground/channel.ts'
import { comparableAddress } from '../ground/mailbox.ts'

export const reasons = ['bounce', 'complaint', 'unsubscribe', 'stop', 'manual'] as const
export const sources = ['api', 'dashboard', 'provider', 'one_click', 'email_link', 'sms_reply'] as const

/** The maximum length of an address in a request. */
export const maxTargetLength = 1_000

/** Parsed like the addresses of a send, so that every valid recipient can be suppressed and sends find the entry. */
const emailAddress = z
  .string()
  .max(maxTargetLength)
  .transform((text, context): string => {
    const address = comparableAddress(text)
    if (address !== undefined) return address
    context.addIssue({ code: 'invalid_format', format: 'email', message: 'Must be an email address.' })
    return z.NEVER
  })
  .meta({ examples: ['ada@example.com'] })
const e164 = patternText(/^\+[1-9]\d{1,14}$/, 16, 'Must be a phone number in E.164 format, such as +14155550100.')

/** An email address or a phone number, by channel. Addresses are compared in lower case. */
export const SuppressionTarget = z.discriminatedUnion('channel', [
  z.object({ channel: z.literal('email'), value: emailAddress }),
  z.object({ channel: z.literal('sms'), value: e164 }),
])
export type SuppressionTarget = z.output<typeof SuppressionTarget>

export const SuppressionInput = SuppressionTarget.meta({ id: 'SuppressionInput' })

export const CreateSuppressions = z
  .union([z.object({ items: z.array(SuppressionInput).min(1).max(1_000) }), SuppressionInput])
  .meta({ id: 'CreateSuppressions' })

const at = z.iso.datetime()

export const Suppression = z
  .strictObject({
    id: z.string(),
    channel: z.enum(channels),
    value: z.string(),
    reason: z.enum(reasons),
    scope: z.enum(['all', 'broadcast']),
    tenant_id: z.string().nullable(),
    source: z.enum(sources),
    message_id: z.string().nullable(),
    created_at: at,
    updated_at: at,
  })
  .meta({ id: 'Suppression' })

export const SuppressionList = z.strictObject({ data: z.array(Suppression) }).meta({ id: 'SuppressionBatch' })
