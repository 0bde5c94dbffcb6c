/** The interface between the sending pipeline and email providers. */

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
}

/** What a provider reports about recipients after it accepted the message. */
export type Report = {
  kind: 'delivered' | 'hard_bounce' | 'soft_bounce' | 'complaint'
  recipients: string[]
  at: Date
  /** The response of the remote server. */
  detail: string | null
  bounceType: string | null
  bounceSubtype: string | null
}

export type Handover = {
  provider: string
  providerMessageId: string
  /** Outcomes that are already known: simulated ones, and recipients that a relay rejected while accepting others. */
  reports?: Report[]
}

/**
 * `refused`: the provider rejected the message. Retries and other providers cannot help.
 * `throttled`: we send too fast. The message may be retried.
 * `unavailable`: the message was not sent. Another provider may be tried.
 * `uncertain`: the connection was lost after the message was sent. It may be delivered.
 */
export type HandoverFault = 'refused' | 'throttled' | 'unavailable' | 'uncertain'

export class HandoverError extends Error {
  readonly kind: HandoverFault
  readonly provider: string
  /** Recipients that the provider refused for good, because their address does not exist. */
  readonly refusedRecipients: readonly string[]

  /** The message is shown to the sender, so it must not contain secrets. */
  constructor(
    kind: HandoverFault,
    provider: string,
    message: string,
    { cause, refusedRecipients = [] }: { cause?: unknown; refusedRecipients?: readonly string[] } = {},
  ) {
    super(message, { cause })
    this.kind = kind
    this.provider = provider
    this.refusedRecipients = refusedRecipients
  }
}

export interface EmailProvider {
  readonly name: string
  /** Throws only HandoverError. */
  send(mail: Mail): Promise<Handover>
  close(): Promise<void>
}
