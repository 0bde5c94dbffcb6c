import { statement } from '../db/statement.ts'
import type { Environment } from '../ground/scope.ts'
import type { Channel } from './shapes.ts'

export type TemplateRow = {
  id: string
  tenant_id: string | null
  slug: string
  channel: Channel
  subject: string | null
  html: string | null
  text: string | null
  created_environment: Environment
  version: number
  created_at: Date
  updated_at: Date
}

const columns =
  'id, tenant_id, slug, channel, subject, html, text, created_environment, version, created_at, updated_at'

type Content = [slug: string, subject: string | null, html: string | null, text: string | null]

/** Nothing when the slug is taken. */
export const insertTemplate = statement<
  [
    orgId: string,
    id: string,
    tenantId: string | null,
    channel: Channel,
    ...content: Content,
    environment: Environment,
    at: Date,
  ],
  TemplateRow
>(
  'templates.insert',
  `insert into templates (org_id, id, tenant_id, channel, slug, subject, html, text, created_environment,
     created_at, updated_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)
   on conflict (org_id, slug, tenant_id) do nothing
   returning ${columns}`,
)

/** In the whole org; whose it is, is for the caller to judge. */
export const findTemplate = statement<[orgId: string, id: string], TemplateRow>(
  'templates.find',
  `select ${columns} from templates where org_id = $1 and id = $2`,
)

export const lockTemplate = statement<[orgId: string, id: string], TemplateRow>(
  'templates.lock',
  `select ${columns} from templates where org_id = $1 and id = $2 for update`,
)

/** The tenant's own before the org's. */
export const findTemplateBySlug = statement<[orgId: string, tenantId: string | null, slug: string], TemplateRow>(
  'templates.find_by_slug',
  `select ${columns} from templates
   where org_id = $1 and slug = $3 and (tenant_id is null or tenant_id = $2)
   order by tenant_id nulls last
   limit 1`,
)

/** Whether any tenant has it. */
export const slugOnTenants = statement<[orgId: string, slug: string], { found: boolean }>(
  'templates.slug_on_tenants',
  `select exists (
     select 1 from templates where org_id = $1 and slug = $2 and tenant_id is not null) as found`,
)

type Page = [channel: Channel | null, afterAt: string | null, afterId: string | null, limit: number]

/** The whole org's, newest first. */
export const listTemplates = statement<[orgId: string, ...page: Page], TemplateRow>(
  'templates.list',
  `select ${columns} from templates
   where org_id = $1 and ($2::text is null or channel = $2)
     and ($3::timestamptz is null or (created_at, id) < ($3::timestamptz, $4))
   order by created_at desc, id desc
   limit $5`,
)

/** The tenant's and the org's own, each from its stretch of the index, so that other tenants' rows are not passed. */
export const listTenantTemplates = statement<[orgId: string, tenantId: string, ...page: Page], TemplateRow>(
  'templates.list_tenant',
  `select ${columns} from (
     (select * from templates
      where org_id = $1 and tenant_id = $2 and ($3::text is null or channel = $3)
        and ($4::timestamptz is null or (created_at, id) < ($4::timestamptz, $5))
      order by created_at desc, id desc limit $6)
     union all
     (select * from templates
      where org_id = $1 and tenant_id is null and ($3::text is null or channel = $3)
        and ($4::timestamptz is null or (created_at, id) < ($4::timestamptz, $5))
      order by created_at desc, id desc limit $6)
   ) as visible
   order by created_at desc, id desc
   limit $6`,
)

export const updateTemplate = statement<[orgId: string, id: string, ...content: Content, at: Date], TemplateRow>(
  'templates.update',
  `update templates set slug = $3, subject = $4, html = $5, text = $6, version = version + 1, updated_at = $7
   where org_id = $1 and id = $2 returning ${columns}`,
)

export const deleteTemplate = statement<[orgId: string, id: string]>(
  'templates.delete',
  'delete from templates where org_id = $1 and id = $2',
)

export const eraseTenantTemplates = statement<[orgId: string, tenantId: string, limit: number]>(
  'templates.erase_tenant',
  `delete from templates where (org_id, id) in (
     select org_id, id from templates where org_id = $1 and tenant_id = $2 limit $3)`,
)
