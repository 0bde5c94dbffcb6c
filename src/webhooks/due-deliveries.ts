import { makeBatcher } from '../db/batch.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { type DueRow, type EndpointQueue, readDueDeliveries } from './store/delivery-leases.ts'

export type DueDelivery = Omit<DueRow, 'n' | 'url' | 'secret' | 'open' | 'id'> & { id: string }

/** The due deliveries of an endpoint, and the endpoint as it was when they were read. */
export type DueBatch = { open: boolean; url: string; sealedSecret: string; deliveries: DueDelivery[] }

type DueRequest = { queue: EndpointQueue; inFlight: string[]; limit: number }

/** Returns undefined when the endpoint no longer exists. */
export type ReadDue = (request: DueRequest) => Promise<DueBatch | undefined>

/** Reads the due deliveries of a queue. Reads of several queues share a statement. */
export const makeReadDue = ({ db, clock }: { db: Db; clock: Clock }): ReadDue => {
  const reads = makeBatcher<DueRequest, DueBatch | undefined>({
    name: 'webhooks.take_due',
    run: async (requests) => {
      const rows = await db.rows(readDueDeliveries, {
        at: clock.now(),
        orgIds: requests.map(({ queue }) => queue.org_id),
        endpointIds: requests.map(({ queue }) => queue.endpoint_id),
        limits: requests.map(({ limit }) => limit),
        inFlight: requests.flatMap(({ inFlight }) => inFlight),
      })
      const rowsByPosition = Map.groupBy(rows, ({ n }) => n)
      return requests.map((_, i) => batchOf(rowsByPosition.get(i + 1) ?? []))
    },
  })
  return (request) => reads.submit(request)
}

const batchOf = (rows: DueRow[]): DueBatch | undefined => {
  const [first] = rows
  if (!first) return undefined
  const deliveries = rows.filter((row): row is DueRow & { id: string } => row.id !== null)
  return { open: first.open, url: first.url, sealedSecret: first.secret, deliveries }
}
