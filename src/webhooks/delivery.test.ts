import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { trailOf } from '../../test/audit/trail.ts'
import {
  type Endpoint,
  hexHmac,
  startWebhookService,
  type WebhookClient,
  webhookClient,
} from '../../test/clients/webhook-client.ts'
import { type Receiver, startReceiver } from '../../test/servers/receiver.ts'
import { eventNames } from '../journal/events/names.ts'
import { isId, timeOfId } from '../platform/ground/ids.ts'
import { responseText } from './attempt.ts'
import { type NotifyOwners, retryDelayAfter } from './record-outcome.ts'

const notices: Parameters<NotifyOwners>[0][] = []
const t = await startWebhookService({
  notify: async (notice) => {
    notices.push(notice)
  },
})
const receivers: Receiver[] = []
afterAll(async () => {
  await t.stop()
  await Promise.all(receivers.map((receiver) => receiver.stop()))
})

const newClient = async () => webhookClient(t, await t.org())

/** Like `made` of the client, but the receiver keeps running for all tests of the file. */
const lastingEndpoint = async (
  acme: WebhookClient,
  body: object = {},
  answer?: Parameters<typeof startReceiver>[0],
): Promise<Endpoint> => {
  const receiver = await startReceiver(answer)
  receivers.push(receiver)
  const created = await acme.create({ url: receiver.url, ...body })
  expect(created.status).toBe(201)
  return { id: created.body.id, secret: created.body.secret, url: receiver.url, receiver }
}

