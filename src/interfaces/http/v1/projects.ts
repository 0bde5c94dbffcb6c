import type { ManageProjects } from '../../../customers/projects/manage.ts'
import { CreateProject, PatchProject } from '../../../customers/projects/shapes.ts'
import { byKey, type PublicRoute } from '../route.ts'
import { projects } from '../shown-resources.ts'
import { publicRoutes } from './public-routes.ts'

const platformOnly = { tenantKey: 'TENANT_KEY_FORBIDDEN' } as const

const routes = publicRoutes(projects, {
  tag: 'Projects',
  path: '/projects',
  name: 'Project',
  read: byKey('read:projects'),
  write: byKey('write:projects', platformOnly),
})

export const projectRoutes = ({ manage }: { manage: ManageProjects }): PublicRoute[] => [
  routes.create({
    description: 'If you omit `slug`, it is derived from the name.',
    access: byKey('write:projects', { ...platformOnly, projectKey: 'PROJECT_SCOPED_KEY' }),
    body: CreateProject,
    errors: ['PROJECT_SLUG_TAKEN', 'PLAN_RESOURCE_LIMIT'],
    action: (caller, _actor, body) => manage.create(caller, body),
  }),
  routes.list({ action: manage.list }),
  routes.get({ action: manage.get }),
  routes.change({
    body: PatchProject,
    errors: ['NOT_FOUND', 'PROJECT_SLUG_TAKEN', 'ENVIRONMENT_ESCALATION'],
    action: (caller, _actor, id, body) => manage.patch(caller, id, body),
  }),
  routes.remove({
    summary: 'Delete an empty project',
    errors: ['NOT_FOUND', 'PROJECT_NOT_EMPTY', 'PROJECT_IS_DEFAULT', 'ENVIRONMENT_ESCALATION'],
    action: (caller, _actor, id) => manage.remove(caller, id),
  }),
]
