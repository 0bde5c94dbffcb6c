/** Turns events into deliveries and sends from the endpoint queues that are due. */
import type { Log } from '../ground/log.ts'
import type { DeliverWebhooks } from '../webhooks/deliver.ts'
import type { RunningQueue } from '../webhooks/endpoint-queue.ts'
import type { FannedOut, FanOut } from '../webhooks/fan-out.ts'
import { makeClaimLoop } from './claim-loop.ts'

export interface WebhookLoop {
  start(): void
  /** Checks for due work now, because something became due. */
  wake(): void
  /** Turns new events into deliveries now. */
  wakeFanOut(): void
  /** Runs fan-out and delivery until nothing is due. */
  pass(): Promise<Record<string, number>>
  /** Starts nothing new and waits for the work in progress. */
  drain(): Promise<void>
}

type Needs = { fanOut: FanOut; deliver: DeliverWebhooks; log: Log; maxQueues?: number }

const fanOutIdleMs = 100
/** A fan-out that found this number of events is repeated at the next poll, because the cost of each is fixed. */
const manyEvents = 50
const leaseIdleMs = 200
const renewMs = 15_000
const perLease = 100
/** A queue is released after this time when `maxQueues` are running, so that others get their turn. */
const turnMs = 2_000

export const makeWebhookLoop = ({ fanOut, deliver, log, maxQueues = 1_000 }: Needs): WebhookLoop => {
  const running = new Map<string, RunningQueue>()
  const leases = new Set<Promise<number>>()
  const leaseUnderWay = () => (leases.size > 0 ? Promise.allSettled(leases) : undefined)
  let stopping = false
  let attempts = 0
  let isBusy = false
  /** How often fan-out has made deliveries. */
  let fanOuts = 0

  const begin = (queue: RunningQueue['queue']): void => {
    const startedAt = performance.now()
    const fanOutsBefore = fanOuts
    const turnIsOver = () => running.size >= maxQueues && performance.now() - startedAt > turnMs
    const started = deliver.run(queue, { shouldStop: () => stopping || turnIsOver(), leaseUnderWay })
    running.set(queue.endpoint_id, started)
    void started.done.then((made) => {
      attempts += made
      running.delete(queue.endpoint_id)
      // A lease skips a queue that is being released, even if fan-out has made it due again.
      if (fanOuts !== fanOutsBefore) leasing.wake()
    })
  }

  const leaseOnce = async (): Promise<number> => {
    const limit = Math.min(perLease, maxQueues - running.size)
    if (limit <= 0 || stopping) return 0
    const queues = await deliver.lease(limit)
    for (const queue of queues) {
      const held = running.get(queue.endpoint_id)
      if (held) held.wake()
      else begin(queue)
    }
    return queues.length
  }

  const leaseMore = (): Promise<number> => {
    const lease = leaseOnce()
    leases.add(lease)
    return lease.finally(() => leases.delete(lease))
  }

  // Both loops do all their work in `claim`, so they return no rows to work on.
  const leasing = makeClaimLoop<never>({
    name: 'webhook delivery',
    idleMs: leaseIdleMs,
    log,
    claim: async () => {
      while ((await leaseMore()) === perLease);
      return []
    },
    work: async () => undefined,
  })
  const fanning = makeClaimLoop<never>({
    name: 'webhook fan-out',
    idleMs: fanOutIdleMs,
    log,
    claim: async () => {
      const { events, deliveries } = await fanOut()
      isBusy = events >= manyEvents
      if (deliveries === 0) return []
      fanOuts++
      leasing.wake()
      return []
    },
    work: async () => undefined,
  })

  let renewing: NodeJS.Timeout | undefined
  const startRenewing = (): void => {
    renewing ??= setInterval(() => {
      const queues = [...running.values()].map(({ queue }) => queue)
      if (queues.length === 0) return
      deliver.renew(queues).catch((error) => log.error({ err: error }, 'webhook lease renewal failed'))
    }, renewMs)
    renewing.unref()
  }

  return {
    start: () => {
      startRenewing()
      fanning.start()
      leasing.start()
    },

    wake: () => {
      fanning.wake()
      leasing.wake()
    },

    wakeFanOut: () => {
      if (!isBusy) fanning.wake()
    },

    pass: async () => {
      startRenewing()
      const total: FannedOut = { events: 0, deliveries: 0 }
      const before = attempts
      while (!stopping) {
        const { events, deliveries } = await fanOut()
        total.events += events
        total.deliveries += deliveries
        const leased = await leaseMore()
        if (running.size > 0) await Promise.race([...running.values()].map(({ done }) => done))
        else if (events === 0 && leased === 0) break
      }
      return { events: total.events, deliveries: total.deliveries, attempts: attempts - before }
    },

    drain: async () => {
      stopping = true
      clearInterval(renewing)
      await Promise.all([fanning.drain(), leasing.drain()])
      // Queues that are only waiting check `stopping` when they are woken.
      for (const queue of running.values()) queue.wake()
      await Promise.all([...running.values()].map(({ done }) => done))
    },
  }
}
