/** What providers of every channel return and throw. */

/** What a provider reports about recipients after it accepted the message. */
export type Report = {
  /** `failed` is for text messages: the message did not arrive, but the recipient is not at fault. */
  kind: 'delivered' | 'hard_bounce' | 'soft_bounce' | 'complaint' | 'failed'
  recipients: string[]
  at: Date
  /** The response of the remote server. */
  detail: string | null
  bounceType: string | null
  bounceSubtype: string | null
  /** The status token of a text message, as the provider wrote it. */
  token?: string
}

/** Sends the messages of one channel. */
export interface HandoverProvider<M> {
  readonly name: string
  /** Whether the provider can send this kind of message. Absent: it can send all. */
  accepts?(message: M): boolean
  /** Throws only HandoverFault. */
  send(message: M): Promise<Handover>
  close(): Promise<void>
}

/** For reports that are no bounce. */
export const noBounce = { bounceType: null, bounceSubtype: null }

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
export type HandoverFaultKind = 'refused' | 'throttled' | 'unavailable' | 'uncertain'

export class HandoverFault extends Error {
  readonly kind: HandoverFaultKind
  readonly provider: string
  /** Recipients that the provider refused for good, because their address does not exist. */
  readonly refusedRecipients: readonly string[]

  /** The message is shown to the sender, so it must not contain secrets. */
  constructor(
    kind: HandoverFaultKind,
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
