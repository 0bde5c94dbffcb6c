/**
 * The send pipeline: gates, reservation, provider, record. Single sends run it here. Batch items run it in
 * send-batch.ts, and scheduled messages run it in scheduler.ts when they are due.
 */
import type { Actor, AuditEntry } from '../audit/append.ts'
import type { Clock } from '../ground/clock.ts'
import { Failure } from '../ground/errors.ts'
import { iso } from '../ground/instant.ts'
import type { Log } from '../ground/log.ts'
import { andThen } from '../ground/maybe-promise.ts'
import type { IdempotencyClaim } from '../idempotency/claims.ts'
import type { Handover, HandoverError, Report } from '../providers/email/email-provider.ts'
import type { Reservation, Usage } from '../usage/reserve.ts'
import type { ChannelAdapter } from './channel-adapter.ts'
import { type Draft, passGates } from './draft.ts'
import type { RecordMessage } from './record.ts'
import { asHandoverError, failedRow, scheduledRow, sentRow } from './rows.ts'

/** The response to a single send. */
export type AcceptedMessage = {
  id: string
  channel: string
  status: 'sent' | 'scheduled'
  segments?: number
  created_at: string
  scheduled_at?: string
}

/** Applies reports that came with the handover. They are handled like reports that a provider sends later. */
export type ApplyReports = (orgId: string, messageId: string, reports: Report[]) => void

export interface SendMessage<D extends Draft> {
  /** With an idempotency claim, the response is stored together with the message. */
  single(draft: D, actor: Actor, claim: IdempotencyClaim | undefined): Promise<AcceptedMessage>
}

type Needs<D extends Draft> = {
  channel: ChannelAdapter<D>
  usage: Usage
  record: RecordMessage
  clock: Clock
  log: Log
  applyReports: ApplyReports
}

export const spendBy = (draft: Draft) => ({
  orgId: draft.by.orgId,
  tenantId: draft.by.tenantId,
  environment: draft.by.environment,
  keyId: draft.by.keyId,
  channel: draft.channel,
})

/** Usage is released when the message was certainly not sent. When that is uncertain, it stays counted. */
export const releasesUsage = (fault: HandoverError): boolean => fault.kind !== 'uncertain'

/** Returned when the provider accepted a message that could not be stored afterwards. */
export const notRecorded = 'Accepted by the provider but not stored. Do not send it again.'

export const sentEntry = (draft: Draft, actor: Actor, resourceId: string | null, count: number): AuditEntry => ({
  orgId: draft.by.orgId,
  actor,
  action: 'message.sent',
  resourceType: 'message',
  resourceId,
  metadata: { channel: draft.channel, count, environment: draft.by.environment },
})

export const makeSendMessage = <D extends Draft>(needs: Needs<D>): SendMessage<D> => {
  const { channel, usage, record, clock, log, applyReports } = needs

  const answerOf = (draft: D, status: 'sent' | 'scheduled'): AcceptedMessage => ({
    id: draft.id,
    channel: draft.channel,
    status,
    ...channel.acceptedFields?.(draft),
    created_at: iso(draft.createdAt),
    ...(status === 'scheduled' && { scheduled_at: (draft.scheduledAt as Date).toISOString() }),
  })

  const idempotentAnswer = (claim: IdempotencyClaim | undefined, answer: AcceptedMessage) =>
    claim && { answer: { claim, status: 200, body: JSON.stringify(answer) } }

  const schedule = async (draft: D, actor: Actor, claim: IdempotencyClaim | undefined): Promise<AcceptedMessage> => {
    const { sandbox, units, segments, costMicros } = await channel.priceOf(draft)
    // Limits are checked now so that the caller gets the error, but usage is counted when the message is sent. Only
    // the sandbox limit counts on the day of the request.
    await usage.check({ ...spendBy(draft), units, segments, costMicros, sandbox })
    const reservation = sandbox ? await usage.reserve({ ...spendBy(draft), units: 0, sandbox }) : undefined
    const answer = answerOf(draft, 'scheduled')
    try {
      await record({
        message: scheduledRow(draft, channel.contentOf(draft), clock.now()),
        entry: sentEntry(draft, actor, draft.id, 1),
        ...idempotentAnswer(claim, answer),
      })
    } catch (error) {
      if (reservation) await usage.release(reservation)
      throw error
    }
    return answer
  }

  const recordFailed = async (draft: D, reservation: Reservation, fault: HandoverError): Promise<never> => {
    if (releasesUsage(fault)) await usage.release(reservation)
    log.warn({ err: fault, message_id: draft.id, kind: fault.kind }, 'message handover failed')
    const row = failedRow(draft, channel.contentOf(draft), fault, clock.now())
    const stored = await record({ message: row }).then(
      () => true,
      (error) => {
        log.error({ err: error, message_id: draft.id }, 'failed message not recorded')
        return false
      },
    )
    throw new Failure('INTERNAL_ERROR', { cause: fault, ...(stored && { extra: { message_id: draft.id } }) })
  }

  return {
    single: async (draft, actor, claim) => {
      await passGates(channel.gates, draft, 'single')
      channel.finish(draft)
      if (draft.scheduledAt) return schedule(draft, actor, claim)
      const reservation = await andThen(channel.priceOf(draft), (price) =>
        usage.reserve({ ...spendBy(draft), ...price }),
      )
      let handover: Handover
      try {
        handover = await channel.handOver(draft)
      } catch (error) {
        return recordFailed(draft, reservation, asHandoverError(error))
      }
      const at = clock.now()
      const answer = answerOf(draft, 'sent')
      await record({
        message: sentRow(draft, channel.contentOf(draft), handover, at),
        event: { at },
        entry: sentEntry(draft, actor, draft.id, 1),
        ...idempotentAnswer(claim, answer),
      }).catch((cause) => {
        throw new Failure('INTERNAL_ERROR', { message: notRecorded, done: true, cause })
      })
      if (handover.reports) applyReports(draft.by.orgId, draft.id, handover.reports)
      return answer
    },
  }
}
