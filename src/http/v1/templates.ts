import { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import { channels } from '../../ground/channel.ts'
import { keysetOf } from '../../ground/cursor.ts'
import type { Scope } from '../../ground/scope.ts'
import type { ManageTemplates } from '../../templates/manage.ts'
import type { RenderTemplates } from '../../templates/render.ts'
import { CreateTemplate, PatchTemplate, PreviewTemplate, Template, TemplatePreview } from '../../templates/shapes.ts'
import { listTemplates, listTenantTemplates } from '../../templates/store.ts'
import { maxVariableValues } from '../../templates/variables.ts'
import { actorOf } from '../actor.ts'
import { Deleted } from '../deleted.ts'
import { filteredPage, page, pageOf } from '../page.ts'
import { defineRoute, type Route } from '../route.ts'
import { shownPreview, shownTemplate } from '../shown-template.ts'

const ListQuery = filteredPage({
  channel: z.enum(channels).optional().describe('Return only templates of this channel.'),
})

type Needs = { db: Db; manage: ManageTemplates; render: Pick<RenderTemplates, 'preview'> }

export const templateRoutes = ({ db, manage, render }: Needs): Route[] => {
  const list = ({ orgId, tenantId }: Scope, query: z.output<typeof ListQuery>) => {
    const page = { channel: query.channel ?? null, ...keysetOf(query) }
    return tenantId === null
      ? db.rows(listTemplates, { orgId, ...page })
      : db.rows(listTenantTemplates, { orgId, tenantId, ...page })
  }

  return [
    defineRoute({
      method: 'POST',
      path: '/templates',
      operationId: 'createTemplate',
      tag: 'Templates',
      summary: 'Create a template',
      description:
        'An email template requires `subject` and at least one of `html` and `text`. An SMS template uses only `text`, which is required.',
      scope: 'write:templates',
      body: CreateTemplate,
      responses: { 201: { schema: Template, description: 'The new template.' } },
      errors: ['TEMPLATE_SLUG_TAKEN'],
      handle: async (call) => ({
        status: 201,
        body: shownTemplate(await manage.create(call.caller, actorOf(call), call.body)),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/templates',
      operationId: 'listTemplates',
      tag: 'Templates',
      summary: 'List templates',
      description: "A tenant's list includes its own templates and those of the organisation.",
      scope: 'read:templates',
      query: ListQuery,
      responses: { 200: { schema: pageOf(Template), description: 'A page of templates, newest first.' } },
      handle: async ({ caller, query }) => ({
        status: 200,
        body: page(await list(caller, query), query.limit, shownTemplate),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/templates/{id}',
      operationId: 'getTemplate',
      tag: 'Templates',
      summary: 'Get a template',
      scope: 'read:templates',
      params: { id: 'template' },
      responses: { 200: { schema: Template, description: 'The template.' } },
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params }) => ({
        status: 200,
        body: shownTemplate(await manage.get(caller, params.id as string)),
      }),
    }),
    defineRoute({
      method: 'PATCH',
      path: '/templates/{id}',
      operationId: 'updateTemplate',
      tag: 'Templates',
      summary: 'Update a template',
      description: 'Omitted fields do not change. The channel of a template cannot be changed.',
      scope: 'write:templates',
      params: { id: 'template' },
      body: PatchTemplate,
      responses: { 200: { schema: Template, description: 'The updated template.' } },
      errors: ['NOT_FOUND', 'TEMPLATE_SLUG_TAKEN', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'],
      handle: async (call) => ({
        status: 200,
        body: shownTemplate(await manage.patch(call.caller, actorOf(call), call.params.id as string, call.body)),
      }),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/templates/{id}',
      operationId: 'deleteTemplate',
      tag: 'Templates',
      summary: 'Delete a template',
      description: 'Messages already created from the template do not change, including scheduled ones.',
      scope: 'write:templates',
      params: { id: 'template' },
      responses: { 200: { schema: Deleted, description: 'The template was deleted.' } },
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'],
      handle: async (call) => {
        const id = call.params.id as string
        await manage.remove(call.caller, actorOf(call), id)
        return { status: 200, body: { id, deleted: true } }
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/templates/preview',
      operationId: 'previewTemplate',
      tag: 'Templates',
      summary: 'Preview a template',
      description:
        'Renders a template without sending it. Identify the template by `id` or `slug`. Missing variables and size limits return the same errors as a send. `warnings` lists braces of other template languages, which are sent as text.',
      scope: 'read:templates',
      body: PreviewTemplate,
      bounds: { values: maxVariableValues + 100 },
      responses: { 200: { schema: TemplatePreview, description: 'The rendered template.' } },
      errors: ['NOT_FOUND', 'TEMPLATE_TENANT_SCOPED', 'TEMPLATE_MISSING_VARIABLES'],
      handle: async ({ caller, body }) => {
        const row = await manage.getNamed(caller, body)
        return { status: 200, body: shownPreview(row, render.preview(row, body.variables)) }
      },
    }),
  ]
}
