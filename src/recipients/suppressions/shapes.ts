import { z } from 'zod'
import { patternText } from '../../platform/ground/bounded-text.ts'
import { channels } from '../../platform/ground/channel.ts'
import { comparableAddress } from '../../platform/ground/mailbox.ts'
import { refusing, tenantByHeader } from '../../platform/ground/refused-fields.ts'

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
export const givenPhoneNumber = patternText(
  /^\+[1-9]\d{1,14}$/,
  16,
  'Must be a phone number in E.164 format, such as +14155550100.',
)

/** An email address or a phone number, by channel. Addresses are compared in lower case. */
export const SuppressionTarget = z.discriminatedUnion('channel', [
  refusing(
    z.object({
      channel: z.literal('email').describe('`email` for an email address.'),
      value: emailAddress.describe('An email address of up to 1,000 characters. Addresses are compared in lower case.'),
    }),
    { tenant_id: tenantByHeader },
  ),
  refusing(
    z.object({
      channel: z.literal('sms').describe('`sms` for a phone number.'),
      value: givenPhoneNumber.describe('A phone number in E.164 format, such as `+14155550100`.'),
    }),
    { tenant_id: tenantByHeader },
  ),
])
export type SuppressionTarget = z.output<typeof SuppressionTarget>

export const SuppressionInput = SuppressionTarget.meta({ id: 'SuppressionInput' })

export const CreateSuppressions = z
  .union([
    z.object({
      items: z
        .array(SuppressionInput)
        .min(1)
        .max(1_000)
        .describe('1 to 1,000 targets. If one is invalid, none is added.'),
    }),
    SuppressionInput,
  ])
  .meta({
    id: 'CreateSuppressions',
    examples: [
      { channel: 'email', value: 'ada@example.com' },
      {
        items: [
          { channel: 'email', value: 'grace@example.com' },
          { channel: 'sms', value: '+14155550100' },
        ],
      },
    ],
  })

const at = z.iso.datetime()

const example = {
  id: 'sup_01k5w3v8q6e9rbx2t7m4n0c1yz',
  channel: 'email',
  value: 'ada@example.com',
  reason: 'manual',
  scope: 'all',
  tenant_id: null,
  source: 'api',
  message_id: null,
  created_at: '2026-01-15T12:00:00.000Z',
  updated_at: '2026-01-15T12:00:00.000Z',
}

export const Suppression = z
  .strictObject({
    id: z.string().describe('The id of the suppression, such as `sup_…`.'),
    channel: z.enum(channels).describe('Whether `value` is an email address or a phone number.'),
    value: z.string().describe('The address in lower case, or the number in E.164 format.'),
    reason: z
      .enum(reasons)
      .describe(
        'Why the target is suppressed. `stop` and `complaint` come from the recipient, and such a suppression cannot be deleted.',
      ),
    scope: z
      .enum(['all', 'broadcast'])
      .describe('The messages that are blocked: `broadcast` for an unsubscribe, `all` for every other reason.'),
    tenant_id: z
      .string()
      .nullable()
      .describe('The tenant that the suppression belongs to. `null` if it applies to the whole organisation.'),
    source: z.enum(sources).describe('How the suppression was added.'),
    message_id: z.string().nullable().describe('The message that caused the suppression, or `null`.'),
    created_at: at.describe('When the target was first suppressed.'),
    updated_at: at.describe('When the suppression was last changed.'),
  })
  .meta({ id: 'Suppression', examples: [example] })

export const SuppressionList = z
  .strictObject({ data: z.array(Suppression).describe('The suppressions, in the order of the request.') })
  .meta({ id: 'SuppressionBatch', examples: [{ data: [example] }] })

/** The response to one target, or to a list of them. */
export const AddedSuppressions = z
  .union([Suppression, SuppressionList])
  .meta({ examples: [example, { data: [example] }] })
