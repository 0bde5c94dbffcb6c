/** Registrations for India: entities, headers and templates, their status, and what the simulated registry reports. */
import { columns, type Given, oneOf, type RowOf, text, time } from '../../../platform/db/columns.ts'
import { type NoParams, statement } from '../../../platform/db/statement.ts'
import { type Keyset, newestPageOf } from '../../../platform/ground/cursor.ts'
import type { Environment } from '../../../platform/ground/scope.ts'

export type DltStatus = 'pending' | 'submitted' | 'approved' | 'rejected'

const shared = {
  org_id: text,
  id: text,
  /** The environment of the key that created it. */
  environment: oneOf<Environment>(),
  status: oneOf<DltStatus>(),
  rejection_reason: text.orNull,
  created_at: time,
  updated_at: time,
}
const entityTable = columns({ ...shared, entity_id: text, legal_name: text })
const headerTable = columns({ ...shared, entity: text, header: text, category: text })
const templateTable = columns({
  ...shared,
  entity: text,
  header: text,
  name: text,
  category: text,
  content: text,
  provider_template_id: text.orNull,
})

export type DltEntityRow = RowOf<typeof entityTable>
export type DltHeaderRow = RowOf<typeof headerTable>
export type DltTemplate = RowOf<typeof templateTable> & { entity_id: string }

const entityColumns = entityTable.of('d')
const headerColumns = headerTable.of('d')
const templateColumns = `${templateTable.of('d')},
  (select e.entity_id from dlt_entities e where e.org_id = d.org_id and e.id = d.entity) as entity_id`

const sqlOf = (table: string, selected: string) => {
  const find = `select ${selected} from ${table} d where d.org_id = :orgId and d.id = :id`
  return {
    find,
    hold: `${find} for key share of d`,
    lock: `${find} for update of d`,
    list: `select ${selected} from ${table} d where d.org_id = :orgId ${newestPageOf('d')}`,
    remove: `delete from ${table} where org_id = :orgId and id = :id`,
    poll: `select d.org_id, d.id, s.status as reported, s.missing_fields, s.reason
     from ${table} d
     left join simulated_registry s on s.id = d.id
     where (d.environment = 'test' or :live) and (d.status in ('pending', 'submitted') or s.id is not null)
       and (d.org_id, d.id) > (:afterOrgId, :afterId)
     order by d.org_id, d.id
     limit :limit`,
    setStatus: `update ${table} set status = :status, rejection_reason = :reason, updated_at = :at
     where org_id = :orgId and id = :id`,
  }
}

const entitySql = sqlOf('dlt_entities', entityColumns)
const headerSql = sqlOf('dlt_headers', headerColumns)
const templateSql = sqlOf('dlt_templates', templateColumns)

type One = { orgId: string; id: string }
type Page = Keyset & { orgId: string }
type NewRow = One & { environment: Environment; at: Date }

export const insertDltEntity = statement<NewRow & Given<DltEntityRow, 'entity_id' | 'legal_name'>, DltEntityRow>(
  'senders.insert_dlt_entity',
  `insert into dlt_entities as d
     (org_id, id, environment, entity_id, legal_name, status, created_at, updated_at)
   values (:orgId, :id, :environment, :entityId, :legalName, 'pending', :at, :at)
   returning ${entityColumns}`,
)

export const insertDltHeader = statement<NewRow & Given<DltHeaderRow, 'entity' | 'header' | 'category'>, DltHeaderRow>(
  'senders.insert_dlt_header',
  `insert into dlt_headers as d
     (org_id, id, environment, entity, header, category, status, created_at, updated_at)
   values (:orgId, :id, :environment, :entity, :header, :category, 'pending', :at, :at)
   returning ${headerColumns}`,
)

export const insertDltTemplate = statement<
  NewRow & Given<DltTemplate, 'entity' | 'header' | 'name' | 'category' | 'content'>,
  DltTemplate
