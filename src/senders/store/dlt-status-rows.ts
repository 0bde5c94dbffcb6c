/** The status of DLT registrations, and what the simulated registry reports about them. */
import { type NoParams, statement } from '../../db/statement.ts'
import type { DltStatus } from './dlt-rows.ts'

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

/** Rows that the simulated registry reports on: all that test keys created, and if `live`, those of live keys too. */
const polled = (table: string) => `select d.org_id, d.id, s.status as reported, s.missing_fields, s.reason
   from ${table} d
   left join simulated_registry s on s.id = d.id
   where (d.environment = 'test' or :live) and (d.status in ('pending', 'submitted') or s.id is not null)
     and (d.org_id, d.id) > (:afterOrgId, :afterId)
   order by d.org_id, d.id
   limit :limit`

export const pollDltEntities = statement<AfterRow, PolledDlt>('senders.poll_dlt_entities', polled('dlt_entities'))
export const pollDltHeaders = statement<AfterRow, PolledDlt>('senders.poll_dlt_headers', polled('dlt_headers'))
export const pollDltTemplates = statement<AfterRow, PolledDlt>('senders.poll_dlt_templates', polled('dlt_templates'))

type NewStatus = { orgId: string; id: string; status: DltStatus; reason: string | null; at: Date }

export const setDltEntityStatus = statement<NewStatus>(
  'senders.set_dlt_entity_status',
  `update dlt_entities set status = :status, rejection_reason = :reason, updated_at = :at
   where org_id = :orgId and id = :id`,
)
export const setDltHeaderStatus = statement<NewStatus>(
  'senders.set_dlt_header_status',
  `update dlt_headers set status = :status, rejection_reason = :reason, updated_at = :at
   where org_id = :orgId and id = :id`,
)
export const setDltTemplateStatus = statement<NewStatus & { templateId: string | null }>(
  'senders.set_dlt_template_status',
  `update dlt_templates
   set status = :status, rejection_reason = :reason, provider_template_id = :templateId, updated_at = :at
   where org_id = :orgId and id = :id`,
)

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
