/** /api/internal/templates: templates, their preview, and a test send of one. */
import { z } from 'zod'
import { givenId } from '../../../platform/ground/bounded-text.ts'
import { channels } from '../../../platform/ground/channel.ts'
import { contentAfter, type ManageTemplates } from '../../../sending/templates/manage.ts'
import type { RenderTemplates } from '../../../sending/templates/render.ts'
import { CreateTemplate, PatchTemplate, PreviewTemplate, TemplatePreview } from '../../../sending/templates/shapes.ts'
import { maxVariableValues } from '../../../sending/templates/variables.ts'
import { scopeOf } from '../actor.ts'
import { ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'
import { shownPreview, templates } from '../shown-resources.ts'
import { oneOrListQuery, optionalFilter, tenantFilter } from './list-query.ts'
import { memberRoutes } from './member-routes.ts'
import type { TenantScope } from './tenant-scope.ts'

const path = '/api/internal/templates'

const ListQuery = oneOrListQuery.extend({ channel: optionalFilter(z.enum(channels)), tenant_id: tenantFilter })

const { subject, html, text } = PatchTemplate.shape

/** Parts that the body has replace those of the template, so that the editor shows what is not saved yet. */
const PreviewContent = PreviewTemplate.safeExtend({ subject, html, text })

const routes = memberRoutes(templates, { path, write: 'requireDeveloperSession' })

type Needs = {
  manage: ManageTemplates
  render: Pick<RenderTemplates, 'preview' | 'previewUnsaved'>
  tenantScope: TenantScope
}

const readRoutes = ({ manage, render }: Needs): DashboardRoute[] => [
  routes.oneOrList({
    query: ListQuery,
    get: manage.get,
    list: ({ orgId, tenantId }, { channel = null, ...query }) =>
      tenantId === null
        ? manage.list({ orgId, tenantId }, { channel }, query)
        : manage.listOwn({ orgId, tenantId }, { channel }, query),
  }),
  defineRoute('POST', `${path}/preview`, bySession('requireSession', { whileSuspended: 'open' }), {
    // It changes nothing.
    body: PreviewContent,
    bounds: { values: maxVariableValues + 100 },
    responses: { 200: TemplatePreview },
    handle: async ({ session, body }) => {
      const { variables, subject, html, text } = body
      const saved = await manage.getNamed(scopeOf(session), body)
      if ([subject, html, text].every((part) => part === undefined)) {
        return ok(shownPreview(saved, render.preview(saved, variables)))
      }
      const row = contentAfter(saved, { subject, html, text })
      return ok(shownPreview(row, render.previewUnsaved(row, variables)))
    },
  }),
]

export const dashboardTemplateRoutes = (needs: Needs): DashboardRoute[] => [
  ...readRoutes(needs),
  routes.create({
    body: CreateTemplate.safeExtend({ tenant_id: givenId.nullish() }),
    action: async (scope, actor, { tenant_id: tenantId, ...body }) =>
      needs.manage.create(await needs.tenantScope(scope, tenantId), actor, body),
  }),
  routes.change({ body: PatchTemplate, action: needs.manage.patch }),
  routes.remove({ action: needs.manage.remove }),
]
