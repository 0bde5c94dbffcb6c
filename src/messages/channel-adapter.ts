/** What a channel brings to the one pipeline: its rules, its price, its provider and its part of the row. */
import type { Channel } from '../ground/channel.ts'
import type { MaybePromise } from '../ground/maybe-promise.ts'
import type { Handover } from '../providers/email/email-provider.ts'
import type { Spend } from '../usage/reserve.ts'
import type { Draft, Gates } from './draft.ts'
import type { MessageRow, NewMessage } from './store.ts'

/** The columns that only the channel knows. */
export type MessageContent = Pick<
  NewMessage,
  | 'stream'
  | 'from_address'
  | 'from_name'
  | 'to_addresses'
  | 'cc'
  | 'bcc'
  | 'reply_to'
  | 'names'
  | 'subject'
  | 'html'
  | 'text'
  | 'headers'
  | 'attachments'
  | 'track_opens'
  | 'track_clicks'
>

/** What a send spends: in full, and split into what a whole batch is judged by and what each item is. */
export type Price = Pick<Spend, 'units' | 'segments' | 'costMicros' | 'sandbox' | 'warmup'>

export interface ChannelAdapter<D extends Draft> {
  name: Channel
  gates: Gates<D>
  /** Makes what leaves of what was asked for, once every rule has passed. */
  finish(draft: D): void
  priceOf(draft: D): MaybePromise<Price>
  contentOf(draft: D): MessageContent
  /** Throws a HandoverError and nothing else. Test mode is simulated here and reaches no provider. */
  handOver(draft: D): MaybePromise<Handover>
  /** The draft of a waiting row, to be sent now. */
  draftOf(row: MessageRow): D
}
