/** The interface between the sending pipeline and email providers. */
import type { HandoverProvider } from '../handover.ts'

export type Address = { address: string; name: string | null }

export type Attachment = {
  filename: string
  contentType: string
  content: Buffer
  /** The name by which the HTML shows the file, as in `<img src="cid:logo">`. */
  contentId?: string | undefined
}

/** One message with one envelope. Each provider serializes it in the form that its protocol needs. */
export type Mail = {
  orgId: string
  /** Identifies every attempt to send the message, and is the local part of its Message-ID. */
  messageId: string
  from: Address
  to: Address[]
  cc: Address[]
  bcc: Address[]
  replyTo: Address[]
  subject: string
  html: string | null
  text: string | null
  /** Headers of the caller and of the pipeline. `composeMime` skips reserved names. */
  headers: Record<string, string>
  attachments: Attachment[]
  at: Date
  /** The envelope sender, which receives bounces. Null uses the from address. */
  returnPath: string | null
  /** Signs for the from domain when the provider does not. */
  dkim: { domain: string; selector: string; privateKey: string } | null
  region: string
  /** A dedicated IP pool at the provider. */
  ipPool: string | null
  /** The content has a one-time code. `messageId` is then the id of the verification, and the content is never stored. */
  hasCode?: boolean | undefined
}

/** What most mails do not set. */
export const blankMail = {
  cc: [],
  bcc: [],
  replyTo: [],
  html: null,
  text: null,
  headers: {},
  attachments: [],
  returnPath: null,
  dkim: null,
  ipPool: null,
} satisfies Partial<Mail>

export type EmailProvider = HandoverProvider<Mail>
