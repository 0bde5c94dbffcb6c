/**
 * The interface between a channel and a send to an audience, which runs the gates of the channel over all recipients
 * instead of one message at a time.
 */
import type { Channel } from '../../platform/ground/channel.ts'
import type { MaybePromise } from '../../platform/ground/maybe-promise.ts'
import type { Rendered } from '../templates/render-parts.ts'
import type { MessageContent, Price } from './channel-adapter.ts'
import type { Draft, SentBy } from './draft.ts'

/** What all messages of the send have in common. */
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
  /** The finished message of one recipient. */
  compose(send: BulkSend, address: string, rendered: Rendered): Promise<{ draft: Draft; content: MessageContent }>
  /** What a composed message will cost when it is sent. */
  priceOf(draft: Draft): MaybePromise<Price>
}
