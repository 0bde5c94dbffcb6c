/** /api/internal/projects */
import type { ManageProjects } from '../../../customers/projects/manage.ts'
import { CreateProject, PatchProject } from '../../../customers/projects/shapes.ts'
import type { DashboardRoute } from '../route.ts'
import { projects } from '../shown-resources.ts'
import { memberRoutes } from './member-routes.ts'

const path = '/api/internal/projects'

const routes = memberRoutes(projects, { path })

export const dashboardProjectRoutes = ({ manage }: { manage: ManageProjects }): DashboardRoute[] => [
  routes.list({ action: manage.list }),
  routes.get({ action: manage.get }),
  routes.create({
    body: CreateProject,
    action: (scope, _actor, body) => manage.create(scope, body),
  }),
  routes.change({
    path: `${path}/{id}`,
    body: PatchProject,
    action: (scope, _actor, id, body) => manage.patch(scope, id, body),
  }),
  routes.remove({
    path: `${path}/{id}`,
    action: (scope, _actor, id) => manage.remove(scope, id),
  }),
]
