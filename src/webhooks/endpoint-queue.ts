/** Sends the due deliveries of one leased endpoint queue until nothing is due. */
import type { Db } from '../platform/db/pool.ts'
import type { Vault } from '../platform/ground/crypto.ts'
import type { Log } from '../platform/ground/log.ts'
import type { AttemptDelivery, DeliveryTarget } from './attempt.ts'
import { cancelRest } from './cancel-deliveries.ts'
import type { Attempt } from './delivery-shapes.ts'
import type { DueDelivery, ReadDue } from './due-deliveries.ts'
import type { EndpointHealth } from './endpoint-health.ts'
import type { Outcome } from './record-outcome.ts'
import type { EndpointQueue } from './store/delivery-leases.ts'
import { openSecrets } from './webhook-secret.ts'

/** Attempts at one endpoint at the same time. */
const slots = 5
/** A failing endpoint gets one attempt at a time. */
const slotsWhenFailing = 1
/** While healthy endpoints are busy, a failing one rests this long after each failed attempt. */
const restMs = 1_000
/** Attempts that are made and not yet recorded. The bound slows sending down when the database is slow. */
const maxUnrecorded = 50
const readLimit = 20
/** How long deliveries are sent after they were read. A new secret or URL takes effect within this time. */
const freshMs = 100

/** A leased queue that a worker is sending from. */
export interface RunningQueue {
  queue: EndpointQueue
  /** Resolves with the number of attempts made, once the queue is released. */
  done: Promise<number>
  /** Reads the queue again because something became due. */
  wake(): void
}

/** What the worker that runs a queue decides and knows. */
export type QueueControl = {
  shouldStop: () => boolean
  /** Undefined when no lease is under way. One that is may wake the queue when it ends. */
  leaseUnderWay: () => Promise<unknown> | undefined
}

type RunQueue = (queue: EndpointQueue, control: QueueControl) => RunningQueue

type Needs = {
  db: Db
  vault: Vault
  send: AttemptDelivery
  /** Called before each attempt. */
  beforeSend: (orgId: string) => void | Promise<void>
  log: Log
  health: EndpointHealth
  readDue: ReadDue
  /** Called before each attempt with the time when it was due. */
  dueFor: (dueAt: Date) => void
  decide: (queue: EndpointQueue, delivery: DueDelivery, attempt: Attempt) => Outcome
  record: (outcome: Outcome) => Promise<void>
  release: (queue: EndpointQueue) => Promise<void>
  dropExpiredSecret: (queue: EndpointQueue) => Promise<void>
}

export const makeRunQueue = (needs: Needs): RunQueue => {
  const { db, vault, send, beforeSend, log, health, readDue, dueFor, decide, record, release, dropExpiredSecret } =
    needs

  return (queue, { shouldStop, leaseUnderWay }) => {
    const { org_id: orgId, endpoint_id: endpointId } = queue
    /** Ids of deliveries that were sent here and are not recorded. They are not read again. */
    const unrecorded = new Set<string>()
    let ready: DueDelivery[] = []
    let target: DeliveryTarget | undefined
    let readAt = 0
    let slotsTaken = 0
    let attempts = 0
    let readAgain = true
    let failure: unknown
    let resume: () => void = () => undefined

    const mustEnd = (): boolean => failure !== undefined || shouldStop()

    const freeSlots = (): number => (health.isFailing(endpointId) ? slotsWhenFailing : slots) - slotsTaken

    /** Returns a function that frees the slot. Calling it again has no effect. */
    const takeSlot = (): (() => void) => {
      slotsTaken++
      let taken = true
      return () => {
        if (taken) slotsTaken--
        taken = false
        resume()
      }
    }

    const attemptOnce = async (to: DeliveryTarget, delivery: DueDelivery): Promise<Outcome> => {
      const { id, event, environment, tenant_id: tenantId, payload, attempt_count, traceparent } = delivery
      await beforeSend(queue.org_id)
      const attempt = await send(to, { id, event, environment, tenantId, payload, traceparent }, attempt_count + 1)
      return decide(queue, delivery, attempt)
    }

    const deliver = async (to: DeliveryTarget, delivery: DueDelivery): Promise<void> => {
      dueFor(delivery.next_attempt_at)
      unrecorded.add(delivery.id)
      attempts++
      const freeSlot = takeSlot()
      try {
        const outcome = await health.track(endpointId, () => attemptOnce(to, delivery))
        const delivered = outcome.status === 'delivered'
        health.update(endpointId, delivered)
        if (delivered || !health.isBusy()) freeSlot()
        else setTimeout(freeSlot, restMs)
        await record(outcome)
        unrecorded.delete(delivery.id)
      } catch (error) {
        // The delivery stays in `unrecorded`. The next worker that leases the queue sends it again.
        failure ??= error
        freeSlot()
      } finally {
        resume()
      }
    }

    const refill = async (): Promise<void> => {
      readAgain = false
      // Deliveries that a failing endpoint would not get at once would be read again anyway.
      const limit = health.isFailing(endpointId) ? slotsWhenFailing : readLimit
      const due = await readDue({ queue, inFlight: [...unrecorded], limit })
      readAt = performance.now()
      ready = due?.open ? due.deliveries : []
      target = due && { url: due.url, secrets: openSecrets(vault, endpointId, due.sealedSecrets) }
      readAgain ||= ready.length === limit
      if (due?.previousExpired) await dropExpiredSecret(queue)
      // Fan-out may insert deliveries while the endpoint is being disabled.
      if (due && !due.open) await cancelRest(db, orgId, endpointId)
    }

    const sendAll = async (): Promise<void> => {
      for (;;) {
        if (ready.length > 0 && performance.now() - readAt > freshMs) {
          ready = []
          readAgain = true
        }
        if (ready.length === 0 && readAgain && freeSlots() > 0 && !mustEnd()) {
          await refill().catch((error) => {
            // Attempts in flight are still awaited and recorded.
            failure ??= error
          })
        }
        while (ready.length > 0 && freeSlots() > 0 && unrecorded.size < maxUnrecorded && !mustEnd()) {
          void deliver(target as DeliveryTarget, ready.shift() as DueDelivery)
        }
        const idle = slotsTaken === 0 && (failure !== undefined || unrecorded.size === 0)
        if (idle && (mustEnd() || (ready.length === 0 && !readAgain))) return
        if (slotsTaken > 0 || unrecorded.size > 0) {
          await new Promise<void>((resolve) => {
            resume = resolve
          })
        }
      }
    }

    const run = async (): Promise<number> => {
      for (;;) {
        await sendAll().catch((error) => {
          failure ??= error
        })
        // A lease that is under way may have leased the queue again. The release would undo that unseen.
        const lease = leaseUnderWay()
        if (!lease) break
        await lease
      }
      if (failure !== undefined) {
        // Attempts may be unrecorded, so the queue is not released. It is leased again once this lease expires.
        log.error({ err: failure, org_id: orgId, endpoint_id: endpointId }, 'webhook endpoint queue failed')
        return attempts
      }
      await release(queue).catch((error) =>
        log.error({ err: error, org_id: orgId, endpoint_id: endpointId }, 'webhook endpoint queue release failed'),
      )
      return attempts
    }

    return {
      queue,
      done: run(),
      wake: () => {
        readAgain = true
        resume()
      },
    }
  }
}
