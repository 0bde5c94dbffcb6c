import { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import { keysetOf } from '../../ground/cursor.ts'
import { succeeded } from '../../webhooks/attempt.ts'
import type { FireWebhooks } from '../../webhooks/fire.ts'
import type { ManageWebhooks } from '../../webhooks/manage.ts'
import { eventEnvelopeOf, knownEvents, sampleOf } from '../../webhooks/samples.ts'
import {
  CreatedWebhook,
  CreateWebhook,
  Delivery,
  DeliveryWithPayload,
  deliveryStatuses,
  EventSamples,
  eventShape,
  PatchWebhook,
  Replayed,
  ReplayedFailed,
  ReplayFailed,
  RotatedWebhook,
  TestFire,
  TestFired,
  Webhook,
} from '../../webhooks/shapes.ts'
import { type DeliveryRow, listDeliveries } from '../../webhooks/store/delivery-rows.ts'
import { type EndpointRow, listEndpoints } from '../../webhooks/store/endpoint-rows.ts'
import { actorOf } from '../actor.ts'
import { Deleted } from '../deleted.ts'
import type { WebhookShape } from '../openapi.ts'
import { page, pageOf, pageQuery } from '../page.ts'
import { type Call, defineRoute, type Route } from '../route.ts'

const show = (row: EndpointRow): z.output<typeof Webhook> => ({
  id: row.id,
  url: row.url,
  description: row.description,
  events: row.events,
  enabled: row.enabled,
  disabled_reason: row.disabled_reason,
  disabled_at: row.disabled_at?.toISOString() ?? null,
  consecutive_failures: row.consecutive_failures,
  tenant_id: row.tenant_id,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  secret_rotated_at: row.secret_rotated_at?.toISOString() ?? null,
})

const showDelivery = (row: DeliveryRow): z.output<typeof Delivery> => ({
  id: row.id,
  endpoint_id: row.endpoint_id,
  event: row.event,
  environment: row.environment,
  tenant_id: row.tenant_id,
  status: row.status,
  attempt_count: row.attempt_count,
  max_attempts: row.max_attempts,
  next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
  replay_of: row.replay_of,
  replayed_as: row.replayed_as,
  created_at: row.created_at.toISOString(),
  delivered_at: row.delivered_at?.toISOString() ?? null,
  attempts: row.attempts,
})

const DeliveryQuery = pageQuery.extend({
  status: z.enum(deliveryStatuses).optional(),
  event: z.enum(knownEvents).optional(),
})

const samples = knownEvents.map((event) => ({
  event,
  sample: eventEnvelopeOf(sampleOf(event), {
    tenantId: null,
    timestamp: '2026-01-15T12:00:00.000Z',
    deliveryId: 'whd_test',
  }),
}))

/** Each event as its own entry in the API description, with the fields of its data. */
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
  const readable = ({ caller, params }: Call<unknown, unknown>) => manage.get(caller, params.id as string)
  const reached = ({ caller, params }: Call<unknown, unknown>) => manage.reach(caller, params.id as string)

  return [
    defineRoute({
      method: 'POST',
      path: '/webhooks',
      tag: 'Webhooks',
      summary: 'Create an endpoint',
      about: 'The signing secret is in this answer and, after a rotation, in that one: never again.',
      scope: 'write:webhooks',
      body: CreateWebhook,
      answers: { 201: { schema: CreatedWebhook, about: 'The new endpoint.' } },
      refuses: ['WEBHOOK_URL_NOT_ALLOWED', 'PLAN_RESOURCE_LIMIT', 'TENANT_FORBIDDEN'],
      handle: async (call) => {
        const { row, secret } = await manage.create(call.caller, actorOf(call), call.body)
        const { created_at, updated_at, secret_rotated_at, ...rest } = show(row)
        return { status: 201, body: { ...rest, secret, created_at, updated_at, secret_rotated_at } }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/webhooks',
      tag: 'Webhooks',
      summary: 'List endpoints',
      scope: 'read:webhooks',
      query: pageQuery,
      answers: { 200: { schema: pageOf(Webhook), about: 'A page, newest first.' } },
      handle: async ({ caller, query }) => {
        const { orgId, tenantId } = caller
        const rows = await db.rows(listEndpoints, { orgId, tenantId, ...keysetOf(query) })
        return { status: 200, body: page(rows, query.limit, show) }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/webhooks/events',
      tag: 'Webhooks',
      summary: 'List events',
      about: 'Every name an endpoint can subscribe to, with a sample of what it would be sent.',
      scope: 'read:webhooks',
      answers: { 200: { schema: EventSamples, about: 'Names and samples.' } },
      handle: async () => ({ status: 200, body: { data: samples } }),
    }),
    defineRoute({
      ...base,
      method: 'GET',
      path: '/webhooks/{id}',
      summary: 'Get an endpoint',
      scope: 'read:webhooks',
      answers: { 200: { schema: Webhook, about: 'The endpoint.' } },
      refuses: ['NOT_FOUND'],
      handle: async (call) => ({ status: 200, body: show(await readable(call)) }),
    }),
    defineRoute({
      ...base,
      method: 'PATCH',
      path: '/webhooks/{id}',
      summary: 'Change an endpoint',
      about:
        'A field left out stays as it is. While an endpoint is disabled or its list of events is empty, nothing is kept for it, and what was waiting is canceled.',
      scope: 'write:webhooks',
      body: PatchWebhook,
      answers: { 200: { schema: Webhook, about: 'The endpoint as it is now.' } },
      refuses: ['NOT_FOUND', 'WEBHOOK_URL_NOT_ALLOWED', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'],
      handle: async (call) => {
        const row = await manage.patch(call.caller, actorOf(call), call.params.id as string, call.body)
        return { status: 200, body: show(row) }
      },
    }),
    defineRoute({
      ...base,
      method: 'DELETE',
      path: '/webhooks/{id}',
      summary: 'Delete an endpoint',
      scope: 'write:webhooks',
      answers: { 200: { schema: Deleted, about: 'Deleted.' } },
      refuses: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'],
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
      summary: 'Rotate the signing secret',
      about: 'Every attempt from then on is signed with the new secret, retries included; there is no overlap.',
      scope: 'write:webhooks',
      bars: { testKey: 'ENVIRONMENT_ESCALATION' },
      answers: { 200: { schema: RotatedWebhook, about: 'The new secret.' } },
      refuses: ['NOT_FOUND', 'TENANT_FORBIDDEN'],
      handle: async (call) => {
        const { row, secret } = await manage.rotate(call.caller, actorOf(call), call.params.id as string)
        const secret_rotated_at = row.secret_rotated_at?.toISOString()
        return { status: 200, body: { id: row.id, secret, secret_rotated_at } }
      },
    }),
    defineRoute({
      ...base,
      method: 'POST',
      path: '/webhooks/{id}/test-fire',
      summary: 'Send a test delivery',
      about:
        'Sends a sample once, subscribed or not, and waits for the answer. A receiver that fails is told in the body.',
      scope: 'write:webhooks',
      body: TestFire,
      answers: { 200: { schema: TestFired, about: 'What the receiver said.' } },
      refuses: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENDPOINT_DISABLED', 'TEST_FIRE_RATE_LIMITED'],
      handle: async (call) => {
        const { event } = call.body
        const { id, attempt } = await fire.test(call.caller, actorOf(call), await reached(call), event)
        const { response_status, response_body, duration_ms, error } = attempt
        const success = succeeded(attempt)
        return {
          status: 200,
          body: { delivery_id: id, event, success, response_status, response_body, duration_ms, error },
        }
      },
    }),
    defineRoute({
      ...base,
      method: 'GET',
      path: '/webhooks/{id}/deliveries',
      summary: 'List deliveries',
      scope: 'read:webhooks',
      query: DeliveryQuery,
      answers: { 200: { schema: pageOf(Delivery), about: 'A page, newest first.' } },
      refuses: ['NOT_FOUND'],
      handle: async (call) => {
        const { query, caller } = call
        const { id } = await readable(call)
        const { status = null, event = null } = query
        const rows = await db.rows(listDeliveries, {
          orgId: caller.orgId,
          endpointId: id,
          status,
          event,
          ...keysetOf(query),
        })
        return { status: 200, body: page(rows, query.limit, showDelivery) }
      },
    }),
    defineRoute({
      ...oneDelivery,
      method: 'GET',
      path: '/webhooks/{id}/deliveries/{delivery_id}',
      summary: 'Get a delivery',
      scope: 'read:webhooks',
      answers: { 200: { schema: DeliveryWithPayload, about: 'The delivery and what it carries.' } },
      refuses: ['NOT_FOUND'],
      handle: async (call) => {
        const row = await fire.find(call.caller, await readable(call), call.params.delivery_id as string)
        return { status: 200, body: { ...showDelivery(row), payload: JSON.parse(row.payload) } }
      },
    }),
    defineRoute({
      ...oneDelivery,
      method: 'POST',
      path: '/webhooks/{id}/deliveries/{delivery_id}/replay',
      summary: 'Replay a delivery',
      about: 'Any delivery that is not pending. The same event again, under a delivery id of its own.',
      scope: 'write:webhooks',
      answers: { 202: { schema: Replayed, about: 'The new delivery.' } },
      refuses: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENDPOINT_DISABLED', 'REPLAY_RATE_LIMITED'],
      handle: async (call) => {
        const endpoint = await reached(call)
        const id = call.params.delivery_id as string
        const replay = await fire.replay(call.caller, actorOf(call), endpoint, id)
        return { status: 202, body: { delivery_id: replay.id, replay_of: replay.replay_of } }
      },
    }),
    defineRoute({
      ...base,
      method: 'POST',
      path: '/webhooks/{id}/replay-failed',
      summary: 'Replay failed deliveries',
      about: 'At most 100, oldest first, each once: repeated calls walk on.',
      scope: 'write:webhooks',
      body: ReplayFailed,
      answers: { 202: { schema: ReplayedFailed, about: 'What is sent again.' } },
      refuses: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENDPOINT_DISABLED', 'REPLAY_RATE_LIMITED'],
      handle: async (call) => {
        const endpoint = await reached(call)
        const { replays, more } = await fire.replayFailed(call.caller, actorOf(call), endpoint, call.body)
        const data = replays.map(({ id, replay_of }) => ({ delivery_id: id, replay_of }))
        return { status: 202, body: { replayed: data.length, has_more: more, data } }
      },
    }),
  ]
}
