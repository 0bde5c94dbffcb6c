import { columns, type Given, number, oneOf, type RowOf, text, time } from '../../platform/db/columns.ts'
import { statement } from '../../platform/db/statement.ts'
import type { Channel } from '../../platform/ground/channel.ts'
import { type Keyset, newestPage } from '../../platform/ground/cursor.ts'
import type { Environment } from '../../platform/ground/scope.ts'

const templateColumns = columns({
  id: text,
  tenant_id: text.orNull,
  slug: text,
  channel: oneOf<Channel>(),
  subject: text.orNull,
  html: text.orNull,
  text: text.orNull,
  created_environment: oneOf<Environment>(),
  version: number,
  created_at: time,
  updated_at: time,
})

export type TemplateRow = RowOf<typeof templateColumns>

type Content = Given<TemplateRow, 'slug' | 'subject' | 'html' | 'text'> & { orgId: string; id: string; at: Date }

/** Returns no row when the slug is taken. */
export const insertTemplate = statement<
  Content & Given<TemplateRow, 'tenant_id' | 'channel'> & { environment: Environment },
  TemplateRow
>(
  'templates.insert',
  `insert into templates (org_id, id, tenant_id, channel, slug, subject, html, text, created_environment,
     created_at, updated_at)
   values (:orgId, :id, :tenantId, :channel, :slug, :subject, :html, :text, :environment, :at, :at)
   on conflict (org_id, slug, tenant_id) do nothing
   returning ${templateColumns}`,
)

/** Finds a template in the whole org. The caller checks the tenant. */
export const findTemplate = statement<{ orgId: string; id: string }, TemplateRow>(
  'templates.find',
  `select ${templateColumns} from templates where org_id = :orgId and id = :id`,
)

export const lockTemplate = statement<{ orgId: string; id: string }, TemplateRow>(
  'templates.lock',
  `select ${templateColumns} from templates where org_id = :orgId and id = :id for update`,
)

/** Prefers the tenant's own template over the org's. */
export const findTemplateBySlug = statement<{ orgId: string; tenantId: string | null; slug: string }, TemplateRow>(
  'templates.find_by_slug',
  `select ${templateColumns} from templates
   where org_id = :orgId and slug = :slug and (tenant_id is null or tenant_id = :tenantId)
   order by tenant_id nulls last
   limit 1`,
)

/** Whether any tenant has a template with the slug. */
export const slugOnTenants = statement<{ orgId: string; slug: string }, { found: boolean }>(
  'templates.slug_on_tenants',
  `select exists (
     select 1 from templates where org_id = :orgId and slug = :slug and tenant_id is not null) as found`,
)

type Page = Keyset & { channel: Channel | null }

const pageOf = (owner: string): string =>
  `select ${templateColumns} from templates
   where org_id = :orgId ${owner} and (:channel::text is null or channel = :channel) ${newestPage}`

export const listTemplates = statement<Page & { orgId: string }, TemplateRow>('templates.list', pageOf(''))

/** Without the org's own templates, which the tenant can use too. */
export const listOnlyTenantTemplates = statement<Page & { orgId: string; tenantId: string }, TemplateRow>(
  'templates.list_only_tenant',
  pageOf('and tenant_id = :tenantId'),
)

/** The templates of the tenant and of the org, from separate index ranges, so that other tenants' rows are not read. */
export const listTenantTemplates = statement<Page & { orgId: string; tenantId: string }, TemplateRow>(
  'templates.list_tenant',
  `select ${templateColumns} from (
     (${pageOf('and tenant_id = :tenantId')})
     union all
     (${pageOf('and tenant_id is null')})
   ) as visible
   order by created_at desc, id desc
   limit :limit`,
)

export const updateTemplate = statement<Content, TemplateRow>(
  'templates.update',
  `update templates set slug = :slug, subject = :subject, html = :html, text = :text, version = version + 1,
     updated_at = :at
   where org_id = :orgId and id = :id returning ${templateColumns}`,
)

export const deleteTemplate = statement<{ orgId: string; id: string }>(
  'templates.delete',
  'delete from templates where org_id = :orgId and id = :id',
)

export const eraseTenantTemplates = statement<{ orgId: string; tenantId: string; limit: number }>(
  'templates.erase_tenant',
  `delete from templates where (org_id, id) in (
     select org_id, id from templates where org_id = :orgId and tenant_id = :tenantId limit :limit)`,
)
