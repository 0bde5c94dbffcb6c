/** Turns events into deliveries and sends from the endpoint queues that are due. */
import type { Log } from '../../platform/ground/log.ts'
import type { DeliverWebhooks } from '../../webhooks/deliver.ts'
import type { RunningQueue } from '../../webhooks/endpoint-queue.ts'
import type { FannedOut, FanOut } from '../../webhooks/fan-out.ts'
import { makePassLoop } from './claim-loop.ts'

type Needs = { fanOut: FanOut; deliver: DeliverWebhooks; log: Log; maxQueues?: number }

const fanOutIdleMs = 100
/** A fan-out that found this number of events is repeated at the next poll, because the cost of each is fixed. */
const manyEvents = 50
const leaseIdleMs = 200
const renewMs = 15_000
const perLease = 100
/** A queue is released after this time when `maxQueues` are running, so that others get their turn. */
const turnMs = 2_000

type QueueNeeds = Pick<Needs, 'deliver' | 'log'> & {
  maxQueues: number
  /** How often fan-out has made deliveries. */
  fanOuts: () => number
  /** A queue was released that fan-out may have made due again meanwhile. A lease skips it until then. */
  leaseAgain: () => void
}

/** The queues that are leased to this process and send. */
const makeLeasedQueues = ({ deliver, log, maxQueues, fanOuts, leaseAgain }: QueueNeeds) => {
  const running = new Map<string, RunningQueue>()
  const leases = new Set<Promise<number>>()
  const leaseUnderWay = () => (leases.size > 0 ? Promise.allSettled(leases) : undefined)
  const endings = () => [...running.values()].map(({ done }) => done)
  let stopping = false
  let attempts = 0

  const begin = (queue: RunningQueue['queue']): void => {
    const startedAt = performance.now()
    const fanOutsBefore = fanOuts()
    const turnIsOver = () => running.size >= maxQueues && performance.now() - startedAt > turnMs
    const started = deliver.run(queue, { shouldStop: () => stopping || turnIsOver(), leaseUnderWay })
    running.set(queue.endpoint_id, started)
    void started.done.then((made) => {
      attempts += made
      running.delete(queue.endpoint_id)
      if (fanOuts() !== fanOutsBefore) leaseAgain()
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

  let renewing: NodeJS.Timeout | undefined
  const renew = (): void => {
    const queues = [...running.values()].map(({ queue }) => queue)
    if (queues.length === 0) return
    deliver.renew(queues).catch((error) => log.error({ err: error }, 'webhook lease renewal failed'))
  }

  return {
    attempts: () => attempts,
    /** Leases queues that are due, and returns how many. */
    lease: (): Promise<number> => {
      const lease = leaseOnce()
      leases.add(lease)
      return lease.finally(() => leases.delete(lease))
    },
    /** Resolves when one of them ends. Undefined when none is running. */
    nextEnd: () => (running.size > 0 ? Promise.race(endings()) : undefined),
    keepRenewing: (): void => {
      renewing ??= setInterval(renew, renewMs).unref()
    },
    /** Lets no queue begin another delivery. */
    stop: (): void => {
      stopping = true
      clearInterval(renewing)
    },
    ended: async (): Promise<void> => {
      // Queues that are only waiting check `stopping` when they are woken.
      for (const queue of running.values()) queue.wake()
      await Promise.all(endings())
    },
  }
}

export const makeWebhookLoop = ({ fanOut, deliver, log, maxQueues = 1_000 }: Needs) => {
  let stopping = false
  let isBusy = false
  let fanOuts = 0
  const leaseAgain = () => leasing.wake()
  const queues = makeLeasedQueues({ deliver, log, maxQueues, fanOuts: () => fanOuts, leaseAgain })

  const leasing = makePassLoop({
    name: 'webhook delivery',
    idleMs: leaseIdleMs,
    log,
    pass: async () => {
      while ((await queues.lease()) === perLease);
    },
  })
  const fanning = makePassLoop({
    name: 'webhook fan-out',
    idleMs: fanOutIdleMs,
    log,
    pass: async () => {
      const { events, deliveries } = await fanOut()
      isBusy = events >= manyEvents
      if (deliveries === 0) return
      fanOuts++
      leasing.wake()
    },
  })

  return {
    start: (): void => {
      queues.keepRenewing()
      fanning.start()
      leasing.start()
    },
    /** Checks for due work now, because something became due. */
    wake: (): void => {
      fanning.wake()
      leasing.wake()
    },
    /** Turns new events into deliveries now. */
    wakeFanOut: (): void => {
      if (!isBusy) fanning.wake()
    },
    /** Runs fan-out and delivery until nothing is due. */
    pass: async (): Promise<Record<string, number>> => {
      queues.keepRenewing()
      const total: FannedOut = { events: 0, deliveries: 0 }
      const before = queues.attempts()
      while (!stopping) {
        const { events, deliveries } = await fanOut()
        total.events += events
        total.deliveries += deliveries
        const leased = await queues.lease()
        const end = queues.nextEnd()
        if (end) await end
        else if (events === 0 && leased === 0) break
      }
      return { ...total, attempts: queues.attempts() - before }
    },
    /** Starts nothing new and waits for the work in progress. */
    drain: async (): Promise<void> => {
      stopping = true
      queues.stop()
      await Promise.all([fanning.drain(), leasing.drain()])
      await queues.ended()
    },
  }
}

export type WebhookLoop = ReturnType<typeof makeWebhookLoop>
