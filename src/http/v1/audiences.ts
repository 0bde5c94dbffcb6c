import type { ManageAudiences } from '../../audiences/manage-audiences.ts'
import { Audience, CreateAudience } from '../../audiences/shapes.ts'
import { listAudiences, listTenantAudiences } from '../../audiences/store/audience-rows.ts'
import type { Db } from '../../db/pool.ts'
import { keysetOf } from '../../ground/cursor.ts'
import { actorOf } from '../actor.ts'
import { Deleted } from '../deleted.ts'
import { page, pageOf, pageQuery } from '../page.ts'
import { defineRoute, type Route } from '../route.ts'
import { shownAudience } from '../shown-audience.ts'

type Needs = { db: Db; manage: ManageAudiences }

export const audienceRoutes = ({ db, manage }: Needs): Route[] => {
  const write = { tag: 'Audiences', scope: 'write:audiences' } as const
  const read = { tag: 'Audiences', scope: 'read:audiences' } as const
  const one = { path: '/audiences/{id}', params: { id: 'audience' } } as const

  return [
    defineRoute({
      ...write,
      method: 'POST',
      path: '/audiences',
      operationId: 'createAudience',
      summary: 'Create an audience',
      body: CreateAudience,
      responses: { 201: { schema: Audience, description: 'The new audience, without members.' } },
      errors: ['PLAN_RESOURCE_LIMIT', 'AUDIENCE_SLUG_TAKEN', 'TENANT_ERASED'],
      handle: async (call) => ({
        status: 201,
        body: shownAudience(await manage.create(call.caller, actorOf(call), call.body)),
      }),
    }),
    defineRoute({
      ...read,
      method: 'GET',
      path: '/audiences',
      operationId: 'listAudiences',
      summary: 'List audiences',
      query: pageQuery,
      responses: { 200: { schema: pageOf(Audience), description: 'A page of audiences, newest first.' } },
      handle: async ({ caller: { orgId, tenantId }, query }) => {
        const given = { orgId, ...keysetOf(query) }
        const rows =
          tenantId === null
            ? await db.rows(listAudiences, given)
            : await db.rows(listTenantAudiences, { ...given, tenantId })
        return { status: 200, body: page(rows, query.limit, shownAudience) }
      },
    }),
    defineRoute({
      ...read,
      ...one,
      method: 'GET',
      operationId: 'getAudience',
      summary: 'Get an audience',
      responses: { 200: { schema: Audience, description: 'The audience.' } },
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params }) => ({
        status: 200,
        body: shownAudience(await manage.get(caller, params.id as string)),
      }),
    }),
    defineRoute({
      ...write,
      ...one,
      method: 'DELETE',
      operationId: 'deleteAudience',
      summary: 'Delete an audience',
      description:
        'Its contacts stay. Messages to the audience that are already scheduled are still sent; cancel the job to stop them.',
      responses: { 200: { schema: Deleted, description: 'The audience was deleted.' } },
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'],
      handle: async (call) => {
        const id = call.params.id as string
        await manage.remove(call.caller, actorOf(call), id)
        return { status: 200, body: { id, deleted: true } }
      },
    }),
  ]
}
