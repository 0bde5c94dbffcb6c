import type { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import type { Statement } from '../../db/statement.ts'
import { type Keyset, keysetOf } from '../../ground/cursor.ts'
import type { Code } from '../../ground/errors.ts'
import type { IdKind } from '../../ground/ids.ts'
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
import { actorOf } from '../actor.ts'
import { Deleted } from '../deleted.ts'
import { page, pageOf, pageQuery } from '../page.ts'
import { defineRoute, type Route } from '../route.ts'
import { shownDltEntity, shownDltHeader, shownDltTemplate } from '../shown-dlt.ts'

type Noun<Body extends z.ZodType, Row> = {
  path: string
  /** As in "Register a DLT entity". */
  one: string
  many: string
  /** The nouns of the operation ids, as in `createDltEntity` and `listDltEntities`. */
  ids: { one: string; many: string }
  param: IdKind
  body: Body
  shape: z.ZodType
  show: (row: Row) => unknown
  list: Statement<Keyset & { orgId: string }, Row>
  manage: ManageDltRows<z.output<Body>, Row>
  removal: string
}

/** Registrations belong to the whole org, so only platform keys change them. */
const forbiddenKeys = { tenantKey: 'TENANT_KEY_FORBIDDEN' } as const

const routesOf = <Body extends z.ZodType, Row extends { id: string; created_at: Date }>(
  db: Db,
  { path, one, many, ids, param, body, shape, show, list, manage, removal }: Noun<Body, Row>,
): Route[] => {
  const write = { tag: 'DLT', scope: 'write:dlt', forbiddenKeys } as const
  const read = { tag: 'DLT', scope: 'read:dlt' } as const
  const row = { path: `${path}/{id}`, params: { id: param } }
  const notFound: Code[] = ['NOT_FOUND']
  return [
    defineRoute({
      ...write,
      method: 'POST',
      path,
      operationId: `create${ids.one}`,
      summary: `Register a DLT ${one}`,
      body,
      responses: { 201: { schema: shape, description: `The new ${one}, which waits for approval.` } },
      handle: async (call) => ({
        status: 201,
        body: show(await manage.create(call.caller, actorOf(call), call.body as z.output<Body>)),
      }),
    }),
    defineRoute({
      ...read,
      method: 'GET',
      path,
      operationId: `list${ids.many}`,
      summary: `List DLT ${many}`,
      query: pageQuery,
      responses: { 200: { schema: pageOf(shape), description: `A page of ${many}, newest first.` } },
      handle: async ({ caller: { orgId }, query }) => ({
        status: 200,
        body: page(await db.rows(list, { orgId, ...keysetOf(query) }), query.limit, show),
      }),
    }),
    defineRoute({
      ...read,
      ...row,
      method: 'GET',
      operationId: `get${ids.one}`,
      summary: `Get a DLT ${one}`,
      responses: { 200: { schema: shape, description: `The ${one}.` } },
      errors: notFound,
      handle: async ({ caller, params }) => ({
        status: 200,
        body: show(await manage.get(caller, params.id as string)),
      }),
    }),
    defineRoute({
      ...write,
      ...row,
      method: 'DELETE',
      operationId: `delete${ids.one}`,
      summary: `Delete a DLT ${one}`,
      description: removal,
      responses: { 200: { schema: Deleted, description: `The ${one} was deleted.` } },
      errors: ['NOT_FOUND', 'DLT_IN_USE', 'ENVIRONMENT_ESCALATION'],
      handle: async (call) => {
        const id = call.params.id as string
        await manage.remove(call.caller, actorOf(call), id)
        return { status: 200, body: { id, deleted: true } }
      },
    }),
  ]
}

export const dltRoutes = ({ db, manage }: { db: Db; manage: ManageDlt }): Route[] => [
  ...routesOf(db, {
    path: '/dlt/entities',
    one: 'entity',
    many: 'entities',
    ids: { one: 'DltEntity', many: 'DltEntities' },
    param: 'dltEntity',
    body: CreateDltEntity,
    shape: DltEntity,
    show: shownDltEntity,
    list: dltEntities.list,
    manage: manage.entities,
    removal: 'An entity that still has headers or templates cannot be deleted.',
  }),
  ...routesOf(db, {
    path: '/dlt/headers',
    one: 'header',
    many: 'headers',
    ids: { one: 'DltHeader', many: 'DltHeaders' },
    param: 'dltHeader',
    body: CreateDltHeader,
    shape: DltHeader,
    show: shownDltHeader,
    list: dltHeaders.list,
    manage: manage.headers,
    removal: 'A header that still has templates cannot be deleted.',
  }),
  ...routesOf(db, {
    path: '/dlt/templates',
    one: 'template',
    many: 'templates',
    ids: { one: 'DltTemplate', many: 'DltTemplates' },
    param: 'dltTemplate',
    body: CreateDltTemplate,
    shape: DltTemplateShape,
    show: shownDltTemplate,
    list: dltTemplates.list,
    manage: manage.templates,
    removal: 'A template that scheduled messages need cannot be deleted.',
  }),
]
