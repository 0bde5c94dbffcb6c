/**
 * Endpoint queues (`webhook_lanes`): a worker leases the queue of an endpoint, reads its due deliveries, records the
 * attempts under the lease, and releases the queue.
 */
import { statement } from '../../platform/db/statement.ts'
import type { DeliveryRow } from './delivery-rows.ts'

/** The queue of one endpoint. */
export type EndpointQueue = { org_id: string; endpoint_id: string }

/**
 * Leases queues that are due (the 1,000 waiting longest) or whose lease has expired (the first 100). Each org's first
 * queue is leased before any org's second. A queue that this worker already holds is returned again when something
 * became due in it, so that the worker reads it again. Those that it is releasing are left out: the release would undo
 * the new lease.
 */
export const leaseQueues = statement<
  { worker: string; at: Date; until: Date; limit: number; releasing: string[] },
  EndpointQueue
>(
  'webhooks.lease_lanes',
  `with due as (
     (select org_id, endpoint_id, due_at from webhook_lanes
      where due_at <= :at and (lease is null or lease = :worker) and endpoint_id <> all(:releasing::text[])
      order by due_at limit 1000)
     union all
     (select org_id, endpoint_id, leased_until from webhook_lanes
      where lease is not null and leased_until <= :at and endpoint_id <> all(:releasing::text[])
      order by leased_until limit 100)
   ), ranked as (
     select org_id, endpoint_id, due_at, row_number() over (partition by org_id order by due_at) as turn from due
   ), chosen as (
     select org_id, endpoint_id from ranked
     order by turn, due_at
     limit :limit
   ), locked as (
     select org_id, endpoint_id from webhook_lanes
     where (org_id, endpoint_id) in (select org_id, endpoint_id from chosen)
       and (lease is null or lease = :worker or leased_until <= :at)
     for update skip locked
   )
   update webhook_lanes l set lease = :worker, leased_until = :until, due_at = null
   from locked k where l.org_id = k.org_id and l.endpoint_id = k.endpoint_id
   returning l.org_id, l.endpoint_id`,
)

/** Queues that a worker holds. */
type Held = { worker: string; orgIds: string[]; endpointIds: string[] }

export const renewLeases = statement<Held & { until: Date }>(
  'webhooks.renew_leases',
  `update webhook_lanes l set leased_until = :until
   from unnest(:orgIds::text[], :endpointIds::text[]) as q (org_id, endpoint_id)
   where l.org_id = q.org_id and l.endpoint_id = q.endpoint_id and l.lease = :worker`,
)

/** Like fan-out, it locks queues in the order of their ids, so that the two never wait for each other. */
export const lockQueues = statement<Held, EndpointQueue>(
  'webhooks.lock_lanes',
  `select org_id, endpoint_id from webhook_lanes
   where (org_id, endpoint_id) in (select org_id, endpoint_id
       from unnest(:orgIds::text[], :endpointIds::text[]) as q (org_id, endpoint_id))
     and lease = :worker
   order by org_id, endpoint_id
   for update`,
)

/**
 * Releases queues and stores when each is due next. The caller has locked them in an earlier statement of the
 * transaction: a delivery that is committed while this statement waited for the lock would be missed.
 */
export const releaseQueues = statement<Held>(
  'webhooks.release_lanes',
  `update webhook_lanes l set lease = null, leased_until = null, due_at = least(l.due_at, (
     select d.next_attempt_at from webhook_deliveries d
     where d.org_id = l.org_id and d.endpoint_id = l.endpoint_id and d.status = 'pending'
     order by d.next_attempt_at limit 1))
   from unnest(:orgIds::text[], :endpointIds::text[]) as q (org_id, endpoint_id)
   where l.org_id = q.org_id and l.endpoint_id = q.endpoint_id and l.lease = :worker`,
)

type ReadColumn = 'created_at' | 'event' | 'environment' | 'tenant_id' | 'attempt_count' | 'max_attempts'

