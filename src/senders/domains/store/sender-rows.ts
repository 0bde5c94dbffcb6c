/** What a send needs to know about the domain of its `from` address. */
import { statement } from '../../../platform/db/statement.ts'
import type { DomainRow } from './domain-rows.ts'

type ShownColumn = 'id' | 'name' | 'project_id' | 'tenant_id' | 'status' | 'created_environment' | 'region'
type MailColumn = 'return_path' | 'record_statuses' | 'dkim_selector' | 'warmup_days' | 'warmup_started_at'

export type SenderRow = Pick<DomainRow, ShownColumn | MailColumn> & {
  default_project: boolean
  ip_pool_name: string | null
  paused: boolean
  dkim_private_key: string | null
}

/** Finds every row of the name in the org. Several projects may have the same name, each verified separately. */
export const findSenders = statement<{ orgId: string; name: string }, SenderRow>(
  'domains.find_senders',
  `select d.id, d.name, d.project_id, p.is_default as default_project, d.tenant_id, d.status, d.created_environment,
     d.region, coalesce(i.provider_name, i.name) as ip_pool_name, coalesce(i.paused, false) as paused, d.return_path,
     d.record_statuses, d.dkim_selector, d.dkim_private_key, d.warmup_days, d.warmup_started_at
   from domains d
   join projects p on p.org_id = d.org_id and p.id = d.project_id
   left join ip_pools i on i.org_id = d.org_id and i.id = d.ip_pool_id
   where d.org_id = :orgId and d.name = :name
   order by d.created_at, d.id`,
)

export const findOrgSlug = statement<{ orgId: string }, { slug: string }>(
  'domains.find_org_slug',
  'select slug from orgs where id = :orgId',
)

/** Whether a host is the return path of a domain of the org. */
export const findReturnHost = statement<{ orgId: string; host: string }, { id: string }>(
  'domains.find_return_host',
  "select id from domains where org_id = :orgId and return_path || '.' || name = :host limit 1",
)
