import { z } from 'zod'
import { channels } from '../../../platform/ground/channel.ts'
import type { ManageTemplates } from '../../../sending/templates/manage.ts'
import type { RenderTemplates } from '../../../sending/templates/render.ts'
import { CreateTemplate, PatchTemplate, PreviewTemplate, TemplatePreview } from '../../../sending/templates/shapes.ts'
import { maxVariableValues } from '../../../sending/templates/variables.ts'
import { filteredPage } from '../page.ts'
import { ok } from '../responses.ts'
import { byKey, defineRoute, type PublicRoute } from '../route.ts'
import { shownPreview, templates } from '../shown-resources.ts'
import { publicRoutes } from './public-routes.ts'

const ListQuery = filteredPage({
  channel: z.enum(channels).optional().describe('Return only templates of this channel.'),
})

const routes = publicRoutes(templates, {
  tag: 'Templates',
  path: '/templates',
  name: 'Template',
  read: byKey('read:templates'),
  write: byKey('write:templates'),
})

type Needs = { manage: ManageTemplates; render: Pick<RenderTemplates, 'preview'> }

export const templateRoutes = ({ manage, render }: Needs): PublicRoute[] => [
  routes.create({
    description:
      'An email template requires `subject` and at least one of `html` and `text`. An SMS template uses only `text`, which is required.',
    body: CreateTemplate,
    errors: ['TEMPLATE_SLUG_TAKEN'],
    action: manage.create,
  }),
  routes.list({
    description: "A tenant's list includes its own templates and those of the organisation.",
    query: ListQuery,
    action: (caller, query) => manage.list(caller, { channel: query.channel ?? null }, query),
  }),
  routes.get({ action: manage.get }),
  routes.change({
    description: 'Omitted fields do not change. The channel of a template cannot be changed.',
    body: PatchTemplate,
    errors: ['NOT_FOUND', 'TEMPLATE_SLUG_TAKEN', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'],
    action: manage.patch,
  }),
  routes.remove({
    description: 'Messages already created from the template do not change, including scheduled ones.',
    action: manage.remove,
  }),
  defineRoute('POST', '/templates/preview', byKey('read:templates'), {
    operationId: 'previewTemplate',
    tag: 'Templates',
    summary: 'Preview a template',
    description:
      'Renders a template without sending it. Identify the template by `id` or `slug`. Missing variables and size limits return the same errors as a send. `warnings` lists braces of other template languages, which are sent as text.',
    body: PreviewTemplate,
    bounds: { values: maxVariableValues + 100 },
    responses: { 200: { schema: TemplatePreview, description: 'The rendered template.' } },
    errors: ['NOT_FOUND', 'TEMPLATE_TENANT_SCOPED', 'TEMPLATE_MISSING_VARIABLES'],
    handle: async ({ caller, body }) => {
      const row = await manage.getNamed(caller, body)
      return ok(shownPreview(row, render.preview(row, body.variables)))
    },
  }),
]
