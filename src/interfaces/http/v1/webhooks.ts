import { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import { keysetOf } from '../../ground/cursor.ts'
import {
  Delivery,
  DeliveryWithPayload,
  deliveryStatuses,
  Replayed,
  ReplayedFailed,
  ReplayFailed,
  TestFired,
} from '../../webhooks/delivery-shapes.ts'
import { EventSamples, eventSamples, eventShape } from '../../webhooks/event-shapes.ts'
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
import { listDeliveries } from '../../webhooks/store/delivery-rows.ts'
import { listEndpoints } from '../../webhooks/store/endpoint-rows.ts'
import { actorOf } from '../actor.ts'
import { Deleted } from '../deleted.ts'
import type { WebhookShape } from '../openapi.ts'
import { filteredPage, page, pageOf, pageQuery } from '../page.ts'
import { type Call, defineRoute, type Route } from '../route.ts'
import { shownDelivery, shownNewWebhook, shownRotation, shownTestFire, shownWebhook } from '../shown-webhook.ts'

const DeliveryQuery = filteredPage({
  status: z.enum(deliveryStatuses).optional().describe('Return only deliveries with this status.'),
  event: z.enum(knownEvents).optional().describe('Return only deliveries of this event.'),
})

/** Each event type with the schema of its payload, for the API description. */
export const describedEvents: WebhookShape[] = knownEvents.map((event) => ({
  event,
  tag: 'Webhooks',
  summary: event,
  body: eventShape(event),
}))

type Needs = { db: Db; manage: ManageWebhooks; fire: FireWebhooks }

export const webhookRoutes = ({ db, manage, fire }: Needs): Route[] => {
  const base = { tag: 'Webhooks', params: { id: 'webhookEndpoint' } } as const
  const oneDelivery = { ...base, params: { id: 'webhookEndpoint', delivery_id: 'webhookDelivery' } } as const
  const readEndpoint = ({ caller, params }: Call<unknown, unknown>) => manage.get(caller, params.id as string)
  const reachEndpoint = ({ caller, params }: Call<unknown, unknown>) => manage.reach(caller, params.id as string)

  return [
    defineRoute({
      method: 'POST',
      path: '/webhooks',
      operationId: 'createWebhook',
      tag: 'Webhooks',
      summary: 'Create a webhook endpoint',
      description:
        'The response contains the signing secret, which is not shown again. Rotate the secret to get a new one.',
      scope: 'write:webhooks',
      body: CreateWebhook,
      responses: { 201: { schema: CreatedWebhook, description: 'The new webhook endpoint.' } },
      errors: ['WEBHOOK_URL_NOT_ALLOWED', 'PLAN_RESOURCE_LIMIT', 'TENANT_FORBIDDEN'],
      handle: async (call) => {
        const created = await manage.create(call.caller, actorOf(call), call.body)
        return { status: 201, body: shownNewWebhook(created) }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/webhooks',
      operationId: 'listWebhooks',
      tag: 'Webhooks',
      summary: 'List webhook endpoints',
      scope: 'read:webhooks',
      query: pageQuery,
      responses: { 200: { schema: pageOf(Webhook), description: 'A page of webhook endpoints, newest first.' } },
      handle: async ({ caller, query }) => {
        const { orgId, tenantId } = caller
        const rows = await db.rows(listEndpoints, { orgId, tenantId, ...keysetOf(query) })
        return { status: 200, body: page(rows, query.limit, shownWebhook) }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/webhooks/events',
      operationId: 'listWebhookEvents',
      tag: 'Webhooks',
      summary: 'List event types',
      description: 'Returns every event type that an endpoint can subscribe to, each with a sample payload.',
      scope: 'read:webhooks',
      responses: { 200: { schema: EventSamples, description: 'The event types and their sample payloads.' } },
      handle: async () => ({ status: 200, body: { data: eventSamples } }),
    }),
    defineRoute({
      ...base,
      method: 'GET',
      path: '/webhooks/{id}',
      operationId: 'getWebhook',
      summary: 'Get a webhook endpoint',
      scope: 'read:webhooks',
      responses: { 200: { schema: Webhook, description: 'The webhook endpoint.' } },
      errors: ['NOT_FOUND'],
      handle: async (call) => ({ status: 200, body: shownWebhook(await readEndpoint(call)) }),
    }),
    defineRoute({
      ...base,
      method: 'PATCH',
      path: '/webhooks/{id}',
      operationId: 'updateWebhook',
      summary: 'Update a webhook endpoint',
      description:
        'Omitted fields do not change. Disabling an endpoint or setting `events` to an empty list pauses it: pending deliveries are canceled, and events during the pause are not delivered later.',
      scope: 'write:webhooks',
      body: PatchWebhook,
      responses: { 200: { schema: Webhook, description: 'The updated webhook endpoint.' } },
      errors: ['NOT_FOUND', 'WEBHOOK_URL_NOT_ALLOWED', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'],
      handle: async (call) => {
        const row = await manage.patch(call.caller, actorOf(call), call.params.id as string, call.body)
        return { status: 200, body: shownWebhook(row) }
      },
    }),
    defineRoute({
      ...base,
      method: 'DELETE',
      path: '/webhooks/{id}',
      operationId: 'deleteWebhook',
      summary: 'Delete a webhook endpoint',
      scope: 'write:webhooks',
      responses: { 200: { schema: Deleted, description: 'The webhook endpoint was deleted.' } },
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'],
      handle: async (call) => {
        const id = call.params.id as string
        await manage.remove(call.caller, actorOf(call), id)
        return { status: 200, body: { id, deleted: true } }
      },
    }),
    defineRoute({
      ...base,
      method: 'POST',
      path: '/webhooks/{id}/rotate',
      operationId: 'rotateWebhookSecret',
      summary: 'Rotate a signing secret',
      description:
        'All further attempts are signed with the new secret, including retries. The old secret stops being used immediately. With `overlap_hours`, the header `Webhook-Signature` carries a signature with each of the two secrets for that long, the new one first.',
      scope: 'write:webhooks',
      body: RotateWebhook,
      forbiddenKeys: { testKey: 'ENVIRONMENT_ESCALATION' },
      responses: { 200: { schema: RotatedWebhook, description: 'The new secret.' } },
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN'],
      handle: async (call) => {
        const rotated = await manage.rotate(call.caller, actorOf(call), call.params.id as string, call.body)
        return { status: 200, body: shownRotation(rotated) }
      },
    }),
    defineRoute({
      ...base,
      method: 'POST',
      path: '/webhooks/{id}/test-fire',
      operationId: 'testWebhook',
      summary: 'Send a test delivery',
      description:
        'Sends one sample event, even if the endpoint is not subscribed to it, and waits for the response. If the endpoint fails, the request still succeeds and `success` is `false`.',
      scope: 'write:webhooks',
      body: TestFire,
      responses: { 200: { schema: TestFired, description: 'The response of the endpoint.' } },
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENDPOINT_DISABLED', 'TEST_FIRE_RATE_LIMITED'],
      handle: async (call) => {
        const { event } = call.body
        const fired = await fire.test(call.caller, actorOf(call), await reachEndpoint(call), event)
        return { status: 200, body: shownTestFire(fired, event) }
      },
    }),
    defineRoute({
      ...base,
      method: 'GET',
      path: '/webhooks/{id}/deliveries',
      operationId: 'listWebhookDeliveries',
      summary: 'List deliveries',
      scope: 'read:webhooks',
      query: DeliveryQuery,
      responses: { 200: { schema: pageOf(Delivery), description: 'A page of deliveries, newest first.' } },
      errors: ['NOT_FOUND'],
      handle: async (call) => {
        const { query, caller } = call
        const { id } = await readEndpoint(call)
        const { status = null, event = null } = query
        const rows = await db.rows(listDeliveries, {
          orgId: caller.orgId,
          endpointId: id,
          status,
          event,
          ...keysetOf(query),
        })
        return { status: 200, body: page(rows, query.limit, shownDelivery) }
      },
    }),
    defineRoute({
      ...oneDelivery,
      method: 'GET',
      path: '/webhooks/{id}/deliveries/{delivery_id}',
      operationId: 'getWebhookDelivery',
      summary: 'Get a delivery',
      scope: 'read:webhooks',
      responses: { 200: { schema: DeliveryWithPayload, description: 'The delivery and its payload.' } },
      errors: ['NOT_FOUND'],
      handle: async (call) => {
        const row = await fire.find(call.caller, await readEndpoint(call), call.params.delivery_id as string)
        return { status: 200, body: { ...shownDelivery(row), payload: JSON.parse(row.payload) } }
      },
    }),
    defineRoute({
      ...oneDelivery,
      method: 'POST',
      path: '/webhooks/{id}/deliveries/{delivery_id}/replay',
      operationId: 'replayWebhookDelivery',
      summary: 'Replay a delivery',
      description: 'Sends the same event again as a new delivery. You can replay any delivery that is not pending.',
      scope: 'write:webhooks',
      responses: { 202: { schema: Replayed, description: 'The new delivery.' } },
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENDPOINT_DISABLED', 'REPLAY_RATE_LIMITED'],
      handle: async (call) => {
        const endpoint = await reachEndpoint(call)
        const id = call.params.delivery_id as string
        const replay = await fire.replay(call.caller, actorOf(call), endpoint, id)
        return { status: 202, body: { delivery_id: replay.id, replay_of: replay.replay_of } }
      },
    }),
    defineRoute({
      ...base,
      method: 'POST',
      path: '/webhooks/{id}/replay-failed',
      operationId: 'replayFailedWebhookDeliveries',
      summary: 'Replay failed deliveries',
      description:
        'Replays up to 100 failed deliveries, oldest first. Each delivery is replayed only once, so repeat the request while `has_more` is `true`.',
      scope: 'write:webhooks',
      body: ReplayFailed,
      responses: { 202: { schema: ReplayedFailed, description: 'The new deliveries.' } },
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENDPOINT_DISABLED', 'REPLAY_RATE_LIMITED'],
      handle: async (call) => {
        const endpoint = await reachEndpoint(call)
        const { replays, more } = await fire.replayFailed(call.caller, actorOf(call), endpoint, call.body)
        const data = replays.map(({ id, replay_of }) => ({ delivery_id: id, replay_of }))
        return { status: 202, body: { replayed: data.length, has_more: more, data } }
      },
    }),
  ]
}
