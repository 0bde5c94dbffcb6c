import type { Db } from '../../db/pool.ts'
import { keysetOf } from '../../ground/cursor.ts'
import type { ManageProjects } from '../../projects/manage.ts'
import { CreateProject, PatchProject, Project } from '../../projects/shapes.ts'
import { listProjects } from '../../projects/store.ts'
import { Deleted } from '../deleted.ts'
import { page, pageOf, pageQuery } from '../page.ts'
import { defineRoute, type Route } from '../route.ts'
import { shownProject } from '../shown-project.ts'

const platformOnly = { tenantKey: 'TENANT_KEY_FORBIDDEN' } as const

type Needs = { db: Db; manage: ManageProjects }

export const projectRoutes = ({ db, manage }: Needs): Route[] => [
  defineRoute({
    method: 'POST',
    path: '/projects',
    operationId: 'createProject',
    tag: 'Projects',
    summary: 'Create a project',
    description: 'If you omit `slug`, it is derived from the name.',
    scope: 'write:projects',
    forbiddenKeys: { ...platformOnly, projectKey: 'PROJECT_SCOPED_KEY' },
    body: CreateProject,
    responses: { 201: { schema: Project, description: 'The new project.' } },
    errors: ['PROJECT_SLUG_TAKEN', 'PLAN_RESOURCE_LIMIT'],
    handle: async ({ caller, body }) => ({ status: 201, body: shownProject(await manage.create(caller, body)) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/projects',
    operationId: 'listProjects',
    tag: 'Projects',
    summary: 'List projects',
    scope: 'read:projects',
    query: pageQuery,
    responses: { 200: { schema: pageOf(Project), description: 'A page of projects, newest first.' } },
    handle: async ({ caller, query }) => {
      const { orgId, projectId: onlyId } = caller
      const rows = await db.rows(listProjects, { orgId, onlyId, ...keysetOf(query) })
      return { status: 200, body: page(rows, query.limit, shownProject) }
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/projects/{id}',
    operationId: 'getProject',
    tag: 'Projects',
    summary: 'Get a project',
    scope: 'read:projects',
    params: { id: 'project' },
    responses: { 200: { schema: Project, description: 'The project.' } },
    errors: ['NOT_FOUND'],
    handle: async ({ caller, params }) => ({
      status: 200,
      body: shownProject(await manage.get(caller, params.id as string)),
    }),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/projects/{id}',
    operationId: 'updateProject',
    tag: 'Projects',
    summary: 'Update a project',
    scope: 'write:projects',
    params: { id: 'project' },
    forbiddenKeys: platformOnly,
    body: PatchProject,
    responses: { 200: { schema: Project, description: 'The updated project.' } },
    errors: ['NOT_FOUND', 'PROJECT_SLUG_TAKEN', 'ENVIRONMENT_ESCALATION'],
    handle: async ({ caller, params, body }) => ({
      status: 200,
      body: shownProject(await manage.patch(caller, params.id as string, body)),
    }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/projects/{id}',
    operationId: 'deleteProject',
    tag: 'Projects',
    summary: 'Delete an empty project',
    scope: 'write:projects',
    params: { id: 'project' },
    forbiddenKeys: platformOnly,
    responses: { 200: { schema: Deleted, description: 'The project was deleted.' } },
    errors: ['NOT_FOUND', 'PROJECT_NOT_EMPTY', 'PROJECT_IS_DEFAULT', 'ENVIRONMENT_ESCALATION'],
    handle: async ({ caller, params }) => {
      const id = params.id as string
      await manage.remove(caller, id)
      return { status: 200, body: { id, deleted: true } }
    },
  }),
]