describe('a delivery', () => {
  const data = { message_id: 'msg_7', channel: 'sms', status: 'sent', note: 'Grüße "all"\n' }
  let acme: WebhookClient
  let tenantId: string
  let endpoint: Endpoint
  let before: number
  let after: number
  let got: Receiver['got'][number]

  beforeAll(async () => {
    acme = await newClient()
    tenantId = await t.tenant(acme.orgId)
    endpoint = await lastingEndpoint(acme)
    before = t.service.clock.millis()
    await acme.emit({ tenantId, environment: 'test', data })
    expect(await acme.run()).toEqual({ events: 1, deliveries: 1, attempts: 1 })
    after = t.service.clock.millis()
    expect(endpoint.receiver.got).toHaveLength(1)
    const [received] = endpoint.receiver.got
    if (!received) throw new Error('the receiver got no delivery')
    got = received
  })

  test('X-061 X-062 X-063 a delivery is a POST whose JSON body has the event, its data, its time and its environment', () => {
    expect(Object.keys(got.body)).toEqual(['event', 'data', 'timestamp', 'environment', 'tenant_id', 'delivery_id'])
    expect(got.body).toEqual({
      event: 'message.sent',
      data,
      environment: 'test',
      tenant_id: tenantId,
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      delivery_id: expect.stringMatching(/^whd_/),
    })
    expect(Date.parse(got.body.timestamp)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(got.body.timestamp)).toBeLessThanOrEqual(after)
  })

  test('X-065 X-066 the body contains the tenant id and the delivery id', () => {
    const { tenant_id, delivery_id, timestamp } = got.body
    expect(tenant_id).toBe(tenantId)
    expect(delivery_id).toMatch(/^whd_/)
    expect(isId('webhookDelivery', delivery_id)).toBe(true)
    expect(Math.abs(timeOfId(delivery_id) - Date.parse(timestamp))).toBeLessThan(1_000)
  })

  test('X-068 X-069 X-070 X-071 the headers repeat the event, its environment and its tenant', () => {
    expect(got.headers).toMatchObject({
      'content-type': 'application/json',
      'x-service-event': 'message.sent',
      'x-service-environment': 'test',
      'x-service-tenant-id': tenantId,
    })
  })

  test('X-072 X-074 the headers contain the delivery id and the time of the attempt', () => {
    const { headers } = got
    const seconds = headers['x-service-timestamp'] as string
    expect(headers).toMatchObject({
      'x-service-delivery-id': got.body.delivery_id,
      'webhook-id': got.body.delivery_id,
      'webhook-timestamp': seconds,
    })
    expect(seconds).toMatch(/^\d{10}$/)
    expect(Number(seconds)).toBeGreaterThanOrEqual(Math.floor(before / 1000))
    expect(Number(seconds)).toBeLessThanOrEqual(Math.floor(after / 1000))
  })

  test('X-073 X-075 X-076 the headers contain both signatures, made with the secret of the endpoint', () => {
    const seconds = got.headers['x-service-timestamp']
    expect(got.headers).toMatchObject({
      'x-service-signature': hexHmac(endpoint.secret, got.text),
      'x-service-signature-v2': hexHmac(endpoint.secret, `${seconds}.${got.text}`),
    })
  })

  test('a delivery is listed with its attempt, can be read with its payload, and is sent once', async () => {
    const { timestamp, delivery_id } = got.body
    const listed = await acme.deliveries(endpoint.id)
    expect(listed.body).toEqual({
      data: [
        {
          id: delivery_id,
          endpoint_id: endpoint.id,
          event: 'message.sent',
          environment: 'test',
          tenant_id: tenantId,
          status: 'delivered',
          attempt_count: 1,
          max_attempts: 8,
          next_attempt_at: null,
          replay_of: null,
          replayed_as: null,
          created_at: timestamp,
          delivered_at: expect.any(String),
          attempts: [
            {
              attempt: 1,
              at: expect.any(String),
              response_status: 200,
              response_body: '',
              duration_ms: expect.any(Number),
              error: null,
            },
          ],
        },
      ],
      has_more: false,
      next_cursor: null,
    })
    const one = await acme.delivery(endpoint.id, delivery_id)
    expect([one.status, one.body]).toEqual([200, { ...listed.body.data[0], payload: got.body }])
    expect(await t.database.sql('select 1 from events where org_id = $1', [acme.orgId])).toEqual([])
    expect(await acme.run()).toEqual({ events: 0, deliveries: 0, attempts: 0 })
  })

  test('X-064 X-065 X-070 X-071 an event of the whole org without a send has no environment and a null tenant_id', async () => {
    const acme = await newClient()
    const { receiver } = await acme.made()
    await acme.emit({
      event: 'domain.verified',
      environment: null,
      data: { id: 'dom_1', status: 'verified' },
    })
    await acme.run()
    const [got] = receiver.got
    expect(Object.keys(got?.body)).toEqual(['event', 'data', 'timestamp', 'tenant_id', 'delivery_id'])
    expect(got?.body.tenant_id).toBe(null)
    expect(Object.keys(got?.headers ?? {}).filter((name) => /environment|tenant/.test(name))).toEqual([])
  })

  test('the published libraries of Standard Webhooks verify a delivery with the secret as it was returned', async () => {
    // The libraries compare the signed time with the system clock, so this service must not share the moved clock.
    const own = await startWebhookService()
    const acme = webhookClient(own, await own.org())
    for (let i = 0; i < 5; i++) {
      const { secret, receiver } = await acme.made()
      expect(secret).toMatch(/^whsec_[A-Za-z0-9]{43}$/)
      await acme.emit({ data: { message_id: `msg_${i}`, text: 'é' } })
      await acme.run()
      const [got] = receiver.got
      const headers = got?.headers as Record<string, string>
      for (const library of [new StandardWebhook(secret), new SvixWebhook(secret)]) {
        expect(() => library.verify(got?.text ?? '', headers)).not.toThrow()
        expect(() => library.verify(`${got?.text} `, headers)).toThrow()
      }
      const other = await acme.made()
      for (const library of [new StandardWebhook(other.secret), new SvixWebhook(other.secret)]) {
        expect(() => library.verify(got?.text ?? '', headers)).toThrow()
      }
      await acme.remove(other.id)
    }
    await own.stop()
  })

  test('X-130 every event is delivered under its own name with its data unchanged', async () => {
    const acme = await newClient()
    const { receiver } = await acme.made()
    for (const event of eventNames) {
      await acme.emit({ event, environment: 'live', data: { id: event, status: 'as written', n: 1.5 } })
    }
    await acme.run()
    const received = receiver.got.map(({ body, headers }) => [body.event, headers['x-service-event'], body.data])
    expect(received.toSorted()).toEqual(
      eventNames.map((event) => [event, event, { id: event, status: 'as written', n: 1.5 }]).toSorted(),
    )
  })
})

