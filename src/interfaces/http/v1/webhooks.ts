import { z } from 'zod'
import {
  Delivery,
  DeliveryWithPayload,
  deliveryStatuses,
  Replayed,
  ReplayedFailed,
  ReplayFailed,
  TestFired,
} from '../../../webhooks/delivery-shapes.ts'
import { EventSamples, eventSamples, eventShape } from '../../../webhooks/event-shapes.ts'
import type { FireWebhooks } from '../../../webhooks/fire.ts'
import type { ListDeliveries } from '../../../webhooks/list-deliveries.ts'
import type { ManageWebhooks } from '../../../webhooks/manage.ts'
import { knownEvents } from '../../../webhooks/samples.ts'
import { CreateWebhook, PatchWebhook, RotateWebhook, TestFire } from '../../../webhooks/shapes.ts'
import { actorOf } from '../actor.ts'
import type { WebhookShape } from '../openapi.ts'
import { filteredPage, pageOf } from '../page.ts'
import { listed, ok } from '../responses.ts'
import { byKey, type Call, defineRoute, type KeyAccess, type PublicRoute } from '../route.ts'
import { newWebhooks, rotatedWebhooks, shownTestFire, webhookDeliveries, webhooks } from '../shown-webhook.ts'
import { publicRoutes } from './public-routes.ts'

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

const place = {
  tag: 'Webhooks',
  path: '/webhooks',
  name: 'Webhook',
  read: byKey('read:webhooks'),
  write: byKey('write:webhooks'),
}

const routes = publicRoutes(webhooks, place)

type EndpointCall = Call<KeyAccess, { id: string }, unknown, unknown>

type Needs = { manage: ManageWebhooks; deliveries: ListDeliveries; fire: FireWebhooks }

export const webhookRoutes = ({ manage, deliveries, fire }: Needs): PublicRoute[] => {
  const base = { tag: 'Webhooks', params: { id: 'webhookEndpoint' } } as const
  const oneDelivery = { ...base, params: { id: 'webhookEndpoint', delivery_id: 'webhookDelivery' } } as const
  const readEndpoint = ({ caller, params }: EndpointCall) => manage.get(caller, params.id)
  const reachEndpoint = ({ caller, params }: EndpointCall) => manage.reach(caller, params.id)

  return [
    publicRoutes(newWebhooks, place).create({
      description:
        'The response contains the signing secret, which is not shown again. Rotate the secret to get a new one.',
      body: CreateWebhook,
      errors: ['WEBHOOK_URL_NOT_ALLOWED', 'PLAN_RESOURCE_LIMIT', 'TENANT_FORBIDDEN'],
      action: manage.create,
    }),
    routes.list({ action: manage.list }),
    defineRoute('GET', '/webhooks/events', byKey('read:webhooks'), {
      operationId: 'listWebhookEvents',
      tag: 'Webhooks',
      summary: 'List event types',
      description: 'Returns every event type that an endpoint can subscribe to, each with a sample payload.',
      responses: { 200: { schema: EventSamples, description: 'The event types and their sample payloads.' } },
      handle: async () => ok({ data: eventSamples }),
    }),
    routes.get({ action: manage.get }),
    routes.change({
      description:
        'Omitted fields do not change. Disabling an endpoint or setting `events` to an empty list pauses it: pending deliveries are canceled, and events during the pause are not delivered later.',
      body: PatchWebhook,
      errors: ['NOT_FOUND', 'WEBHOOK_URL_NOT_ALLOWED', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'],
      action: manage.patch,
    }),
    routes.remove({ action: manage.remove }),
    publicRoutes(rotatedWebhooks, place).change({
      method: 'POST',
      path: '/webhooks/{id}/rotate',
      operationId: 'rotateWebhookSecret',
      summary: 'Rotate a signing secret',
      description:
        'All further attempts are signed with the new secret, including retries. The old secret stops being used immediately. With `overlap_hours`, the header `Webhook-Signature` carries a signature with each of the two secrets for that long, the new one first.',
      access: byKey('write:webhooks', { testKey: 'ENVIRONMENT_ESCALATION' }),
      body: RotateWebhook,
      response: 'The new secret.',
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN'],
      action: manage.rotate,
    }),
    defineRoute('POST', '/webhooks/{id}/test-fire', byKey('write:webhooks'), {
      ...base,
      operationId: 'testWebhook',
      summary: 'Send a test delivery',
      description:
        'Sends one sample event, even if the endpoint is not subscribed to it, and waits for the response. If the endpoint fails, the request still succeeds and `success` is `false`.',
      body: TestFire,
      responses: { 200: { schema: TestFired, description: 'The response of the endpoint.' } },
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENDPOINT_DISABLED', 'TEST_FIRE_RATE_LIMITED'],
      handle: async (call) => {
        const { event } = call.body
        const fired = await fire.test(call.caller, actorOf(call), await reachEndpoint(call), event)
        return ok(shownTestFire(fired, event))
      },
    }),
    defineRoute('GET', '/webhooks/{id}/deliveries', byKey('read:webhooks'), {
      ...base,
      operationId: 'listWebhookDeliveries',
      summary: 'List deliveries',
      query: DeliveryQuery,
      responses: { 200: { schema: pageOf(Delivery), description: 'A page of deliveries, newest first.' } },
      errors: ['NOT_FOUND'],
      handle: async (call) => {
        const { query, caller } = call
        const { id: endpointId } = await readEndpoint(call)
        const { status = null, event = null } = query
        const rows = await deliveries.ofEndpoint({ orgId: caller.orgId, endpointId, status, event }, query)
        return listed(rows, query.limit, webhookDeliveries.show)
      },
    }),
    defineRoute('GET', '/webhooks/{id}/deliveries/{delivery_id}', byKey('read:webhooks'), {
      ...oneDelivery,
      operationId: 'getWebhookDelivery',
      summary: 'Get a delivery',
      responses: { 200: { schema: DeliveryWithPayload, description: 'The delivery and its payload.' } },
      errors: ['NOT_FOUND'],
      handle: async (call) => {
        const row = await fire.find(call.caller, await readEndpoint(call), call.params.delivery_id)
        return ok({ ...webhookDeliveries.show(row), payload: JSON.parse(row.payload) })
      },
    }),
    defineRoute('POST', '/webhooks/{id}/deliveries/{delivery_id}/replay', byKey('write:webhooks'), {
      ...oneDelivery,
      operationId: 'replayWebhookDelivery',
      summary: 'Replay a delivery',
      description: 'Sends the same event again as a new delivery. You can replay any delivery that is not pending.',
      responses: { 202: { schema: Replayed, description: 'The new delivery.' } },
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENDPOINT_DISABLED', 'REPLAY_RATE_LIMITED'],
      handle: async (call) => {
        const endpoint = await reachEndpoint(call)
        const id = call.params.delivery_id
        const replay = await fire.replay(call.caller, actorOf(call), endpoint, id)
        return { status: 202, body: { delivery_id: replay.id, replay_of: replay.replay_of } }
      },
    }),
    defineRoute('POST', '/webhooks/{id}/replay-failed', byKey('write:webhooks'), {
      ...base,
      operationId: 'replayFailedWebhookDeliveries',
      summary: 'Replay failed deliveries',
      description:
        'Replays up to 100 failed deliveries, oldest first. Each delivery is replayed only once, so repeat the request while `has_more` is `true`.',
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
