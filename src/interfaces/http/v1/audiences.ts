import type { ManageAudiences } from '../../../recipients/audiences/manage-audiences.ts'
import { CreateAudience } from '../../../recipients/audiences/shapes.ts'
import type { PublicRoute } from '../route.ts'
import { byKey } from '../route-access.ts'
import { audiences } from '../shown-resources.ts'
import { publicRoutes } from './public-routes.ts'

const routes = publicRoutes(audiences, {
  tag: 'Audiences',
  path: '/audiences',
  name: 'Audience',
  read: byKey('read:audiences'),
  write: byKey('write:audiences'),
})

type Needs = { manage: ManageAudiences }

export const audienceRoutes = ({ manage }: Needs): PublicRoute[] => [
  routes.create({
    body: CreateAudience,
    response: 'The new audience, without members.',
    errors: ['PLAN_RESOURCE_LIMIT', 'AUDIENCE_SLUG_TAKEN', 'TENANT_ERASED'],
    action: manage.create,
  }),
  routes.list({ action: manage.list }),
  routes.get({ action: manage.get }),
  routes.remove({
    description:
      'Its contacts stay. Messages to the audience that are already scheduled are still sent; cancel the job to stop them.',
    action: manage.remove,
  }),
]