describe('subscriptions', () => {
  let acme: WebhookClient
  let some: Endpoint
  let all: Endpoint
  let paused: Endpoint
  let disabled: Endpoint
  let unrelated: Endpoint

  beforeAll(async () => {
    acme = await newClient()
    some = await lastingEndpoint(acme, { events: ['message.delivered', 'message.bounced'] })
    all = await lastingEndpoint(acme, { events: ['*'] })
    paused = await lastingEndpoint(acme, { events: [] })
    disabled = await lastingEndpoint(acme, { enabled: false })
    unrelated = await lastingEndpoint(acme, { events: ['message.complained'] })
    for (const event of ['message.sent', 'message.delivered', 'message.bounced'] as const) {
      for (const environment of ['live', 'test'] as const) await acme.emit({ event, environment })
    }
    expect(await acme.run()).toEqual({ events: 6, deliveries: 10, attempts: 10 })
  })

  const receivedBy = ({ receiver }: Endpoint) =>
    receiver.got.map(({ body }) => `${body.event} ${body.environment}`).toSorted()

  test('X-051 X-055 X-129 X-130 an endpoint receives the live and test events it lists, or all with `*`', async () => {
    expect(receivedBy(some)).toEqual([
      'message.bounced live',
      'message.bounced test',
      'message.delivered live',
      'message.delivered test',
    ])
    expect(receivedBy(all)).toHaveLength(6)
    expect(unrelated.receiver.got).toEqual([])
    expect((await acme.deliveries(unrelated.id)).body.data).toEqual([])
  })

  test('X-132 a paused or disabled endpoint receives nothing, even after it is resumed', async () => {
    for (const endpoint of [paused, disabled]) {
      expect(endpoint.receiver.got).toEqual([])
      expect((await acme.deliveries(endpoint.id)).body.data).toEqual([])
    }
    await acme.patch(paused.id, { events: ['*'] })
    await acme.patch(disabled.id, { enabled: true })
    expect(await acme.run()).toEqual({ events: 0, deliveries: 0, attempts: 0 })
  })

  test('X-139 X-140 an org endpoint receives the events of every tenant, a tenant endpoint only its own', async () => {
    const [acme, other] = [await newClient(), await newClient()]
    const [one, two] = [await t.tenant(acme.orgId), await t.tenant(acme.orgId)]
    const ofOrg = await acme.made()
    const ofOne = await acme.made({ tenant_id: one })
    const ofOtherOrg = await other.made()
    for (const tenantId of [null, one, two]) await acme.emit({ tenantId })
    await acme.run()
    const tenants = ({ receiver }: Endpoint) => receiver.got.map(({ body }) => body.tenant_id)
    expect(tenants(ofOrg).toSorted()).toEqual([one, two, null].toSorted())
    expect(tenants(ofOne)).toEqual([one])
    expect(ofOtherOrg.receiver.got).toEqual([])
  })

  test('XD-17 an endpoint does not receive the event about its own disabling, even if it is enabled again', async () => {
    const acme = await newClient()
    const [own, other] = [await acme.made(), await acme.made()]
    await acme.emit({
      event: 'webhook.disabled',
      environment: null,
      data: { id: own.id, status: 'disabled' },
    })
    await acme.run()
    expect([own.receiver.got.length, other.receiver.got.length]).toEqual([0, 1])
  })

  test('X-131 X-138 a changed list and a rotated secret apply to the next delivery', async () => {
    const acme = await newClient()
    const { id, secret, receiver } = await acme.made({ events: ['message.sent'] })
    const changed = await acme.patch(id, { events: ['message.opened', 'message.opened'] })
    expect(changed.body.events).toEqual(['message.opened'])
    const rotated = await acme.rotate(id)
    await acme.emit()
    await acme.emit({ event: 'message.opened' })
    await acme.run()
    expect(receiver.got.map(({ body }) => body.event)).toEqual(['message.opened'])
    const [got] = receiver.got
    const signed = `${got?.headers['x-service-timestamp']}.${got?.text}`
    expect(got?.headers['x-service-signature-v2']).toBe(hexHmac(rotated.body.secret, signed))
    expect(got?.headers['x-service-signature-v2']).not.toBe(hexHmac(secret, signed))
  })

  test('each delivery is signed with the secret of its own endpoint', async () => {
    const acme = await newClient()
    const endpoints = await Promise.all(Array.from({ length: 8 }, () => acme.made()))
    for (let i = 0; i < 10; i++) await acme.emit({ data: { message_id: `msg_${i}` } })
    await acme.run()
    for (const { secret, receiver } of endpoints) {
      expect(receiver.got).toHaveLength(10)
      for (const { headers, text } of receiver.got) {
        expect(headers['x-service-signature']).toBe(hexHmac(secret, text))
      }
    }
    const ids = endpoints.flatMap(({ receiver }) => receiver.got.map(({ body }) => body.delivery_id))
    expect(new Set(ids).size).toBe(80)
  })
})

