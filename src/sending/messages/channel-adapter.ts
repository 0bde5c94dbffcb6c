/** The interface between the send pipeline and a channel: its gates, prices, provider and message columns. */
import type { Recipients } from '../../customers/usage/decide-reservations.ts'
import type { Spend } from '../../customers/usage/lines.ts'
import type { Channel } from '../../platform/ground/channel.ts'
import type { MaybePromise } from '../../platform/ground/maybe-promise.ts'
import type { Handover } from '../../providers/handover.ts'
import type { Rendered } from '../templates/render-parts.ts'
import type { Draft, Gates, SentBy } from './draft.ts'
import type { MessageRow, NewMessage } from './store/message-row.ts'

/** The columns that every channel fills in the same way: see rows.ts. */
type SharedColumn = OwnerColumn | 'id' | 'created_at' | 'channel' | 'tags' | 'metadata' | 'scheduled_at' | 'marks'
type OwnerColumn = 'org_id' | 'tenant_id' | 'environment' | 'project_id' | 'key_id' | 'job_id'

/** The columns that follow from the outcome of a message. */
export type OutcomeColumn =
  | 'status'
  | 'sent_at'
  | 'due_at'
  | 'error_message'
  | 'provider'
  | 'provider_response'
  | 'history'

/** The columns that the channel fills in. */
export type MessageContent = Omit<NewMessage, SharedColumn | OutcomeColumn>

/**
 * The usage of one send. A batch reserves `units`, `segments` and `costMicros` for all its items together, and
 * `sandbox` and `warmup` for each item.
 */
export type Price = Pick<Spend, 'units' | 'segments' | 'costMicros' | 'sandbox' | 'warmup'>

export interface ChannelAdapter<D extends Draft> {
  name: Channel
  /** The gates before the suppression check. */
  gates: Gates<D>
  recipientsOf(draft: D): Recipients
  /** Removes suppressed recipients. Throws a Failure when too few are left. */
  removeSuppressed(draft: D, suppressed: ReadonlySet<string>): void
  /** Whether `handOver` looks suppressed recipients up itself. A single send then needs no look-up of its own. */
  checksAtHandOver?(draft: D): boolean
  /** The gates after the suppression check. */
  lateGates: Gates<D>
  /**
   * Turns the draft into the final content, for example with tracking links. Its content does not depend on the
   * recipients that are left.
   */
  finish(draft: D): MaybePromise<void>
  priceOf(draft: D): MaybePromise<Price>
  contentOf(draft: D): MessageContent
  /** Whether `contentOf` is enough to send the message later. Attachments, for example, are not stored. */
  canBeSentLater(draft: D): boolean
  /** Fields that the channel adds to the response of a single send. */
  acceptedFields?(draft: D): { segments: number }
  /** When a message that was scheduled for a local time is due, by the present rules of its time zone. */
  dueAt?(row: MessageRow): Date | null
  /**
   * Throws HandoverFaults, or a Failure if the message must not be sent any more. In test mode it simulates the
   * handover and does not call a provider.
   */
  handOver(draft: D): MaybePromise<Handover>
  draftOf(row: MessageRow): D
}

/** What all messages of a send to an audience have in common. */
export type BulkSend = {
  by: SentBy
  /** The time in the id of every message. */
  at: Date
  jobId: string
  from: string
  template: string
  trackOpens: boolean
  trackClicks: boolean
  dltTemplateId: string | null
}

/**
 * The interface between a channel and a send to an audience, which runs the gates of the channel over all recipients
 * instead of one message at a time.
 */
export interface BulkChannel {
  name: Channel
  /** Whether recipients who unsubscribed are skipped. */
  broadcast: boolean
  /** The form in which two addresses are compared. */
  comparable(address: string): string
  /** Rejects a sender that the caller must not use, or that is not for audiences. */
  checkSender(send: BulkSend): Promise<void>
  /** Runs each gate on destinations over all recipients before the next one. */
  checkDestinations(send: BulkSend, addresses: readonly string[]): Promise<void>
  compose(send: BulkSend, address: string, rendered: Rendered): Promise<{ draft: Draft; content: MessageContent }>
  priceOf(draft: Draft): MaybePromise<Price>
}
