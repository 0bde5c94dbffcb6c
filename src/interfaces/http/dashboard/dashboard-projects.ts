/** /api/internal/projects */

import type { ManageProjects } from '../../../customers/projects/manage.ts'
import { CreateProject, PatchProject } from '../../../customers/projects/shapes.ts'
import type { DashboardRoute } from '../route.ts'
import { bySession } from '../route-access.ts'
import { projects } from '../shown-resources.ts'
import { listQuery } from './list-query.ts'
import { memberRoutes } from './member-routes.ts'

const path = '/api/internal/projects'

const routes = memberRoutes(projects)

type Needs = { manage: ManageProjects }

export const dashboardProjectRoutes = ({ manage }: Needs): DashboardRoute[] => [
  routes.list({ path, access: bySession('requireSession'), query: listQuery(), action: manage.list }),
  routes.get({ path: `${path}/{id}`, access: bySession('requireSession'), action: manage.get }),
  routes.create({
    path,
    access: bySession('requireOwnerSession'),
    body: CreateProject,
    action: (scope, _actor, body) => manage.create(scope, body),
  }),
  routes.change({
    path: `${path}/{id}`,
    access: bySession('requireOwnerSession'),
    body: PatchProject,
    action: (scope, _actor, id, body) => manage.patch(scope, id, body),
  }),
  routes.remove({
    path: `${path}/{id}`,
    access: bySession('requireOwnerSession'),
    action: (scope, _actor, id) => manage.remove(scope, id),
  }),
]
