/** Decides and records the outcome of an attempt. Disables an endpoint after ten failed deliveries in a row. */
import type { Audit } from '../journal/audit/append.ts'
import { entryAbout } from '../journal/audit/entry-about.ts'
import type { AppendEvents } from '../journal/events/append-events.ts'
import { makeBatcher } from '../platform/db/batch.ts'
import type { Db, Tx } from '../platform/db/pool.ts'
import type { Clock } from '../platform/ground/clock.ts'
import type { Log } from '../platform/ground/log.ts'
import { minuteMs } from '../platform/ground/units.ts'
import { succeeded } from './attempt.ts'
import { cancelRest, cancelSome } from './cancel-deliveries.ts'
import type { Attempt } from './delivery-shapes.ts'
import type { DueDelivery } from './due-deliveries.ts'
import { type EndpointQueue, recordAttempts } from './store/delivery-leases.ts'
import { extendStreak } from './store/endpoint-rows.ts'

/** Sends an email to the owners and developers of an org. Called outside any transaction. */
export type NotifyOwners = (notice: { orgId: string; subject: string; text: string }) => Promise<void>

export type Outcome = {
  queue: EndpointQueue
  delivery: DueDelivery
  attempt: Attempt
  /** `pending` is retried; `failed` has no attempts left. */
  status: 'pending' | 'delivered' | 'failed'
  nextAttemptAt: Date | null
  deliveredAt: Date | null
}

const longestDelay = 6 * 60 * minuteMs
const disableAfterFailures = 10

/** The delay after the nth attempt: doubling from two minutes up to six hours, plus up to 10 percent of jitter. */
export const retryDelayAfter = (nth: number, random: () => number): number =>
  Math.round(Math.min(2 ** nth * minuteMs, longestDelay) * (1 + random() * 0.1))

export const makeDecideOutcome =
  ({ clock, random }: { clock: Clock; random: () => number }) =>
  (queue: EndpointQueue, delivery: DueDelivery, attempt: Attempt): Outcome => {
    const at = clock.now()
    const base = { queue, delivery, attempt, nextAttemptAt: null, deliveredAt: null }
    if (succeeded(attempt)) return { ...base, status: 'delivered', deliveredAt: at }
    if (attempt.attempt >= delivery.max_attempts) return { ...base, status: 'failed' }
    const nextAttemptAt = new Date(at.getTime() + retryDelayAfter(attempt.attempt, random))
    return { ...base, status: 'pending', nextAttemptAt }
  }

const paramsOf = (worker: string, outcomes: Outcome[]) => ({
  worker,
  orgIds: outcomes.map(({ queue }) => queue.org_id),
  ids: outcomes.map(({ delivery }) => delivery.id),
  createdAt: outcomes.map(({ delivery }) => delivery.created_at),
  endpointIds: outcomes.map(({ queue }) => queue.endpoint_id),
  counts: outcomes.map(({ attempt }) => attempt.attempt),
  statuses: outcomes.map(({ status }) => status),
  nextAttemptAt: outcomes.map(({ nextAttemptAt }) => nextAttemptAt),
  deliveredAt: outcomes.map(({ deliveredAt }) => deliveredAt),
  attempts: outcomes.map(({ attempt }) => JSON.stringify(attempt)),
})

export type RecordNeeds = {
  /** The name under which this worker holds its leases. */
  worker: string
  db: Db
  clock: Clock
  audit: Audit
  appendEvents: AppendEvents
  notify: NotifyOwners
  log: Log
  onDisabled: (endpointId: string) => void
}

export const makeRecordOutcome = (needs: RecordNeeds): ((outcome: Outcome) => Promise<void>) => {
  const { worker, db, clock, audit, appendEvents, notify, log, onDisabled } = needs

  const records = makeBatcher<Outcome, void>({
    name: 'webhooks.record_attempts',
    run: async (outcomes) => {
      await db.rows(recordAttempts, paramsOf(worker, outcomes))
      return outcomes.map(() => undefined)
    },
  })

  const notifyDisabled = async (orgId: string, url: string): Promise<void> => {
    const { host } = new URL(url)
    await notify({
      orgId,
      subject: 'A webhook endpoint was disabled',
      text:
        `The webhook endpoint at ${host} was disabled because ${disableAfterFailures} deliveries in a row failed.\n` +
        'Its pending deliveries were canceled, and new events are not stored for it.\n' +
        'When it responds again, enable it and replay the failed deliveries.\n',
    })
  }

  /** Counts a failed delivery. Returns the URL of the endpoint when that disabled it. */
  const countFailure = async (tx: Tx, { org_id: orgId, endpoint_id: id }: EndpointQueue) => {
    const at = clock.now()
    const row = await tx.row(extendStreak, { orgId, id, disableAt: disableAfterFailures, at })
    if (!row || row.enabled) return undefined
    const { url, tenant_id: tenantId, consecutive_failures } = row
    await cancelSome(tx, orgId, id)
    const metadata = { enabled: false, reason: 'auto_disabled', consecutive_failures }
    await audit(tx, { ...entryAbout(orgId, { kind: 'system' }, 'webhook', id), action: 'webhook.updated', metadata })
    const disabled_at = at.toISOString()
    await appendEvents(tx, {
      orgId,
      tenantId,
      environment: null,
      event: 'webhook.disabled',
      data: { id, status: 'disabled', url, reason: 'auto', consecutive_failures, disabled_at },
    })
    return url
  }

  /** The delivery, the streak and the disabling of the endpoint commit together. */
  const recordFailed = async (outcome: Outcome): Promise<void> => {
    const { org_id: orgId, endpoint_id: id } = outcome.queue
    const disabledUrl = await db.tx(async (tx) => {
      const [recorded] = await tx.rows(recordAttempts, paramsOf(worker, [outcome]))
      return recorded && countFailure(tx, outcome.queue)
    })
    if (disabledUrl === undefined) return
    onDisabled(id)
    await cancelRest(db, orgId, id)
    // The endpoint stays disabled even when the email cannot be sent.
    await notifyDisabled(orgId, disabledUrl).catch((error) =>
      log.error({ err: error, org_id: orgId, endpoint_id: id }, 'webhook disabled notice failed'),
    )
  }

  return (outcome) => (outcome.status === 'failed' ? recordFailed(outcome) : records.submit(outcome))
}