>(
  'senders.insert_dlt_template',
  `insert into dlt_templates as d
     (org_id, id, environment, entity, header, name, category, content, status, created_at, updated_at)
   values (:orgId, :id, :environment, :entity, :header, :name, :category, :content, 'pending', :at, :at)
   returning ${templateColumns}`,
)

export const dltReports = ['submitted', 'approved', 'rejected', 'unreachable'] as const

export type PolledDlt = {
  org_id: string
  id: string
  /** Null when the development tools set nothing for the row. */
  reported: (typeof dltReports)[number] | null
  missing_fields: string[] | null
  reason: string | null
}

type AfterRow = { afterOrgId: string; afterId: string; live: boolean; limit: number }
type NewStatus = One & { status: DltStatus; reason: string | null; at: Date }

/**
 * `hold` keeps the row until a row that refers to it is inserted. `poll` lists the rows that the simulated registry
 * reports on: all that test keys created, and if `live`, those of live keys too.
 */
export const dltEntities = {
  find: statement<One, DltEntityRow>('senders.find_dlt_entity', entitySql.find),
  hold: statement<One, DltEntityRow>('senders.hold_dlt_entity', entitySql.hold),
  lock: statement<One, DltEntityRow>('senders.lock_dlt_entity', entitySql.lock),
  list: statement<Page, DltEntityRow>('senders.list_dlt_entity', entitySql.list),
  remove: statement<One>('senders.delete_dlt_entity', entitySql.remove),
  poll: statement<AfterRow, PolledDlt>('senders.poll_dlt_entities', entitySql.poll),
  setStatus: statement<NewStatus>('senders.set_dlt_entity_status', entitySql.setStatus),
}

export const dltHeaders = {
  find: statement<One, DltHeaderRow>('senders.find_dlt_header', headerSql.find),
  hold: statement<One, DltHeaderRow>('senders.hold_dlt_header', headerSql.hold),
  lock: statement<One, DltHeaderRow>('senders.lock_dlt_header', headerSql.lock),
  list: statement<Page, DltHeaderRow>('senders.list_dlt_header', headerSql.list),
  remove: statement<One>('senders.delete_dlt_header', headerSql.remove),
  poll: statement<AfterRow, PolledDlt>('senders.poll_dlt_headers', headerSql.poll),
  setStatus: statement<NewStatus>('senders.set_dlt_header_status', headerSql.setStatus),
}

export const dltTemplates = {
  find: statement<One, DltTemplate>('senders.find_dlt_template_row', templateSql.find),
  lock: statement<One, DltTemplate>('senders.lock_dlt_template_row', templateSql.lock),
  list: statement<Page, DltTemplate>('senders.list_dlt_template_row', templateSql.list),
  remove: statement<One>('senders.delete_dlt_template_row', templateSql.remove),
  poll: statement<AfterRow, PolledDlt>('senders.poll_dlt_templates', templateSql.poll),
  setStatus: statement<NewStatus & { templateId: string | null }>(
    'senders.set_dlt_template_status',
    `update dlt_templates
     set status = :status, rejection_reason = :reason, provider_template_id = :templateId, updated_at = :at
     where org_id = :orgId and id = :id`,
  ),
  /** Whether a message that is still to be sent needs the template. */
  isScheduled: statement<One, { scheduled: boolean }>(
    'senders.dlt_template_is_scheduled',
    `select exists (
       select 1 from messages
       where org_id = :orgId and status in ('scheduled', 'sending') and sms ->> 'dlt_template_id' = :id) as scheduled`,
  ),
}

/** The development tools find rows without their org. */
export const findDltInAnyOrg = statement<{ id: string }, { id: string }>(
  'senders.find_dlt_in_any_org',
  `select id from dlt_entities where id = :id
   union all select id from dlt_headers where id = :id
   union all select id from dlt_templates where id = :id`,
)

/** The row `*` switches the whole registry off. */
export const registryIsOff = statement<NoParams, { off: boolean }>(
  'senders.registry_is_off',
  "select exists (select 1 from simulated_registry where id = '*' and status = 'unreachable') as off",
)
