import type { z } from 'zod'
import { CreateDltEntity, CreateDltHeader, CreateDltTemplate } from '../../../senders/sms/dlt/dlt-shapes.ts'
import type { ManageDlt, ManageDltRows } from '../../../senders/sms/dlt/manage-dlt.ts'
import type { PublicRoute } from '../route.ts'
import { byKey } from '../route-access.ts'
import type { ShownResource } from '../shown-resource.ts'
import { shownDltEntities, shownDltHeaders, shownDltTemplates } from '../shown-resources.ts'
import { publicRoutes } from './public-routes.ts'

/** Registrations belong to the whole org, so only platform keys change them. */
const write = byKey('write:dlt', { tenantKey: 'TENANT_KEY_FORBIDDEN' })
const read = byKey('read:dlt')

type Noun<Row extends { id: string; created_at: Date }, Item extends z.ZodType, Body extends z.ZodType> = {
  path: string
  noun: ShownResource<Row, Item>
  /** The nouns of the operation ids, as in `createDltEntity` and `listDltEntities`. */
  ids: { one: string; many: string }
  body: Body
  manage: ManageDltRows<z.output<Body>, Row>
  removal: string
}

const routesOf = <Row extends { id: string; created_at: Date }, Item extends z.ZodType, Body extends z.ZodType>({
  path,
  noun,
  ids,
  body,
  manage,
  removal,
}: Noun<Row, Item, Body>): PublicRoute[] => {
  const { one, many } = noun
  const routes = publicRoutes('DLT', noun)
  return [
    routes.create({
      path,
      operationId: `create${ids.one}`,
      summary: `Register a DLT ${one}`,
      access: write,
      body,
      response: `The new ${one}, which waits for approval.`,
      action: manage.create,
    }),
    routes.list({
      path,
      operationId: `list${ids.many}`,
      summary: `List DLT ${many}`,
      access: read,
      action: ({ orgId }, query) => manage.list(orgId, query),
    }),
    routes.get({
      path: `${path}/{id}`,
      operationId: `get${ids.one}`,
      summary: `Get a DLT ${one}`,
      access: read,
      action: manage.get,
    }),
    routes.remove({
      path: `${path}/{id}`,
      operationId: `delete${ids.one}`,
      summary: `Delete a DLT ${one}`,
      description: removal,
      access: write,
      errors: ['NOT_FOUND', 'DLT_IN_USE', 'ENVIRONMENT_ESCALATION'],
      action: manage.remove,
    }),
  ]
}

export const dltRoutes = ({ manage }: { manage: ManageDlt }): PublicRoute[] => [
  ...routesOf({
    path: '/dlt/entities',
    noun: shownDltEntities,
    ids: { one: 'DltEntity', many: 'DltEntities' },
    body: CreateDltEntity,
    manage: manage.entities,
    removal: 'An entity that still has headers or templates cannot be deleted.',
  }),
  ...routesOf({
    path: '/dlt/headers',
    noun: shownDltHeaders,
    ids: { one: 'DltHeader', many: 'DltHeaders' },
    body: CreateDltHeader,
    manage: manage.headers,
    removal: 'A header that still has templates cannot be deleted.',
  }),
  ...routesOf({
    path: '/dlt/templates',
    noun: shownDltTemplates,
    ids: { one: 'DltTemplate', many: 'DltTemplates' },
    body: CreateDltTemplate,
    manage: manage.templates,
    removal: 'A template that scheduled messages need cannot be deleted.',
  }),
]
