/** Receives text messages and emails from providers. */
import { Failure } from '../../../platform/ground/errors.ts'
import type { SesReceived } from '../../../providers/email/ses-received.ts'
import type { SnsIntake } from '../../../providers/email/sns-intake.ts'
import type { InboundSms } from '../../../providers/sms/sms-provider.ts'
import type { TakeEmail } from '../../../sending/inbound/take-email.ts'
import type { TakeSms } from '../../../sending/inbound/take-sms.ts'
import type { MailParser } from '../../submission/mail-parser.ts'
import type { ParsedMail } from '../../submission/parsed-mail.ts'
import { receivedEmailOf } from '../../submission/received-email.ts'
import type { Intake } from './intake.ts'

type SmsNeeds = {
  /** Undefined when no topic is configured. */
  sms: SnsIntake<InboundSms> | undefined
  takeSms: TakeSms
}

export const inboundSmsIntake = ({ sms, takeSms }: SmsNeeds): Intake => ({
  name: 'inbound-sms',
  counts: 'every request',
  take:
    sms &&
    (async (notification) => {
      const received = await sms.take(notification)
      if (received.kind !== 'notification') return { status: received.kind }
      const taken = await Promise.all(received.notifications.map(takeSms))
      return { status: taken.some(({ status }) => status !== 'unknown number') ? 'notification' : 'ignored' }
    }),
})

type EmailNeeds = {
  /** Undefined when no topic is configured. */
  ses: SnsIntake<SesReceived> | undefined
  parser: MailParser
  takeEmail: TakeEmail
}

export const inboundEmailIntake = ({ ses, parser, takeEmail }: EmailNeeds): Intake => {
  /** Undefined for an email that cannot be read. SES has parsed its headers. */
  const parse = async (raw: Buffer): Promise<ParsedMail | undefined> => {
    try {
      return await parser.parse(raw, { orgId: 'ses' })
    } catch (error) {
      if (error instanceof Failure && error.status < 429) return undefined
      throw error
    }
  }

  const emailOf = async ({ raw, headers, recipients, spamVerdict, at }: SesReceived) => {
    const arrival = { provider: 'ses', recipients, spamVerdict, at }
    const parsed = raw && (await parse(raw))
    if (parsed) return receivedEmailOf(parsed, arrival)
    return { ...arrival, ...headers, text: null, html: null, inReplyTo: null, date: null, attachments: [] }
  }
  return {
    name: 'inbound-email',
    counts: 'bad signatures',
    take:
      ses &&
      (async (notification) => {
        const received = await ses.take(notification)
        if (received.kind !== 'notification') return { status: received.kind }
        const taken = await Promise.all(received.notifications.map(async (one) => takeEmail(await emailOf(one))))
        return { status: taken.some((ids) => ids !== 'unknown domain') ? 'notification' : 'ignored' }
      }),
  }
}
