/** Webhook endpoints: creating, changing and removing them, and their streaks of failed deliveries. */
import { rememberStep } from '../../customers/orgs/store.ts'
import { columns, flag, type Given, number, oneOf, type RowOf, text, texts, time } from '../../platform/db/columns.ts'
import { deleteOfTenant, type ErasedRows } from '../../platform/db/erased-rows.ts'
import { statement } from '../../platform/db/statement.ts'
import { type Keyset, newestPage } from '../../platform/ground/cursor.ts'
import type { Environment } from '../../platform/ground/scope.ts'

export const endpointColumns = columns({
  id: text,
  tenant_id: text.orNull,
  url: text,
  description: text.orNull,
  events: texts,
  enabled: flag,
  disabled_reason: oneOf<'auto' | 'manual'>().orNull,
  disabled_at: time.orNull,
  consecutive_failures: number,
  secret: text,
  secret_rotated_at: time.orNull,
  previous_secret: text.orNull,
  previous_secret_until: time.orNull,
  created_environment: oneOf<Environment>(),
  created_at: time,
  updated_at: time,
})

export type EndpointRow = RowOf<typeof endpointColumns>

export const countEndpoints = statement<{ orgId: string }, { n: number }>(
  'webhooks.count_endpoints',
  'select count(*) as n from webhook_endpoints where org_id = :orgId',
)

export const hasTenant = statement<{ orgId: string; tenantId: string }, { id: string }>(
  'webhooks.has_tenant',
  "select id from tenants where org_id = :orgId and id = :tenantId and status <> 'erased' for key share",
)

/** Inserts an endpoint and its queue. */
export const insertEndpoint = statement<
  Given<EndpointRow, 'id' | 'tenant_id' | 'url' | 'description' | 'events' | 'enabled' | 'secret'> & {
    orgId: string
    environment: Environment
    at: Date
  },
  EndpointRow
>(
  'webhooks.insert_endpoint',
  `with inserted as (
     insert into webhook_endpoints (org_id, id, tenant_id, url, description, events, enabled, disabled_reason,
       disabled_at, secret, created_environment, created_at, updated_at)
     values (:orgId, :id, :tenantId, :url, :description, :events, :enabled,
       case when :enabled then null else 'manual' end,
       case when :enabled then null else :at::timestamptz end,
       :secret, :environment, :at, :at)
     returning org_id, ${endpointColumns}
   ), queue as (
     insert into webhook_lanes (org_id, endpoint_id) select org_id, id from inserted
   ), remembered as (
     ${rememberStep('add_webhook')}
   )
   select ${endpointColumns} from inserted`,
)

/** A null tenant matches every endpoint of the org. */
export const findEndpoint = statement<{ orgId: string; tenantId: string | null; id: string }, EndpointRow>(
  'webhooks.find_endpoint',
  `select ${endpointColumns} from webhook_endpoints
   where org_id = :orgId and (:tenantId::text is null or tenant_id = :tenantId) and id = :id`,
)

export const lockEndpoint = statement<{ orgId: string; id: string }, EndpointRow>(
  'webhooks.lock_endpoint',
  `select ${endpointColumns} from webhook_endpoints where org_id = :orgId and id = :id for update`,
)

export const listEndpoints = statement<Keyset & { orgId: string; tenantId: string | null }, EndpointRow>(
  'webhooks.list_endpoints',
  `select ${endpointColumns} from webhook_endpoints
   where org_id = :orgId and (:tenantId::text is null or tenant_id = :tenantId) ${newestPage}`,
)

/**
 * A null parameter leaves its field unchanged. Enabling an endpoint clears its streak. Disabling one that is already
 * disabled keeps the first reason and time.
 */
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
     disabled_reason = case
       when :enabled then null
       when not :enabled and enabled then 'manual'
       else disabled_reason end,
     disabled_at = case
       when :enabled then null
       when not :enabled and enabled then :at
       else disabled_at end,
     consecutive_failures = case when :enabled then 0 else consecutive_failures end,
     updated_at = :at
   where org_id = :orgId and id = :id
   returning ${endpointColumns}`,
)

/** Without a time, the former secret is dropped at once. One from an earlier rotation is dropped in any case. */
export const rotateSecret = statement<
  { orgId: string; id: string; secret: string; previousUntil: Date | null; at: Date },
  EndpointRow
>(
  'webhooks.rotate_secret',
  `update webhook_endpoints set
     previous_secret = case when :previousUntil::timestamptz is not null then secret end,
     previous_secret_until = :previousUntil,
     secret = :secret,
     secret_rotated_at = :at,
     updated_at = :at
   where org_id = :orgId and id = :id
   returning ${endpointColumns}`,
)

/** Drops the former secret of an endpoint once its overlap is over. */
export const dropPreviousSecret = statement<{ orgId: string; id: string; at: Date }>(
  'webhooks.drop_previous_secret',
  `update webhook_endpoints set previous_secret = null, previous_secret_until = null
   where org_id = :orgId and id = :id and previous_secret_until <= :at`,
)

/** Drops the former secrets of all endpoints whose overlap is over. */
export const sweepPreviousSecrets = statement<{ at: Date; limit: number }>(
  'webhooks.sweep_previous_secrets',
  `update webhook_endpoints set previous_secret = null, previous_secret_until = null
   where (org_id, id) in (
     select org_id, id from webhook_endpoints
     where previous_secret is not null and previous_secret_until <= :at
     order by previous_secret_until
     limit :limit)`,
)

/** Deletes an endpoint and its pending deliveries. */
export const deleteEndpoint = statement<{ orgId: string; id: string }, EndpointRow>(
  'webhooks.delete_endpoint',
  `with deleted_deliveries as (
     delete from webhook_deliveries where org_id = :orgId and endpoint_id = :id and status = 'pending'
   )
   delete from webhook_endpoints where org_id = :orgId and id = :id returning ${endpointColumns}`,
)

/** For an org that is deleted. Nothing is delivered without the endpoint. */
export const deleteEndpointsOfOrg = statement<{ orgId: string }>(
  'webhooks.delete_endpoints_of_org',
  'delete from webhook_endpoints where org_id = :orgId',
)

export const clearStreak = statement<{ orgId: string; id: string }>(
  'webhooks.clear_streak',
  `update webhook_endpoints set consecutive_failures = 0
   where org_id = :orgId and id = :id and consecutive_failures > 0`,
)

/** Counts one more failed delivery. The endpoint is disabled when its streak reaches `disableAt`. */
export const extendStreak = statement<
  { orgId: string; id: string; disableAt: number; at: Date },
  Pick<EndpointRow, 'enabled' | 'consecutive_failures' | 'url' | 'tenant_id'>
>(
  'webhooks.extend_streak',
  `update webhook_endpoints set
     consecutive_failures = consecutive_failures + 1,
     enabled = consecutive_failures + 1 < :disableAt,
     disabled_reason = case when consecutive_failures + 1 < :disableAt then disabled_reason else 'auto' end,
     disabled_at = case when consecutive_failures + 1 < :disableAt then disabled_at else :at end,
     updated_at = case when consecutive_failures + 1 < :disableAt then updated_at else :at end
   where org_id = :orgId and id = :id and enabled
   returning enabled, consecutive_failures, url, tenant_id`,
)

export const eraseTenantEndpoints = statement<ErasedRows>(
  'webhooks.erase_tenant_endpoints',
  deleteOfTenant('webhook_endpoints'),
)
