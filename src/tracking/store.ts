import { statement } from '../db/statement.ts'
import type { Environment } from '../ground/scope.ts'

/**
 * Counts opens and clicks, at most one an hour for each mark. A counted one is stored for the statistics and appended
 * as an event, both with the same id. The marks of one call must be different.
 */
export const countHits = statement<
  {
    orgIds: string[]
    messageIds: string[]
    createdAt: Date[]
    kinds: ('opened' | 'clicked')[]
    marks: Buffer[]
    urls: (string | null)[]
    addresses: (string | null)[]
    ids: string[]
    now: Date
    anHourAgo: Date
  },
  { id: string }
>(
  'tracking.count_hits',
  `with hits as (
     select h.org_id, h.message_id, h.kind, h.mark, h.url, h.address, h.id, m.tenant_id, m.environment, m.channel
     from unnest(:orgIds::text[], :messageIds::text[], :createdAt::timestamptz[], :kinds::text[], :marks::bytea[],
         :urls::text[], :addresses::text[], :ids::text[])
       as h (org_id, message_id, created_at, kind, mark, url, address, id)
     join messages m on m.org_id = h.org_id and m.id = h.message_id and m.created_at = h.created_at
       and case h.kind when 'opened' then m.track_opens else m.track_clicks end
     where not exists (select from tenants t
       where t.org_id = m.org_id and t.id = m.tenant_id and t.status = 'erased')
   ), counted as (
     insert into tracking_marks as k (org_id, message_id, mark, at)
     select org_id, message_id, mark, :now from hits
     order by org_id, message_id, mark
     on conflict (org_id, message_id, mark) do update set at = excluded.at where k.at <= :anHourAgo
     returning org_id, message_id, mark
   ), kept as (
     insert into message_events
       (org_id, id, at, message_id, tenant_id, environment, channel, kind, url, address)
     select org_id, id, :now, message_id, tenant_id, environment, channel, kind, url, address
     from hits join counted using (org_id, message_id, mark)
   )
   insert into events (org_id, id, tenant_id, environment, event, data, created_at)
   select org_id, id, tenant_id, environment, 'message.' || kind,
     jsonb_build_object('message_id', message_id, 'channel', channel)
       || case kind when 'clicked' then jsonb_build_object('url', url) else '{}' end,
     :now
   from hits join counted using (org_id, message_id, mark)
   returning id`,
)

export const sweepOldMarks = statement<{ before: Date; limit: number }>(
  'tracking.sweep_marks',
  `delete from tracking_marks where (org_id, message_id, mark) in (
     select org_id, message_id, mark from tracking_marks where at < :before limit :limit)`,
)

/** An erasure cannot be canceled once it has started. From then on no data about the tenant's recipients is written. */
const erased = "(t.status = 'erased' or t.erasure is not null)"

/** The org of an unsubscribe link, whether its address has unsubscribed, and whether its tenant was erased. */
export const findSubscriptionState = statement<
  { orgId: string; tenantId: string | null; address: string },
  { org_name: string; unsubscribed: boolean; tenant_erased: boolean }
>(
  'tracking.find_subscription_state',
  `select o.name as org_name,
     exists (
       select from suppressions s
       where s.org_id = o.id and s.tenant_id is not distinct from :tenantId and s.channel = 'email'
         and s.value = :address and s.unsubscribed_at is not null
     ) as unsubscribed,
     exists (select from tenants t where t.org_id = o.id and t.id = :tenantId and ${erased}) as tenant_erased
   from orgs o where o.id = :orgId`,
)

/**
 * Locks the tenant until the transaction ends. An erasure is either visible here, or starts later and deletes the rows
 * that this transaction writes.
 */
export const lockTenantRow = statement<{ orgId: string; tenantId: string }, { erased: boolean }>(
  'tracking.lock_tenant',
  `select ${erased} as erased from tenants t where t.org_id = :orgId and t.id = :tenantId for share`,
)

/** Locks the recipient until the transaction ends, so that only one of several concurrent requests counts. */
export const lockRecipient = statement<{ recipient: string }, { held: unknown }>(
  'tracking.lock_recipient',
  'select pg_advisory_xact_lock(hashtextextended(:recipient, 0)) as held',
)

export const findUnsubscribed = statement<
  { orgId: string; messageId: string | null; tenantId: string | null; environment: Environment; recipient: string },
  { id: string }
>(
  'tracking.find_unsubscribed',
  `select id from message_events
   where org_id = :orgId and message_id is not distinct from :messageId and tenant_id is not distinct from :tenantId
     and environment = :environment and kind = 'unsubscribed' and recipient = :recipient
   limit 1`,
)

export const insertUnsubscribed = statement<{
  orgId: string
  id: string
  at: Date
  messageId: string | null
  tenantId: string | null
  environment: Environment
  recipient: string
}>(
  'tracking.insert_unsubscribed',
  `insert into message_events (org_id, id, at, message_id, tenant_id, environment, channel, kind, recipient)
   values (:orgId, :id, :at, :messageId, :tenantId, :environment, 'email', 'unsubscribed', :recipient)`,
)