/** Advances the clock beyond the longest retry delay and delivers what is due. */
const nextRound = async (acme: WebhookClient) => {
  await acme.advance(7 * 3600)
  return acme.run()
}

describe('a delivery that always fails', () => {
  type DeliveryRow = {
    id: string
    status: string
    attempt_count: number
    next_attempt_at: string
    attempts: { at: string; response_status: number; response_body: string }[]
  }
  let acme: WebhookClient
  let endpoint: Endpoint
  const rowAfter: DeliveryRow[] = []
  const attemptsBeforeDue: (number | undefined)[] = []
  let lastRow: DeliveryRow
  let afterwards: Record<string, number>

  beforeAll(async () => {
    acme = await newClient()
    const row = async () => (await acme.deliveries(endpoint.id)).body.data[0] as DeliveryRow
    const statuses = [500, 404, 301, 400, 503, 302, 410, 418]
    endpoint = await lastingEndpoint(acme, {}, (_, response, nth) => {
      response.writeHead(statuses[nth - 1] as number).end('no '.repeat(500))
    })
    await acme.emit()
    expect((await acme.run()).attempts).toBe(1)
    for (let nth = 1; nth < 8; nth++) {
      const current = await row()
      rowAfter.push(current)
      attemptsBeforeDue.push((await acme.run()).attempts)
      const wait = Date.parse(current.next_attempt_at) - t.service.clock.millis()
      await acme.advance(wait / 1000 + 0.01)
      expect((await acme.run()).attempts).toBe(1)
    }
    lastRow = await row()
    afterwards = await nextRound(acme)
  })

  test('X-146 it is retried after every response that is not 2xx', () => {
    expect(rowAfter.map(({ status, attempt_count }) => [status, attempt_count])).toEqual(
      [1, 2, 3, 4, 5, 6, 7].map((nth) => ['pending', nth]),
    )
    expect(lastRow.attempts.map((attempt) => attempt.response_status)).toEqual([500, 404, 301, 400, 503, 302, 410, 418])
  })

  test('X-147 the delay doubles after each attempt, plus jitter, and nothing is sent earlier', () => {
    expect(attemptsBeforeDue).toEqual(new Array(7).fill(0))
    for (const [i, { attempts, next_attempt_at }] of rowAfter.entries()) {
      const nth = i + 1
      const delay = (Date.parse(next_attempt_at) - Date.parse(attempts.at(-1)?.at ?? '')) / 60_000
      // The delay counts from the end of the attempt, and the jitter is at most a tenth.
      expect(delay).toBeGreaterThanOrEqual(2 ** nth)
      expect(delay).toBeLessThan(2 ** nth * 1.1 + 0.5)
    }
  })

  test('X-148 it fails after eight attempts and is not sent again', async () => {
    expect(lastRow).toMatchObject({
      status: 'failed',
      attempt_count: 8,
      next_attempt_at: null,
      delivered_at: null,
    })
    expect(afterwards).toEqual({ events: 0, deliveries: 0, attempts: 0 })
    expect(endpoint.receiver.got).toHaveLength(8)
    expect((await acme.get(endpoint.id)).body).toMatchObject({ enabled: true, consecutive_failures: 1 })
  })

  test('X-145 it has the same body and id on every attempt, signed with the real time although the clock was moved', () => {
    const { got } = endpoint.receiver
    expect(new Set(got.map(({ text }) => text)).size).toBe(1)
    const times = got.map(({ headers }) => Number(headers['x-service-timestamp']))
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    // Each attempt moved the clock by seconds to hours.
    expect(Number(times.at(-1))).toBeLessThanOrEqual(Date.now() / 1000)
    expect(t.service.clock.millis()).toBeGreaterThan(Date.now() + 3_600_000)
    for (const { headers, text } of got) {
      expect(headers['x-service-delivery-id']).toBe(lastRow.id)
      const signed = `${headers['x-service-timestamp']}.${text}`
      expect(headers['x-service-signature-v2']).toBe(hexHmac(endpoint.secret, signed))
    }
  })

  test('X-154 the first 1 KB of each response body is kept', () => {
    expect(lastRow.attempts.map((attempt) => attempt.response_body.length)).toEqual(new Array(8).fill(1_024))
  })
})

