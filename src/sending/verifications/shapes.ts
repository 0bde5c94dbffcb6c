import { z } from 'zod'
import { givenId } from '../../platform/ground/bounded-text.ts'
import { channels } from '../../platform/ground/channel.ts'
import { parseMailbox } from '../../platform/ground/mailbox.ts'
import { isE164 } from '../../platform/ground/phone-number.ts'
import { maxMailboxLength, maxSubjectLength } from '../messages/email/shapes.ts'
import { customIssue, exampleInstant, instant, refusingOtherSends } from '../messages/shapes.ts'
import { lengthOf, maxBodyLength } from '../messages/sms/shapes.ts'
import { templateFault } from './code-template.ts'

export const limits = {
  codeLength: { min: 4, max: 10 },
  ttlSeconds: { min: 60, max: 3_600 },
  maxAttempts: { min: 1, max: 10 },
} as const

const within = ({ min, max }: { min: number; max: number }) => z.int().min(min).max(max)

const tooLong = `Must be at most ${maxBodyLength} characters.`

const template = z
  .string()
  .min(1, { abort: true })
  // In UTF-16 code units, of which a character has at most two.
  .max(2 * maxBodyLength, { error: tooLong, abort: true })
  .refine((text) => lengthOf(text) <= maxBodyLength, tooLong)
  .superRefine((text, context) => {
    const message = templateFault(text)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })
  .default('Your verification code is {{code}}')
  .meta({
    description: `The text of the message, up to ${maxBodyLength} characters. \`{{code}}\` is the place of the code and the only variable. For +91 numbers the result must match the content of the DLT template.`,
    examples: ['{{code}} is your Acme code.'],
  })

const isAddress = (text: string): boolean => parseMailbox(text)?.name === null

/** What a destination must be depends on the channel. */
const reachable = ({ channel, to }: { channel: 'email' | 'sms'; to: string }, context: z.RefinementCtx): void => {
  if (channel === 'sms' ? isE164(to) : isAddress(to)) return
  const form =
    channel === 'sms' ? 'a number in E.164 form, such as +15125550100' : 'an email address without a display name'
  customIssue(context, ['to'], `Must be ${form}.`)
}

export const StartVerification = refusingOtherSends(
  z.object({
    channel: z.enum(channels).describe('How the code is sent: `sms` or `email`.'),
    to: z
      .string()
      .max(320, { abort: true })
      .meta({
        description: 'The destination: a number in E.164 form for `sms`, an address for `email`.',
        examples: ['+447700900100', 'ada@example.com'],
      }),
    // Optional here, because a missing sender has its own error code.
    from: z
      .string()
      .max(maxMailboxLength)
      .nullish()
      .meta({
        description:
          'Required. For `sms` a verified number or sender id of your org, for `email` an address on one of your verified domains.',
        examples: ['TIDINGS', 'Acme <login@example.com>'],
      }),
    template,
    code_length: within(limits.codeLength).default(6).describe('The number of digits, 4 to 10.'),
    ttl_seconds: within(limits.ttlSeconds).default(600).describe('How long the code is valid, 60 to 3600 seconds.'),
    max_attempts: within(limits.maxAttempts)
      .default(5)
      .describe('How many wrong codes can be checked, 1 to 10. After that, the right code is denied too.'),
    subject: z
      .string()
      .min(1)
      .max(maxSubjectLength)
      .regex(/^[^\r\n]*$/, 'Must not contain line breaks.')
      .default('Your verification code')
      .describe('The subject of an email: one line of up to 998 characters. Ignored for `sms`.'),
    dlt_template_id: givenId.nullish().meta({
      description: 'The approved DLT template. Required for `sms` to +91 numbers, ignored otherwise.',
      examples: ['dlt_01kd6q2v9k8x7w6t5s4r3q2p1n'],
    }),
    rate_limit_key: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .meta({
        description:
          'Your own text, 1 to 128 characters, such as an IP address or a user id. At most five codes per hour are started with the same text, in addition to the limit per destination.',
        examples: ['203.0.113.7'],
      }),
  }),
)
  .superRefine(reachable)
  .meta({
    id: 'StartVerification',
    examples: [
      { channel: 'sms', to: '+447700900100', from: 'TIDINGS' },
      { channel: 'email', to: 'ada@example.com', from: 'login@example.test', ttl_seconds: 300 },
    ],
  })
export type StartVerification = z.output<typeof StartVerification>

const exampleId = 'ver_01m7enh4ebe4v8v4n3fpdzaxet'
const id = z.string().describe('The id of the verification, such as `ver_…`.')

export const StartedVerification = z
  .strictObject({
    id,
    status: z.literal('pending').describe('Always `pending`.'),
    channel: z.enum(channels).describe('How the code was sent.'),
    expires_at: instant.describe('When the code expires.'),
  })
  .meta({
    id: 'Verification',
    examples: [{ id: exampleId, status: 'pending', channel: 'sms', expires_at: exampleInstant }],
  })
export type StartedVerification = z.output<typeof StartedVerification>

export const CheckCode = z
  .object({
    code: z
      .string()
      .min(1)
      .max(100)
      .meta({ description: 'The code that the person entered.', examples: ['123456'] }),
  })
  .meta({ id: 'CheckCode', examples: [{ code: '123456' }] })

export const denials = ['invalid', 'expired', 'not_found', 'max_attempts'] as const
export type Denial = (typeof denials)[number]

export const CheckedVerification = z
  .strictObject({
    id,
    status: z.enum(['approved', 'denied']).describe('`approved` if the code is right. A code is approved once.'),
    reason: z
      .enum(denials)
      .optional()
      .describe(
        'Present only if `denied`. `invalid`: the code is wrong. `expired`: it is too old. `max_attempts`: there were too many wrong codes. `not_found`: there is no such verification, or its code was used.',
      ),
  })
  .meta({ id: 'VerificationCheck', examples: [{ id: exampleId, status: 'denied', reason: 'invalid' }] })
export type CheckedVerification = z.output<typeof CheckedVerification>
