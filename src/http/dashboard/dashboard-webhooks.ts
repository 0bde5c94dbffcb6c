/** /api/internal/webhooks and /api/internal/webhook-deliveries. */

import { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import { givenId } from '../../ground/bounded-text.ts'
import { keysetOf } from '../../ground/cursor.ts'
import type { ReadMessages } from '../../messages/read.ts'
import { ById } from '../../team/shapes.ts'
import { Delivery, DeliveryDetail, deliveryStatuses, Replayed, TestFired } from '../../webhooks/delivery-shapes.ts'
import type { FireWebhooks } from '../../webhooks/fire.ts'
import type { ManageWebhooks } from '../../webhooks/manage.ts'
import { knownEvents } from '../../webhooks/samples.ts'
import {
  CreatedWebhook,
  CreateWebhook,
  PatchWebhook,
  RotatedWebhook,
  RotateWebhook,
  TestFire,
  Webhook,
} from '../../webhooks/shapes.ts'
import { listMessageDeliveries, listOrgDeliveries } from '../../webhooks/store/delivery-rows.ts'
import { listEndpoints } from '../../webhooks/store/endpoint-rows.ts'
import { Deleted } from '../deleted.ts'
import { page } from '../page.ts'
import {
  shownDelivery,
  shownDeliveryDetail,
  shownNewWebhook,
  shownRotation,
  shownTestFire,
  shownWebhook,
} from '../shown-webhook.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'
import { tenantFilter } from './filters.ts'
import { listOf, listQuery } from './list-query.ts'
import { scopeOf } from './member-scope.ts'

const Rotate = RotateWebhook.unwrap().extend({ id: givenId })

const DeliveryQuery = listQuery().extend({
  endpoint_id: givenId.optional(),
  status: z.enum(deliveryStatuses).optional(),
  event: z.enum(knownEvents).optional(),
})

/** The clocks of two processes can differ by this much. */
const clockSkewMs = 60_000

type Needs = { db: Db; manage: ManageWebhooks; fire: FireWebhooks; messages: Pick<ReadMessages, 'findInOrg'> }

const endpointRoutes = ({ db, manage, fire }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path: '/api/internal/webhooks',
    gate: 'requireSession',
    query: listQuery().extend({ tenant_id: tenantFilter }),
    responses: { 200: listOf(Webhook) },
    handle: async ({ session, query }) => {
      const { tenant_id: tenantId = null } = query
      const rows = await db.rows(listEndpoints, { orgId: session.orgId, tenantId, ...keysetOf(query) })
      return { status: 200, body: page(rows, query.limit, shownWebhook) }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/internal/webhooks',
    gate: 'requireDeveloperSession',
    body: CreateWebhook,
    responses: { 201: CreatedWebhook },
    handle: async (call) => {
      const created = await manage.create(scopeOf(call.session), userActor(call), call.body)
      return { status: 201, body: shownNewWebhook(created) }
    },
  }),
  defineDashboardRoute({
    method: 'GET',
    path: '/api/internal/webhooks/{id}',
    gate: 'requireSession',
    params: { id: 'webhookEndpoint' },
    responses: { 200: Webhook },
    handle: async ({ session, params }) => ({
      status: 200,
      body: shownWebhook(await manage.get(scopeOf(session), params.id as string)),
    }),
  }),
  defineDashboardRoute({
    method: 'PATCH',
    path: '/api/internal/webhooks/{id}',
    gate: 'requireDeveloperSession',
    params: { id: 'webhookEndpoint' },
    body: PatchWebhook,
    responses: { 200: Webhook },
    handle: async (call) => {
      const row = await manage.patch(scopeOf(call.session), userActor(call), call.params.id as string, call.body)
      return { status: 200, body: shownWebhook(row) }
    },
  }),
  defineDashboardRoute({
    method: 'DELETE',
    path: '/api/internal/webhooks',
    gate: 'requireDeveloperSession',
    query: ById,
    responses: { 200: Deleted },
    handle: async (call) => {
      const { id } = call.query
      await manage.remove(scopeOf(call.session), userActor(call), id)
      return { status: 200, body: { id, deleted: true } }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/internal/webhooks/rotate',
    gate: 'requireDeveloperSession',
    body: Rotate,
    responses: { 200: RotatedWebhook },
    handle: async (call) => {
      const { id, ...body } = call.body
      const rotated = await manage.rotate(scopeOf(call.session), userActor(call), id, body)
      return { status: 200, body: shownRotation(rotated) }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/internal/webhooks/{id}/test',
    gate: 'requireDeveloperSession',
    params: { id: 'webhookEndpoint' },
    body: TestFire,
    responses: { 200: TestFired },
    handle: async (call) => {
      const scope = scopeOf(call.session)
      const { event } = call.body
      const endpoint = await manage.reach(scope, call.params.id as string)
      const fired = await fire.test(scope, userActor(call), endpoint, event)
      return { status: 200, body: shownTestFire(fired, event) }
    },
  }),
]

const deliveryRoutes = ({ db, manage, fire, messages }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path: '/api/internal/webhook-deliveries',
    gate: 'requireSession',
    query: DeliveryQuery,
    responses: { 200: listOf(Delivery) },
    handle: async ({ session, query }) => {
      const { endpoint_id: endpointId = null, status = null, event = null } = query
      const filters = { orgId: session.orgId, endpointId, status, event }
      const rows = await db.rows(listOrgDeliveries, { ...filters, ...keysetOf(query) })
      return { status: 200, body: page(rows, query.limit, shownDelivery) }
    },
  }),
  defineDashboardRoute({
    method: 'GET',
    path: '/api/internal/webhook-deliveries/{id}',
    gate: 'requireSession',
    params: { id: 'webhookDelivery' },
    responses: { 200: DeliveryDetail },
    handle: async ({ session, params }) => ({
      status: 200,
      body: shownDeliveryDetail(await fire.findInOrg(scopeOf(session), params.id as string)),
    }),
  }),
  defineDashboardRoute({
    method: 'GET',
    path: '/api/internal/messages/{id}/deliveries',
    gate: 'requireSession',
    params: { id: 'message' },
    query: listQuery(),
    responses: { 200: listOf(Delivery) },
    handle: async ({ session: { orgId }, params, query }) => {
      const { id, created_at: sentAt } = await messages.findInOrg(orgId, params.id as string)
      const since = new Date(sentAt.getTime() - clockSkewMs)
      const rows = await db.rows(listMessageDeliveries, { orgId, messageId: id, since, ...keysetOf(query) })
      return { status: 200, body: page(rows, query.limit, shownDelivery) }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/internal/webhook-deliveries/{id}/replay',
    gate: 'requireDeveloperSession',
    params: { id: 'webhookDelivery' },
    responses: { 202: Replayed },
    handle: async (call) => {
      const scope = scopeOf(call.session)
      const deliveryId = call.params.id as string
      const endpoint = await manage.reach(scope, await fire.endpointOf(scope, deliveryId))
      const { id, replay_of } = await fire.replay(scope, userActor(call), endpoint, deliveryId)
      return { status: 202, body: { delivery_id: id, replay_of } }
    },
  }),
]

export const webhookDashboardRoutes = (needs: Needs): DashboardRoute[] => [
  ...endpointRoutes(needs),
  ...deliveryRoutes(needs),
]