describe('retries', () => {
  test('X-147 the delay doubles up to six hours, plus a jitter of at most a tenth', () => {
    const minutes = [2, 4, 8, 16, 32, 64, 128, 256, 360, 360]
    for (const [i, shortest] of minutes.entries()) {
      expect(retryDelayAfter(i + 1, () => 0)).toBe(shortest * 60_000)
      expect(retryDelayAfter(i + 1, () => 0.999)).toBeLessThan(shortest * 66_000)
      expect(retryDelayAfter(i + 1, () => 0.5)).toBe(shortest * 63_000)
    }
  })

  test('X-138 XD-12 a retry is sent to the current URL and signed with the current secret', async () => {
    const acme = await newClient()
    const { id, receiver } = await acme.made({}, (_, response) => response.writeHead(500).end())
    const second = await acme.made()
    await acme.patch(second.id, { events: [] })
    await acme.emit()
    await acme.run()
    const { secret } = (await acme.rotate(id)).body
    await acme.patch(id, { url: second.url })
    await acme.advance(150)
    await acme.run()
    expect(receiver.got).toHaveLength(1)
    const [again] = second.receiver.got
    expect(again?.text).toBe(receiver.got[0]?.text)
    expect(again?.headers['x-service-signature']).toBe(hexHmac(secret, again?.text ?? ''))
  })

  test('X-146 a retry that succeeds ends the delivery', async () => {
    const acme = await newClient()
    const { id, receiver } = await acme.made({}, (_, response, nth) => response.writeHead(nth === 1 ? 500 : 204).end())
    await acme.emit()
    await acme.run()
    await nextRound(acme)
    await nextRound(acme)
    expect(receiver.got).toHaveLength(2)
    const [row] = (await acme.deliveries(id)).body.data
    expect(row).toMatchObject({ status: 'delivered', attempt_count: 2, next_attempt_at: null })
  })

  test('XD-13 disabling or pausing an endpoint cancels its pending deliveries, and deleting it deletes them', async () => {
    const acme = await newClient()
    const failingEndpoint = () => acme.made({}, (_, response) => response.writeHead(500).end())
    const [disabled, paused, deleted] = [await failingEndpoint(), await failingEndpoint(), await failingEndpoint()]
    await acme.emit()
    await acme.run()
    expect((await acme.patch(disabled.id, { enabled: false })).body).toMatchObject({
      enabled: false,
      disabled_reason: 'manual',
      disabled_at: expect.any(String),
    })
    await acme.patch(paused.id, { events: [] })
    await acme.remove(deleted.id)
    for (const { id } of [disabled, paused]) {
      const [row] = (await acme.deliveries(id)).body.data
      expect(row).toMatchObject({ status: 'canceled', attempt_count: 1, next_attempt_at: null })
    }
    expect(await t.database.sql('select 1 from webhook_deliveries where endpoint_id = $1', [deleted.id])).toEqual([])
    await acme.patch(disabled.id, { enabled: true })
    await acme.patch(paused.id, { events: ['*'] })
    expect((await nextRound(acme)).attempts).toBe(0)
  })

  test('XD-13 disabling an endpoint cancels all its pending deliveries, however many there are', async () => {
    const acme = await newClient()
    const { id } = (await acme.create({ url: 'http://127.0.0.1:59999/', events: ['*'] })).body
    await t.database.sql(
      `insert into webhook_deliveries (org_id, id, created_at, endpoint_id, event, payload, status, max_attempts,
         next_attempt_at)
       select $1, 'whd_01' || substr(md5(n::text), 1, 24), $3, $2, 'message.sent', '{}', 'pending', 8,
         $3::timestamptz + n * interval '1 second'
       from generate_series(1, 12000) n`,
      [acme.orgId, id, t.service.clock.now()],
    )
    expect((await acme.patch(id, { enabled: false })).status).toBe(200)
    const left = await t.database.sql<{ status: string; n: number }>(
      'select status, count(*)::int as n from webhook_deliveries where endpoint_id = $1 group by status',
      [id],
    )
    expect(left).toEqual([{ status: 'canceled', n: 12_000 }])
  })
})

