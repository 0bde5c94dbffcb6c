/** Parses the events of AWS End User Messaging about sent messages, which arrive through SNS. */
import { z } from 'zod'
import type { Log } from '../../platform/ground/log.ts'
import { firstTime, parseShape, type SentNotification, sentIds } from '../email/sns-intake.ts'
import { smsContext } from './aws-sms.ts'
import { loggedToken, meaningOfToken, reportOfToken } from './status-tokens.ts'

const token = z.string().max(1_000)

const SmsEvent = z.object({
  eventType: token.optional(),
  messageStatus: token.optional(),
  /** In milliseconds since 1970. */
  eventTimestamp: z.number().optional(),
  destinationPhoneNumber: z.string().max(100).optional(),
  isoCountryCode: z.string().max(100).nullish(),
  context: z.record(z.string(), z.unknown()).optional(),
})

type SmsEvent = z.output<typeof SmsEvent>

/** The type of the event is more precise than the status of the message, which has no kind. */
const tokenOf = ({ eventType, messageStatus }: SmsEvent): string | undefined =>
  [eventType, messageStatus].find((text) => text !== undefined && meaningOfToken(text) !== undefined)

export const makeParseSmsEvent = (log: Log) =>
  parseShape(SmsEvent, (event, message): SentNotification | 'ignored' => {
    const ids = sentIds(event.context?.[smsContext.org], event.context?.[smsContext.message])
    if (!ids) return 'ignored'
    const known = tokenOf(event)
    if (known === undefined) {
      const unknown = loggedToken(event.eventType ?? event.messageStatus ?? '')
      const country = event.isoCountryCode ?? undefined
      const fields = { sms_status: unknown, country: country && loggedToken(country), message_id: ids.messageId }
      log.warn(fields, 'unknown sms status token')
      return 'ignored'
    }
    const report = reportOfToken(
      known,
      event.destinationPhoneNumber ?? '',
      firstTime(event.eventTimestamp, message.Timestamp),
    )
    return report ? { notificationId: message.MessageId, ...ids, report } : 'ignored'
  })
