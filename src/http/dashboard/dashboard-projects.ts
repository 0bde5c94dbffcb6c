/** /api/internal/projects */

import type { Db } from '../../db/pool.ts'
import { keysetOf } from '../../ground/cursor.ts'
import type { ManageProjects } from '../../projects/manage.ts'
import { CreateProject, PatchProject, Project } from '../../projects/shapes.ts'
import { listProjects } from '../../projects/store.ts'
import { Deleted } from '../deleted.ts'
import { page } from '../page.ts'
import { shownProject } from '../shown-project.ts'
import { type DashboardRoute, defineDashboardRoute } from './dashboard-route.ts'
import { listOf, listQuery } from './list-query.ts'
import { scopeOf } from './member-scope.ts'

const path = '/api/internal/projects'
const one = { path: `${path}/{id}`, params: { id: 'project' } } as const

type Needs = { db: Db; manage: ManageProjects }

export const dashboardProjectRoutes = ({ db, manage }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path,
    gate: 'requireSession',
    query: listQuery(),
    responses: { 200: listOf(Project) },
    handle: async ({ session: { orgId }, query }) => {
      const rows = await db.rows(listProjects, { orgId, onlyId: null, ...keysetOf(query) })
      return { status: 200, body: page(rows, query.limit, shownProject) }
    },
  }),
  defineDashboardRoute({
    ...one,
    method: 'GET',
    gate: 'requireSession',
    responses: { 200: Project },
    handle: async ({ session, params }) => ({
      status: 200,
      body: shownProject(await manage.get(scopeOf(session), params.id as string)),
    }),
  }),
  defineDashboardRoute({
    method: 'POST',
    path,
    gate: 'requireOwnerSession',
    body: CreateProject,
    responses: { 201: Project },
    handle: async ({ session, body }) => ({
      status: 201,
      body: shownProject(await manage.create(scopeOf(session), body)),
    }),
  }),
  defineDashboardRoute({
    ...one,
    method: 'PATCH',
    gate: 'requireOwnerSession',
    body: PatchProject,
    responses: { 200: Project },
    handle: async ({ session, params, body }) => ({
      status: 200,
      body: shownProject(await manage.patch(scopeOf(session), params.id as string, body)),
    }),
  }),
  defineDashboardRoute({
    ...one,
    method: 'DELETE',
    gate: 'requireOwnerSession',
    responses: { 200: Deleted },
    handle: async ({ session, params }) => {
      const id = params.id as string
      await manage.remove(scopeOf(session), id)
      return { status: 200, body: { id, deleted: true } }
    },
  }),
]
