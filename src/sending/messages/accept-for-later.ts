/** Stores messages that the scheduler sends: at the requested time, or at once when no provider can take them now. */
import type { Reservation, Usage } from '../../customers/usage/reserve.ts'
import type { Actor } from '../../journal/audit/append.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { iso } from '../../platform/ground/instant.ts'
import type { Log } from '../../platform/ground/log.ts'
import type { IdempotencyClaim } from '../../platform/idempotency/claims.ts'
import type { HandoverFault } from '../../providers/handover.ts'
import type { ChannelAdapter, Price } from './channel-adapter.ts'
import type { Draft } from './draft.ts'
import type { RecordMessage } from './record.ts'
import { scheduledRow } from './rows.ts'
import { type AcceptedMessage, idempotentAnswer, sentEntry, spendBy } from './sent-message.ts'

export type SendRequest = { actor: Actor; claim: IdempotencyClaim | undefined }

export type Unsent = { reservation: Reservation; price: Price; fault: HandoverFault }

type Needs<D extends Draft> = {
  channel: ChannelAdapter<D>
  usage: Usage
  record: RecordMessage
  clock: Clock
  log: Log
}

export const makeAcceptForLater = <D extends Draft>({ channel, usage, record, clock, log }: Needs<D>) => {
  const store = async (draft: D, scheduledAt: Date, { actor, claim }: SendRequest): Promise<AcceptedMessage> => {
    draft.scheduledAt = scheduledAt
    const answer: AcceptedMessage = {
      id: draft.id,
      channel: draft.channel,
      status: 'scheduled',
      ...channel.acceptedFields?.(draft),
      created_at: iso(draft.createdAt),
      scheduled_at: iso(scheduledAt),
    }
    await record({
      message: scheduledRow(draft, channel.contentOf(draft), clock.now()),
      entry: sentEntry(draft, actor, draft.id, 1),
      ...idempotentAnswer(claim, answer),
    })
    return answer
  }

  return {
    /** Accepts the message for its `scheduledAt`. */
    schedule: async (draft: D, request: SendRequest): Promise<AcceptedMessage> => {
      const { sandbox, units, segments, costMicros } = await channel.priceOf(draft)
      // Limits are checked now so that the caller gets the error, but usage is counted when the message is sent. Only
      // the sandbox limit counts on the day of the request.
      await usage.check({ ...spendBy(draft), units, segments, costMicros, sandbox })
      const reservation = sandbox
        ? await usage.reserve({ ...spendBy(draft), units: 0, sandbox }, { id: draft.id })
        : undefined
      try {
        return await store(draft, draft.scheduledAt as Date, request)
      } catch (error) {
        if (reservation) await usage.release(reservation)
        throw error
      }
    },

    /** Accepts the message as due now. The scheduler delivers it when a provider works again. */
    queue: async (draft: D, request: SendRequest, unsent: Unsent): Promise<AcceptedMessage> => {
      const { reservation, price, fault } = unsent
      // As for every scheduled message, only the sandbox limit stays counted until the message is sent.
      const { sandbox, ...later } = price
      const kept = sandbox ? { ...spendBy(draft), units: 0, sandbox } : undefined
      await usage.releasePart(reservation, draft.id, { ...spendBy(draft), ...later }, kept)
      try {
        const answer = await store(draft, clock.now(), request)
        log.warn({ err: fault, message_id: draft.id, kind: fault.kind }, 'message queued, no provider can take it')
        return answer
      } catch (error) {
        if (kept) await usage.releasePart(reservation, draft.id, kept)
        throw error
      }
    },
  }
}

export type AcceptForLater<D extends Draft> = ReturnType<typeof makeAcceptForLater<D>>
