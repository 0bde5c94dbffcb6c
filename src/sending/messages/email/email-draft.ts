/**
 * An email in the send pipeline: made from a request or from a stored message, stored as a message, and handed to the
 * provider as a mail.
 */
import { timeOfId } from '../../../platform/ground/ids.ts'
import { comparable } from '../../../platform/ground/mailbox.ts'
import { nonEmpty } from '../../../platform/ground/non-empty.ts'
import type { Address, Attachment, Mail } from '../../../providers/email/email-provider.ts'
import type { Sender } from '../../../senders/domains/sender.ts'
import type { Page } from '../../tracking/rewrite.ts'
import type { MessageContent } from '../channel-adapter.ts'
import { type Draft, type SentBy, sentByOf } from '../draft.ts'
import type { MessageRow } from '../store/message-row.ts'
import type { BatchItem } from './shapes.ts'

export type Stream = 'transactional' | 'broadcast'

/** Whether html and text contain a place of the unsubscribe link. */
export type TaggedParts = { html: boolean; text: boolean }

/** The content as read for its links. The drafts of a bulk call have the same content and share this. */
type SharedPages = {
  html?: Promise<Page>
  text?: Promise<Page>
  tagged?: TaggedParts
  /** The end of the latest fill. */
  latest?: Promise<unknown>
}

export type EmailDraft = Draft & {
  channel: 'email'
  from: Address
  to: Address[]
  cc: Address[]
  bcc: Address[]
  replyTo: Address[]
  subject: string | null
  html: string | null
  text: string | null
  template: { slug: string; variables: Record<string, unknown> } | null
  stream: Stream
  headers: Record<string, string>
  attachments: Attachment[]
  trackOpens: boolean
  trackClicks: boolean
  /** Every recipient of the request, including those removed as suppressed. */
  requested: string[]
  /** The link by which the single recipient of a broadcast unsubscribes. */
  unsubscribeUrl: string | null
  pages: SharedPages
  /** Set by the sender gate. Null in test mode, which does not check domains. */
  sender: Sender | null
}

/** Every destination, in the order To, Cc, Bcc. */
export const destinations = ({ to, cc, bcc }: Pick<EmailDraft, 'to' | 'cc' | 'bcc'>): readonly Address[] =>
  cc.length + bcc.length === 0 ? to : [...to, ...cc, ...bcc]

/** Each address once. A duplicate would be counted twice and receive two messages. */
const distinct = (lists: [to: Address[], cc: Address[], bcc: Address[]]): Address[][] => {
  if (lists[0].length === 1 && lists[1].length === 0 && lists[2].length === 0) return lists
  const seen = new Set<string>()
  return lists.map((list) =>
    list.filter(({ address }) => {
      const key = comparable(address)
      if (seen.has(key)) return false
      seen.add(key)
      return true
    }),
  )
}

export type Envelope = { to: Address[]; cc: Address[]; bcc: Address[]; attachments: Attachment[] }
export type EmailFields = Omit<BatchItem, keyof Envelope | 'variables' | 'template' | 'scheduled_at'>

/** A new message without the fields that only single and scheduled messages have. */
export const newEmailDraft = (id: string, by: SentBy, body: EmailFields, envelope: Envelope): EmailDraft => {
  const [to = [], cc = [], bcc = []] = distinct([envelope.to, envelope.cc, envelope.bcc])
  return {
    id,
    createdAt: new Date(timeOfId(id)),
    by,
    channel: 'email',
    jobId: null,
    from: body.from,
    to,
    cc,
    bcc,
    replyTo: body.reply_to,
    requested: destinations({ to, cc, bcc }).map(({ address }) => address),
    subject: body.subject ?? null,
    html: body.html ?? null,
    text: body.text ?? null,
    template: null,
    stream: body.stream,
    headers: body.headers,
    attachments: envelope.attachments,
    trackOpens: body.track_opens,
    trackClicks: body.track_clicks,
    tags: body.tags,
    metadata: body.metadata,
    scheduledAt: null,
    unsubscribeUrl: null,
    pages: {},
    sender: null,
    mayRepeat: undefined,
  }
}

const addressesOf = (list: Address[]): string[] => list.map(({ address }) => address)

