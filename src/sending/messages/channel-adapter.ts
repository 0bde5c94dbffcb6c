/** The interface between the send pipeline and a channel: its gates, prices, provider and message columns. */

import type { Recipients } from '../../customers/usage/decide-reservations.ts'
import type { Spend } from '../../customers/usage/lines.ts'
import type { Channel } from '../../platform/ground/channel.ts'
import type { MaybePromise } from '../../platform/ground/maybe-promise.ts'
import type { Handover } from '../../providers/handover.ts'
import type { Draft, Gates } from './draft.ts'
import type { MessageRow, NewMessage } from './store/message-row.ts'

/** The columns that every channel fills in the same way: see rows.ts. */
type SharedColumn =
  | 'org_id'
  | 'id'
  | 'created_at'
  | 'tenant_id'
  | 'environment'
  | 'project_id'
  | 'key_id'
  | 'channel'
  | 'tags'
  | 'metadata'
  | 'scheduled_at'
  | 'job_id'
  | 'marks'

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
  /** Rebuilds the draft of a scheduled message that is due. */
  draftOf(row: MessageRow): D
}
