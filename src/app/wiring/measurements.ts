/** The metrics of sends, queues, limits and database connections. docs/operations.md explains each of them. */
import type { Metrics } from '../../interfaces/http/metrics.ts'
import { countMonthsAhead } from '../../platform/db/months.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { MeasureHandover } from '../../providers/failover.ts'
import { makeReadQueueAges } from '../../reports/health/queue-ages.ts'
import { type AttemptDelivery, succeeded } from '../../webhooks/attempt.ts'

const requestBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const lagBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600]
const waitBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]

export const makeMeasurements = (metrics: Metrics) => {
  const handovers = metrics.histogram('provider_handover_seconds', {
    help: 'Attempts to hand a message to a provider, by outcome',
    labels: ['channel', 'provider', 'outcome'],
    buckets: requestBuckets,
  })
  const attempts = metrics.histogram('webhook_attempt_seconds', {
    help: 'Attempts to deliver a webhook: delivered, rejected by the receiver, or why there was no response',
    labels: ['outcome'],
    buckets: requestBuckets,
  })
  const lags = metrics.histogram('queue_claim_lag_seconds', {
    help: 'Time from when an item of a queue is due to when a worker takes it',
    labels: ['queue'],
    buckets: lagBuckets,
  })
  const waits = metrics.histogram('database_pool_wait_seconds', {
    help: 'Waits for a free database connection; calls that find one are not counted',
    labels: [],
    buckets: waitBuckets,
  })
  const faults = metrics.counter(
    'rate_limiter_faults_total',
    'Calls that passed without a limit because the rate limit store did not respond',
  )
  const handover: MeasureHandover = ({ seconds, ...labels }) => handovers.observe(labels, seconds)
  return {
    handover,
    poolWait: (seconds: number): void => waits.observe({}, seconds),
    limiterFault: (): void => faults.add(),
    claimLag: (queue: 'messages' | 'deliveries', milliseconds: number): void =>
      lags.observe({ queue }, Math.max(0, milliseconds) / 1_000),
    webhookAttempts:
      (send: AttemptDelivery): AttemptDelivery =>
      async (...call) => {
        const attempt = await send(...call)
        const outcome = succeeded(attempt) ? 'delivered' : (attempt.error ?? 'rejected')
        attempts.observe({ outcome }, attempt.duration_ms / 1_000)
        return attempt
      },
  }
}

/** What is read from the database and its pool on each scrape. */
export const measureDatabase = (metrics: Metrics, { db, clock }: { db: Db; clock: Clock }): void => {
  metrics.gauges(
    'queue_oldest_seconds',
    { help: 'How long the oldest item of a queue has waited, by state', labels: ['queue', 'state'], combine: 'max' },
    makeReadQueueAges({ db, clock }),
  )
  metrics.gauges(
    'database_months_ahead',
    { help: 'Coming months for which the tables have partitions', labels: [], combine: 'max' },
    async () => {
      const value = await countMonthsAhead({ db, clock }).catch(() => undefined)
      return value === undefined ? [] : [{ labels: {}, value }]
    },
  )
  metrics.gauges(
    'database_pool_connections',
    { help: 'Database connections of this process by state', labels: ['state'], combine: 'sum' },
    () => Object.entries(db.pool()).map(([state, value]) => ({ labels: { state }, value })),
  )
}