describe('the tenth failed delivery in a row', () => {
  let acme: WebhookClient
  let tenantId: string
  let other: Endpoint
  let endpoint: Endpoint
  let afterFailedAttempts: object
  let afterNine: object
  let noticesAfterNine: unknown[]
  let entriesBefore: string
  let disabled: { disabled_at: string }

  const leaveOneAttempt = (count: number) =>
    t.database.sql(
      `update webhook_deliveries set attempt_count = 7 where id in (
         select id from webhook_deliveries where endpoint_id = $1 and status = 'pending' order by id limit $2)`,
      [endpoint.id, count],
    )

  beforeAll(async () => {
    acme = await newClient()
    tenantId = await t.tenant(acme.orgId)
    other = await lastingEndpoint(acme, { events: ['webhook.disabled'] })
    endpoint = await lastingEndpoint(acme, { tenant_id: tenantId, events: ['*'] }, (_, response) =>
      response.writeHead(500).end(),
    )
    for (let i = 0; i < 12; i++) await acme.emit({ tenantId, data: { message_id: `msg_${i}` } })
    await acme.run()
    afterFailedAttempts = (await acme.get(endpoint.id)).body
    await leaveOneAttempt(9)
    await acme.advance(150)
    await acme.run()
    afterNine = (await acme.get(endpoint.id)).body
    noticesAfterNine = [...notices]
    await leaveOneAttempt(1)
    entriesBefore = (await trailOf(t.database, acme.orgId)).at(-1)?.id ?? ''
    await acme.advance(500)
    const sent = endpoint.receiver.got.length
    await acme.run()
    expect(endpoint.receiver.got.length).toBeGreaterThan(sent)
    disabled = (await acme.get(endpoint.id)).body
  })

  test('X-150 ten failed deliveries in a row disable the endpoint', () => {
    expect(afterNine).toMatchObject({ enabled: true, consecutive_failures: 9 })
    expect(disabled).toMatchObject({
      enabled: false,
      disabled_reason: 'auto',
      disabled_at: expect.any(String),
      consecutive_failures: 10,
    })
  })

  test('X-153 failed attempts do not count as failed deliveries while they are retried', () => {
    expect(afterFailedAttempts).toMatchObject({ enabled: true, consecutive_failures: 0 })
  })

  test('X-151 AD-97 disabling the endpoint writes an audit entry', async () => {
    expect(await trailOf(t.database, acme.orgId, entriesBefore)).toEqual([
      expect.objectContaining({
        action: 'webhook.updated',
        resource_type: 'webhook',
        resource_id: endpoint.id,
        actor_user_id: null,
        metadata: { enabled: false, reason: 'auto_disabled', consecutive_failures: 10, via: 'system' },
      }),
    ])
  })

  test('XD-17 the other endpoints receive the event webhook.disabled', () => {
    expect(other.receiver.got.map(({ body }) => body)).toEqual([
      {
        event: 'webhook.disabled',
        data: {
          id: endpoint.id,
          status: 'disabled',
          url: endpoint.url,
          reason: 'auto',
          consecutive_failures: 10,
          disabled_at: disabled.disabled_at,
        },
        timestamp: expect.any(String),
        tenant_id: tenantId,
        delivery_id: expect.any(String),
      },
    ])
  })

  test('XD-13 the owners are notified by email', () => {
    expect(noticesAfterNine).toEqual([])
    expect(notices.splice(0)).toEqual([
      {
        orgId: acme.orgId,
        subject: 'A webhook endpoint was disabled',
        text: expect.stringContaining('127.0.0.1'),
      },
    ])
  })

  test('XD-13 pending deliveries are canceled, and later events are not stored for the endpoint', async () => {
    const rows: { status: string }[] = (await acme.deliveries(endpoint.id)).body.data
    const statuses = rows.map(({ status }) => status).toSorted()
    expect(statuses).toEqual([...new Array(2).fill('canceled'), ...new Array(10).fill('failed')])
    await acme.emit({ tenantId })
    expect((await acme.run()).deliveries).toBe(0)
  })
})

