import type { Lists } from '../../platform/db/lists.ts'
import { statement } from '../../platform/db/statement.ts'
import type { UnsubscribeRef } from './tokens.ts'

/** An open or a click of the message that was created then. */
export type HitRow = {
  orgId: string
  messageId: string
  createdAt: Date
  kind: 'opened' | 'clicked'
  mark: Buffer
  url: string | null
  address: string | null
  id: string
}

/**
 * Counts opens and clicks, at most one an hour for each mark and `limit` an hour for each message. A counted one is
 * stored for the statistics and appended as an event, both with the same id. The marks of one call must be different.
 *
 * A repeated hit, or one above the limit, is found by reading and writes nothing. For concurrent calls, the counter of
 * the message decides how many of its hits fit, and then the mark decides whether a hit is the first. Two equal hits at
 * the same moment can therefore use up two of the limit and count once. Every call locks counters before marks, in the
 * same order.
 */
export const countHits = statement<
  Lists<HitRow> & { now: Date; anHourAgo: Date; limit: number },
  {
    id: string
    counted: boolean
    /** When the same hit was counted before, if that is less than an hour ago. */
    marked_at: Date | null
    /** When the hour began, if the message had reached the limit. */
    full_since: Date | null
  }
>(
  'tracking.count_hits',
  `with hits as (
     select h.org_id, h.message_id, h.kind, h.mark, h.url, h.address, h.id, m.tenant_id, m.environment, m.channel,
       k.at as marked_at, case when w.hits >= :limit then w.started_at end as full_since
     from unnest(:orgId::text[], :messageId::text[], :createdAt::timestamptz[], :kind::text[], :mark::bytea[],
         :url::text[], :address::text[], :id::text[])
       as h (org_id, message_id, created_at, kind, mark, url, address, id)
     join messages m on m.org_id = h.org_id and m.id = h.message_id and m.created_at = h.created_at
       and case h.kind when 'opened' then m.track_opens else m.track_clicks end
     left join tracking_marks k on k.org_id = h.org_id and k.message_id = h.message_id and k.mark = h.mark
       and k.at > :anHourAgo
     left join tracking_windows w on w.org_id = h.org_id and w.message_id = h.message_id and w.started_at > :anHourAgo
     where not exists (select from tenants t
       where t.org_id = m.org_id and t.id = m.tenant_id and t.status = 'erased')
   ), fresh as (
     select org_id, message_id, mark, row_number() over (partition by org_id, message_id order by id) as place,
       count(*) over (partition by org_id, message_id) as asked
     from hits where marked_at is null and full_since is null
   ), windows as (
     insert into tracking_windows as w (org_id, message_id, started_at, hits)
     select org_id, message_id, :now, count(*) from fresh
     group by org_id, message_id
     order by org_id, message_id
     on conflict (org_id, message_id) do update set
       started_at = case when w.started_at <= :anHourAgo then excluded.started_at else w.started_at end,
       hits = excluded.hits + case when w.started_at <= :anHourAgo then 0 else w.hits end
     where w.started_at <= :anHourAgo or w.hits < :limit
     returning org_id, message_id, hits
   ), counted as (
     insert into tracking_marks as k (org_id, message_id, mark, at)
     select org_id, message_id, mark, :now from fresh join windows using (org_id, message_id)
     where place <= :limit - (windows.hits - asked)
     order by org_id, message_id, mark
     on conflict (org_id, message_id, mark) do update set at = excluded.at where k.at <= :anHourAgo
     returning org_id, message_id, mark
   ), kept as (
     insert into message_events
       (org_id, id, at, message_id, tenant_id, environment, channel, kind, url, address)
     select org_id, id, :now, message_id, tenant_id, environment, channel, kind, url, address
     from hits join counted using (org_id, message_id, mark)
   ), appended as (
     insert into events (org_id, id, tenant_id, environment, event, data, created_at)
     select org_id, id, tenant_id, environment, 'message.' || kind,
       jsonb_build_object('message_id', message_id, 'channel', channel)
         || case kind when 'clicked' then jsonb_build_object('url', url) else '{}' end,
       :now
     from hits join counted using (org_id, message_id, mark)
     returning id
   )
   select hits.id, appended.id is not null as counted, marked_at, full_since from hits left join appended using (id)`,
)

/**
 * Locks the oldest rows and deletes them by their place in the table. A join would read all expired rows for each chunk.
 * The lock keeps a concurrent count from renewing a row that is about to be deleted.
 */
export const sweepOldMarks = statement<{ before: Date; limit: number }>(
  'tracking.sweep_marks',
  `delete from tracking_marks where ctid = any(array(
     select ctid from tracking_marks where at < :before order by at limit :limit for update skip locked))`,
)

export const sweepOldWindows = statement<{ before: Date; limit: number }>(
  'tracking.sweep_windows',
  `delete from tracking_windows where ctid = any(array(
     select ctid from tracking_windows where started_at < :before order by started_at limit :limit
     for update skip locked))`,
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

type Unsubscribed = Omit<UnsubscribeRef, 'address'> & { recipient: string }

export const findUnsubscribed = statement<Unsubscribed, { id: string }>(
  'tracking.find_unsubscribed',
  `select id from message_events
   where org_id = :orgId and message_id is not distinct from :messageId and tenant_id is not distinct from :tenantId
     and environment = :environment and kind = 'unsubscribed' and recipient = :recipient
   limit 1`,
)

export const insertUnsubscribed = statement<Unsubscribed & { id: string; at: Date }>(
  'tracking.insert_unsubscribed',
  `insert into message_events (org_id, id, at, message_id, tenant_id, environment, channel, kind, recipient)
   values (:orgId, :id, :at, :messageId, :tenantId, :environment, 'email', 'unsubscribed', :recipient)`,
)
