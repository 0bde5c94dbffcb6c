/**
 * The one send pipeline: rules, reservation, provider, record. Single sends and batch items run it here, and what was
 * scheduled runs it when it is due.
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

/** What the caller of a single send is told. */
export type AcceptedMessage = {
  id: string
  channel: string
  status: 'sent' | 'scheduled'
  created_at: string
  scheduled_at?: string
}

/** Outcomes known at once are told through the same path as those that come later. */
export type TakeReports = (orgId: string, messageId: string, reports: Report[]) => void

export interface SendMessage<D extends Draft> {
  /** The answer is recorded with the message when there is a claim. */
  single(draft: D, actor: Actor, claim: IdempotencyClaim | undefined): Promise<AcceptedMessage>
}

type Needs<D extends Draft> = {
  channel: ChannelAdapter<D>
  usage: Usage
  record: RecordMessage
  clock: Clock
  log: Log
  tellReports: TakeReports
}

export const spendBy = (draft: Draft) => ({
  orgId: draft.by.orgId,
  tenantId: draft.by.tenantId,
  environment: draft.by.environment,
  keyId: draft.by.keyId,
  channel: draft.channel,
})

/** Nothing went out, so nothing was used. What may be on its way stays counted. */
export const givesBack = (fault: HandoverError): boolean => fault.kind !== 'uncertain'

/** Told where the provider took a message that we then could not write down. */
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
  const { channel, usage, record, clock, log, tellReports } = needs

  const answerOf = (draft: D, status: 'sent' | 'scheduled'): AcceptedMessage => ({
    id: draft.id,
    channel: draft.channel,
    status,
    created_at: iso(draft.createdAt),
    ...(status === 'scheduled' && { scheduled_at: (draft.scheduledAt as Date).toISOString() }),
  })

  const recorded = (claim: IdempotencyClaim | undefined, answer: AcceptedMessage) =>
    claim && { answer: { claim, status: 200, body: JSON.stringify(answer) } }

  const enqueue = async (draft: D, actor: Actor, claim: IdempotencyClaim | undefined): Promise<AcceptedMessage> => {
    const { sandbox, units, segments, costMicros } = await channel.priceOf(draft)
    // Asked now so that the caller hears of it, counted when it is sent; only the sandbox counts the day of asking.
    await usage.check({ ...spendBy(draft), units, segments, costMicros, sandbox })
    const held = sandbox ? await usage.reserve({ ...spendBy(draft), units: 0, sandbox }) : undefined
    const answer = answerOf(draft, 'scheduled')
    try {
      await record({
        message: scheduledRow(draft, channel.contentOf(draft), clock.now()),
        entry: sentEntry(draft, actor, draft.id, 1),
        ...recorded(claim, answer),
      })
    } catch (error) {
      if (held) await usage.release(held)
      throw error
    }
    return answer
  }

  const refused = async (draft: D, reservation: Reservation, fault: HandoverError): Promise<never> => {
    if (givesBack(fault)) await usage.release(reservation)
    log.warn({ err: fault, message_id: draft.id, kind: fault.kind }, 'a message was not handed over')
    const row = failedRow(draft, channel.contentOf(draft), fault, clock.now())
    const kept = await record({ message: row }).then(
      () => true,
      (error) => {
        log.error({ err: error, message_id: draft.id }, 'a failed message could not be recorded')
        return false
      },
    )
    throw new Failure('INTERNAL_ERROR', { cause: fault, ...(kept && { extra: { message_id: draft.id } }) })
  }

  return {
    single: async (draft, actor, claim) => {
      await passGates(channel.gates, draft, 'single')
      channel.finish(draft)
      if (draft.scheduledAt) return enqueue(draft, actor, claim)
      const reservation = await andThen(channel.priceOf(draft), (price) =>
        usage.reserve({ ...spendBy(draft), ...price }),
      )
      let handed: Handover
      try {
        handed = await channel.handOver(draft)
      } catch (error) {
        return refused(draft, reservation, asHandoverError(error))
      }
      const at = clock.now()
      const answer = answerOf(draft, 'sent')
      await record({
        message: sentRow(draft, channel.contentOf(draft), handed, at),
        event: { at },
        entry: sentEntry(draft, actor, draft.id, 1),
        ...recorded(claim, answer),
      }).catch((cause) => {
        throw new Failure('INTERNAL_ERROR', { message: notRecorded, done: true, cause })
      })
      if (handed.reports) tellReports(draft.by.orgId, draft.id, handed.reports)
      return answer
    },
  }
}
