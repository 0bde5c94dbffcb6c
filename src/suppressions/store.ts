import { statement } from '../db/statement.ts'
import type { Channel } from '../ground/channel.ts'
import type { Environment } from '../ground/scope.ts'

export type SuppressionRow = {
  id: string
  tenant_id: string | null
  channel: Channel
  value: string
  reason: 'bounce' | 'complaint' | 'unsubscribe' | 'stop' | 'manual'
  source: 'api' | 'dashboard' | 'provider' | 'one_click' | 'email_link' | 'sms_reply'
  message_id: string | null
  created_environment: Environment
  created_at: Date
  updated_at: Date
}

const columns = 'id, tenant_id, channel, value, reason, source, message_id, created_environment, created_at, updated_at'

/** Rows are taken in one order by everybody, so that no two calls wait for each other. */
const inOrder = 'order by org_id, channel, value collate "C", tenant_id'

/** Adds what is not there; what is there stays as it is and is not returned. */
export const insertManual = statement<
  {
    orgIds: string[]
    ids: string[]
    tenantIds: (string | null)[]
    channels: string[]
    values: string[]
    environments: string[]
    at: Date
  },
  SuppressionRow & { org_id: string }
>(
  'suppressions.insert_manual',
  `insert into suppressions
     (org_id, id, tenant_id, channel, value, reason, source, created_environment, created_at, updated_at)
   select org_id, id, tenant_id, channel, value, 'manual', 'api', environment, :at, :at
   from unnest(:orgIds::text[], :ids::text[], :tenantIds::text[], :channels::text[], :values::text[], :environments::text[])
     as a (org_id, id, tenant_id, channel, value, environment)
   ${inOrder}
   on conflict on constraint suppressions_target do nothing
   returning org_id, ${columns}`,
)

/** A cause with a wider reach is the stronger one; the recipient's own word is stronger than any other. */
const strength = (reason: string): string =>
  `(case ${reason} when 'unsubscribe' then 1 when 'bounce' then 2 when 'manual' then 2 else 3 end)`

/** What was only tried out gives way to what really happened, where that is as strong. */
const takesOver = `(${strength('excluded.reason')} > ${strength('s.reason')}
  or ${strength('excluded.reason')} = ${strength('s.reason')}
    and excluded.created_environment = 'live' and s.created_environment = 'test')`

const ifItUnsubscribes = (value: string): string => `case :reason when 'unsubscribe' then ${value} end`

const ifItTakesOver = (column: string): string =>
  `${column} = case when ${takesOver} then excluded.${column} else s.${column} end`

const ifItIsTheFirst = (column: string): string =>
  `${column} = case when s.unsubscribed_at is null then excluded.${column} else s.${column} end`

/**
 * Adds the row, gives the one that is there a stronger cause, or notes in it that the recipient unsubscribed. Returns
 * nothing when none of it was due.
 */
export const putSuppression = statement<
  {
    orgId: string
    id: string
    tenantId: string | null
    channel: string
    value: string
    reason: SuppressionRow['reason']
    source: SuppressionRow['source']
    messageId: string | null
    environment: Environment
    at: Date
  },
  Pick<SuppressionRow, 'id' | 'reason'>
>(
  'suppressions.put',
  `insert into suppressions as s
     (org_id, id, tenant_id, channel, value, reason, source, message_id, created_environment, created_at, updated_at,
      unsubscribed_at, unsubscribe_source, unsubscribe_message_id)
   values (:orgId, :id, :tenantId, :channel, :value, :reason, :source, :messageId, :environment, :at, :at,
     ${[':at::timestamptz', ':source::text', ':messageId::text'].map(ifItUnsubscribes).join(', ')})
   on conflict on constraint suppressions_target do update
     set ${['reason', 'source', 'message_id', 'updated_at'].map(ifItTakesOver).join(', ')},
       created_environment = case when ${takesOver} and excluded.created_environment = 'live' then 'live'
         else s.created_environment end,
       ${['unsubscribed_at', 'unsubscribe_source', 'unsubscribe_message_id'].map(ifItIsTheFirst).join(', ')}
     where ${takesOver} or s.unsubscribed_at is null and excluded.unsubscribed_at is not null
   returning id, reason`,
)

/** Of rows a test key made, those still there, now live. */
export const makeLive = statement<{ orgIds: string[]; ids: string[] }, { org_id: string; id: string }>(
  'suppressions.make_live',
  `with held as (
     select s.org_id, s.id from suppressions s
     join unnest(:orgIds::text[], :ids::text[]) as a (of_org, named) on s.org_id = a.of_org and s.id = a.named
     ${inOrder}
     for update of s
   )
   update suppressions s set created_environment = 'live'
   from held where s.org_id = held.org_id and s.id = held.id
   returning s.org_id, s.id`,
)

