import { statement } from '../db/statement.ts'
import type { Environment } from '../ground/scope.ts'

export type EndpointRow = {
  id: string
  tenant_id: string | null
  url: string
  description: string | null
  events: string[]
  enabled: boolean
  disabled_reason: 'auto' | 'manual' | null
  disabled_at: Date | null
  consecutive_failures: number
  secret: string
  secret_rotated_at: Date | null
  created_environment: Environment
  created_at: Date
  updated_at: Date
}

const endpointColumns = `id, tenant_id, url, description, events, enabled, disabled_reason, disabled_at,
  consecutive_failures, secret, secret_rotated_at, created_environment, created_at, updated_at`

export const countEndpoints = statement<{ orgId: string }, { n: number }>(
  'webhooks.count_endpoints',
  'select count(*) as n from webhook_endpoints where org_id = :orgId',
)

export const hasTenant = statement<{ orgId: string; tenantId: string }, { id: string }>(
  'webhooks.has_tenant',
  "select id from tenants where org_id = :orgId and id = :tenantId and status <> 'erased' for key share",
)

/** The endpoint and its lane. */
export const insertEndpoint = statement<
  {
    orgId: string
    id: string
    tenantId: string | null
    url: string
    description: string | null
    events: string[]
    enabled: boolean
    secret: string
    environment: Environment
    at: Date
  },
  EndpointRow
>(
  'webhooks.insert_endpoint',
  `with made as (
     insert into webhook_endpoints (org_id, id, tenant_id, url, description, events, enabled, disabled_reason,
       disabled_at, secret, created_environment, created_at, updated_at)
     values (:orgId, :id, :tenantId, :url, :description, :events, :enabled, case when :enabled then null else 'manual' end,
       case when :enabled then null else :at::timestamptz end, :secret, :environment, :at, :at)
     returning org_id, ${endpointColumns}
   ), lane as (
     insert into webhook_lanes (org_id, endpoint_id) select org_id, id from made
   )
   select ${endpointColumns} from made`,
)

/** A null tenant finds every endpoint of the org. */
export const findEndpoint = statement<{ orgId: string; tenantId: string | null; id: string }, EndpointRow>(
  'webhooks.find_endpoint',
  `select ${endpointColumns} from webhook_endpoints
   where org_id = :orgId and (:tenantId::text is null or tenant_id = :tenantId) and id = :id`,
)

export const lockEndpoint = statement<{ orgId: string; id: string }, EndpointRow>(
  'webhooks.lock_endpoint',
  `select ${endpointColumns} from webhook_endpoints where org_id = :orgId and id = :id for update`,
)

export const listEndpoints = statement<
  { orgId: string; tenantId: string | null; afterAt: string | null; afterId: string | null; limit: number },
  EndpointRow
>(
  'webhooks.list_endpoints',
  `select ${endpointColumns} from webhook_endpoints
   where org_id = :orgId and (:tenantId::text is null or tenant_id = :tenantId)
     and (:afterAt::timestamptz is null or (created_at, id) < (:afterAt::timestamptz, :afterId))
   order by created_at desc, id desc
   limit :limit`,
)

/** Null leaves a field as it is. Enabling clears the streak; disabling twice keeps the first reason. */
export const updateEndpoint = statement<
  {
    orgId: string
    id: string
    url: string | null
    setDescription: boolean
    description: string | null
    events: string[] | null
    enabled: boolean | null
    at: Date
  },
  EndpointRow
>(
  'webhooks.update_endpoint',
  `update webhook_endpoints set
     url = coalesce(:url, url),
     description = case when :setDescription then :description else description end,
     events = coalesce(:events, events),
     enabled = coalesce(:enabled, enabled),
     disabled_reason = case when :enabled then null when not :enabled and enabled then 'manual' else disabled_reason end,
     disabled_at = case when :enabled then null when not :enabled and enabled then :at else disabled_at end,
     consecutive_failures = case when :enabled then 0 else consecutive_failures end,
     updated_at = :at
   where org_id = :orgId and id = :id
   returning ${endpointColumns}`,
)

