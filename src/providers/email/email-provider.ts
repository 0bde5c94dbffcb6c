/** What the pipeline hands to whoever carries email, and what comes back. */

export type Address = { address: string; name: string | null }

export type Attachment = { filename: string; contentType: string; content: Buffer }

/** One envelope. Structured, so that each adapter writes only what its wire needs. */
export type Mail = {
  orgId: string
  /** The message's own id: the token of every attempt and the local part of Message-ID. */
  messageId: string
  from: Address
  to: Address[]
  cc: Address[]
  bcc: Address[]
  replyTo: Address[]
  subject: string
  html: string | null
  text: string | null
  /** The caller's own and those the pipeline adds; never one that the composer writes. */
  headers: Record<string, string>
  attachments: Attachment[]
  at: Date
  /** The envelope's sender, where bounces go; null: the from address. */
  returnPath: string | null
  /** Signs for the from domain where the relay does not. */
  dkim: { domain: string; selector: string; privateKey: string } | null
  region: string
  /** A dedicated IP pool at the provider. */
  ipPool: string | null
}

/** What a provider says of recipients after the fact. */
export type Report = {
  kind: 'delivered' | 'hard_bounce' | 'soft_bounce' | 'complaint'
  recipients: string[]
  at: Date
  /** The remote server's words. */
  detail: string | null
  bounceType: string | null
  bounceSubtype: string | null
}

export type Handover = {
  provider: string
  providerMessageId: string
  /** Outcomes known at once: the simulator's, and of recipients a relay refused while it took the others. */
  reports?: Report[]
}

/**
 * `refused`: the message itself was refused; no other provider is asked and no retry helps.
 * `throttled`: too fast; the message is fine. `unavailable`: nothing was handed over, another may be asked.
 * `uncertain`: the connection was lost after the message went out; it may be on its way.
 */
export type HandoverFault = 'refused' | 'throttled' | 'unavailable' | 'uncertain'

export class HandoverError extends Error {
  readonly kind: HandoverFault
  readonly provider: string

  /** The message is shown to the sender: the provider's words, no secret of ours. */
  constructor(kind: HandoverFault, provider: string, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.kind = kind
    this.provider = provider
  }
}

export interface EmailProvider {
  readonly name: string
  /** Throws a HandoverError and nothing else. */
  send(mail: Mail): Promise<Handover>
  close(): Promise<void>
}
