/** /api/internal/dlt: registrations for India. Only owners change them. */
import type { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import type { Statement } from '../../db/statement.ts'
import { type Keyset, keysetOf } from '../../ground/cursor.ts'
import {
  CreateDltEntity,
  CreateDltHeader,
  CreateDltTemplate,
  DltEntity,
  DltHeader,
  DltTemplateShape,
} from '../../senders/dlt/dlt-shapes.ts'
import type { ManageDlt, ManageDltRows } from '../../senders/dlt/manage-dlt.ts'
import { dltEntities, dltHeaders, dltTemplates } from '../../senders/store/dlt-rows.ts'
import { Deleted } from '../deleted.ts'
import { page } from '../page.ts'
import { shownDltEntity, shownDltHeader, shownDltTemplate } from '../shown-dlt.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'
import { scopeOf } from './member-scope.ts'
import { idQuery, oneOrListOf, oneOrListQuery } from './one-or-list.ts'

type Kind<Body extends z.ZodType, Row> = {
  path: string
  body: Body
  shape: z.ZodType
  show: (row: Row) => unknown
  list: Statement<Keyset & { orgId: string }, Row>
  manage: ManageDltRows<z.output<Body>, Row>
}

const routesOf = <Body extends z.ZodType, Row extends { id: string; created_at: Date }>(
  db: Db,
  { path, body, shape, show, list, manage }: Kind<Body, Row>,
): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path,
    gate: 'requireSession',
    query: oneOrListQuery,
    responses: { 200: oneOrListOf(shape) },
    handle: async ({ session, query: { id, ...query } }) => {
      if (id !== undefined) return { status: 200, body: show(await manage.get(scopeOf(session), id)) }
      const rows = await db.rows(list, { orgId: session.orgId, ...keysetOf(query) })
      return { status: 200, body: page(rows, query.limit, show) }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path,
    gate: 'requireOwnerSession',
    body,
    responses: { 201: shape },
    handle: async (call) => ({
      status: 201,
      body: show(await manage.create(scopeOf(call.session), userActor(call), call.body as z.output<Body>)),
    }),
  }),
  defineDashboardRoute({
    method: 'DELETE',
    path,
    gate: 'requireOwnerSession',
    query: idQuery,
    responses: { 200: Deleted },
    handle: async (call) => {
      const { id } = call.query
      await manage.remove(scopeOf(call.session), userActor(call), id)
      return { status: 200, body: { id, deleted: true } }
    },
  }),
]

export const dashboardDltRoutes = ({ db, manage }: { db: Db; manage: ManageDlt }): DashboardRoute[] => [
  ...routesOf(db, {
    path: '/api/internal/dlt/entities',
    body: CreateDltEntity,
    shape: DltEntity,
    show: shownDltEntity,
    list: dltEntities.list,
    manage: manage.entities,
  }),
  ...routesOf(db, {
    path: '/api/internal/dlt/headers',
    body: CreateDltHeader,
    shape: DltHeader,
    show: shownDltHeader,
    list: dltHeaders.list,
    manage: manage.headers,
  }),
  ...routesOf(db, {
    path: '/api/internal/dlt/templates',
    body: CreateDltTemplate,
    shape: DltTemplateShape,
    show: shownDltTemplate,
    list: dltTemplates.list,
    manage: manage.templates,
  }),
]
