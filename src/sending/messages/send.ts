/**
 * The send pipeline: gates, reservation, provider, record. Single sends run it here. Batch items run it in
 * send-batch.ts, and scheduled messages run it in scheduler.ts when they are due.
 */
import type { Reservation, Usage } from '../../customers/usage/reserve.ts'
import type { Actor } from '../../journal/audit/append.ts'
import { retryOnOutage } from '../../platform/db/outage.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { iso } from '../../platform/ground/instant.ts'
import type { Log } from '../../platform/ground/log.ts'
import { assertHeld, type Idempotency, type IdempotencyClaim } from '../../platform/idempotency/claims.ts'
import type { Handover } from '../../providers/handover.ts'
import type { AcceptForLater, SendRequest, Unsent } from './accept-for-later.ts'
import type { AdmitDraft } from './admit-draft.ts'
import type { ChannelAdapter } from './channel-adapter.ts'
import { type Draft, passGates } from './draft.ts'
import { type BeginHandOver, isTransient } from './hand-over.ts'
import { answerOfRecorded, type TakeUpInterrupted } from './interrupted-request.ts'
import type { Recording, RecordMessage } from './record.ts'
import { asHandoverFault, failedRow, sentRow } from './rows.ts'
import {
  type AcceptedMessage,
  type ApplyReports,
  idempotentAnswer,
  notRecorded,
  recipientRefusal,
  releasesUsage,
  sentEntry,
  spendBy,
} from './sent-message.ts'
import type { SuppressRefused } from './suppress-refused.ts'

type Sent = { handover: Handover; reservation: Reservation }

/** What single sends and batches of a channel need alike. */
export type SendNeeds<D extends Draft> = {
  channel: ChannelAdapter<D>
  admit: AdmitDraft<D>
  beginHandOver: BeginHandOver<D>
  usage: Usage
  takeUp: TakeUpInterrupted
  clock: Clock
  log: Log
  applyReports: ApplyReports
  suppressRefused: SuppressRefused
}

type Needs<D extends Draft> = SendNeeds<D> & {
  record: RecordMessage
  later: AcceptForLater<D>
  idempotency: Pick<Idempotency, 'record'>
  onProviderOutage: 'refuse' | 'queue'
}

export const makeSendMessage = <D extends Draft>(needs: Needs<D>) => {
  const { channel, admit, beginHandOver, usage, record, clock, log, applyReports, suppressRefused, later } = needs

  /** Records a message whose usage stays counted, also if it cannot be recorded. */
  const recordUsed = async (draft: D, recording: Recording, reservation: Reservation): Promise<void> => {
    try {
      await record(reservation.draw ? { ...recording, drawn: reservation.lines } : recording)
      usage.recorded(reservation)
    } catch (error) {
      retryOnOutage(() => usage.close(reservation)).catch((err) =>
        log.error({ err, message_id: draft.id }, 'usage reservation not closed'),
      )
      throw error
    }
  }

  const recordFailed = async (draft: D, { claim }: SendRequest, unsent: Unsent): Promise<never> => {
    const { reservation, fault } = unsent
    const isCounted = !releasesUsage(fault)
    if (!isCounted) await usage.release(reservation)
    log.warn({ err: fault, message_id: draft.id, kind: fault.kind }, 'message handover failed')
    const row = failedRow(draft, channel.contentOf(draft), fault, clock.now())
    const stored = await (isCounted ? recordUsed(draft, { message: row }, reservation) : record({ message: row })).then(
      () => true,
      (error) => {
        log.error({ err: error, message_id: draft.id }, 'failed message not recorded')
        return false
      },
    )
    // The stored row is the outcome of this and of every earlier attempt.
    if (stored && claim) claim.interrupted = false
    const refusal = recipientRefusal(fault)
    throw new Failure('INTERNAL_ERROR', {
      cause: fault,
      logged: true,
      ...(refusal && { message: `${refusal} by the provider. The message was not sent.` }),
      ...(stored && { extra: { message_id: draft.id } }),
    })
  }

  const recordSent = async (draft: D, { actor, claim }: SendRequest, sent: Sent): Promise<AcceptedMessage> => {
    const { handover, reservation } = sent
    const at = clock.now()
    const answer: AcceptedMessage = {
      id: draft.id,
      channel: draft.channel,
      status: 'sent',
      ...channel.acceptedFields?.(draft),
      created_at: iso(draft.createdAt),
    }
    const recording = {
      message: sentRow(draft, channel.contentOf(draft), handover, at),
      event: { at },
      entry: sentEntry(draft, actor, draft.id, 1),
      ...idempotentAnswer(claim, answer),
    }
    await recordUsed(draft, recording, reservation).catch((cause) => {
      throw new Failure('INTERNAL_ERROR', { message: notRecorded, done: true, cause })
    })
    if (handover.reports) applyReports(draft.by.orgId, draft.id, handover.reports)
    return answer
  }

  /** The response to a request whose earlier, interrupted attempt stored the message. */
  const answerEarlier = async (draft: D, claim: IdempotencyClaim): Promise<AcceptedMessage | undefined> => {
    const row = (await needs.takeUp(draft.by.orgId, [draft.id])).get(draft.id)
    if (!row) return undefined
    claim.interrupted = false
    const answer = answerOfRecorded(row)
    await needs.idempotency.record(claim, 200, JSON.stringify(answer))
    return answer
  }

  const settleFault = async (draft: D, request: SendRequest, unsent: Unsent): Promise<AcceptedMessage> => {
    const { fault } = unsent
    await suppressRefused(draft, fault)
    const queued = needs.onProviderOutage === 'queue' && isTransient(fault) && channel.canBeSentLater(draft)
    return queued ? later.queue(draft, request, unsent) : recordFailed(draft, request, unsent)
  }

  return {
    /**
     * With an idempotency claim, the response is stored together with the message. The id of the draft is then derived
     * from the claim.
     */
    single: async (draft: D, actor: Actor, claim: IdempotencyClaim | undefined): Promise<AcceptedMessage> => {
      const request = { actor, claim }
      const earlier = claim?.interrupted ? await answerEarlier(draft, claim) : undefined
      if (earlier) return earlier
      await passGates(channel.gates.single, draft, 'single')
      if (draft.scheduledAt) {
        await admit.check(draft, 'single')
        return later.schedule(draft, request)
      }
      const { price, reservation } = await admit.reserve(draft, 'single', {
        spendOf: (spent) => ({ ...spendBy(draft), ...spent }),
        keep: { id: draft.id },
      })
      let handover: Handover
      try {
        assertHeld(claim)
        handover = await beginHandOver()(draft)
      } catch (error) {
        if (error instanceof Failure) {
          await usage.release(reservation)
          throw error
        }
        return settleFault(draft, request, { reservation, price, fault: asHandoverFault(error) })
      }
      return recordSent(draft, request, { handover, reservation })
    },
  }
}

export type SendMessage<D extends Draft> = ReturnType<typeof makeSendMessage<D>>
