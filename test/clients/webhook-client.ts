/** Calls the webhook routes for one org, starts receivers on loopback, and appends events to the outbox. */
import { createHmac } from 'node:crypto'
import { onTestFinished } from 'vitest'
import type { CreatedOrg } from '../../src/app/operator/create-org.ts'
import type { NewEvent } from '../../src/journal/events/append-events.ts'
import { type Receiver, startReceiver } from '../servers/receiver.ts'
import type { Reply, ServiceOptions, TestService } from '../service/service.ts'
import { startTestService } from '../service/service.ts'

/** A service that allows webhooks to loopback. */
export const startWebhookService = (options: ServiceOptions = {}): Promise<TestService> =>
  startTestService({ ...options, env: { WEBHOOK_ALLOW_INSECURE: 'true', ...options.env } })

export type Endpoint = { id: string; secret: string; url: string; receiver: Receiver }

export type WebhookClient = {
  orgId: string
  create(body: unknown, key?: string): Promise<Reply>
  get(id: string, key?: string): Promise<Reply>
  list(query?: string, key?: string): Promise<Reply>
  patch(id: string, body: unknown, key?: string): Promise<Reply>
  remove(id: string, key?: string): Promise<Reply>
  rotate(id: string, key?: string, body?: unknown): Promise<Reply>
  testFire(id: string, body?: unknown, key?: string): Promise<Reply>
  deliveries(id: string, query?: string, key?: string): Promise<Reply>
  delivery(id: string, deliveryId: string, key?: string): Promise<Reply>
  replay(id: string, deliveryId: string, key?: string): Promise<Reply>
  replayFailed(id: string, body?: unknown, key?: string): Promise<Reply>
  /** Creates an endpoint with its own receiver, which stops when the test ends. */
  made(body?: Record<string, unknown>, answer?: Parameters<typeof startReceiver>[0]): Promise<Endpoint>
  emit(event?: Partial<NewEvent>): Promise<void>
  /** Runs fan-out and attempts all due deliveries. */
  run(): Promise<Record<string, number>>
  advance(seconds: number): Promise<void>
}

export const hexHmac = (secret: string, text: string): string => createHmac('sha256', secret).update(text).digest('hex')

/** Uses the org's live key by default. */
export const webhookClient = (t: TestService, { org, keys }: CreatedOrg): WebhookClient => {
  const at = '/api/v1/webhooks'
  const { live } = keys
  const create: WebhookClient['create'] = (body, key = live) => t.ask('POST', at, { key, body })
  return {
    orgId: org.id,
    create,
    get: (id, key = live) => t.ask('GET', `${at}/${id}`, { key }),
    list: (query = '', key = live) => t.ask('GET', `${at}${query}`, { key }),
    patch: (id, body, key = live) => t.ask('PATCH', `${at}/${id}`, { key, body }),
    remove: (id, key = live) => t.ask('DELETE', `${at}/${id}`, { key }),
    rotate: (id, key = live, body = undefined) => t.ask('POST', `${at}/${id}/rotate`, { key, body }),
    testFire: (id, body, key = live) => t.ask('POST', `${at}/${id}/test-fire`, { key, body }),
    deliveries: (id, query = '', key = live) => t.ask('GET', `${at}/${id}/deliveries${query}`, { key }),
    delivery: (id, deliveryId, key = live) => t.ask('GET', `${at}/${id}/deliveries/${deliveryId}`, { key }),
    replay: (id, deliveryId, key = live) => t.ask('POST', `${at}/${id}/deliveries/${deliveryId}/replay`, { key }),
    replayFailed: (id, body, key = live) => t.ask('POST', `${at}/${id}/replay-failed`, { key, body }),
    made: async (body = {}, answer) => {
      const receiver = await startReceiver(answer)
      onTestFinished(() => receiver.stop())
      const reply = await create({ url: receiver.url, ...body })
      if (reply.status !== 201) throw new Error(`creating the endpoint failed: ${reply.text}`)
      return { id: reply.body.id, secret: reply.body.secret, url: receiver.url, receiver }
    },
    emit: (event = {}) =>
      t.service.modules.appendEvents(t.service.db, {
        orgId: org.id,
        tenantId: null,
        environment: 'live',
        event: 'message.sent',
        data: { message_id: 'msg_1', channel: 'email', status: 'sent' },
        ...event,
      }),
    run: async () => {
      const reply = await t.ask('POST', '/api/dev/run', { body: { task: 'webhooks' } })
      if (reply.status !== 200) throw new Error(`running the webhooks task failed: ${reply.text}`)
      return reply.body.counts
    },
    advance: async (seconds) => {
      await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } })
    },
  }
}