describe('the streak of failed deliveries', () => {
  let responseStatus = 500
  const createEndpoint = (acme: WebhookClient) =>
    acme.made({ events: ['message.sent'] }, (_, response) => response.writeHead(responseStatus).end())

  /** Makes deliveries fail one after the other, each after its last attempt. */
  const failDeliveries = async (acme: WebhookClient, endpointId: string, count: number) => {
    for (let i = 0; i < count; i++) {
      await acme.emit({ data: { message_id: `msg_${i}` } })
      await acme.run()
      await t.database.sql(
        `update webhook_deliveries set attempt_count = 7, next_attempt_at = created_at
         where endpoint_id = $1 and status = 'pending'`,
        [endpointId],
      )
      await t.database.sql('update webhook_lanes set due_at = $2 where endpoint_id = $1', [
        endpointId,
        t.service.clock.now(),
      ])
      await acme.run()
    }
  }

  test('X-133 X-134 enabling an endpoint clears its streak, so that ten more failures disable it again', async () => {
    const acme = await newClient()
    responseStatus = 500
    const { id } = await createEndpoint(acme)
    await failDeliveries(acme, id, 10)
    expect((await acme.get(id)).body).toMatchObject({ enabled: false, disabled_reason: 'auto' })
    const again = await acme.patch(id, { enabled: true })
    expect([again.status, again.body]).toMatchObject([
      200,
      { enabled: true, disabled_reason: null, disabled_at: null, consecutive_failures: 0 },
    ])
    await failDeliveries(acme, id, 9)
    expect((await acme.get(id)).body).toMatchObject({ enabled: true, consecutive_failures: 9 })
    await failDeliveries(acme, id, 1)
    expect((await acme.get(id)).body).toMatchObject({ enabled: false, consecutive_failures: 10 })
  })

  test('X-152 any 2xx response clears the streak, so that nine failures before and after it disable nothing', async () => {
    const acme = await newClient()
    responseStatus = 500
    const { id } = await createEndpoint(acme)
    await failDeliveries(acme, id, 9)
    expect((await acme.get(id)).body.consecutive_failures).toBe(9)
    responseStatus = 200
    await acme.emit()
    await acme.run()
    expect((await acme.get(id)).body.consecutive_failures).toBe(0)
    responseStatus = 500
    await failDeliveries(acme, id, 9)
    expect((await acme.get(id)).body).toMatchObject({ enabled: true, consecutive_failures: 9 })
  })

  test('XD-12 failed test fires do not count, and a successful one clears the streak', async () => {
    const acme = await newClient()
    responseStatus = 500
    const { id } = await createEndpoint(acme)
    await failDeliveries(acme, id, 2)
    for (let i = 0; i < 12; i++) expect((await acme.testFire(id)).body.success).toBe(false)
    expect((await acme.get(id)).body).toMatchObject({ enabled: true, consecutive_failures: 2 })
    responseStatus = 202
    expect((await acme.testFire(id)).body.success).toBe(true)
    expect((await acme.get(id)).body.consecutive_failures).toBe(0)
  })
})