export type DueRow = Pick<DeliveryRow, ReadColumn> & {
  /** The position of the queue in the parameters, from 1. */
  n: number
  url: string
  secret: string
  /** Null when the overlap of a rotation is over. */
  previous_secret: string | null
  previous_expired: boolean
  /** False when the endpoint is disabled or paused. */
  open: boolean
  /** Null when nothing is due in the queue. */
  id: string | null
  payload: string
  next_attempt_at: Date
  /** The trace of what caused the event. Null if that was not traced. */
  traceparent: string | null
}

/** The due deliveries of each queue, oldest first and without those in flight, with the endpoint as it is now. */
export const readDueDeliveries = statement<
  { at: Date; orgIds: string[]; endpointIds: string[]; limits: number[]; inFlight: string[] },
  DueRow
>(
  'webhooks.take_due',
  `select q.n::int as n, w.url, w.secret, w.enabled and w.events <> '{}' as open,
     case when w.previous_secret_until > :at then w.previous_secret end as previous_secret,
     coalesce(w.previous_secret_until <= :at, false) as previous_expired,
     d.id, d.created_at, d.event, d.environment, d.tenant_id, d.payload, d.attempt_count, d.max_attempts,
     d.next_attempt_at, d.traceparent
   from unnest(:orgIds::text[], :endpointIds::text[], :limits::int[])
     with ordinality as q (org_id, endpoint_id, take, n)
   join webhook_endpoints w on w.org_id = q.org_id and w.id = q.endpoint_id
   left join lateral (
     select id, created_at, event, environment, tenant_id, payload, attempt_count, max_attempts, next_attempt_at,
       traceparent
     from webhook_deliveries p
     where p.org_id = q.org_id and p.endpoint_id = q.endpoint_id and p.status = 'pending'
       and p.next_attempt_at <= :at and p.id <> all(:inFlight::text[])
     order by p.next_attempt_at, p.id
     limit q.take) d on true
   order by q.n`,
)

/**
 * Records attempts of deliveries whose queue the worker still holds. A delivery that was canceled or recorded in the
 * meantime stays as it is. A successful attempt clears the streak of its endpoint.
 */
export const recordAttempts = statement<
  Held & {
    ids: string[]
    createdAt: Date[]
    counts: number[]
    statuses: string[]
    nextAttemptAt: (Date | null)[]
    deliveredAt: (Date | null)[]
    attempts: string[]
  },
  { id: string }
>(
  'webhooks.record_attempts',
  `with attempted as (
     select org_id, id, created_at, endpoint_id, count, status, next_attempt_at, delivered_at, attempt
     from unnest(:orgIds::text[], :ids::text[], :createdAt::timestamptz[], :endpointIds::text[], :counts::int[],
       :statuses::text[], :nextAttemptAt::timestamptz[], :deliveredAt::timestamptz[], :attempts::jsonb[])
       as a (org_id, id, created_at, endpoint_id, count, status, next_attempt_at, delivered_at, attempt)
   ), recorded as (
     update webhook_deliveries d set status = a.status, attempt_count = a.count, attempts = d.attempts || a.attempt,
       next_attempt_at = a.next_attempt_at, delivered_at = a.delivered_at
     from attempted a
     join webhook_lanes l on l.org_id = a.org_id and l.endpoint_id = a.endpoint_id and l.lease = :worker
     where d.org_id = a.org_id and d.id = a.id and d.created_at = a.created_at
       and d.status = 'pending' and d.attempt_count = a.count - 1
     returning d.id
   ), streaks as (
     select org_id, id from webhook_endpoints
     where (org_id, id) in (select org_id, endpoint_id from attempted where status = 'delivered')
       and consecutive_failures > 0
     order by org_id, id
     for update
   ), cleared as (
     update webhook_endpoints w set consecutive_failures = 0 from streaks s where w.org_id = s.org_id and w.id = s.id
   )
   select id from recorded`,
)
