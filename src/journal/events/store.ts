import { statement } from '../../platform/db/statement.ts'

export const insertEvents = statement<{
  orgIds: string[]
  ids: string[]
  tenantIds: (string | null)[]
  environments: (string | null)[]
  events: string[]
  data: string[]
  at: Date[]
  traceparent: string | null
}>(
  'events.insert',
  `insert into events (org_id, id, tenant_id, environment, event, data, created_at, traceparent)
   select org_id, id, tenant_id, environment, event, data, created_at, :traceparent::text
   from unnest(:orgIds::text[], :ids::text[], :tenantIds::text[], :environments::text[], :events::text[],
     :data::jsonb[], :at::timestamptz[])
     as e (org_id, id, tenant_id, environment, event, data, created_at)`,
)

export const notifyWorkers = statement<{ channel: string }, { sent: string }>(
  'events.notify',
  `select pg_notify(:channel, '')::text as sent`,
)

/** Waits for rows that fan-out holds, so that none of them becomes a delivery after this. */
export const eraseTenantOutbox = statement<{ orgId: string; tenantId: string; limit: number }>(
  'events.erase_tenant',
  `delete from events where (org_id, id) in (
     select org_id, id from events where org_id = :orgId and tenant_id = :tenantId order by created_at, id limit :limit)`,
)
