/** Records what became of claimed messages. Messages that are settled at the same time share a statement. */
import type { AnnounceEvents } from '../../journal/events/announce-events.ts'
import { makeBatcher } from '../../platform/db/batch.ts'
import { retryOnOutage } from '../../platform/db/outage.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Log } from '../../platform/ground/log.ts'
import { entryOf, type MessageEventName, messageEvent } from './rows.ts'
import { type ClaimedRow, type Settled, settleClaimed } from './store/claim-messages.ts'
import type { EventRow } from './store/message-row.ts'

/** The earliest time from `at` on at which the message may be sent. Jobs do not send text messages at night. */
export type HeldUntil = (row: ClaimedRow, at: Date) => Date

/** Called with the jobs of messages that were just sent, each job once. */
export type OnSent = (jobs: { orgId: string; id: string }[]) => Promise<void>

type Outcome = Pick<Settled, 'status'> & Partial<Settled> & { event?: MessageEventName; more?: Record<string, string> }

/** Each resolves with whether the claim was still current. */
export interface SettleClaimed {
  settle(row: ClaimedRow, outcome: Outcome): Promise<boolean>
  /** Puts the message off. */
  defer(row: ClaimedRow, until: Date, attempts?: number): Promise<boolean>
  fail(row: ClaimedRow, message: string, more?: Partial<Settled>): Promise<boolean>
  cancel(row: ClaimedRow, reason: string): Promise<boolean>
}

const jobsOf = (rows: readonly ClaimedRow[]): { orgId: string; id: string }[] => {
  const jobs = new Map<string, { orgId: string; id: string }>()
  for (const { org_id: orgId, job_id: id } of rows) if (id !== null) jobs.set(id, { orgId, id })
  return [...jobs.values()]
}

type Needs = { db: Db; clock: Clock; log: Log; announce: AnnounceEvents; heldUntil: HeldUntil; onSent: OnSent }

export const makeSettleClaimed = ({ db, clock, log, announce, heldUntil, onSent }: Needs): SettleClaimed => {
  type Settlement = { row: ClaimedRow; settled: Settled; event?: EventRow & { message_id: string } }
  const settlements = makeBatcher<Settlement, boolean>({
    name: 'messages.settle',
    run: async (batch) => {
      const updated = await db.rows(settleClaimed, {
        settled: JSON.stringify(batch.map(({ settled }) => settled)),
        events: JSON.stringify(batch.flatMap(({ event }) => event ?? [])),
      })
      announce(batch.filter(({ event }) => event).length)
      const ids = new Set(updated.map(({ id }) => id))
      const jobs = jobsOf(batch.filter(({ settled }) => settled.sent_at && ids.has(settled.id)).map(({ row }) => row))
      if (jobs.length > 0) await onSent(jobs)
      return batch.map(({ settled }) => ids.has(settled.id))
    },
  })

  const settle: SettleClaimed['settle'] = async (row, { event, more, ...columns }) => {
    const at = clock.now()
    const subject = {
      orgId: row.org_id,
      tenantId: row.tenant_id,
      environment: row.environment,
      channel: row.channel,
      id: row.id,
    }
    const settled: Settled = {
      org_id: row.org_id,
      id: row.id,
      created_at: row.created_at,
      claim: row.claim as string,
      due_at: null,
      sent_at: null,
      canceled_at: null,
      error_message: null,
      provider: null,
      provider_response: null,
      history: [],
      attempts: row.attempts,
      ...columns,
    }
    const item = {
      row,
      settled,
      ...(event && { event: { ...messageEvent(event, subject, at, more), message_id: row.id } }),
    }
    const updated = await retryOnOutage(() => settlements.submit(item))
    if (!updated) log.warn({ message_id: row.id }, 'message claim lost')
    return updated
  }

  return {
    settle,
    defer: (row, until, attempts = row.attempts) =>
      settle(row, { status: 'scheduled', due_at: heldUntil(row, until), attempts }),
    fail: (row, message, more) =>
      settle(row, {
        status: 'failed',
        error_message: message,
        history: [entryOf('failed', clock.now(), message)],
        event: 'message.failed',
        more: { error: message },
        ...more,
      }),
    cancel: (row, reason) => {
      const at = clock.now()
      return settle(row, {
        status: 'canceled',
        canceled_at: at,
        error_message: reason,
        history: [entryOf('canceled', at, reason)],
      })
    },
  }
}
