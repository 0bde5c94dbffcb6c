/** An email that was parsed: its headers, its text, and its attachments. */
export type Mailbox = { name: string; address: string }

export type AttachedFile = {
  filename: string | undefined
  /** The media type without its parameters. */
  type: string
  parameters: Record<string, string>
  content: Uint8Array<ArrayBuffer>
  /** The value of its Content-ID header. */
  contentId?: string | undefined
}

/** The content id of a file without its brackets. Empty without one. */
export const bareContentId = ({ contentId = '' }: AttachedFile): string => contentId.trim().replace(/^<|>$/g, '')

export type ParsedMail = {
  /** In message order, with repeated headers, and with encoded words decoded. */
  headers: { name: string; value: string }[]
  from: Mailbox[]
  to: Mailbox[]
  cc: Mailbox[]
  replyTo: Mailbox[]
  subject: string | undefined
  text: string | undefined
  html: string | undefined
  attachments: AttachedFile[]
}
