import type { ManageAudiences } from '../../../recipients/audiences/manage-audiences.ts'
import { CreateAudience } from '../../../recipients/audiences/shapes.ts'
import type { PublicRoute } from '../route.ts'
import { byKey } from '../route-access.ts'
import { audiences } from '../shown-resources.ts'
import { publicRoutes } from './public-routes.ts'

const routes = publicRoutes('Audiences', audiences)

type Needs = { manage: ManageAudiences }

export const audienceRoutes = ({ manage }: Needs): PublicRoute[] => [
  routes.create({
    path: '/audiences',
    operationId: 'createAudience',
    summary: 'Create an audience',
    access: byKey('write:audiences'),
    body: CreateAudience,
    response: 'The new audience, without members.',
    errors: ['PLAN_RESOURCE_LIMIT', 'AUDIENCE_SLUG_TAKEN', 'TENANT_ERASED'],
    action: manage.create,
  }),
  routes.list({
    path: '/audiences',
    operationId: 'listAudiences',
    summary: 'List audiences',
    access: byKey('read:audiences'),
    action: manage.list,
  }),
  routes.get({
    path: '/audiences/{id}',
    operationId: 'getAudience',
    summary: 'Get an audience',
    access: byKey('read:audiences'),
    action: manage.get,
  }),
  routes.remove({
    path: '/audiences/{id}',
    operationId: 'deleteAudience',
    summary: 'Delete an audience',
    description:
      'Its contacts stay. Messages to the audience that are already scheduled are still sent; cancel the job to stop them.',
    access: byKey('write:audiences'),
    errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'],
    action: manage.remove,
  }),
]
