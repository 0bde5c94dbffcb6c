import { afterCursor } from '../../platform/db/after-cursor.ts'
import { columns, type Given, oneOf, type RowOf, text, time } from '../../platform/db/columns.ts'
import { statement } from '../../platform/db/statement.ts'
import type { Channel } from '../../platform/ground/channel.ts'
import { type Keyset, newestPage } from '../../platform/ground/cursor.ts'
import type { Environment } from '../../platform/ground/scope.ts'
import type { Searched } from '../../platform/ground/search-page.ts'
import type { reasons, sources } from './shapes.ts'

const suppressionColumns = columns({
  id: text,
  tenant_id: text.orNull,
  channel: oneOf<Channel>(),
  value: text,
  reason: oneOf<(typeof reasons)[number]>(),
  source: oneOf<(typeof sources)[number]>(),
  message_id: text.orNull,
  created_environment: oneOf<Environment>(),
  created_at: time,
  updated_at: time,
})

export type SuppressionRow = RowOf<typeof suppressionColumns>

type Targets = { orgIds: string[]; tenantIds: (string | null)[]; channels: string[]; values: string[] }

/** All statements lock rows in this order, so that they cannot deadlock. */
const lockOrder = 'order by org_id, channel, value collate "C", tenant_id'

/** Inserts missing rows. Existing rows stay unchanged and are not returned. */
export const insertManual = statement<
  Targets & { ids: string[]; sources: SuppressionRow['source'][]; environments: string[]; at: Date },
  SuppressionRow & { org_id: string }
>(
  'suppressions.insert_manual',
  `insert into suppressions
     (org_id, id, tenant_id, channel, value, reason, source, created_environment, created_at, updated_at)
   select org_id, id, tenant_id, channel, value, 'manual', source, environment, :at, :at
   from unnest(:orgIds::text[], :ids::text[], :tenantIds::text[], :channels::text[], :values::text[],
       :sources::text[], :environments::text[])
     as a (org_id, id, tenant_id, channel, value, source, environment)
   ${lockOrder}
   on conflict on constraint suppressions_target do nothing
   returning org_id, ${suppressionColumns}`,
)

/** A cause that blocks more mail is stronger. Those that come from the recipient, stop and complaint, are strongest. */
const strength = (reason: string): string =>
  `(case ${reason} when 'unsubscribe' then 1 when 'bounce' then 2 when 'manual' then 2 else 3 end)`

/** A stronger cause replaces the current one. A live cause also replaces a test-mode cause of the same strength. */
const replaces = `(${strength('excluded.reason')} > ${strength('s.reason')}
  or ${strength('excluded.reason')} = ${strength('s.reason')}
    and excluded.created_environment = 'live' and s.created_environment = 'test')`

const whenUnsubscribing = (value: string): string => `case :reason when 'unsubscribe' then ${value} end`

const whenReplacing = (column: string): string =>
  `${column} = case when ${replaces} then excluded.${column} else s.${column} end`

const onFirstUnsubscribe = (column: string): string =>
  `${column} = case when s.unsubscribed_at is null then excluded.${column} else s.${column} end`

/**
 * Inserts the row, replaces the cause of an existing row with a stronger one, or stores in it that the recipient
 * unsubscribed. Returns no row when nothing changed.
 */
export const putSuppression = statement<
  Given<SuppressionRow, 'id' | 'tenant_id' | 'channel' | 'value' | 'reason' | 'source' | 'message_id'> & {
    orgId: string
    environment: Environment
    at: Date
  },
  Pick<SuppressionRow, 'id' | 'reason' | 'created_at'>
>(
  'suppressions.put',
  `insert into suppressions as s
     (org_id, id, tenant_id, channel, value, reason, source, message_id, created_environment, created_at, updated_at,
      unsubscribed_at, unsubscribe_source, unsubscribe_message_id)
   values (:orgId, :id, :tenantId, :channel, :value, :reason, :source, :messageId, :environment, :at, :at,
     ${[':at::timestamptz', ':source::text', ':messageId::text'].map(whenUnsubscribing).join(', ')})
   on conflict on constraint suppressions_target do update
     set ${['reason', 'source', 'message_id', 'updated_at'].map(whenReplacing).join(', ')},
       created_environment = case when ${replaces} and excluded.created_environment = 'live' then 'live'
         else s.created_environment end,
       ${['unsubscribed_at', 'unsubscribe_source', 'unsubscribe_message_id'].map(onFirstUnsubscribe).join(', ')}
     where ${replaces} or s.unsubscribed_at is null and excluded.unsubscribed_at is not null
   returning id, reason, created_at`,
)

/** Promotes test-mode rows to live and returns those that still exist. */
export const promoteToLive = statement<{ orgIds: string[]; ids: string[] }, { org_id: string; id: string }>(
  'suppressions.promote_to_live',
  `with held as (
     select s.org_id, s.id from suppressions s
     join unnest(:orgIds::text[], :ids::text[]) as a (promoted_org, promoted_id)
       on s.org_id = a.promoted_org and s.id = a.promoted_id
     ${lockOrder}
     for update of s
   )
   update suppressions s set created_environment = 'live'
   from held where s.org_id = held.org_id and s.id = held.id
   returning s.org_id, s.id`,
)

