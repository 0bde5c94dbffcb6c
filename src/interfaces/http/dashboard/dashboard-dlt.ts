/** /api/internal/dlt: registrations for India. Only owners change them. */
import type { z } from 'zod'
import { CreateDltEntity, CreateDltHeader, CreateDltTemplate } from '../../../senders/sms/dlt/dlt-shapes.ts'
import type { ManageDlt, ManageDltRows } from '../../../senders/sms/dlt/manage-dlt.ts'
import type { DashboardRoute } from '../route.ts'
import type { ShownResource } from '../shown-resource.ts'
import { shownDltEntities, shownDltHeaders, shownDltTemplates } from '../shown-resources.ts'
import { memberRoutes } from './member-routes.ts'

type Kind<Row extends { id: string; created_at: Date }, Item extends z.ZodType, Body extends z.ZodType> = {
  path: string
  noun: ShownResource<Row, Item>
  body: Body
  manage: ManageDltRows<z.output<Body>, Row>
}

const routesOf = <Row extends { id: string; created_at: Date }, Item extends z.ZodType, Body extends z.ZodType>({
  path,
  noun,
  body,
  manage,
}: Kind<Row, Item, Body>): DashboardRoute[] => {
  const routes = memberRoutes(noun, { path })
  return [
    routes.oneOrList({
      get: manage.get,
      list: ({ orgId }, query) => manage.list(orgId, query),
    }),
    routes.create({ body, action: manage.create }),
    routes.remove({ action: manage.remove }),
  ]
}

export const dashboardDltRoutes = ({ manage }: { manage: ManageDlt }): DashboardRoute[] => [
  ...routesOf({
    path: '/api/internal/dlt/entities',
    noun: shownDltEntities,
    body: CreateDltEntity,
    manage: manage.entities,
  }),
  ...routesOf({
    path: '/api/internal/dlt/headers',
    noun: shownDltHeaders,
    body: CreateDltHeader,
    manage: manage.headers,
  }),
  ...routesOf({
    path: '/api/internal/dlt/templates',
    noun: shownDltTemplates,
    body: CreateDltTemplate,
    manage: manage.templates,
  }),
]
