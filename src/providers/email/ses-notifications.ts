/** What Amazon SES tells through SNS of a mail after it was taken, in both of its formats. */
import { z } from 'zod'
import type { Clock } from '../../ground/clock.ts'
import { isId } from '../../ground/ids.ts'
import type { Log } from '../../ground/log.ts'
import type { Report } from './email-provider.ts'
import { orgHeader, sesTags } from './ses.ts'
import { type FetchText, fetchFromSns, makeSnsReader, type SnsMessage, snsAddress } from './sns.ts'

export type SesNotification = {
  /** The same for each delivery of one notification. */
  notificationId: string
  orgId: string
  messageId: string
  report: Report
}

const Recipient = z.object({ emailAddress: z.string(), diagnosticCode: z.string().optional() })

const Mail = z.object({
  timestamp: z.string().optional(),
  destination: z.array(z.string()).default([]),
  tags: z.record(z.string(), z.array(z.string())).optional(),
  headers: z.array(z.object({ name: z.string(), value: z.string() })).optional(),
})

const Event = z.object({
  eventType: z.string().optional(),
  notificationType: z.string().optional(),
  mail: Mail,
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
      bouncedRecipients: z.array(Recipient),
    })
    .optional(),
  complaint: z
    .object({
      timestamp: z.string().optional(),
      complainedRecipients: z.array(Recipient),
      complaintFeedbackType: z.string().nullish(),
      complaintSubType: z.string().nullish(),
    })
    .optional(),
  reject: z.object({ reason: z.string().optional() }).optional(),
  failure: z.object({ errorMessage: z.string().optional() }).optional(),
})

type Event = z.output<typeof Event>

/** `Name <a@b>` as well as `a@b`. */
const bare = (address: string): string => /<([^<>]+)>\s*$/.exec(address)?.[1] ?? address.trim()

const instant = (...texts: (string | undefined)[]): Date => {
  const readable = texts.find((text) => text !== undefined && !Number.isNaN(Date.parse(text)))
  return new Date(readable ?? 0)
}

type Told = Omit<Report, 'at'> & { timestamp: string | undefined }

const unbounced = { bounceType: null, bounceSubtype: null }

const ofDelivery = ({ delivery, mail }: Event): Told | undefined =>
  delivery && {
    kind: 'delivered',
    recipients: delivery.recipients.length > 0 ? delivery.recipients : mail.destination,
    detail: delivery.smtpResponse ?? null,
    ...unbounced,
    timestamp: delivery.timestamp,
  }

const ofBounce = ({ bounce }: Event): Told | undefined => {
  if (!bounce) return undefined
  const words = new Set(bounce.bouncedRecipients.flatMap(({ diagnosticCode }) => diagnosticCode ?? []))
  return {
    // What is not said to last for ever must not keep an address from its mail.
    kind: bounce.bounceType === 'Permanent' ? 'hard_bounce' : 'soft_bounce',
    recipients: bounce.bouncedRecipients.map(({ emailAddress }) => emailAddress),
    detail: words.size > 0 ? [...words].join('; ') : null,
    bounceType: bounce.bounceType,
    bounceSubtype: bounce.bounceSubType ?? null,
    timestamp: bounce.timestamp,
  }
}

const ofComplaint = ({ complaint }: Event): Told | undefined => {
  // The button that takes a complaint back.
  if (!complaint || complaint.complaintFeedbackType === 'not-spam') return undefined
  return {
    kind: 'complaint',
    recipients: complaint.complainedRecipients.map(({ emailAddress }) => emailAddress),
    detail: complaint.complaintFeedbackType ?? complaint.complaintSubType ?? null,
    ...unbounced,
    timestamp: complaint.timestamp,
  }
}

/** SES took it and then let it go to nobody. That says nothing about the recipients, hence no hard bounce. */
const ofNeverSent =
  (bounceType: string) =>
  ({ mail, reject, failure }: Event): Told => ({
    kind: 'soft_bounce',
    recipients: mail.destination,
    detail: reject?.reason ?? failure?.errorMessage ?? null,
    bounceType,
    bounceSubtype: null,
    timestamp: undefined,
  })