export const rotateSecret = statement<{ orgId: string; id: string; secret: string; at: Date }, EndpointRow>(
  'webhooks.rotate_secret',
  `update webhook_endpoints set secret = :secret, secret_rotated_at = :at, updated_at = :at
   where org_id = :orgId and id = :id returning ${endpointColumns}`,
)

export const deleteEndpoint = statement<{ orgId: string; id: string }, EndpointRow>(
  'webhooks.delete_endpoint',
  `with dropped as (
     delete from webhook_deliveries where org_id = :orgId and endpoint_id = :id and status = 'pending'
   )
   delete from webhook_endpoints where org_id = :orgId and id = :id returning ${endpointColumns}`,
)

/**
 * Those due first, as many as told and what is due at the same instant. Only while the endpoint is off or pauses:
 * whoever comes to finish the work of another may find it on again.
 */
export const cancelPending = statement<{ orgId: string; endpointId: string; few: number }>(
  'webhooks.cancel_pending',
  `update webhook_deliveries set status = 'canceled', next_attempt_at = null
   where org_id = :orgId and endpoint_id = :endpointId and status = 'pending'
     and next_attempt_at <= coalesce((
       select next_attempt_at from webhook_deliveries
       where org_id = :orgId and endpoint_id = :endpointId and status = 'pending'
       order by next_attempt_at, id offset :few limit 1), 'infinity')
     and exists (
       select 1 from webhook_endpoints where org_id = :orgId and id = :endpointId and not (enabled and events <> '{}'))`,
)

export type Attempt = {
  attempt: number
  at: string
  response_status: number | null
  response_body: string | null
  duration_ms: number
  error: 'timeout' | 'connection' | 'tls' | 'dns' | 'url_not_allowed' | null
}

export type DeliveryRow = {
  id: string
  endpoint_id: string
  event: string
  environment: Environment | null
  tenant_id: string | null
  status: 'pending' | 'delivered' | 'failed' | 'canceled'
  attempt_count: number
  max_attempts: number
  next_attempt_at: Date | null
  replay_of: string | null
  replayed_as: string | null
  created_at: Date
  delivered_at: Date | null
  attempts: Attempt[]
}

const deliveryColumns = `id, endpoint_id, event, environment, tenant_id, status, attempt_count, max_attempts,
  next_attempt_at, replay_of, replayed_as, created_at, delivered_at, attempts`

export const listDeliveries = statement<
  {
    orgId: string
    endpointId: string
    status: string | null
    event: string | null
    afterAt: string | null
    afterId: string | null
    limit: number
  },
  DeliveryRow
>(
  'webhooks.list_deliveries',
  `select ${deliveryColumns} from webhook_deliveries
   where org_id = :orgId and endpoint_id = :endpointId
     and (:status::text is null or status = :status) and (:event::text is null or event = :event)
     and (:afterAt::timestamptz is null or (created_at, id) < (:afterAt::timestamptz, :afterId))
   order by created_at desc, id desc
   limit :limit`,
)

/** The times say in which month to look: the id was minted within a minute of its row. */
export const findDelivery = statement<
  { orgId: string; endpointId: string; id: string; from: Date; to: Date },
  DeliveryRow & { payload: string }
>(
  'webhooks.find_delivery',
  `select ${deliveryColumns}, payload from webhook_deliveries
   where org_id = :orgId and endpoint_id = :endpointId and id = :id and created_at >= :from and created_at < :to`,
)

/** A delivery that was made and answered in one go. */
export const insertFired = statement<{
  orgId: string
  id: string
  at: Date
  endpointId: string
  tenantId: string | null
  environment: Environment | null
  event: string
  payload: string
  delivered: boolean
  attempts: string
}>(
  'webhooks.insert_fired',
  `insert into webhook_deliveries (org_id, id, created_at, endpoint_id, tenant_id, environment, event, payload, status,
     attempt_count, max_attempts, attempts, delivered_at)
   values (:orgId, :id, :at, :endpointId, :tenantId, :environment, :event, :payload, case when :delivered then 'delivered' else 'failed' end, 1, 1, :attempts,
     case when :delivered then :at::timestamptz end)`,
)

