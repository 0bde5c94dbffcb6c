import type { Action } from '../../journal/audit/actions.ts'
import type { Actor, Audit } from '../../journal/audit/append.ts'
import { uniqueViolation } from '../../platform/db/faults.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Channel } from '../../platform/ground/channel.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { Failure, invalid } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import { assertOwnEnvironment, type Scope } from '../../platform/ground/scope.ts'
import { findBySlug } from './find-by-slug.ts'
import { type CreateTemplate, contentFault, type PatchTemplate } from './shapes.ts'
import {
  deleteTemplate,
  findTemplate,
  insertTemplate,
  listOnlyTenantTemplates,
  listTemplates,
  listTenantTemplates,
  lockTemplate,
  type TemplateRow,
  updateTemplate,
} from './store.ts'

type Filters = { channel: Channel | null }

/** A tenant can read its own templates and the org's. */
const isVisible = ({ tenantId }: Scope, row: TemplateRow): boolean =>
  tenantId === null || row.tenant_id === null || row.tenant_id === tenantId

/** A tenant may change only its own templates. A test key may change only templates that a test key created. */
const assertMayChange = (scope: Scope, row: TemplateRow): void => {
  if (scope.tenantId !== null && row.tenant_id !== scope.tenantId) throw new Failure('TENANT_FORBIDDEN')
  assertOwnEnvironment(scope, row.created_environment)
}

/** The template after the change. Fields that the body omits stay unchanged. */
export const contentAfter = (row: TemplateRow, { slug, subject, html, text }: PatchTemplate): TemplateRow => ({
  ...row,
  slug: slug ?? row.slug,
  subject: subject === undefined ? row.subject : subject,
  html: html === undefined ? row.html : html,
  text: text === undefined ? row.text : text,
})

type Needs = { db: Db; clock: Clock; audit: Audit; forget: (orgId: string) => void }

export const makeManageTemplates = ({ db, clock, audit, forget }: Needs) => {
  const auditChange = (tx: Tx, entry: { orgId: string; actor: Actor; action: Action }, row: TemplateRow) => {
    const { id, slug, channel } = row
    return audit(tx, { ...entry, resourceType: 'template', resourceId: id, metadata: { slug, channel } })
  }

  /** The lock lasts until the change commits, so that concurrent changes of different fields both survive. */
  const lockOwn = async (tx: Tx, scope: Scope, id: string): Promise<TemplateRow> => {
    const row = await orNotFound(tx.row(lockTemplate, { orgId: scope.orgId, id }))
    assertMayChange(scope, row)
    return row
  }

  /** Clears the cache of this process immediately instead of waiting for the notification. */
  const change = async <T>(scope: Scope, work: (tx: Tx) => Promise<T>): Promise<T> => {
    const result = await db.tx(work)
    forget(scope.orgId)
    return result
  }

  const get = async (scope: Scope, id: string): Promise<TemplateRow> => {
    const row = await db.row(findTemplate, { orgId: scope.orgId, id })
    if (!row || !isVisible(scope, row)) throw new Failure('NOT_FOUND')
    return row
  }

  return {
    /** The templates that a tenant can use, its own and the org's. Without a tenant, those of the whole org. */
    list: ({ orgId, tenantId }: Pick<Scope, 'orgId' | 'tenantId'>, filters: Filters, page: PageAsked) => {
      const given = { orgId, ...filters, ...keysetOf(page) }
      return tenantId === null ? db.rows(listTemplates, given) : db.rows(listTenantTemplates, { ...given, tenantId })
    },
    /** The templates that belong to the tenant itself. */
    listOwn: (of: { orgId: string; tenantId: string }, filters: Filters, page: PageAsked): Promise<TemplateRow[]> =>
      db.rows(listOnlyTenantTemplates, { ...of, ...filters, ...keysetOf(page) }),
    get,
    create: (scope: Scope, actor: Actor, body: CreateTemplate): Promise<TemplateRow> =>
      change(scope, async (tx) => {
        const at = clock.now()
        const { orgId, tenantId, environment } = scope
        const { slug, channel, subject = null, html = null, text = null } = body
        const id = newId('template', at.getTime())
        const content = { slug, channel, subject, html, text }
        const row = await tx.row(insertTemplate, { orgId, id, tenantId, environment, at, ...content })
        if (!row) throw new Failure('TEMPLATE_SLUG_TAKEN')
        await auditChange(tx, { orgId, actor, action: 'template.created' }, row)
        return row
      }),
    getNamed: (scope: Scope, { id, slug = '' }: { id?: string | undefined; slug?: string | undefined }) =>
      id === undefined ? orNotFound(findBySlug(db, scope, slug)) : get(scope, id),
    patch: async (scope: Scope, actor: Actor, id: string, body: PatchTemplate): Promise<TemplateRow> => {
      const { orgId } = scope
      try {
        return await change(scope, async (tx) => {
          const before = await lockOwn(tx, scope, id)
          const { channel, slug, subject, html, text } = contentAfter(before, body)
          const fault = contentFault({ channel, subject, html, text })
          if (fault) throw invalid(fault.path, 'custom', fault.message)
          const content = { slug, subject, html, text }
          const row = await orNotFound(tx.row(updateTemplate, { orgId, id, ...content, at: clock.now() }))
          await auditChange(tx, { orgId, actor, action: 'template.updated' }, row)
          return row
        })
      } catch (error) {
        if (uniqueViolation(error, 'templates_slug')) throw new Failure('TEMPLATE_SLUG_TAKEN')
        throw error
      }
    },
    remove: (scope: Scope, actor: Actor, id: string): Promise<void> =>
      change(scope, async (tx) => {
        const { orgId } = scope
        const row = await lockOwn(tx, scope, id)
        await tx.change(deleteTemplate, { orgId, id })
        await auditChange(tx, { orgId, actor, action: 'template.removed' }, row)
      }),
  }
}

export type ManageTemplates = ReturnType<typeof makeManageTemplates>
