/** An email in the send pipeline, and the mail that is handed to the provider. */
import type { Sender } from '../../domains/sender.ts'
import type { Address, Attachment, Mail } from '../../providers/email/email-provider.ts'
import type { Page } from '../../tracking/rewrite.ts'
import type { Draft } from '../draft.ts'

export type Stream = 'transactional' | 'broadcast'

/** Whether html and text contain a place of the unsubscribe link. */
export type TaggedParts = { html: boolean; text: boolean }

/** The content as read for its links. The drafts of a bulk call have the same content and share this. */
export type SharedPages = {
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