/** Stores Reply-To display names separately from recipient names. */
const replyKey = (address: string): string => `reply-to ${address}`

const hasName = ({ name }: Address): boolean => name !== null

const namesOf = (draft: EmailDraft): Record<string, string> | undefined => {
  const { replyTo } = draft
  const recipients = destinations(draft)
  if (!recipients.some(hasName) && !replyTo.some(hasName)) return undefined
  return Object.fromEntries([
    ...recipients.filter(hasName).map(({ address, name }) => [address, name as string]),
    ...replyTo.filter(hasName).map(({ address, name }) => [replyKey(address), name as string]),
  ])
}

export const contentOfEmail = (draft: EmailDraft): MessageContent => ({
  stream: draft.stream,
  from_address: draft.from.address,
  from_name: draft.from.name ?? undefined,
  to_addresses: addressesOf(draft.to),
  cc: nonEmpty(addressesOf(draft.cc)),
  bcc: nonEmpty(addressesOf(draft.bcc)),
  reply_to: nonEmpty(addressesOf(draft.replyTo)),
  names: namesOf(draft),
  subject: draft.subject ?? undefined,
  html: draft.html ?? undefined,
  text: draft.text ?? undefined,
  headers: Object.keys(draft.headers).length === 0 ? undefined : draft.headers,
  // Names and types only: the content of attachments is not stored.
  attachments: nonEmpty(
    draft.attachments.map(({ filename, contentType }) => ({ filename, content_type: contentType })),
  ),
  track_opens: draft.trackOpens || undefined,
  track_clicks: draft.trackClicks || undefined,
})

export const emailDraftOf = (row: MessageRow): EmailDraft => {
  const { names } = row
  const withNames = (list: string[]): Address[] => list.map((address) => ({ address, name: names?.[address] ?? null }))
  const withReplyName = (address: string): Address => ({
    address,
    name: names?.[replyKey(address)] ?? names?.[address] ?? null,
  })
  return {
    channel: 'email',
    id: row.id,
    createdAt: row.created_at,
    by: sentByOf(row),
    from: { address: row.from_address, name: row.from_name },
    to: withNames(row.to_addresses),
    cc: withNames(row.cc),
    bcc: withNames(row.bcc),
    replyTo: row.reply_to.map(withReplyName),
    requested: [...row.to_addresses, ...row.cc, ...row.bcc],
    subject: row.subject,
    html: row.html,
    text: row.text,
    template: null,
    stream: row.stream,
    headers: row.headers ?? {},
    attachments: [],
    trackOpens: row.track_opens,
    trackClicks: row.track_clicks,
    tags: row.tags,
    metadata: row.metadata ?? {},
    scheduledAt: row.scheduled_at,
    jobId: row.job_id,
    unsubscribeUrl: null,
    pages: {},
    sender: null,
  }
}

/** The envelope sender of an email. Null uses its from address. */
export type ReturnPathOf = (draft: EmailDraft) => string | null

/** For an installation that does not receive bounces itself. The message id identifies the bounced message. */
export const plainReturnPath: ReturnPathOf = ({ id, sender }) =>
  sender?.kind === 'domain' && sender.returnPath !== null ? `${id}@${sender.returnPath}` : null

const deliveryOf = ({ sender }: EmailDraft): Pick<Mail, 'dkim' | 'region' | 'ipPool'> =>
  sender?.kind === 'domain' ? sender : { dkim: null, region: 'us-east-1', ipPool: null }

/** A single object literal, for speed: this runs for every message. */
export const mailOf = (draft: EmailDraft, at: Date, returnPathOf: ReturnPathOf = plainReturnPath): Mail => {
  const { dkim, region, ipPool } = deliveryOf(draft)
  return {
    orgId: draft.by.orgId,
    messageId: draft.id,
    from: draft.from,
    to: draft.to,
    cc: draft.cc,
    bcc: draft.bcc,
    replyTo: draft.replyTo,
    subject: draft.subject ?? '',
    html: draft.html,
    text: draft.text,
    headers: draft.headers,
    attachments: draft.attachments,
    at,
    returnPath: returnPathOf(draft),
    dkim,
    region,
    ipPool,
    hasCode: draft.hasCode,
  }
}
