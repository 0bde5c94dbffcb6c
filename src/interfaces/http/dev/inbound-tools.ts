/** Development tools that deliver text messages and emails as a provider does. */
import { z } from 'zod'
import type { Clock } from '../../../platform/ground/clock.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import type { ReceivedEmail, TakeEmail } from '../../../sending/inbound/take-email.ts'
import type { TakeSms } from '../../../sending/inbound/take-sms.ts'
import type { MailParser } from '../../submission/mail-parser.ts'
import { receivedEmailOf } from '../../submission/received-email.ts'
import type { Route } from '../route.ts'
import { devPost } from './dev-route.ts'

const text = (most: number) => z.string().max(most)
const address = text(320)

const InboundSmsBody = z.strictObject({
  from: address.min(1),
  to: address.min(1),
  body: text(100_000).default(''),
  media_url: z.array(text(2_000)).max(10).default([]),
  /** A repeated id is ignored, as when a provider delivers a message twice. */
  provider_message_id: text(200).min(1).optional(),
})

const toList = z.union([address.min(1), z.array(address.min(1)).min(1).max(100)]).transform((value) => [value].flat())

const InboundEmailBody = z.union([
  /** A whole message, as a mail server delivers it. */
  z.strictObject({ raw: text(10_000_000).min(1) }),
  z.strictObject({
    from: address.min(1),
    to: toList,
    cc: toList.optional(),
    subject: text(2_000).nullable().default(null),
    text: text(1_000_000).nullable().default(null),
    html: text(1_000_000).nullable().default(null),
    message_id: text(1_000).nullable().default(null),
    in_reply_to: text(1_000).nullable().default(null),
  }),
])

export type InboundToolNeeds = { clock: Clock; takeSms: TakeSms; takeEmail: TakeEmail; parser: MailParser }

export const inboundTools = ({ clock, takeSms, takeEmail, parser }: InboundToolNeeds): Route[] => [
  devPost('/inbound-sms', InboundSmsBody, async (given) => {
    const { provider_message_id: id = null, media_url: mediaUrl, ...message } = given
    const taken = await takeSms({ ...message, provider: 'dev', id, mediaUrl, at: clock.now() })
    if (taken.status === 'unknown number') throw new Failure('NOT_FOUND')
    return taken.status === 'stored' ? taken : { ...taken, id: null, kind: null, keyword: null }
  }),

  devPost('/inbound-email', InboundEmailBody, async (given) => {
    const arrival = { provider: 'dev', spamVerdict: null, at: clock.now() }
    let email: ReceivedEmail
    if ('raw' in given) {
      const parsed = await parser.parse(Buffer.from(given.raw), { orgId: 'dev' })
      const received = receivedEmailOf(parsed, { ...arrival, recipients: [] })
      email = { ...received, recipients: received.to }
    } else {
      const { message_id: messageId, in_reply_to: inReplyTo, cc = [], ...fields } = given
      email = { ...arrival, ...fields, cc, messageId, inReplyTo, date: null, recipients: given.to, attachments: [] }
    }
    const taken = await takeEmail(email)
    if (taken === 'unknown domain') throw new Failure('NOT_FOUND')
    return { status: taken.length > 0 ? 'stored' : 'repeated', id: taken[0] ?? null, ids: taken }
  }),
]
