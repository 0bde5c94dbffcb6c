/** /api/internal/webhooks and /api/internal/webhook-deliveries. */
import { z } from 'zod'
import { givenId } from '../../../platform/ground/bounded-text.ts'
import type { ReadMessages } from '../../../sending/messages/read.ts'
import { Delivery, DeliveryDetail, deliveryStatuses, Replayed, TestFired } from '../../../webhooks/delivery-shapes.ts'
import type { FireWebhooks } from '../../../webhooks/fire.ts'
import type { ListDeliveries } from '../../../webhooks/list-deliveries.ts'
import type { ManageWebhooks } from '../../../webhooks/manage.ts'
import { knownEvents } from '../../../webhooks/samples.ts'
import { CreateWebhook, PatchWebhook, RotatedWebhook, RotateWebhook, TestFire } from '../../../webhooks/shapes.ts'
import { scopeOf, userActor } from '../actor.ts'
import { listed, ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'
import {
  newWebhooks,
  rotatedWebhooks,
  shownDeliveryDetail,
  shownTestFire,
  webhookDeliveries,
  webhooks,
} from '../shown-webhook.ts'
import { listOf, listQuery, tenantFilter } from './list-query.ts'
import { memberRoutes } from './member-routes.ts'

const Rotate = RotateWebhook.unwrap().extend({ id: givenId })

const DeliveryQuery = listQuery().extend({
  endpoint_id: givenId.optional(),
  status: z.enum(deliveryStatuses).optional(),
  event: z.enum(knownEvents).optional(),
})

const place = { path: '/api/internal/webhooks', write: 'requireDeveloperSession' } as const
const routes = memberRoutes(webhooks, place)

type Needs = { manage: ManageWebhooks; deliveries: ListDeliveries; fire: FireWebhooks }

const endpointRoutes = ({ manage, fire }: Needs): DashboardRoute[] => [
  routes.list({
    query: listQuery().extend({ tenant_id: tenantFilter }),
    action: manage.list,
  }),
  memberRoutes(newWebhooks, place).create({ body: CreateWebhook, action: manage.create }),
  routes.get({ action: manage.get }),
  routes.change({
    path: '/api/internal/webhooks/{id}',
    body: PatchWebhook,
    action: manage.patch,
  }),
  routes.remove({ action: manage.remove }),
  defineRoute('POST', '/api/internal/webhooks/rotate', bySession('requireDeveloperSession'), {
    body: Rotate,
    responses: { 200: RotatedWebhook },
    handle: async (call) => {
      const { id, ...body } = call.body
      const rotated = await manage.rotate(scopeOf(call.session), userActor(call), id, body)
      return ok(rotatedWebhooks.show(rotated))
    },
  }),
  defineRoute('POST', '/api/internal/webhooks/{id}/test', bySession('requireDeveloperSession'), {
    params: { id: 'webhookEndpoint' },
    body: TestFire,
    responses: { 200: TestFired },
    handle: async (call) => {
      const scope = scopeOf(call.session)
      const { event } = call.body
      const endpoint = await manage.reach(scope, call.params.id)
      const fired = await fire.test(scope, userActor(call), endpoint, event)
      return ok(shownTestFire(fired, event))
    },
  }),
]

type Messages = Pick<ReadMessages, 'findInOrg'>

const deliveryRoutes = ({ manage, deliveries, fire }: Needs, messages: Messages): DashboardRoute[] => [
  memberRoutes(webhookDeliveries, { path: '/api/internal/webhook-deliveries' }).list({
    query: DeliveryQuery,
    action: ({ orgId }, query) => {
      const { endpoint_id: endpointId = null, status = null, event = null } = query
      return deliveries.ofOrg({ orgId, endpointId, status, event }, query)
    },
  }),
  defineRoute('GET', '/api/internal/webhook-deliveries/{id}', bySession('requireSession'), {
    params: { id: 'webhookDelivery' },
    responses: { 200: DeliveryDetail },
    handle: async ({ session, params }) => ok(shownDeliveryDetail(await fire.findInOrg(scopeOf(session), params.id))),
  }),
  defineRoute('GET', '/api/internal/messages/{id}/deliveries', bySession('requireSession'), {
    params: { id: 'message' },
    query: listQuery(),
    responses: { 200: listOf(Delivery) },
    handle: async ({ session: { orgId }, params, query }) => {
      const { id, created_at: sentAt } = await messages.findInOrg(orgId, params.id)
      const rows = await deliveries.aboutMessage({ orgId, messageId: id, sentAt }, query)
      return listed(rows, query.limit, webhookDeliveries.show)
    },
  }),
  defineRoute('POST', '/api/internal/webhook-deliveries/{id}/replay', bySession('requireDeveloperSession'), {
    params: { id: 'webhookDelivery' },
    responses: { 202: Replayed },
    handle: async (call) => {
      const scope = scopeOf(call.session)
      const deliveryId = call.params.id
      const endpoint = await manage.reach(scope, await fire.endpointOf(scope, deliveryId))
      const { id, replay_of } = await fire.replay(scope, userActor(call), endpoint, deliveryId)
      return { status: 202, body: { delivery_id: id, replay_of } }
    },
  }),
]

export const webhookDashboardRoutes = (needs: Needs, messages: Messages): DashboardRoute[] => [
  ...endpointRoutes(needs),
  ...deliveryRoutes(needs, messages),
]
