/** An email on its way through the pipeline, from what was asked for to what is handed over. */
import type { Sender } from '../../domains/sender.ts'
import type { Address, Attachment, Mail } from '../../providers/email/email-provider.ts'
import type { Draft } from '../draft.ts'

export type Stream = 'transactional' | 'broadcast'

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
  /** Every address as asked for, whoever is left of them later. */
  asked: string[]
  /** Where its one recipient leaves the broadcast. */
  unsubscribeUrl: string | null
  /** Known once the sender's gate has passed; null in test mode, where nobody's domain is asked. */
  sender: Sender | null
}

/** Every destination, in the order To, Cc, Bcc. */
export const destinations = ({ to, cc, bcc }: Pick<EmailDraft, 'to' | 'cc' | 'bcc'>): readonly Address[] =>
  cc.length + bcc.length === 0 ? to : [...to, ...cc, ...bcc]

const carriage = ({ id, sender }: EmailDraft): Pick<Mail, 'returnPath' | 'dkim' | 'region' | 'ipPool'> => {
  if (sender?.kind !== 'domain') return { returnPath: null, dkim: null, region: 'us-east-1', ipPool: null }
  const { returnPath, dkim, region, ipPool } = sender
  // The message's id in the address, so that a bounce says what it is about.
  return { returnPath: returnPath && `${id}@${returnPath}`, dkim, region, ipPool }
}

/** Written out in one piece: this runs for every message. */
export const mailOf = (draft: EmailDraft, at: Date): Mail => {
  const { returnPath, dkim, region, ipPool } = carriage(draft)
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
    returnPath,
    dkim,
    region,
    ipPool,
  }
}
