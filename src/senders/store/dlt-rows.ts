/** Registrations for India: entities, headers and templates. */
import { statement } from '../../db/statement.ts'
import type { Keyset } from '../../ground/cursor.ts'
import type { Environment } from '../../ground/scope.ts'

export type DltStatus = 'pending' | 'submitted' | 'approved' | 'rejected'

type Registered = {
  org_id: string
  id: string
  /** The environment of the key that created it. */
  environment: Environment
  status: DltStatus
  rejection_reason: string | null
  created_at: Date
  updated_at: Date
}
export type DltEntityRow = Registered & { entity_id: string; legal_name: string }
export type DltHeaderRow = Registered & { entity: string; header: string; category: string }
export type DltTemplate = Registered & {
  entity: string
  header: string
  name: string
  category: string
  content: string
  entity_id: string
  provider_template_id: string | null
}

const shared = 'd.org_id, d.id, d.environment, d.status, d.rejection_reason, d.created_at, d.updated_at'
const entityColumns = `${shared}, d.entity_id, d.legal_name`
const headerColumns = `${shared}, d.entity, d.header, d.category`
const templateColumns = `${shared}, d.entity, d.header, d.name, d.category, d.content, d.provider_template_id,
  (select e.entity_id from dlt_entities e where e.org_id = d.org_id and e.id = d.entity) as entity_id`

type One = { orgId: string; id: string }
type Page = Keyset & { orgId: string }
type NewRow = { orgId: string; id: string; environment: Environment; at: Date }

export const insertDltEntity = statement<NewRow & { entityId: string; legalName: string }, DltEntityRow>(
  'senders.insert_dlt_entity',
  `insert into dlt_entities as d
     (org_id, id, environment, entity_id, legal_name, status, created_at, updated_at)
   values (:orgId, :id, :environment, :entityId, :legalName, 'pending', :at, :at)
   returning ${entityColumns}`,
)

export const insertDltHeader = statement<NewRow & { entity: string; header: string; category: string }, DltHeaderRow>(
  'senders.insert_dlt_header',
  `insert into dlt_headers as d
     (org_id, id, environment, entity, header, category, status, created_at, updated_at)
   values (:orgId, :id, :environment, :entity, :header, :category, 'pending', :at, :at)
   returning ${headerColumns}`,
)

export const insertDltTemplate = statement<
  NewRow & { entity: string; header: string; name: string; category: string; content: string },
  DltTemplate
>(
  'senders.insert_dlt_template',
  `insert into dlt_templates as d
     (org_id, id, environment, entity, header, name, category, content, status, created_at, updated_at)
   values (:orgId, :id, :environment, :entity, :header, :name, :category, :content, 'pending', :at, :at)
   returning ${templateColumns}`,
)

export const dltEntities = {
  find: statement<One, DltEntityRow>(
    'senders.find_dlt_entity',
    `select ${entityColumns} from dlt_entities d where d.org_id = :orgId and d.id = :id`,
  ),
  /** Keeps the row until a row that refers to it is inserted. */
  hold: statement<One, DltEntityRow>(
    'senders.hold_dlt_entity',
    `select ${entityColumns} from dlt_entities d where d.org_id = :orgId and d.id = :id for key share of d`,
  ),
  lock: statement<One, DltEntityRow>(
    'senders.lock_dlt_entity',
    `select ${entityColumns} from dlt_entities d where d.org_id = :orgId and d.id = :id for update of d`,
  ),
  list: statement<Page, DltEntityRow>(
    'senders.list_dlt_entity',
    `select ${entityColumns} from dlt_entities d
     where d.org_id = :orgId
       and (:afterAt::timestamptz is null or (d.created_at, d.id) < (:afterAt::timestamptz, :afterId))
     order by d.created_at desc, d.id desc
     limit :limit`,
  ),
  remove: statement<One>('senders.delete_dlt_entity', 'delete from dlt_entities where org_id = :orgId and id = :id'),
}

export const dltHeaders = {
  find: statement<One, DltHeaderRow>(
    'senders.find_dlt_header',
    `select ${headerColumns} from dlt_headers d where d.org_id = :orgId and d.id = :id`,
  ),
  /** Keeps the row until a row that refers to it is inserted. */
  hold: statement<One, DltHeaderRow>(
    'senders.hold_dlt_header',
    `select ${headerColumns} from dlt_headers d where d.org_id = :orgId and d.id = :id for key share of d`,
  ),
  lock: statement<One, DltHeaderRow>(
    'senders.lock_dlt_header',
    `select ${headerColumns} from dlt_headers d where d.org_id = :orgId and d.id = :id for update of d`,
  ),
  list: statement<Page, DltHeaderRow>(
    'senders.list_dlt_header',
    `select ${headerColumns} from dlt_headers d
     where d.org_id = :orgId
       and (:afterAt::timestamptz is null or (d.created_at, d.id) < (:afterAt::timestamptz, :afterId))
     order by d.created_at desc, d.id desc
     limit :limit`,
  ),
  remove: statement<One>('senders.delete_dlt_header', 'delete from dlt_headers where org_id = :orgId and id = :id'),
}

export const dltTemplates = {
  find: statement<One, DltTemplate>(
    'senders.find_dlt_template_row',
    `select ${templateColumns} from dlt_templates d where d.org_id = :orgId and d.id = :id`,
  ),
  lock: statement<One, DltTemplate>(
    'senders.lock_dlt_template_row',
    `select ${templateColumns} from dlt_templates d where d.org_id = :orgId and d.id = :id for update of d`,
  ),
  list: statement<Page, DltTemplate>(
    'senders.list_dlt_template_row',
    `select ${templateColumns} from dlt_templates d
     where d.org_id = :orgId
       and (:afterAt::timestamptz is null or (d.created_at, d.id) < (:afterAt::timestamptz, :afterId))
     order by d.created_at desc, d.id desc
     limit :limit`,
  ),
  remove: statement<One>(
    'senders.delete_dlt_template_row',
    'delete from dlt_templates where org_id = :orgId and id = :id',
  ),
  /** Whether a message that is still to be sent needs the template. */
  isScheduled: statement<One, { scheduled: boolean }>(
    'senders.dlt_template_is_scheduled',
    `select exists (
       select 1 from messages
       where org_id = :orgId and status in ('scheduled', 'sending') and sms ->> 'dlt_template_id' = :id) as scheduled`,
  ),
}
