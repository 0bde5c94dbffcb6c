/** Keeps webhooks going: events become deliveries, and lanes in which something is due are worked side by side. */
import type { Log } from '../ground/log.ts'
import type { DeliverWebhooks, Running } from '../webhooks/deliver.ts'
import type { FannedOut, FanOut } from '../webhooks/fan-out.ts'
import { makeClaimLoop } from './claim-loop.ts'

export interface WebhookLoop {
  start(): void
  /** Something became due: look now. */
  wake(): void
  /** Fan-out and delivery of all that is due, to the end. */
  pass(): Promise<Record<string, number>>
  /** Takes up nothing more and waits for what is under way. */
  drain(): Promise<void>
}

type Needs = { fanOut: FanOut; deliver: DeliverWebhooks; log: Log; maxLanes?: number }

const fanOutIdleMs = 100
const leaseIdleMs = 200
const renewMs = 15_000
const perLease = 100
/** While others wait for a place, a lane gives its own up after this. */
const turnMs = 2_000

export const makeWebhookLoop = ({ fanOut, deliver, log, maxLanes = 1_000 }: Needs): WebhookLoop => {
  const running = new Map<string, Running>()
  let stopping = false
  let attempts = 0

  const begin = (lane: Running['lane']): void => {
    const began = performance.now()
    const crowded = () => running.size >= maxLanes && performance.now() - began > turnMs
    const lease = deliver.run(lane, () => stopping || crowded())
    running.set(lane.endpoint_id, lease)
    void lease.done.then((made) => {
      attempts += made
      running.delete(lane.endpoint_id)
    })
  }

  /** Leased anew while it was being handed back: handing it back once more tells when it is due. */
  const settle = async ({ lane, done }: Running): Promise<void> => {
    await done
    await deliver.release(lane)
    leasing.wake()
  }

  const leaseMore = async (): Promise<number> => {
    const room = Math.min(perLease, maxLanes - running.size)
    if (room <= 0 || stopping) return 0
    const lanes = await deliver.lease(room)
    for (const lane of lanes) {
      const held = running.get(lane.endpoint_id)
      if (!held) begin(lane)
      else if (!held.poke()) {
        settle(held).catch((error) => log.error({ err: error }, 'a webhook lane could not be handed back'))
      }
    }
    return lanes.length
  }

  // Both are their own claims: there is nothing left to do for each row.
  const leasing = makeClaimLoop<never>({
    name: 'webhook lanes',
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
      const { deliveries } = await fanOut()
      if (deliveries > 0) leasing.wake()
      return []
    },
    work: async () => undefined,
  })

  let renewing: NodeJS.Timeout | undefined
  const renewOften = (): void => {
    renewing ??= setInterval(() => {
      const lanes = [...running.values()].map(({ lane }) => lane)
      if (lanes.length === 0) return
      deliver.renew(lanes).catch((error) => log.error({ err: error }, 'webhook leases could not be renewed'))
    }, renewMs)
    renewing.unref()
  }

  return {
    start: () => {
      renewOften()
      fanning.start()
      leasing.start()
    },

    wake: () => {
      fanning.wake()
      leasing.wake()
    },

    pass: async () => {
      renewOften()
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
      // A lane that waits for nothing but its turn hears of the end here.
      for (const lane of running.values()) lane.poke()
      await Promise.all([...running.values()].map(({ done }) => done))
    },
  }
}
