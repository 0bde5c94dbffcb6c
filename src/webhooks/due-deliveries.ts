import { makeBatcher } from '../platform/db/batch.ts'
import type { Db } from '../platform/db/pool.ts'
import type { Clock } from '../platform/ground/clock.ts'
import { type DueRow, type EndpointQueue, readDueDeliveries } from './store/delivery-leases.ts'
import type { SigningSecrets } from './webhook-secret.ts'

type EndpointColumn = 'n' | 'url' | 'secret' | 'previous_secret' | 'previous_expired' | 'open'

export type DueDelivery = Omit<DueRow, EndpointColumn | 'id'> & { id: string }

/** The due deliveries of an endpoint, and the endpoint as it was when they were read. */
type DueBatch = {
  open: boolean
  url: string
  sealedSecrets: SigningSecrets
  /** The endpoint has a former secret whose overlap is over. */
  previousExpired: boolean
  deliveries: DueDelivery[]
}

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
  const { open, url, secret, previous_secret, previous_expired: previousExpired } = first
  const sealedSecrets: SigningSecrets = previous_secret === null ? [secret] : [secret, previous_secret]
  return { open, url, sealedSecrets, previousExpired, deliveries }
}
