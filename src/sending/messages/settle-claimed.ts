/** Records what became of claimed messages. Messages that are settled at the same time share a statement. */
import type { AnnounceEvents } from '../../journal/events/announce-events.ts'
import { makeBatcher } from '../../platform/db/batch.ts'
import { retryOnOutage } from '../../platform/db/outage.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Log } from '../../platform/ground/log.ts'
import { entryOf, messageEvent } from './rows.ts'
import { type ClaimedRow, type Settled, settleClaimed } from './store/claim-messages.ts'
import type { EventRow, Status } from './store/message-row.ts'

/** The earliest time from `at` on at which the message may be sent. Jobs do not send text messages at night. */
export type HeldUntil = (row: ClaimedRow, at: Date) => Date

/** Called with the jobs of messages that were just sent, each job once. */
export type OnSent = (jobs: { orgId: string; id: string }[]) => Promise<void>

/** `eventMore` is added to the event of the new status, which only `sent` and `failed` have. */
type Outcome = Pick<Settled, 'status'> & Partial<Settled> & { eventMore?: Record<string, string> }

const hasEvent = (status: Status): boolean => status === 'sent' || status === 'failed'

const jobsOf = (rows: readonly ClaimedRow[]): { orgId: string; id: string }[] => {
  const jobs = new Map<string, { orgId: string; id: string }>()
  for (const { org_id: orgId, job_id: id } of rows) if (id !== null) jobs.set(id, { orgId, id })
  return [...jobs.values()]
}

type Needs = { db: Db; clock: Clock; log: Log; announce: AnnounceEvents; heldUntil: HeldUntil; onSent: OnSent }

export const makeSettleClaimed = ({ db, clock, log, announce, heldUntil, onSent }: Needs) => {
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

  /** Resolves with whether the claim was still current, as the functions below do. */
  const settle = async (row: ClaimedRow, { eventMore, ...columns }: Outcome): Promise<boolean> => {
    const event = hasEvent(columns.status) && messageEvent(row, columns.status, clock.now(), eventMore)
    const { org_id, id, created_at, attempts } = row
    const settled = { org_id, id, created_at, attempts, claim: row.claim as string, history: [], ...columns }
    const item = { row, settled, ...(event && { event: { ...event, message_id: id } }) }
    const updated = await retryOnOutage(() => settlements.submit(item))
    if (!updated) log.warn({ message_id: id }, 'message claim lost')
    return updated
  }

  return {
    settle,
    defer: (row: ClaimedRow, until: Date, attempts = row.attempts) =>
      settle(row, { status: 'scheduled', due_at: heldUntil(row, until), attempts }),
    fail: (row: ClaimedRow, message: string, more?: Partial<Settled>) =>
      settle(row, {
        status: 'failed',
        error_message: message,
        history: [entryOf('failed', clock.now(), message)],
        eventMore: { error: message },
        ...more,
      }),
    cancel: (row: ClaimedRow, reason: string) => {
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

export type SettleClaimed = ReturnType<typeof makeSettleClaimed>