export const findTargets = statement<
  { orgIds: string[]; tenantIds: (string | null)[]; channels: string[]; values: string[] },
  SuppressionRow & { ordinal: number }
>(
  'suppressions.find_targets',
  `select a.ordinal::int as ordinal, ${columns
    .split(', ')
    .map((name) => `s.${name}`)
    .join(', ')}
   from unnest(:orgIds::text[], :tenantIds::text[], :channels::text[], :values::text[])
     with ordinality as a (org_id, tenant_id, channel, value, ordinal)
   join suppressions s on s.org_id = a.org_id and s.channel = a.channel and s.value = a.value
     and s.tenant_id is not distinct from a.tenant_id`,
)

/** Which of the targets are held back, each judged with its own tenant's rows and the org's. */
export const findBlocked = statement<
  { orgIds: string[]; tenantIds: (string | null)[]; channels: string[]; values: string[]; broadcasts: boolean[] },
  { ordinal: number }
>(
  'suppressions.find_blocked',
  `select distinct a.ordinal::int as ordinal
   from unnest(:orgIds::text[], :tenantIds::text[], :channels::text[], :values::text[], :broadcasts::boolean[])
     with ordinality as a (org_id, tenant_id, channel, value, broadcast, ordinal)
   join suppressions s on s.org_id = a.org_id and s.channel = a.channel and s.value = a.value
     and (s.tenant_id is null or s.tenant_id = a.tenant_id)
     and (a.broadcast or s.reason <> 'unsubscribe')`,
)

/** A null tenant reads the whole org. */
export const findSuppression = statement<{ orgId: string; tenantId: string | null; id: string }, SuppressionRow>(
  'suppressions.find',
  `select ${columns} from suppressions
   where org_id = :orgId and (:tenantId::text is null or tenant_id = :tenantId) and id = :id`,
)

/** The row a delete names by its target: the caller's own tenant's, or the org's own. */
export const findByTarget = statement<
  { orgId: string; tenantId: string | null; channel: string; value: string },
  SuppressionRow
>(
  'suppressions.find_by_target',
  `select ${columns} from suppressions
   where org_id = :orgId and tenant_id is not distinct from :tenantId and channel = :channel and value = :value`,
)

/** Newest first. Filters that are null match everything. */
export const listSuppressions = statement<
  {
    orgId: string
    channel: string | null
    value: string | null
    reason: string | null
    afterAt: string | null
    afterId: string | null
    limit: number
  },
  SuppressionRow
>(
  'suppressions.list',
  `select ${columns} from suppressions
   where org_id = :orgId
     and (:channel::text is null or channel = :channel) and (:value::text is null or value = :value)
     and (:reason::text is null or reason = :reason)
     and (:afterAt::timestamptz is null or (created_at, id) < (:afterAt::timestamptz, :afterId))
   order by created_at desc, id desc
   limit :limit`,
)

/** As above inside one tenant, on an index of its own: a tenant's few rows among an org's millions stay near. */
export const listTenantSuppressions = statement<
  {
    orgId: string
    tenantId: string
    channel: string | null
    value: string | null
    reason: string | null
    afterAt: string | null
    afterId: string | null
    limit: number
  },
  SuppressionRow
>(
  'suppressions.list_tenant',
  `select ${columns} from suppressions
   where org_id = :orgId and tenant_id = :tenantId
     and (:channel::text is null or channel = :channel) and (:value::text is null or value = :value)
     and (:reason::text is null or reason = :reason)
     and (:afterAt::timestamptz is null or (created_at, id) < (:afterAt::timestamptz, :afterId))
   order by created_at desc, id desc
   limit :limit`,
)

/**
 * Takes the reason away that the caller saw, and with it the row, unless the recipient had unsubscribed: then that is
 * left. Conditional, so that a STOP, a live cause or another removal arriving meanwhile finds its row as it wants it.
 * What unsubscribes is always live.
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

/** Proof of an opt-out outlives the tenant; the rest goes with it. */
export const eraseTenantSuppressions = statement<{ orgId: string; tenantId: string; limit: number }>(
  'suppressions.erase_tenant',
  `delete from suppressions where (org_id, id) in (
     select org_id, id from suppressions
     where org_id = :orgId and tenant_id = :tenantId and reason not in ('stop', 'complaint')
     limit :limit)`,
)
