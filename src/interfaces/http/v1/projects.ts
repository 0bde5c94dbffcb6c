import type { ManageProjects } from '../../../customers/projects/manage.ts'
import { CreateProject, PatchProject } from '../../../customers/projects/shapes.ts'
import type { PublicRoute } from '../route.ts'
import { byKey } from '../route-access.ts'
import { projects } from '../shown-resources.ts'
import { publicRoutes } from './public-routes.ts'

const platformOnly = { tenantKey: 'TENANT_KEY_FORBIDDEN' } as const

const routes = publicRoutes('Projects', projects)

type Needs = { manage: ManageProjects }

export const projectRoutes = ({ manage }: Needs): PublicRoute[] => [
  routes.create({
    path: '/projects',
    operationId: 'createProject',
    summary: 'Create a project',
    description: 'If you omit `slug`, it is derived from the name.',
    access: byKey('write:projects', { ...platformOnly, projectKey: 'PROJECT_SCOPED_KEY' }),
    body: CreateProject,
    errors: ['PROJECT_SLUG_TAKEN', 'PLAN_RESOURCE_LIMIT'],
    action: (caller, _actor, body) => manage.create(caller, body),
  }),
  routes.list({
    path: '/projects',
    operationId: 'listProjects',
    summary: 'List projects',
    access: byKey('read:projects'),
    action: manage.list,
  }),
  routes.get({
    path: '/projects/{id}',
    operationId: 'getProject',
    summary: 'Get a project',
    access: byKey('read:projects'),
    action: manage.get,
  }),
  routes.change({
    path: '/projects/{id}',
    operationId: 'updateProject',
    summary: 'Update a project',
    access: byKey('write:projects', platformOnly),
    body: PatchProject,
    errors: ['NOT_FOUND', 'PROJECT_SLUG_TAKEN', 'ENVIRONMENT_ESCALATION'],
    action: (caller, _actor, id, body) => manage.patch(caller, id, body),
  }),
  routes.remove({
    path: '/projects/{id}',
    operationId: 'deleteProject',
    summary: 'Delete an empty project',
    access: byKey('write:projects', platformOnly),
    errors: ['NOT_FOUND', 'PROJECT_NOT_EMPTY', 'PROJECT_IS_DEFAULT', 'ENVIRONMENT_ESCALATION'],
    action: (caller, _actor, id) => manage.remove(caller, id),
  }),
]