export const findTargets = statement<Targets, SuppressionRow & { ordinal: number }>(
  'suppressions.find_targets',
  `select a.ordinal::int as ordinal, ${suppressionColumns.of('s')}
   from unnest(:orgIds::text[], :tenantIds::text[], :channels::text[], :values::text[])
     with ordinality as a (org_id, tenant_id, channel, value, ordinal)
   join suppressions s on s.org_id = a.org_id and s.channel = a.channel and s.value = a.value
     and s.tenant_id is not distinct from a.tenant_id`,
)

/** Finds the suppressed targets, each by the rows of its own tenant and of the org. */
export const findBlocked = statement<Targets & { broadcasts: boolean[] }, { ordinal: number }>(
  'suppressions.find_blocked',
  `select distinct a.ordinal::int as ordinal
   from unnest(:orgIds::text[], :tenantIds::text[], :channels::text[], :values::text[], :broadcasts::boolean[])
     with ordinality as a (org_id, tenant_id, channel, value, broadcast, ordinal)
   join suppressions s on s.org_id = a.org_id and s.channel = a.channel and s.value = a.value
     and (s.tenant_id is null or s.tenant_id = a.tenant_id)
     and (a.broadcast or s.reason <> 'unsubscribe')`,
)

/** A null tenant searches the whole org. */
export const findSuppression = statement<{ orgId: string; tenantId: string | null; id: string }, SuppressionRow>(
  'suppressions.find',
  `select ${suppressionColumns} from suppressions
   where org_id = :orgId and (:tenantId::text is null or tenant_id = :tenantId) and id = :id`,
)

/** Finds the row of exactly this tenant, or for a null tenant the row of the org itself. */
export const findByTarget = statement<
  Given<SuppressionRow, 'tenant_id' | 'channel' | 'value'> & { orgId: string },
  SuppressionRow
>(
  'suppressions.find_by_target',
  `select ${suppressionColumns} from suppressions
   where org_id = :orgId and tenant_id is not distinct from :tenantId and channel = :channel and value = :value`,
)

type Filters = { orgId: string; channel: string | null; value: string | null; reason: string | null }

const listSql = (inTenant: string): string =>
  `select ${suppressionColumns} from suppressions
   where org_id = :orgId${inTenant}
     and (:channel::text is null or channel = :channel) and (:value::text is null or value = :value)
     and (:reason::text is null or reason = :reason)
     ${newestPage}`

/** Newest first. Filters that are null match everything. */
export const listSuppressions = statement<Keyset & Filters, SuppressionRow>('suppressions.list', listSql(''))

/** Like `listSuppressions` for one tenant. It uses its own index, so that the rows of a large org are not scanned. */
export const listTenantSuppressions = statement<Keyset & Filters & { tenantId: string }, SuppressionRow>(
  'suppressions.list_tenant',
  listSql(' and tenant_id = :tenantId'),
)

type Search = Keyset & Omit<Filters, 'value'> & { q: string; window: number }

/**
 * Searches at most `window` rows, newest first, so that its cost does not depend on how many there are. It returns those
 * that match, and the last row of a full window, where the next search goes on.
 */
const searchSql = (inTenant: string): string =>
  `with scanned as materialized (
     select ${suppressionColumns}, strpos(value, lower(:q)) > 0 and (:channel::text is null or channel = :channel)
         and (:reason::text is null or reason = :reason) as matches,
       row_number() over (order by created_at desc, id desc) as place
     from suppressions
     where org_id = :orgId${inTenant}
       and ${afterCursor()}
     order by created_at desc, id desc
     limit :window
   ),
   found as (
     (select ${suppressionColumns}, place, false as ends from scanned where matches order by place limit :limit)
     union all
     (select ${suppressionColumns}, place, true as ends from scanned where place = :window)
   )
   select ${suppressionColumns}, ends from found order by place, ends`

export const searchSuppressions = {
  all: statement<Search, Searched<SuppressionRow>>('suppressions.search', searchSql('')),
  byTenant: statement<Search & { tenantId: string }, Searched<SuppressionRow>>(
    'suppressions.search_tenant',
    searchSql(' and tenant_id = :tenantId'),
  ),
}

/**
 * Deletes the row, or restores the unsubscribe if the recipient had unsubscribed. Applies only while the row still has
 * the reason that the caller read, so that a STOP, a live cause or another removal in between is not undone. A restored
 * unsubscribe is always live.
 */
export const removeSuppression = statement<{
  orgId: string
  id: string
  reason: SuppressionRow['reason']
  environment: Environment
  at: Date
}>(
  'suppressions.remove',
  `merge into suppressions s
   using (values (:reason, :environment)) as seen (reason, environment)
   on s.org_id = :orgId and s.id = :id and s.reason = seen.reason and s.reason not in ('stop', 'complaint')
     and (seen.environment = 'live' or s.created_environment = 'test')
   when matched and s.reason <> 'unsubscribe' and s.unsubscribed_at is not null then
     update set reason = 'unsubscribe', source = s.unsubscribe_source, message_id = s.unsubscribe_message_id,
       created_environment = 'live', updated_at = :at
   when matched then delete`,
)

/** Keeps `stop` and `complaint` rows as proof of the opt-out. All other rows of the tenant are deleted. */
export const eraseTenantSuppressions = statement<{ orgId: string; tenantId: string; limit: number }>(
  'suppressions.erase_tenant',
  `delete from suppressions where (org_id, id) in (
     select org_id, id from suppressions
     where org_id = :orgId and tenant_id = :tenantId and reason not in ('stop', 'complaint')
     limit :limit)`,
)