describe('the response body', () => {
  test('X-154 a response body is stored as text without NUL characters, at most 1 KB', () => {
    const cases: [Buffer, (text: string) => boolean][] = [
      [Buffer.from('plain'), (text) => text === 'plain'],
      [Buffer.from('nul\0nul'), (text) => text === 'nul\ufffdnul'],
      [Buffer.from('é'.repeat(600)).subarray(0, 1_024), (text) => text === 'é'.repeat(512)],
      [Buffer.from(`x${'é'.repeat(600)}`).subarray(0, 1_024), (text) => text === `x${'é'.repeat(511)}`],
      [Buffer.alloc(1_024, 0xff), (text) => Buffer.byteLength(text) <= 1_024 && text.startsWith('\ufffd')],
      [Buffer.alloc(0), (text) => text === ''],
    ]
    for (const [bytes, matches] of cases) {
      expect(matches(responseText(bytes)), bytes.subarray(0, 8).toString('hex')).toBe(true)
    }
  })

  test('X-154 an attempt with a binary response body is recorded', async () => {
    const acme = await newClient()
    const { id } = await acme.made({}, (_, response) =>
      response.end(Buffer.from([0, 0xff, 0xfe, 0x41, 0xed, 0xa0, 0x80])),
    )
    await acme.emit()
    await acme.run()
    const [row] = (await acme.deliveries(id)).body.data
    expect([row.status, row.attempts[0].response_body.includes('A')]).toEqual(['delivered', true])
  })
})

describe('concurrency', () => {
  test('X-155 XD-13 an endpoint gets at most five deliveries at a time, and none waits for a hanging endpoint', async () => {
    const acme = await newClient()
    let [open, mostOpen] = [0, 0]
    const pendingResponses: (() => void)[] = []
    const slow = await acme.made({}, (_, response) => {
      mostOpen = Math.max(mostOpen, ++open)
      pendingResponses.push(() => {
        open--
        response.end()
      })
    })
    const quick = await acme.made()
    for (let i = 0; i < 12; i++) await acme.emit({ data: { message_id: `msg_${i}` } })
    const running = acme.run()
    await expect.poll(() => [pendingResponses.length, quick.receiver.got.length]).toEqual([5, 12])
    // A response frees a slot for the next delivery while the others still hang.
    pendingResponses.shift()?.()
    await expect.poll(() => slow.receiver.got.length).toBe(6)
    // An event that comes later is delivered too.
    await acme.emit({ data: { message_id: 'msg_late' } })
    const responding = setInterval(() => pendingResponses.shift()?.(), 5)
    await running
    clearInterval(responding)
    await acme.run()
    expect([mostOpen, slow.receiver.got.length, quick.receiver.got.length]).toEqual([5, 13, 13])
  })

  test('X-145 two workers on one database send each delivery once', async () => {
    const acme = await newClient()
    const second = await startWebhookService({ database: t.database })
    const endpoints = await Promise.all(Array.from({ length: 6 }, () => acme.made()))
    for (let i = 0; i < 40; i++) await acme.emit({ data: { message_id: `msg_${i}` } })
    await Promise.all([acme.run(), second.service.tasks.webhooks?.run(), acme.run()])
    await expect
      .poll(async () => {
        await acme.run()
        return endpoints.map(({ receiver }) => new Set(receiver.got.map(({ body }) => body.data.message_id)).size)
      })
      .toEqual(new Array(6).fill(40))
    for (const { receiver } of endpoints) expect(receiver.got).toHaveLength(40)
    await second.stop()
  })

  test('X-145 the worker delivers by itself and loses nothing when it stops', async () => {
    const own = await startWebhookService()
    const acme = webhookClient(own, await own.org())
    const { id, receiver } = await acme.made()
    await own.service.startWorker()
    for (let i = 0; i < 50; i++) await acme.emit({ data: { message_id: `msg_${i}` } })
    await expect.poll(() => receiver.got.length).toBe(50)
    await expect.poll(async () => (await acme.deliveries(id, '?status=delivered&limit=100')).body.data.length).toBe(50)
    for (let i = 50; i < 80; i++) await acme.emit({ data: { message_id: `msg_${i}` } })
    await own.service.stop()
    const rows = await own.database.sql<{ n: number }>(
      `select (select count(*) from events) + (select count(*) from webhook_deliveries) as n`,
    )
    expect(Number(rows[0]?.n)).toBe(80)
    const delivered = await own.database.sql("select 1 from webhook_deliveries where status = 'delivered'")
    expect(delivered.length).toBe(receiver.got.length)
    await own.database.drop()
  })
})