export const clearStreak = statement<{ orgId: string; id: string }>(
  'webhooks.clear_streak',
  `update webhook_endpoints set consecutive_failures = 0
   where org_id = :orgId and id = :id and consecutive_failures > 0`,
)

/**
 * Of those named (each with its new id), the ones that may be replayed: a copy of each with an id of its own at the
 * end of its body, and the old row told of it.
 */
export const replayDeliveries = statement<
  {
    orgId: string
    endpointId: string
    ids: string[]
    createdAt: Date[]
    newIds: string[]
    at: Date
    maxAttempts: number
  },
  { id: string; replay_of: string }
>(
  'webhooks.replay',
  `with named as (
     select * from unnest(:ids::text[], :createdAt::timestamptz[], :newIds::text[]) as n (id, created_at, new_id)
   ), old as (
     update webhook_deliveries d set replayed_as = n.new_id from named n
     where d.org_id = :orgId and d.endpoint_id = :endpointId and d.id = n.id and d.created_at = n.created_at
       and d.status <> 'pending'
     returning d.*
   ), made as (
     insert into webhook_deliveries (org_id, id, created_at, endpoint_id, tenant_id, environment, event, payload,
       status, max_attempts, next_attempt_at, replay_of)
     select org_id, replayed_as, :at, endpoint_id, tenant_id, environment, event,
       left(payload, -33) || '"' || replayed_as || '"}', 'pending', :maxAttempts, :at, id
     from old
     returning id, replay_of
   ), woken as (
     update webhook_lanes set due_at = :at
     where org_id = :orgId and endpoint_id = :endpointId and (due_at is null or due_at > :at) and exists (select 1 from made)
   )
   select id, replay_of from made order by id`,
)

/** Given up and not yet replayed, oldest first; locked, so that two calls at once walk on. Test fires stay out. */
export const failedDeliveries = statement<
  { orgId: string; endpointId: string; since: Date | null; until: Date | null; event: string | null; limit: number },
  { id: string; created_at: Date }
>(
  'webhooks.failed',
  `select id, created_at from webhook_deliveries
   where org_id = :orgId and endpoint_id = :endpointId and status = 'failed' and replayed_as is null and max_attempts > 1
     and (:since::timestamptz is null or created_at >= :since) and (:until::timestamptz is null or created_at <= :until)
     and (:event::text is null or event = :event)
   order by created_at, id
   limit :limit
   for update`,
)

/**
 * Takes the oldest events out of the outbox and puts a delivery of each to every endpoint that wants it in their
 * place, all in one statement: an event is in one of the two states, whoever dies. The delivery's id has the time of
 * the event's id, then the version and random digits.
 */
export const fanOutEvents = statement<
  { at: Date; limit: number; maxAttempts: number },
  { events: number; deliveries: number }
>(
  'webhooks.fan_out',
  `with taken as (
     delete from events where (created_at, id) in (
       select created_at, id from events order by created_at, id limit :limit for update skip locked)
     returning org_id, id, tenant_id, environment, event, data, created_at
   ), wanted as materialized (
     select e.*, w.id as endpoint_id, replace(gen_random_uuid()::text, '-', '') as random
     from taken e join webhook_endpoints w on w.org_id = e.org_id and w.enabled
       and (e.event = any(w.events) or '*' = any(w.events))
       and (w.tenant_id is null or w.tenant_id = e.tenant_id)
       and not (e.event = 'webhook.disabled' and e.data ->> 'id' = w.id)
   ), named as (
     select *, 'whd_' || substr(id, 5, 10) || 'e' || substr(random, 1, 2) || substr(random, 17, 13) as delivery_id
     from wanted
   ), made as (
     insert into webhook_deliveries (org_id, id, created_at, endpoint_id, tenant_id, environment, event, payload,
       status, max_attempts, next_attempt_at)
     select org_id, delivery_id, created_at, endpoint_id, tenant_id, environment, event,
       '{"event":' || to_json(event) || ',"data":' || data
         || ',"timestamp":"' || to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"'
         || coalesce(',"environment":"' || environment || '"', '')
         || ',"tenant_id":' || coalesce('"' || tenant_id || '"', 'null')
         || ',"delivery_id":"' || delivery_id || '"}',
       'pending', :maxAttempts, :at
     from named
   ), woken as (
     update webhook_lanes l set due_at = :at
     from (select distinct org_id, endpoint_id from wanted) w
     where l.org_id = w.org_id and l.endpoint_id = w.endpoint_id and (l.due_at is null or l.due_at > :at)
   )
   select (select count(*) from taken) as events, (select count(*) from wanted) as deliveries`,
)

