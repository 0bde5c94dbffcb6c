/** Deliveries and their attempts: reading, replaying, canceling and removing them. */
import { columns, type Given, json, number, oneOf, type RowOf, text, time } from '../../platform/db/columns.ts'
import { timeLiteral } from '../../platform/db/months.ts'
import type { RowRules } from '../../platform/db/remove-months.ts'
import { statement } from '../../platform/db/statement.ts'
import { type Keyset, newestPage } from '../../platform/ground/cursor.ts'
import type { Environment } from '../../platform/ground/scope.ts'
import type { Attempt, deliveryStatuses } from '../delivery-shapes.ts'

const deliveryColumns = columns({
  id: text,
  endpoint_id: text,
  event: text,
  environment: oneOf<Environment>().orNull,
  tenant_id: text.orNull,
  status: oneOf<(typeof deliveryStatuses)[number]>(),
  attempt_count: number,
  max_attempts: number,
  next_attempt_at: time.orNull,
  replay_of: text.orNull,
  replayed_as: text.orNull,
  created_at: time,
  delivered_at: time.orNull,
  attempts: json<Attempt[]>(),
})

export type DeliveryRow = RowOf<typeof deliveryColumns>

type Filters = { status: string | null; event: string | null }

const newestMatching = `and (:status::text is null or status = :status) and (:event::text is null or event = :event)
     ${newestPage}`

export const listDeliveries = statement<Keyset & Filters & { orgId: string; endpointId: string }, DeliveryRow>(
  'webhooks.list_deliveries',
  `select ${deliveryColumns} from webhook_deliveries
   where org_id = :orgId and endpoint_id = :endpointId
     ${newestMatching}`,
)

/**
 * The newest deliveries of all endpoints of the org, or of one. Each endpoint gives its own newest rows by its index, so
 * that an org with many deliveries needs no index of its own on every insert. The rows themselves are read once the page
 * is known.
 */
export const listOrgDeliveries = statement<
  Keyset & Filters & { orgId: string; endpointId: string | null },
  DeliveryRow
>(
  'webhooks.list_org_deliveries',
  `with newest as (
     select d.id, d.created_at
     from webhook_endpoints e
     cross join lateral (
       select id, created_at from webhook_deliveries
       where org_id = :orgId and endpoint_id = e.id
         ${newestMatching}) d
     where e.org_id = :orgId and (:endpointId::text is null or e.id = :endpointId)
     order by d.created_at desc, d.id desc
     limit :limit
   )
   select ${deliveryColumns} from webhook_deliveries
   where org_id = :orgId and (id, created_at) in (select id, created_at from newest)
   order by created_at desc, id desc`,
)

/** The deliveries about a message, of all endpoints. `since` leaves out the months before the message. */
export const listMessageDeliveries = statement<{ orgId: string; messageId: string; since: Date } & Keyset, DeliveryRow>(
  'webhooks.list_message_deliveries',
  `select ${deliveryColumns} from webhook_deliveries
   where org_id = :orgId and message_id = :messageId and created_at >= :since
     ${newestPage}`,
)

/**
 * `from` and `to` select the monthly partition. The caller takes them from the time in the id, which is within a minute
 * of the row's `created_at`.
 */
type CreatedAround = { orgId: string; id: string; from: Date; to: Date }

export const findDelivery = statement<CreatedAround & { endpointId: string }, DeliveryRow & { payload: string }>(
  'webhooks.find_delivery',
  `select ${deliveryColumns}, payload from webhook_deliveries
   where org_id = :orgId and endpoint_id = :endpointId and id = :id and created_at >= :from and created_at < :to`,
)

/** Like `findDelivery`, when the endpoint is not known. `message_id` is null if the event is about no message. */
export const findOrgDelivery = statement<CreatedAround, DeliveryRow & { payload: string; message_id: string | null }>(
  'webhooks.find_org_delivery',
  `select ${deliveryColumns}, payload, message_id from webhook_deliveries
   where org_id = :orgId and id = :id and created_at >= :from and created_at < :to`,
)

/** Like `findOrgDelivery`, without reading the payload. */
export const findDeliveryEndpoint = statement<CreatedAround, Pick<DeliveryRow, 'endpoint_id'>>(
  'webhooks.find_delivery_endpoint',
  `select endpoint_id from webhook_deliveries
   where org_id = :orgId and id = :id and created_at >= :from and created_at < :to`,
)

/** Inserts a test fire after its only attempt. */
export const insertTestFire = statement<
  Given<DeliveryRow, 'id' | 'endpoint_id' | 'tenant_id' | 'environment' | 'event'> & {
    orgId: string
    payload: string
    delivered: boolean
    attempts: string
    at: Date
  }
