/**
 * Delivery of due webhooks. Each endpoint has a queue. A worker leases the queue and sends from it, at most five
 * deliveries at a time, until nothing is due. Queues are independent, so that no endpoint waits for another.
 */
import { randomUUID } from 'node:crypto'
import { makeBatcher } from '../platform/db/batch.ts'
import type { Vault } from '../platform/ground/crypto.ts'
import type { AttemptDelivery } from './attempt.ts'
import { makeReadDue } from './due-deliveries.ts'
import { makeEndpointHealth } from './endpoint-health.ts'
import { makeRunQueue } from './endpoint-queue.ts'
import { makeDecideOutcome, makeRecordOutcome, type RecordNeeds } from './record-outcome.ts'
import { type EndpointQueue, leaseQueues, lockQueues, releaseQueues, renewLeases } from './store/delivery-leases.ts'
import { dropPreviousSecret } from './store/endpoint-rows.ts'

const leaseMs = 60_000

type Needs = Omit<RecordNeeds, 'worker' | 'onDisabled'> & {
  vault: Vault
  send: AttemptDelivery
  random?: () => number
  /** Called with how long a delivery was due before its attempt. */
  measureLag?: (milliseconds: number) => void
  /** Called before each attempt, so that a receiver can read what the event is about. */
  beforeSend?: ((orgId: string) => void | Promise<void>) | undefined
}

const idsOf = (queues: EndpointQueue[]) => ({
  orgIds: queues.map(({ org_id }) => org_id),
  endpointIds: queues.map(({ endpoint_id }) => endpoint_id),
})

export const makeDeliverWebhooks = (needs: Needs) => {
  const { db, clock, vault, send, log, random = Math.random, measureLag } = needs
  const worker = randomUUID()
  const health = makeEndpointHealth()

  const releases = makeBatcher<EndpointQueue, void>({
    name: 'webhooks.release_lanes',
    run: async (queues) => {
      const held = { worker, ...idsOf(queues) }
      await db.tx(async (tx) => {
        await tx.rows(lockQueues, held)
        await tx.change(releaseQueues, held)
      })
      return queues.map(() => undefined)
    },
  })
  /** The endpoints whose queue is being released. */
  const releasing = new Set<string>()
  const release = (queue: EndpointQueue): Promise<void> => {
    releasing.add(queue.endpoint_id)
    return releases.submit(queue).finally(() => releasing.delete(queue.endpoint_id))
  }

  const leaseExpiresAt = (): Date => new Date(clock.millis() + leaseMs)

  return {
    lease: (limit: number) =>
      db.rows(leaseQueues, {
        worker,
        at: clock.now(),
        until: leaseExpiresAt(),
        limit,
        releasing: [...releasing],
      }),
    renew: async (queues: EndpointQueue[]) => {
      await db.change(renewLeases, { worker, until: leaseExpiresAt(), ...idsOf(queues) })
    },
    /** Sends from a leased queue until nothing is due or it has to stop. */
    run: makeRunQueue({
      db,
      vault,
      send,
      beforeSend: needs.beforeSend ?? (() => undefined),
      log,
      health,
      readDue: makeReadDue({ db, clock }),
      dueFor: (dueAt) => measureLag?.(clock.millis() - dueAt.getTime()),
      decide: makeDecideOutcome({ clock, random }),
      record: makeRecordOutcome({ ...needs, worker, onDisabled: health.forget }),
      release,
      dropExpiredSecret: async ({ org_id: orgId, endpoint_id: id }) => {
        await db.change(dropPreviousSecret, { orgId, id, at: clock.now() })
      },
    }),
  }
}

export type DeliverWebhooks = ReturnType<typeof makeDeliverWebhooks>