export type LaneRow = { org_id: string; endpoint_id: string }

/**
 * Leases lanes in which something is due, or whose lease ran out: of the oldest thousand, each org's first before
 * anybody's second. Lanes the worker has in hand come too, so that it looks again.
 */
export const leaseLanes = statement<{ worker: string; at: Date; until: Date; limit: number }, LaneRow>(
  'webhooks.lease_lanes',
  `with due as (
     (select org_id, endpoint_id, due_at from webhook_lanes
      where due_at <= :at and (lease is null or lease = :worker)
      order by due_at limit 1000)
     union all
     (select org_id, endpoint_id, leased_until from webhook_lanes
      where lease is not null and leased_until <= :at
      order by leased_until limit 100)
   ), chosen as (
     select org_id, endpoint_id from (
       select *, row_number() over (partition by org_id order by due_at) as turn from due) d
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

export const renewLeases = statement<{ worker: string; until: Date; orgIds: string[]; endpointIds: string[] }>(
  'webhooks.renew_leases',
  `update webhook_lanes l set leased_until = :until
   from unnest(:orgIds::text[], :endpointIds::text[]) as a (org_id, endpoint_id)
   where l.org_id = a.org_id and l.endpoint_id = a.endpoint_id and l.lease = :worker`,
)

/** Hands lanes back, each with the time at which something is due there next. */
export const releaseLanes = statement<{ worker: string; orgIds: string[]; endpointIds: string[] }>(
  'webhooks.release_lanes',
  `update webhook_lanes l set lease = null, leased_until = null, due_at = least(l.due_at, (
     select d.next_attempt_at from webhook_deliveries d
     where d.org_id = l.org_id and d.endpoint_id = l.endpoint_id and d.status = 'pending'
     order by d.next_attempt_at limit 1))
   from unnest(:orgIds::text[], :endpointIds::text[]) as a (org_id, endpoint_id)
   where l.org_id = a.org_id and l.endpoint_id = a.endpoint_id and l.lease = :worker`,
)

export type TakenRow = {
  /** Which of the lanes asked for. */
  n: number
  url: string
  secret: string
  open: boolean
  /** Null when the endpoint has nothing due. */
  id: string | null
  created_at: Date
  event: string
  environment: Environment | null
  tenant_id: string | null
  payload: string
  attempt_count: number
  max_attempts: number
}

/** What is due in each lane, oldest first, with the endpoint as it is now; what is in flight is left out. */
export const takeDue = statement<
  { at: Date; orgIds: string[]; endpointIds: string[]; limits: number[]; inFlight: string[] },
  TakenRow
>(
  'webhooks.take_due',
  `select a.n::int as n, w.url, w.secret, w.enabled and w.events <> '{}' as open, d.*
   from unnest(:orgIds::text[], :endpointIds::text[], :limits::int[]) with ordinality as a (org_id, endpoint_id, take, n)
   join webhook_endpoints w on w.org_id = a.org_id and w.id = a.endpoint_id
   left join lateral (
     select id, created_at, event, environment, tenant_id, payload, attempt_count, max_attempts
     from webhook_deliveries d
     where d.org_id = a.org_id and d.endpoint_id = a.endpoint_id and d.status = 'pending'
       and d.next_attempt_at <= :at and d.id <> all(:inFlight::text[])
     order by d.next_attempt_at, d.id
     limit a.take) d on true
   order by a.n`,
)

/**
 * Records attempts of deliveries in lanes that the worker still holds. One that was canceled or recorded meanwhile
 * is left as it is. Whoever was reached has no streak any more.
 */
export const recordAttempts = statement<
  {
    worker: string
    orgIds: string[]
    ids: string[]
    createdAt: Date[]
    endpointIds: string[]
    counts: number[]
    statuses: string[]
    nextAt: (Date | null)[]
    deliveredAt: (Date | null)[]
    attempts: string[]
  },
  { id: string }
>(
  'webhooks.record_attempts',
  `with r as (
     select * from unnest(:orgIds::text[], :ids::text[], :createdAt::timestamptz[], :endpointIds::text[], :counts::int[], :statuses::text[],
       :nextAt::timestamptz[], :deliveredAt::timestamptz[], :attempts::jsonb[])
       as r (org_id, id, created_at, endpoint_id, count, status, next_at, delivered_at, attempt)
   ), done as (
     update webhook_deliveries d set status = r.status, attempt_count = r.count, attempts = d.attempts || r.attempt,
       next_attempt_at = r.next_at, delivered_at = r.delivered_at
     from r join webhook_lanes l on l.org_id = r.org_id and l.endpoint_id = r.endpoint_id and l.lease = :worker
     where d.org_id = r.org_id and d.id = r.id and d.created_at = r.created_at
       and d.status = 'pending' and d.attempt_count = r.count - 1
     returning d.org_id, d.id, d.endpoint_id, d.status
   ), ended as (
     select org_id, id from webhook_endpoints
     where (org_id, id) in (select org_id, endpoint_id from r where status = 'delivered')
       and consecutive_failures > 0
     order by org_id, id
     for update
   ), cleared as (
     update webhook_endpoints w set consecutive_failures = 0 from ended e where w.org_id = e.org_id and w.id = e.id
   )
   select id from done`,
)

/** One more delivery given up. The tenth in a row disables the endpoint. */
export const extendStreak = statement<
  { orgId: string; id: string; most: number; at: Date },
  Pick<EndpointRow, 'enabled' | 'consecutive_failures' | 'url' | 'tenant_id'>
>(
  'webhooks.extend_streak',
  `update webhook_endpoints set consecutive_failures = consecutive_failures + 1,
     enabled = consecutive_failures + 1 < :most,
     disabled_reason = case when consecutive_failures + 1 < :most then disabled_reason else 'auto' end,
     disabled_at = case when consecutive_failures + 1 < :most then disabled_at else :at end,
     updated_at = case when consecutive_failures + 1 < :most then updated_at else :at end
   where org_id = :orgId and id = :id and enabled
   returning enabled, consecutive_failures, url, tenant_id`,
)

/** Deliveries past their time: what arrived goes sooner than what did not. */
export const pruneDeliveries = statement<{ arrivedBefore: Date; before: Date; limit: number }>(
  'webhooks.prune',
  `delete from webhook_deliveries where (org_id, id, created_at) in (
     select org_id, id, created_at from webhook_deliveries
     where created_at < :arrivedBefore and (status = 'delivered' or (status <> 'pending' and created_at < :before))
     limit :limit)`,
)

export const eraseTenantDeliveries = statement<{ orgId: string; tenantId: string; limit: number }>(
  'webhooks.erase_tenant_deliveries',
  `delete from webhook_deliveries where (org_id, id, created_at) in (
     select org_id, id, created_at from webhook_deliveries where org_id = :orgId and tenant_id = :tenantId limit :limit)`,
)

export const eraseTenantEndpoints = statement<{ orgId: string; tenantId: string; limit: number }>(
  'webhooks.erase_tenant_endpoints',
  `delete from webhook_endpoints where (org_id, id) in (
     select org_id, id from webhook_endpoints where org_id = :orgId and tenant_id = :tenantId limit :limit)`,
)
