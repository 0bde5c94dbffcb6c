import type { z } from 'zod'
import { CreateDltEntity, CreateDltHeader, CreateDltTemplate } from '../../../senders/sms/dlt/dlt-shapes.ts'
import type { ManageDlt, ManageDltRows } from '../../../senders/sms/dlt/manage-dlt.ts'
import { byKey, type PublicRoute } from '../route.ts'
import type { ShownResource } from '../shown-resource.ts'
import { shownDltEntities, shownDltHeaders, shownDltTemplates } from '../shown-resources.ts'
import { publicRoutes } from './public-routes.ts'

/** Registrations belong to the whole org, so only platform keys change them. */
const write = byKey('write:dlt', { tenantKey: 'TENANT_KEY_FORBIDDEN' })
const read = byKey('read:dlt')

type Kind<Row extends { id: string; created_at: Date }, Item extends z.ZodType, Body extends z.ZodType> = {
  path: string
  name: string
  names: string
  shown: ShownResource<Row, Item>
  body: Body
  manage: ManageDltRows<z.output<Body>, Row>
  removal: string
}

const routesOf = <Row extends { id: string; created_at: Date }, Item extends z.ZodType, Body extends z.ZodType>({
  shown,
  body,
  manage,
  removal,
  ...place
}: Kind<Row, Item, Body>): PublicRoute[] => {
  const called = { one: `DLT ${shown.one}`, many: `DLT ${shown.many}` }
  const routes = publicRoutes(shown, { tag: 'DLT', ...place, called, read, write })
  return [
    routes.create({
      summary: `Register a DLT ${shown.one}`,
      body,
      response: `The new ${shown.one}, which waits for approval.`,
      action: manage.create,
    }),
    routes.list({ action: ({ orgId }, query) => manage.list(orgId, query) }),
    routes.get({ action: manage.get }),
    routes.remove({
      description: removal,
      errors: ['NOT_FOUND', 'DLT_IN_USE', 'ENVIRONMENT_ESCALATION'],
      action: manage.remove,
    }),
  ]
}

export const dltRoutes = ({ manage }: { manage: ManageDlt }): PublicRoute[] => [
  ...routesOf({
    path: '/dlt/entities',
    name: 'DltEntity',
    names: 'DltEntities',
    shown: shownDltEntities,
    body: CreateDltEntity,
    manage: manage.entities,
    removal: 'An entity that still has headers or templates cannot be deleted.',
  }),
  ...routesOf({
    path: '/dlt/headers',
    name: 'DltHeader',
    names: 'DltHeaders',
    shown: shownDltHeaders,
    body: CreateDltHeader,
    manage: manage.headers,
    removal: 'A header that still has templates cannot be deleted.',
  }),
  ...routesOf({
    path: '/dlt/templates',
    name: 'DltTemplate',
    names: 'DltTemplates',
    shown: shownDltTemplates,
    body: CreateDltTemplate,
    manage: manage.templates,
    removal: 'A template that scheduled messages need cannot be deleted.',
  }),
]
