/** /api/internal/templates: templates, their preview, and a test send of one. */
import { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import { givenId } from '../../ground/bounded-text.ts'
import { channels } from '../../ground/channel.ts'
import { keysetOf } from '../../ground/cursor.ts'
import { contentAfter, type ManageTemplates } from '../../templates/manage.ts'
import type { RenderTemplates } from '../../templates/render.ts'
import { CreateTemplate, PatchTemplate, PreviewTemplate, Template, TemplatePreview } from '../../templates/shapes.ts'
import { listOnlyTenantTemplates, listTemplates } from '../../templates/store.ts'
import { maxVariableValues } from '../../templates/variables.ts'
import { Deleted } from '../deleted.ts'
import { page } from '../page.ts'
import { shownPreview, shownTemplate } from '../shown-template.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'
import { optionalFilter, tenantFilter } from './filters.ts'
import { scopeOf } from './member-scope.ts'
import { idQuery, oneOrListOf, oneOrListQuery } from './one-or-list.ts'
import type { TenantScope } from './tenant-scope.ts'

const path = '/api/internal/templates'

const ListQuery = oneOrListQuery.extend({ channel: optionalFilter(z.enum(channels)), tenant_id: tenantFilter })

const { subject, html, text } = PatchTemplate.shape

/** Parts that the body has replace those of the template, so that the editor shows what is not saved yet. */
const PreviewContent = PreviewTemplate.safeExtend({ subject, html, text })

type Needs = {
  db: Db
  manage: ManageTemplates
  render: Pick<RenderTemplates, 'preview' | 'previewUnsaved'>
  tenantScope: TenantScope
}

const readRoutes = ({ db, manage, render }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path,
    gate: 'requireSession',
    query: ListQuery,
    responses: { 200: oneOrListOf(Template) },
    handle: async ({ session, query: { id, tenant_id: tenantId, channel = null, ...query } }) => {
      if (id !== undefined) return { status: 200, body: shownTemplate(await manage.get(scopeOf(session), id)) }
      const given = { orgId: session.orgId, channel, ...keysetOf(query) }
      const rows =
        tenantId === undefined
          ? await db.rows(listTemplates, given)
          : await db.rows(listOnlyTenantTemplates, { ...given, tenantId })
      return { status: 200, body: page(rows, query.limit, shownTemplate) }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: `${path}/preview`,
    gate: 'requireSession',
    // It changes nothing.
    whileSuspended: 'open',
    body: PreviewContent,
    bounds: { values: maxVariableValues + 100 },
    responses: { 200: TemplatePreview },
    handle: async ({ session, body }) => {
      const { variables, subject, html, text } = body
      const saved = await manage.getNamed(scopeOf(session), body)
      if ([subject, html, text].every((part) => part === undefined)) {
        return { status: 200, body: shownPreview(saved, render.preview(saved, variables)) }
      }
      const row = contentAfter(saved, { subject, html, text })
      return { status: 200, body: shownPreview(row, render.previewUnsaved(row, variables)) }
    },
  }),
]

export const dashboardTemplateRoutes = (needs: Needs): DashboardRoute[] => [
  ...readRoutes(needs),
  defineDashboardRoute({
    method: 'POST',
    path,
    gate: 'requireDeveloperSession',
    body: CreateTemplate.safeExtend({ tenant_id: givenId.nullish() }),
    responses: { 201: Template },
    handle: async (call) => {
      const { tenant_id: tenantId, ...body } = call.body
      const scope = await needs.tenantScope(call.session, tenantId)
      return { status: 201, body: shownTemplate(await needs.manage.create(scope, userActor(call), body)) }
    },
  }),
  defineDashboardRoute({
    method: 'PATCH',
    path,
    gate: 'requireDeveloperSession',
    query: idQuery,
    body: PatchTemplate,
    responses: { 200: Template },
    handle: async (call) => {
      const row = await needs.manage.patch(scopeOf(call.session), userActor(call), call.query.id, call.body)
      return { status: 200, body: shownTemplate(row) }
    },
  }),
  defineDashboardRoute({
    method: 'DELETE',
    path,
    gate: 'requireDeveloperSession',
    query: idQuery,
    responses: { 200: Deleted },
    handle: async (call) => {
      const { id } = call.query
      await needs.manage.remove(scopeOf(call.session), userActor(call), id)
      return { status: 200, body: { id, deleted: true } }
    },
  }),
]