/** Events that are not here change nothing: Send, DeliveryDelay (SES goes on trying), Open, Click, Subscription. */
const readers = new Map<string, (event: Event) => Told | undefined>([
  ['Delivery', ofDelivery],
  ['Bounce', ofBounce],
  ['Complaint', ofComplaint],
  ['Reject', ofNeverSent('Reject')],
  ['Rendering Failure', ofNeverSent('RenderingFailure')],
  ['RenderingFailure', ofNeverSent('RenderingFailure')],
])

const headerOf = ({ mail }: Event, name: string): string | undefined =>
  mail.headers?.find((header) => header.name.toLowerCase() === name.toLowerCase())?.value

/** Tags come with event publishing, headers with feedback notifications. */
const subjectOf = (event: Event): { orgId: string; messageId: string } | undefined => {
  const { tags } = event.mail
  const orgId = tags?.[sesTags.org]?.[0] ?? headerOf(event, orgHeader)
  const messageId = tags?.[sesTags.message]?.[0] ?? headerOf(event, 'X-Service-Message-Id')
  if (orgId === undefined || messageId === undefined) return undefined
  return isId('org', orgId) && isId('message', messageId) ? { orgId, messageId } : undefined
}

const eventIn = (text: string): Event | undefined => {
  try {
    return Event.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

/** Mail that is not ours, events that change nothing and formats nobody knows yet are ignored. */
export const parseSesNotification = (message: SnsMessage): SesNotification | 'ignored' => {
  const event = eventIn(message.Message)
  const told = event && readers.get(event.eventType ?? event.notificationType ?? '')?.(event)
  const subject = event && subjectOf(event)
  if (!told || !subject || told.recipients.length === 0) return 'ignored'
  const { timestamp, ...report } = told
  return {
    notificationId: message.MessageId,
    ...subject,
    report: {
      ...report,
      recipients: report.recipients.map(bare),
      at: instant(timestamp, message.Timestamp, event.mail.timestamp),
    },
  }
}

export type IntakeResult =
  | { kind: 'notification'; notifications: SesNotification[] }
  | { kind: 'confirmed' }
  | { kind: 'ignored' }

export interface SesIntake {
  /** Throws BadSignature for what no topic of ours sent; any other error means: deliver it again. */
  take(bodyText: string): Promise<IntakeResult>
}

type Needs = {
  topics: readonly string[]
  clock: Clock
  log: Log
  fetchCertificate?: FetchText
  /** Visits the address that confirms a subscription. */
  confirm?: FetchText
}

export const makeSesIntake = (needs: Needs): SesIntake => {
  const { topics, clock, log, fetchCertificate = fetchFromSns, confirm = fetchFromSns } = needs
  const read = makeSnsReader({ topics, fetchCertificate, clock })

  const confirmSubscription = async (address: string, topic: string): Promise<IntakeResult> => {
    const url = snsAddress(address)
    const meant =
      url?.searchParams.get('Action') === 'ConfirmSubscription' && url.searchParams.get('TopicArn') === topic
    if (!url || !meant) {
      log.warn({ topic }, 'a subscription was to be confirmed at an address that is not for that')
      return { kind: 'ignored' }
    }
    await confirm(url.href)
    log.info({ topic }, 'the subscription to an SNS topic is confirmed')
    return { kind: 'confirmed' }
  }

  return {
    take: async (bodyText) => {
      const message = await read(bodyText)
      if (message.Type === 'SubscriptionConfirmation') {
        return confirmSubscription(message.SubscribeURL, message.TopicArn)
      }
      if (message.Type === 'UnsubscribeConfirmation') {
        log.warn({ topic: message.TopicArn }, 'the subscription to an SNS topic has ended')
        return { kind: 'ignored' }
      }
      const notification = parseSesNotification(message)
      return notification === 'ignored' ? { kind: 'ignored' } : { kind: 'notification', notifications: [notification] }
    },
  }
}
