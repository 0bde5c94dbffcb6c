import { statement } from '../db/statement.ts'
import type { Environment } from '../ground/scope.ts'

export type SuppressionRow = {
  id: string
  tenant_id: string | null
  channel: 'email' | 'sms'
  value: string
  reason: 'bounce' | 'complaint' | 'unsubscribe' | 'stop' | 'manual'
  source: 'api' | 'dashboard' | 'provider' | 'one_click' | 'email_link' | 'sms_reply'
  message_id: string | null
  created_environment: Environment
  created_at: Date
  updated_at: Date
}

const columns =
  'id, tenant_id, channel, value, reason, source, message_id, created_environment, created_at, updated_at'

/** Rows are taken in one order by everybody, so that no two calls wait for each other. */
const inOrder = 'order by org_id, channel, value collate "C", tenant_id'

/** Adds what is not there; what is there stays as it is and is not returned. */
export const insertManual = statement<
  [
    orgIds: string[],
    ids: string[],
    tenantIds: (string | null)[],
    channels: string[],
    values: string[],
    environments: string[],
    at: Date,
  ],
  SuppressionRow & { org_id: string }
>(
  'suppressions.insert_manual',
  `insert into suppressions
     (org_id, id, tenant_id, channel, value, reason, source, created_environment, created_at, updated_at)
   select org_id, id, tenant_id, channel, value, 'manual', 'api', environment, $7, $7
   from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
     as a (org_id, id, tenant_id, channel, value, environment)
   ${inOrder}
   on conflict on constraint suppressions_target do nothing
   returning org_id, ${columns}`,
)

/** A cause with a wider reach is the stronger one; the recipient's own word is stronger than any other. */
const strength = (reason: string): string =>
  `(case ${reason} when 'unsubscribe' then 1 when 'bounce' then 2 when 'manual' then 2 else 3 end)`

/** Adds the row, or gives the one that is there a stronger cause. Returns nothing when neither was due. */
export const putSuppression = statement<
  [
    orgId: string,
    id: string,
    tenantId: string | null,
    channel: string,
    value: string,
    reason: SuppressionRow['reason'],
    source: SuppressionRow['source'],
    messageId: string | null,
    environment: Environment,
    at: Date,
  ],
  Pick<SuppressionRow, 'id' | 'reason'>
>(
  'suppressions.put',
  `insert into suppressions
     (org_id, id, tenant_id, channel, value, reason, source, message_id, created_environment, created_at, updated_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)
   on conflict on constraint suppressions_target do update
     set reason = excluded.reason, source = excluded.source, message_id = excluded.message_id,
       updated_at = excluded.updated_at
     where ${strength('excluded.reason')} > ${strength('suppressions.reason')}
   returning id, reason`,
)

export const findTargets = statement<
  [orgIds: string[], tenantIds: (string | null)[], channels: string[], values: string[]],
  SuppressionRow & { ordinal: number }
>(
  'suppressions.find_targets',
  `select a.ordinal::int as ordinal, ${columns
    .split(', ')
    .map((name) => `s.${name}`)
    .join(', ')}
   from unnest($1::text[], $2::text[], $3::text[], $4::text[])
     with ordinality as a (org_id, tenant_id, channel, value, ordinal)
   join suppressions s on s.org_id = a.org_id and s.channel = a.channel and s.value = a.value
     and s.tenant_id is not distinct from a.tenant_id`,
)

/** Which of the targets are held back, each judged with its own tenant's rows and the org's. */
export const findBlocked = statement<
  [
    orgIds: string[],
    tenantIds: (string | null)[],
    channels: string[],
    values: string[],
    broadcasts: boolean[],
  ],
  { ordinal: number }
>(
  'suppressions.find_blocked',
  `select distinct a.ordinal::int as ordinal
   from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[])
     with ordinality as a (org_id, tenant_id, channel, value, broadcast, ordinal)
   join suppressions s on s.org_id = a.org_id and s.channel = a.channel and s.value = a.value
     and (s.tenant_id is null or s.tenant_id = a.tenant_id)
     and (a.broadcast or s.reason <> 'unsubscribe')`,
)

/** A null tenant reads the whole org. */
export const findSuppression = statement<
  [orgId: string, tenantId: string | null, id: string],
  SuppressionRow
>(
  'suppressions.find',
  `select ${columns} from suppressions
   where org_id = $1 and ($2::text is null or tenant_id = $2) and id = $3`,
)

/** The row a delete names by its target: the caller's own tenant's, or the org's own. */
export const findByTarget = statement<
  [orgId: string, tenantId: string | null, channel: string, value: string],
  SuppressionRow
>(
  'suppressions.find_by_target',
  `select ${columns} from suppressions
   where org_id = $1 and tenant_id is not distinct from $2 and channel = $3 and value = $4`,
)

/** Newest first. Filters that are null match everything. */
export const listSuppressions = statement<
  [
    orgId: string,
    channel: string | null,
    value: string | null,
    reason: string | null,
    afterAt: string | null,
    afterId: string | null,
    limit: number,
  ],
  SuppressionRow
>(
  'suppressions.list',
  `select ${columns} from suppressions
   where org_id = $1
     and ($2::text is null or channel = $2) and ($3::text is null or value = $3)
     and ($4::text is null or reason = $4)
     and ($5::timestamptz is null or (created_at, id) < ($5::timestamptz, $6))
   order by created_at desc, id desc
   limit $7`,
)

/** As above inside one tenant, on an index of its own: a tenant's few rows among an org's millions stay near. */
export const listTenantSuppressions = statement<
  [
    orgId: string,
    tenantId: string,
    channel: string | null,
    value: string | null,
    reason: string | null,
    afterAt: string | null,
    afterId: string | null,
    limit: number,
  ],
  SuppressionRow
>(
  'suppressions.list_tenant',
  `select ${columns} from suppressions
   where org_id = $1 and tenant_id = $2
     and ($3::text is null or channel = $3) and ($4::text is null or value = $4)
     and ($5::text is null or reason = $5)
     and ($6::timestamptz is null or (created_at, id) < ($6::timestamptz, $7))
   order by created_at desc, id desc
   limit $8`,
)

/** Conditional on the reason, so that a STOP arriving meanwhile is not deleted with the row it escalated. */
export const deleteSuppression = statement<[orgId: string, id: string], { id: string }>(
  'suppressions.delete',
  `delete from suppressions
   where org_id = $1 and id = $2 and reason not in ('stop', 'complaint')
   returning id`,
)

/** Proof of an opt-out outlives the tenant; the rest goes with it. */
export const eraseTenantSuppressions = statement<[orgId: string, tenantId: string, limit: number]>(
  'suppressions.erase_tenant',
  `delete from suppressions where (org_id, id) in (
     select org_id, id from suppressions
     where org_id = $1 and tenant_id = $2 and reason not in ('stop', 'complaint')
     limit $3)`,
)
