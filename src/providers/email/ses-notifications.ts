/** Parses notifications of Amazon SES that arrive through SNS, in both SES formats. */
import { z } from 'zod'
import { noBounce, type Report } from '../handover.ts'
import { orgHeader, sesTags } from './ses.ts'
import { firstTime, parseShape, type SentNotification, sentIds } from './sns-intake.ts'

const SesRecipient = z.object({ emailAddress: z.string(), diagnosticCode: z.string().optional() })

const SesMail = z.object({
  timestamp: z.string().optional(),
  destination: z.array(z.string()).default([]),
  tags: z.record(z.string(), z.array(z.string())).optional(),
  headers: z.array(z.object({ name: z.string(), value: z.string() })).optional(),
})

const SesEvent = z.object({
  eventType: z.string().optional(),
  notificationType: z.string().optional(),
  mail: SesMail,
  delivery: z
    .object({
      timestamp: z.string().optional(),
      recipients: z.array(z.string()).default([]),
      smtpResponse: z.string().optional(),
    })
    .optional(),
  bounce: z
    .object({
      timestamp: z.string().optional(),
      bounceType: z.string(),
      bounceSubType: z.string().optional(),
      bouncedRecipients: z.array(SesRecipient),
    })
    .optional(),
  complaint: z
    .object({
      timestamp: z.string().optional(),
      complainedRecipients: z.array(SesRecipient),
      complaintFeedbackType: z.string().nullish(),
      complaintSubType: z.string().nullish(),
    })
    .optional(),
  reject: z.object({ reason: z.string().optional() }).optional(),
  failure: z.object({ errorMessage: z.string().optional() }).optional(),
})

type SesEvent = z.output<typeof SesEvent>

/** The address in `Name <a@b>` or `a@b`. */
const bareAddress = (address: string): string => /<([^<>]+)>\s*$/.exec(address)?.[1] ?? address.trim()

type UndatedReport = Omit<Report, 'at'> & { timestamp: string | undefined }

const ofDelivery = ({ delivery, mail }: SesEvent): UndatedReport | undefined =>
  delivery && {
    kind: 'delivered',
    recipients: delivery.recipients.length > 0 ? delivery.recipients : mail.destination,
    detail: delivery.smtpResponse ?? null,
    ...noBounce,
    timestamp: delivery.timestamp,
  }

const ofBounce = ({ bounce }: SesEvent): UndatedReport | undefined => {
  if (!bounce) return undefined
  const diagnostics = new Set(bounce.bouncedRecipients.flatMap(({ diagnosticCode }) => diagnosticCode ?? []))
  return {
    // Only a permanent bounce may suppress the address.
    kind: bounce.bounceType === 'Permanent' ? 'hard_bounce' : 'soft_bounce',
    recipients: bounce.bouncedRecipients.map(({ emailAddress }) => emailAddress),
    detail: diagnostics.size > 0 ? [...diagnostics].join('; ') : null,
    bounceType: bounce.bounceType,
    bounceSubtype: bounce.bounceSubType ?? null,
    timestamp: bounce.timestamp,
  }
}

const ofComplaint = ({ complaint }: SesEvent): UndatedReport | undefined => {
  // `not-spam` withdraws a complaint.
  if (!complaint || complaint.complaintFeedbackType === 'not-spam') return undefined
  return {
    kind: 'complaint',
    recipients: complaint.complainedRecipients.map(({ emailAddress }) => emailAddress),
    detail: complaint.complaintFeedbackType ?? complaint.complaintSubType ?? null,
    ...noBounce,
    timestamp: complaint.timestamp,
  }
}

/** SES accepted the mail but did not send it. The recipients are not at fault, so this is not a hard bounce. */
const ofUnsent =
  (bounceType: string) =>
  ({ mail, reject, failure }: SesEvent): UndatedReport => ({
    kind: 'soft_bounce',
    recipients: mail.destination,
    detail: reject?.reason ?? failure?.errorMessage ?? null,
    bounceType,
    bounceSubtype: null,
    timestamp: undefined,
  })

/** Other events change nothing: Send, DeliveryDelay (SES keeps retrying), Open, Click, Subscription. */
const reportReaders = new Map<string, (event: SesEvent) => UndatedReport | undefined>([
  ['Delivery', ofDelivery],
  ['Bounce', ofBounce],
  ['Complaint', ofComplaint],
  ['Reject', ofUnsent('Reject')],
  ['Rendering Failure', ofUnsent('RenderingFailure')],
  ['RenderingFailure', ofUnsent('RenderingFailure')],
])

const headerOf = ({ mail }: SesEvent, name: string): string | undefined =>
  mail.headers?.find((header) => header.name.toLowerCase() === name.toLowerCase())?.value

/** Event publishing includes the tags of the mail, feedback notifications include its headers. */
const messageOf = (event: SesEvent) => {
  const { tags } = event.mail
  return sentIds(
    tags?.[sesTags.org]?.[0] ?? headerOf(event, orgHeader),
    tags?.[sesTags.message]?.[0] ?? headerOf(event, 'X-Service-Message-Id'),
  )
}

/** Ignores mail that this service did not send, events that change nothing, and unknown formats. */
export const parseSesNotification = parseShape(SesEvent, (event, message): SentNotification | 'ignored' => {
  const undated = reportReaders.get(event.eventType ?? event.notificationType ?? '')?.(event)
  const ids = messageOf(event)
  if (!undated || !ids || undated.recipients.length === 0) return 'ignored'
  const { timestamp, ...report } = undated
  return {
    notificationId: message.MessageId,
    ...ids,
    report: {
      ...report,
      recipients: report.recipients.map(bareAddress),
      at: firstTime(timestamp, message.Timestamp, event.mail.timestamp),
    },
  }
})
