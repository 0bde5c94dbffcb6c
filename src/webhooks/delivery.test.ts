import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { afterAll, describe, expect, test } from 'vitest'
import { trailOf } from '../../test/audit/trail.ts'
import { hexHmac, startWebhookService, webhookClient } from '../../test/clients/webhook-client.ts'
import { eventNames } from '../events/names.ts'
import { isId, timeOfId } from '../ground/ids.ts'
import { responseText } from './attempt.ts'
import { type NotifyOwners, retryDelayAfter } from './record-outcome.ts'

const notices: Parameters<NotifyOwners>[0][] = []
const t = await startWebhookService({
  notify: async (notice) => {
    notices.push(notice)
  },
})
afterAll(() => t.stop())

const fresh = async () => webhookClient(t, await t.org())

describe('one delivery', () => {
  test('X-061 X-062 X-063 X-065 X-066 X-068 X-069 X-070 X-071 X-072 X-073 X-074 X-075 X-076 an event arrives as a signed POST, whole', async () => {
    const acme = await fresh()
    const tenantId = await t.tenant(acme.orgId)
    const { id, secret, receiver } = await acme.made()
    const before = t.service.clock.millis()
    const data = { message_id: 'msg_7', channel: 'sms', status: 'sent', note: 'Grüße "all"\n' }
    await acme.emit({ tenantId, environment: 'test', data })
    expect(await acme.run()).toEqual({ events: 1, deliveries: 1, attempts: 1 })
    const after = t.service.clock.millis()

    expect(receiver.got).toHaveLength(1)
    const [got] = receiver.got
    if (!got) throw new Error('nothing came')
    expect(Object.keys(got.body)).toEqual(['event', 'data', 'timestamp', 'environment', 'tenant_id', 'delivery_id'])
    expect(got.body).toEqual({
      event: 'message.sent',
      data,
      environment: 'test',
      tenant_id: tenantId,
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      delivery_id: expect.stringMatching(/^whd_/),
    })
    const { timestamp, delivery_id } = got.body
    expect(isId('webhookDelivery', delivery_id)).toBe(true)
    expect(Date.parse(timestamp)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(timestamp)).toBeLessThanOrEqual(after)
    expect(Math.abs(timeOfId(delivery_id) - Date.parse(timestamp))).toBeLessThan(1_000)

    const { headers } = got
    const seconds = headers['x-service-timestamp'] as string
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-service-event': 'message.sent',
      'x-service-environment': 'test',
      'x-service-tenant-id': tenantId,
      'x-service-delivery-id': delivery_id,
      'x-service-signature': hexHmac(secret, got.text),
      'x-service-signature-v2': hexHmac(secret, `${seconds}.${got.text}`),
      'webhook-id': delivery_id,
      'webhook-timestamp': seconds,
    })
    expect(seconds).toMatch(/^\d{10}$/)
    expect(Number(seconds)).toBeGreaterThanOrEqual(Math.floor(before / 1000))
    expect(Number(seconds)).toBeLessThanOrEqual(Math.floor(after / 1000))

    const listed = await acme.deliveries(id)
    expect(listed.body).toEqual({
      data: [
        {
          id: delivery_id,
          endpoint_id: id,
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
    const one = await acme.delivery(id, delivery_id)
    expect([one.status, one.body]).toEqual([200, { ...listed.body.data[0], payload: got.body }])
    expect(await t.database.sql('select 1 from events where org_id = $1', [acme.orgId])).toEqual([])
    expect(await acme.run()).toEqual({ events: 0, deliveries: 0, attempts: 0 })
  })

  test('X-064 X-065 X-070 X-071 what has no send and no tenant behind it says so: absent, and null', async () => {
    const acme = await fresh()
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

  test('the published libraries of Standard Webhooks verify what arrives, with the secret as it was given', async () => {
    // On a clock of its own: they hold the time of the signature against the machine's.
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

  test('X-130 every event is passed on under its own name with its data as written', async () => {
    const acme = await fresh()
    const { receiver } = await acme.made()
    for (const event of eventNames) {
      await acme.emit({ event, environment: 'live', data: { id: event, status: 'as written', n: 1.5 } })
    }
    await acme.run()
    const came = receiver.got.map(({ body, headers }) => [body.event, headers['x-service-event'], body.data])
    expect(came.toSorted()).toEqual(
      eventNames.map((event) => [event, event, { id: event, status: 'as written', n: 1.5 }]).toSorted(),
    )
  })
})

describe('who receives what', () => {
  test('X-051 X-055 X-129 X-130 X-132 an endpoint receives the names it lists, or all; live and test alike; an empty list nothing', async () => {
    const acme = await fresh()
    const some = await acme.made({ events: ['message.delivered', 'message.bounced'] })
    const all = await acme.made({ events: ['*'] })
    const none = await acme.made({ events: [] })
    const off = await acme.made({ enabled: false })
    const prefix = await acme.made({ events: ['message.complained'] })
    for (const event of ['message.sent', 'message.delivered', 'message.bounced'] as const) {
      for (const environment of ['live', 'test'] as const) await acme.emit({ event, environment })
    }
    expect(await acme.run()).toEqual({ events: 6, deliveries: 10, attempts: 10 })
    const names = ({ receiver }: typeof some) =>
      receiver.got.map(({ body }) => `${body.event} ${body.environment}`).toSorted()
    expect(names(some)).toEqual([
      'message.bounced live',
      'message.bounced test',
      'message.delivered live',
      'message.delivered test',
    ])
    expect(names(all)).toHaveLength(6)
    for (const endpoint of [none, off, prefix]) {
      expect(endpoint.receiver.got).toEqual([])
      expect((await acme.deliveries(endpoint.id)).body.data).toEqual([])
    }
    // Nothing of that time was kept.
    await acme.patch(none.id, { events: ['*'] })
    await acme.patch(off.id, { enabled: true })
    expect(await acme.run()).toEqual({ events: 0, deliveries: 0, attempts: 0 })
  })

  test('X-139 X-140 an endpoint of the org hears of every tenant, one of a tenant only of its own, and no org of another', async () => {
    const [acme, other] = [await fresh(), await fresh()]
    const [one, two] = [await t.tenant(acme.orgId), await t.tenant(acme.orgId)]
    const whole = await acme.made()
    const ofOne = await acme.made({ tenant_id: one })
    const stranger = await other.made()
    for (const tenantId of [null, one, two]) await acme.emit({ tenantId })
    await acme.run()
    const tenants = ({ receiver }: typeof whole) => receiver.got.map(({ body }) => body.tenant_id)
    expect(tenants(whole).toSorted()).toEqual([one, two, null].toSorted())
    expect(tenants(ofOne)).toEqual([one])
    expect(stranger.receiver.got).toEqual([])
  })

  test('XD-17 an endpoint does not hear of its own disabling, even when it is enabled again by then', async () => {
    const acme = await fresh()
    const [own, other] = [await acme.made(), await acme.made()]
    await acme.emit({
      event: 'webhook.disabled',
      environment: null,
      data: { id: own.id, status: 'disabled' },
    })
    await acme.run()
    expect([own.receiver.got.length, other.receiver.got.length]).toEqual([0, 1])
  })

  test('X-131 X-138 a changed list and a new secret count from then on', async () => {
    const acme = await fresh()
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
    const acme = await fresh()
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

describe('retries', () => {
  /** Past the longest gap there is. */
  const nextRound = async (acme: Awaited<ReturnType<typeof fresh>>) => {
    await acme.advance(7 * 3600)
    return acme.run()
  }

  test('X-145 X-146 X-147 X-148 X-154 what is refused is sent again, eight times in all, the same bytes under the same id', async () => {
    const acme = await fresh()
    const { id, secret, receiver } = await acme.made({}, (_, response, nth) => {
      response.writeHead([500, 404, 301, 400, 503, 199 + 103, 410, 418][nth - 1] as number).end('no '.repeat(500))
    })
    await acme.emit()
    expect((await acme.run()).attempts).toBe(1)
    for (let nth = 1; nth < 8; nth++) {
      const [row] = (await acme.deliveries(id)).body.data
      expect([row.status, row.attempt_count]).toEqual(['pending', nth])
      const last = Date.parse(row.attempts.at(-1).at)
      const gap = (Date.parse(row.next_attempt_at) - last) / 60_000
      // Counted from the end of the attempt, plus up to a tenth.
      expect(gap).toBeGreaterThanOrEqual(2 ** nth)
      expect(gap).toBeLessThan(2 ** nth * 1.1 + 0.5)
      expect((await acme.run()).attempts).toBe(0)
      const wait = Date.parse(row.next_attempt_at) - t.service.clock.millis()
      await acme.advance(wait / 1000 + 0.01)
      expect((await acme.run()).attempts).toBe(1)
    }
    const [row] = (await acme.deliveries(id)).body.data
    expect(row).toMatchObject({
      status: 'failed',
      attempt_count: 8,
      next_attempt_at: null,
      delivered_at: null,
    })
    expect(row.attempts.map((a: { response_status: number }) => a.response_status)).toEqual([
      500, 404, 301, 400, 503, 302, 410, 418,
    ])
    expect(row.attempts.map((a: { response_body: string }) => a.response_body.length)).toEqual(new Array(8).fill(1_024))
    expect(await nextRound(acme)).toEqual({ events: 0, deliveries: 0, attempts: 0 })

    expect(receiver.got).toHaveLength(8)
    expect(new Set(receiver.got.map(({ text }) => text)).size).toBe(1)
    expect(new Set(receiver.got.map(({ headers }) => headers['x-service-timestamp'])).size).toBe(8)
    for (const { headers, text } of receiver.got) {
      expect(headers['x-service-delivery-id']).toBe(row.id)
      const signed = `${headers['x-service-timestamp']}.${text}`
      expect(headers['x-service-signature-v2']).toBe(hexHmac(secret, signed))
    }
    expect((await acme.get(id)).body).toMatchObject({ enabled: true, consecutive_failures: 1 })
  })

  test('X-147 the gaps double up to six hours, with a jitter of at most a tenth on top', () => {
    const minutes = [2, 4, 8, 16, 32, 64, 128, 256, 360, 360]
    for (const [i, least] of minutes.entries()) {
      expect(retryDelayAfter(i + 1, () => 0)).toBe(least * 60_000)
      expect(retryDelayAfter(i + 1, () => 0.999)).toBeLessThan(least * 66_000)
      expect(retryDelayAfter(i + 1, () => 0.5)).toBe(least * 63_000)
    }
  })

  test('X-138 XD-12 a retry of an older delivery is signed with the newest secret and goes to the newest address', async () => {
    const acme = await fresh()
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

  test('X-146 the second attempt may succeed, which ends it', async () => {
    const acme = await fresh()
    const { id, receiver } = await acme.made({}, (_, response, nth) => response.writeHead(nth === 1 ? 500 : 204).end())
    await acme.emit()
    await acme.run()
    await nextRound(acme)
    await nextRound(acme)
    expect(receiver.got).toHaveLength(2)
    const [row] = (await acme.deliveries(id)).body.data
    expect(row).toMatchObject({ status: 'delivered', attempt_count: 2, next_attempt_at: null })
  })

  test('XD-13 disabling and pausing cancel what waits, deleting drops it', async () => {
    const acme = await fresh()
    const failing = () => acme.made({}, (_, response) => response.writeHead(500).end())
    const [off, paused, gone] = [await failing(), await failing(), await failing()]
    await acme.emit()
    await acme.run()
    expect((await acme.patch(off.id, { enabled: false })).body).toMatchObject({
      enabled: false,
      disabled_reason: 'manual',
      disabled_at: expect.any(String),
    })
    await acme.patch(paused.id, { events: [] })
    await acme.remove(gone.id)
    for (const { id } of [off, paused]) {
      const [row] = (await acme.deliveries(id)).body.data
      expect(row).toMatchObject({ status: 'canceled', attempt_count: 1, next_attempt_at: null })
    }
    expect(await t.database.sql('select 1 from webhook_deliveries where endpoint_id = $1', [gone.id])).toEqual([])
    await acme.patch(off.id, { enabled: true })
    await acme.patch(paused.id, { events: ['*'] })
    expect((await nextRound(acme)).attempts).toBe(0)
  })
})

describe('a great many that wait', () => {
  test('XD-13 are all canceled when the endpoint is disabled, however many they are', async () => {
    const acme = await fresh()
    const { id } = (await acme.create({ url: 'http://127.0.0.1:59999/', events: ['*'] })).body
    await t.database.sql(
      `insert into webhook_deliveries (org_id, id, created_at, endpoint_id, event, payload, status, max_attempts, next_attempt_at)
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

describe('the streak', () => {
  /** Deliveries that have one attempt left. */
  const lastChances = (endpointId: string) =>
    t.database.sql(
      `update webhook_deliveries set attempt_count = 7, next_attempt_at = created_at
       where endpoint_id = $1 and status = 'pending'`,
      [endpointId],
    )
  const exhaust = async (acme: Awaited<ReturnType<typeof fresh>>, endpointId: string, times: number) => {
    for (let i = 0; i < times; i++) {
      await acme.emit({ data: { message_id: `msg_${i}` } })
      await acme.run()
      await lastChances(endpointId)
      await t.database.sql('update webhook_lanes set due_at = $2 where endpoint_id = $1', [
        endpointId,
        t.service.clock.now(),
      ])
      await acme.run()
    }
  }
  const failing = { status: 500 }
  const endpointThatFails = (acme: Awaited<ReturnType<typeof fresh>>, events = ['message.sent']) =>
    acme.made({ events }, (_, response) => response.writeHead(failing.status).end())

  test('X-150 X-151 X-153 AD-97 XD-13 XD-17 the tenth delivery given up in a row disables the endpoint: entry, event, mail, and nothing waits', async () => {
    const acme = await fresh()
    const tenantId = await t.tenant(acme.orgId)
    const other = await acme.made({ events: ['webhook.disabled'] })
    const { id, url, receiver } = await acme.made({ tenant_id: tenantId, events: ['*'] }, (_, response) =>
      response.writeHead(500).end(),
    )
    for (let i = 0; i < 12; i++) await acme.emit({ tenantId, data: { message_id: `msg_${i}` } })
    await acme.run()
    // 12 failed attempts are no streak.
    expect((await acme.get(id)).body).toMatchObject({ enabled: true, consecutive_failures: 0 })
    await t.database.sql(
      `update webhook_deliveries set attempt_count = 7 where id in (
         select id from webhook_deliveries where endpoint_id = $1 order by id limit 9)`,
      [id],
    )
    await acme.advance(150)
    await acme.run()
    expect((await acme.get(id)).body).toMatchObject({ enabled: true, consecutive_failures: 9 })
    expect(notices).toEqual([])
    await t.database.sql(
      `update webhook_deliveries set attempt_count = 7 where id in (
         select id from webhook_deliveries where endpoint_id = $1 and status = 'pending' order by id limit 1)`,
      [id],
    )
    const trail = (await trailOf(t.database, acme.orgId)).at(-1)?.id ?? ''
    await acme.advance(500)
    const sent = receiver.got.length
    await acme.run()
    const disabled = (await acme.get(id)).body
    expect(disabled).toMatchObject({
      enabled: false,
      disabled_reason: 'auto',
      disabled_at: expect.any(String),
      consecutive_failures: 10,
    })
    expect(receiver.got.length).toBeGreaterThan(sent)
    const rows = (await acme.deliveries(id)).body.data.map((row: { status: string }) => row.status).toSorted()
    expect(rows).toEqual([...new Array(2).fill('canceled'), ...new Array(10).fill('failed')])

    expect(await trailOf(t.database, acme.orgId, trail)).toEqual([
      expect.objectContaining({
        action: 'webhook.updated',
        resource_type: 'webhook',
        resource_id: id,
        actor_user_id: null,
        metadata: { enabled: false, reason: 'auto_disabled', consecutive_failures: 10, via: 'system' },
      }),
    ])
    expect(other.receiver.got.map(({ body }) => body)).toEqual([
      {
        event: 'webhook.disabled',
        data: {
          id,
          status: 'disabled',
          url,
          reason: 'auto',
          consecutive_failures: 10,
          disabled_at: disabled.disabled_at,
        },
        timestamp: expect.any(String),
        tenant_id: tenantId,
        delivery_id: expect.any(String),
      },
    ])
    expect(notices.splice(0)).toEqual([
      {
        orgId: acme.orgId,
        subject: 'A webhook endpoint was disabled',
        text: expect.stringContaining('127.0.0.1'),
      },
    ])
    await acme.emit({ tenantId })
    expect((await acme.run()).deliveries).toBe(0)
  })

  test('X-133 X-134 enabling it again clears the streak: ten further ones are needed', async () => {
    const acme = await fresh()
    failing.status = 500
    const { id } = await endpointThatFails(acme)
    await exhaust(acme, id, 10)
    expect((await acme.get(id)).body).toMatchObject({ enabled: false, disabled_reason: 'auto' })
    const again = await acme.patch(id, { enabled: true })
    expect([again.status, again.body]).toMatchObject([
      200,
      { enabled: true, disabled_reason: null, disabled_at: null, consecutive_failures: 0 },
    ])
    await exhaust(acme, id, 9)
    expect((await acme.get(id)).body).toMatchObject({ enabled: true, consecutive_failures: 9 })
    await exhaust(acme, id, 1)
    expect((await acme.get(id)).body).toMatchObject({ enabled: false, consecutive_failures: 10 })
  })

  test('X-152 any 2xx sets the streak back: nine, one that arrives, nine more leave it enabled', async () => {
    const acme = await fresh()
    failing.status = 500
    const { id } = await endpointThatFails(acme)
    await exhaust(acme, id, 9)
    expect((await acme.get(id)).body.consecutive_failures).toBe(9)
    failing.status = 200
    await acme.emit()
    await acme.run()
    expect((await acme.get(id)).body.consecutive_failures).toBe(0)
    failing.status = 500
    await exhaust(acme, id, 9)
    expect((await acme.get(id)).body).toMatchObject({ enabled: true, consecutive_failures: 9 })
  })

  test('XD-12 a failed test fire does not count, and one that arrives sets the streak back', async () => {
    const acme = await fresh()
    failing.status = 500
    const { id } = await endpointThatFails(acme)
    await exhaust(acme, id, 2)
    for (let i = 0; i < 12; i++) expect((await acme.testFire(id)).body.success).toBe(false)
    expect((await acme.get(id)).body).toMatchObject({ enabled: true, consecutive_failures: 2 })
    failing.status = 202
    expect((await acme.testFire(id)).body.success).toBe(true)
    expect((await acme.get(id)).body.consecutive_failures).toBe(0)
  })
})

describe('what the receiver said', () => {
  test('X-154 is kept as text that can be stored, in at most 1 KB', () => {
    const cases: [Buffer, (text: string) => boolean][] = [
      [Buffer.from('plain'), (text) => text === 'plain'],
      [Buffer.from('nul\0nul'), (text) => text === 'nul\ufffdnul'],
      [Buffer.from('é'.repeat(600)).subarray(0, 1_024), (text) => text === 'é'.repeat(512)],
      [Buffer.from(`x${'é'.repeat(600)}`).subarray(0, 1_024), (text) => text === `x${'é'.repeat(511)}`],
      [Buffer.alloc(1_024, 0xff), (text) => Buffer.byteLength(text) <= 1_024 && text.startsWith('\ufffd')],
      [Buffer.alloc(0), (text) => text === ''],
    ]
    for (const [bytes, fits] of cases) {
      expect(fits(responseText(bytes)), bytes.subarray(0, 8).toString('hex')).toBe(true)
    }
  })

  test('X-154 bytes that are no text do not stand in the way of the record', async () => {
    const acme = await fresh()
    const { id } = await acme.made({}, (_, response) =>
      response.end(Buffer.from([0, 0xff, 0xfe, 0x41, 0xed, 0xa0, 0x80])),
    )
    await acme.emit()
    await acme.run()
    const [row] = (await acme.deliveries(id)).body.data
    expect([row.status, row.attempts[0].response_body.includes('A')]).toEqual(['delivered', true])
  })
})

describe('side by side', () => {
  test('X-155 XD-13 an endpoint gets at most five at a time, and none waits for one that hangs', async () => {
    const acme = await fresh()
    let [open, most] = [0, 0]
    const waiting: (() => void)[] = []
    const slow = await acme.made({}, (_, response) => {
      most = Math.max(most, ++open)
      waiting.push(() => {
        open--
        response.end()
      })
    })
    const quick = await acme.made()
    for (let i = 0; i < 12; i++) await acme.emit({ data: { message_id: `msg_${i}` } })
    const running = acme.run()
    await expect.poll(() => [waiting.length, quick.receiver.got.length]).toEqual([5, 12])
    // One that ends makes room for one more, while the others still hang.
    waiting.shift()?.()
    await expect.poll(() => slow.receiver.got.length).toBe(6)
    // And so does an event that comes later, at the other endpoint.
    await acme.emit({ data: { message_id: 'msg_late' } })
    const letGo = setInterval(() => waiting.shift()?.(), 5)
    await running
    clearInterval(letGo)
    await acme.run()
    expect([most, slow.receiver.got.length, quick.receiver.got.length]).toEqual([5, 13, 13])
  })

  test('X-145 two workers on one database deliver each once', async () => {
    const acme = await fresh()
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

  test('X-145 the worker’s own loop delivers without being asked, and stops cleanly with nothing lost', async () => {
    const own = await startWebhookService()
    const acme = webhookClient(own, await own.org())
    const { id, receiver } = await acme.made()
    await own.service.startWorker()
    for (let i = 0; i < 50; i++) await acme.emit({ data: { message_id: `msg_${i}` } })
    await expect.poll(() => receiver.got.length, { timeout: 10_000 }).toBe(50)
    await expect.poll(async () => (await acme.deliveries(id, '?status=delivered&limit=100')).body.data.length).toBe(50)
    for (let i = 50; i < 80; i++) await acme.emit({ data: { message_id: `msg_${i}` } })
    await own.service.stop()
    const rows = await own.database.sql<{ n: number }>(
      `select (select count(*) from events) + (select count(*) from webhook_deliveries) as n`,
    )
    expect(Number(rows[0]?.n)).toBe(80)
    const done = await own.database.sql("select 1 from webhook_deliveries where status = 'delivered'")
    expect(done.length).toBe(receiver.got.length)
    await own.database.drop()
  })
})