>(
  'webhooks.insert_fired',
  `insert into webhook_deliveries (org_id, id, created_at, endpoint_id, tenant_id, environment, event, payload, status,
     attempt_count, max_attempts, attempts, delivered_at)
   values (:orgId, :id, :at, :endpointId, :tenantId, :environment, :event, :payload,
     case when :delivered then 'delivered' else 'failed' end,
     1, 1, :attempts,
     case when :delivered then :at::timestamptz end)`,
)

/**
 * Replays those of the given deliveries that are not pending, and stores the id of each replay in the original row. A
 * replay has the same payload except for its delivery id. That id ends the payload: `"whd_…"}` is 33 characters.
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
  `with requested as (
     select id, created_at, new_id
     from unnest(:ids::text[], :createdAt::timestamptz[], :newIds::text[]) as r (id, created_at, new_id)
   ), original as (
     update webhook_deliveries d set replayed_as = r.new_id from requested r
     where d.org_id = :orgId and d.endpoint_id = :endpointId and d.id = r.id and d.created_at = r.created_at
       and d.status <> 'pending'
     returning d.org_id, d.id, d.endpoint_id, d.tenant_id, d.environment, d.event, d.message_id, d.payload,
       d.replayed_as
   ), inserted as (
     insert into webhook_deliveries (org_id, id, created_at, endpoint_id, tenant_id, environment, event, message_id,
       payload, status, max_attempts, next_attempt_at, replay_of)
     select org_id, replayed_as, :at, endpoint_id, tenant_id, environment, event, message_id,
       left(payload, -33) || '"' || replayed_as || '"}', 'pending', :maxAttempts, :at, id
     from original
     returning id, replay_of
   ), queue_due as (
     update webhook_lanes set due_at = least(due_at, :at)
     where org_id = :orgId and endpoint_id = :endpointId and exists (select 1 from inserted)
   )
   select id, replay_of from inserted order by id`,
)

/**
 * Failed deliveries that have not been replayed, oldest first. Test fires, which have a single attempt, are excluded.
 * The rows are locked: a concurrent call waits, and then returns the rows that follow those already replayed.
 */
export const failedDeliveries = statement<
  { orgId: string; endpointId: string; since: Date | null; until: Date | null; event: string | null; limit: number },
  { id: string; created_at: Date }
>(
  'webhooks.failed',
  `select id, created_at from webhook_deliveries
   where org_id = :orgId and endpoint_id = :endpointId
     and status = 'failed' and replayed_as is null and max_attempts > 1
     and (:since::timestamptz is null or created_at >= :since)
     and (:until::timestamptz is null or created_at <= :until)
     and (:event::text is null or event = :event)
   order by created_at, id
   limit :limit
   for update`,
)

/**
 * Cancels the pending deliveries that are due first: `chunk` of them, the next one, and any due at the same instant as
 * that one. More than `chunk` changed rows therefore mean that there may be more. Changes nothing unless the endpoint
 * is disabled or paused: it may have been enabled since the caller read it.
 */
export const cancelPending = statement<{ orgId: string; endpointId: string; chunk: number }>(
  'webhooks.cancel_pending',
  `update webhook_deliveries set status = 'canceled', next_attempt_at = null
   where org_id = :orgId and endpoint_id = :endpointId and status = 'pending'
     and next_attempt_at <= coalesce((
       select next_attempt_at from webhook_deliveries
       where org_id = :orgId and endpoint_id = :endpointId and status = 'pending'
       order by next_attempt_at, id offset :chunk limit 1), 'infinity')
     and exists (
       select 1 from webhook_endpoints
       where org_id = :orgId and id = :endpointId and not (enabled and events <> '{}'))`,
)

/** Pending deliveries stay. Delivered ones go earlier than failed and canceled ones. */
const isOld = (deliveredBefore: string, before: string): string =>
  `(r.created_at < ${deliveredBefore}
    and (r.status = 'delivered' or (r.status <> 'pending' and r.created_at < ${before})))`

export const deliveryRules = ({ deliveredBefore, before }: { deliveredBefore: Date; before: Date }): RowRules => ({
  table: 'webhook_deliveries',
  timeColumn: 'created_at',
  stays: `not ${isOld(timeLiteral(deliveredBefore), timeLiteral(before))}`,
  open: "r.status = 'pending'",
})

/** The rest: rows of months that are not over for as long, or of which many stay. */
export const pruneDeliveries = statement<{ deliveredBefore: Date; before: Date; limit: number }>(
  'webhooks.prune',
  `delete from webhook_deliveries where (org_id, id, created_at) in (
     select org_id, id, created_at from webhook_deliveries r
     where ${isOld(':deliveredBefore', ':before')}
     limit :limit)`,
)

export const eraseTenantDeliveries = statement<{ orgId: string; tenantId: string; limit: number }>(
  'webhooks.erase_tenant_deliveries',
  `delete from webhook_deliveries where (org_id, id, created_at) in (
     select org_id, id, created_at from webhook_deliveries
     where org_id = :orgId and tenant_id = :tenantId
     limit :limit)`,
)
