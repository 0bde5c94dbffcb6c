import { afterAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../test/audit/trail.ts'
import { hexHmac, startWebhookService, type WebhookClient, webhookClient } from '../../test/clients/webhook-client.ts'
import { expectRefusal, watchTables } from '../../test/expect/refusal.ts'
import { newId } from '../platform/ground/ids.ts'
import { knownEvents } from './samples.ts'

const t = await startWebhookService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const newClient = async () => webhookClient(t, await t.org())
type Row = { id: string; status: string; created_at: string; replayed_as: string | null }

/** Creates failed deliveries without making all eight attempts, and returns them oldest first. */
const failDeliveries = async (acme: WebhookClient, endpointId: string, count: number): Promise<Row[]> => {
  for (let i = 0; i < count; i++) await acme.emit({ data: { message_id: `msg_${i}` } })
  await acme.run()
  await t.database.sql(
    `update webhook_deliveries set status = 'failed', attempt_count = 8, next_attempt_at = null
     where endpoint_id = $1 and status = 'pending'`,
    [endpointId],
  )
  const rows: Row[] = []
  for (let cursor = ''; ; ) {
    const { body } = await acme.deliveries(endpointId, `?status=failed&limit=100&cursor=${cursor}`)
    rows.unshift(...body.data.toReversed())
    if (!body.has_more) return rows
    cursor = body.next_cursor
  }
}

let responseStatus = 500
const createEndpoint = (acme: WebhookClient, body: object = { events: ['message.sent'] }) =>
  acme.made({ ...body }, (_, response) => response.writeHead(responseStatus).end('response text'))

describe('a test fire', () => {
  test('X-135 A-154 XD-12 a test fire sends a sample at once, subscribed or not, and returns the response', async () => {
    const acme = await newClient()
    responseStatus = 200
    const { id, secret, receiver } = await createEndpoint(acme, { events: [] })
    const { result, trail } = await withTrail(t.database, acme.orgId, () => acme.testFire(id))
    expect([result.status, result.body]).toEqual([
      200,
      {
        delivery_id: expect.stringMatching(/^whd_/),
        event: 'webhook.test',
        success: true,
        response_status: 200,
        response_body: 'response text',
        duration_ms: expect.any(Number),
        error: null,
      },
    ])
    const { delivery_id } = result.body
    expect(trail).toEqual([
      expect.objectContaining({
        action: 'webhook.test_fired',
        resource_type: 'webhook',
        resource_id: id,
        metadata: expect.objectContaining({ delivery_id, event: 'webhook.test', success: true }),
      }),
    ])
    const [got] = receiver.got
    expect(got?.body).toMatchObject({ event: 'webhook.test', delivery_id, tenant_id: null })
    expect(got?.headers['x-service-signature']).toBe(hexHmac(secret, got?.text ?? ''))
    const one = await acme.delivery(id, delivery_id)
    expect(one.body).toMatchObject({
      status: 'delivered',
      attempt_count: 1,
      max_attempts: 1,
      payload: got?.body,
    })
  })

  test('XD-12 a test fire can send any event, in the test environment if the event has one', async () => {
    const acme = await newClient()
    const tenantId = await t.tenant(acme.orgId)
    responseStatus = 204
    for (const event of knownEvents) {
      const { id, receiver } = await createEndpoint(acme, { events: [], tenant_id: tenantId })
      expect((await acme.testFire(id, { event })).body).toMatchObject({ event, success: true })
      const [got] = receiver.got
      expect(got?.body).toMatchObject({ event, tenant_id: tenantId })
      expect(got?.headers['x-service-environment'], event).toBe(got?.body.environment)
      expect([undefined, 'test']).toContain(got?.body.environment)
      const ids =
        JSON.stringify(got?.body.data).match(
          /"(?:msg|dom|prj|brd|cmp|num|iem|ism|job|aud|dlt|dle|ten|whe|sup)_\w+"/g,
        ) ?? []
      for (const found of ids) expect(found, event).toMatch(/_test"$/)
      await acme.remove(id)
    }
    const { id } = await createEndpoint(acme)
    const errors = [{ path: ['event'], code: 'invalid_enum', message: expect.any(String) }]
    expectRefusal(await acme.testFire(id, { event: 'message.lost' }), 'VALIDATION_ERROR', { errors })
  })

  test('XD-12 a test fire reports a failing receiver and is not retried', async () => {
    const acme = await newClient()
    responseStatus = 500
    const { id, receiver } = await createEndpoint(acme)
    expect((await acme.testFire(id)).body).toMatchObject({
      success: false,
      response_status: 500,
      response_body: 'response text',
      error: null,
    })
    await acme.advance(7 * 3600)
    await acme.run()
    expect(receiver.got).toHaveLength(1)
    expect((await acme.deliveries(id, '?status=failed')).body.data).toHaveLength(1)
    const unreachable = (await acme.create({ url: 'http://127.0.0.1:59999/' })).body.id
    expect((await acme.testFire(unreachable)).body).toMatchObject({
      success: false,
      response_status: null,
      error: 'connection',
    })
    // A failed test fire is not replayed.
    expect((await acme.replayFailed(id)).body).toEqual({ replayed: 0, has_more: false, data: [] })
  })

  test('X-287 a test fire on a disabled endpoint is refused with 409', async () => {
    const acme = await newClient()
    const { id } = await createEndpoint(acme)
    await acme.patch(id, { enabled: false })
    expectRefusal(await leavesNoTrace(() => acme.testFire(id)), 'ENDPOINT_DISABLED')
    await acme.patch(id, { enabled: true })
    expect((await acme.testFire(id)).status).toBe(200)
  })

  test('X-144 X-284 the 21st test fire of an endpoint within a minute is refused with 429', async () => {
    const acme = await newClient()
    responseStatus = 200
    const [one, two] = [await createEndpoint(acme), await createEndpoint(acme)]
    for (let i = 0; i < 20; i++) expect((await acme.testFire(one.id)).status).toBe(200)
    const refused = await leavesNoTrace(() => acme.testFire(one.id))
    expectRefusal(refused, 'TEST_FIRE_RATE_LIMITED')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1)
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60)
    expect(one.receiver.got).toHaveLength(20)
    expect((await acme.testFire(two.id)).status).toBe(200)
    await acme.advance(61)
    expect((await acme.testFire(one.id)).status).toBe(200)
  })
})

describe('a replay', () => {
  test('X-067 A-153 XD-12 a replay sends the same event with a new id, new signatures and eight attempts', async () => {
    const acme = await newClient()
    const tenantId = await t.tenant(acme.orgId)
    responseStatus = 200
    const { id, secret, receiver } = await createEndpoint(acme)
    await acme.emit({ tenantId, environment: 'test', data: { message_id: 'msg_1', n: 1 } })
    await acme.run()
    const [old] = (await acme.deliveries(id)).body.data
    await acme.advance(3600)
    const { result, trail } = await withTrail(t.database, acme.orgId, () => acme.replay(id, old.id))
    expect([result.status, result.body]).toEqual([
      202,
      { delivery_id: expect.stringMatching(/^whd_/), replay_of: old.id },
    ])
    const { delivery_id } = result.body
    expect(delivery_id).not.toBe(old.id)
    expect(trail).toEqual([
      expect.objectContaining({
        action: 'webhook.delivery_replayed',
        resource_type: 'webhook',
        resource_id: id,
        metadata: expect.objectContaining({ delivery_id, replay_of: old.id }),
      }),
    ])
    await acme.run()
    const [first, again] = receiver.got
    expect(again?.body).toEqual({ ...first?.body, delivery_id })
    expect(again?.text).toBe(first?.text.replace(old.id, delivery_id))
    const signed = `${again?.headers['x-service-timestamp']}.${again?.text}`
    expect(again?.headers).toMatchObject({
      'x-service-delivery-id': delivery_id,
      'x-service-environment': 'test',
      'x-service-tenant-id': tenantId,
      'x-service-signature-v2': hexHmac(secret, signed),
    })
    const seconds = Number(again?.headers['x-service-timestamp']) - Number(first?.headers['x-service-timestamp'])
    // Signatures use real time, which the development clock does not move.
    expect([seconds >= 0, seconds < 3599]).toEqual([true, true])
    const rows = (await acme.deliveries(id)).body.data
    expect(rows).toMatchObject([
      {
        id: delivery_id,
        replay_of: old.id,
        replayed_as: null,
        status: 'delivered',
        attempt_count: 1,
        max_attempts: 8,
      },
      { id: old.id, replay_of: null, replayed_as: delivery_id, status: 'delivered' },
    ])
  })

  test('X-287 XD-12 pending deliveries, another endpoint’s deliveries and disabled endpoints are not replayed', async () => {
    const acme = await newClient()
    responseStatus = 500
    const [one, two] = [await createEndpoint(acme), await createEndpoint(acme)]
    await acme.emit()
    await acme.run()
    const [pending] = (await acme.deliveries(one.id)).body.data
    const message = 'This delivery is still pending. Replay it once it is delivered, failed or canceled.'
    const errors = [{ path: ['delivery_id'], code: 'custom', message }]
    expectRefusal(await leavesNoTrace(() => acme.replay(one.id, pending.id)), 'VALIDATION_ERROR', { errors })
    for (const request of [
      () => acme.replay(two.id, pending.id),
      () => acme.delivery(two.id, pending.id),
      () => acme.replay(one.id, newId('webhookDelivery')),
      () => acme.delivery(one.id, `whd_7${'z'.repeat(25)}`),
    ]) {
      expectRefusal(await leavesNoTrace(request), 'NOT_FOUND')
    }
    await acme.patch(one.id, { enabled: false })
    expectRefusal(await leavesNoTrace(() => acme.replay(one.id, pending.id)), 'ENDPOINT_DISABLED')
    expectRefusal(await leavesNoTrace(() => acme.replayFailed(one.id)), 'ENDPOINT_DISABLED')
    await acme.patch(one.id, { enabled: true })
    const [canceled] = (await acme.deliveries(one.id)).body.data
    expect(canceled.status).toBe('canceled')
    expect((await acme.replay(one.id, canceled.id)).status).toBe(202)
  })

  test('X-136 XD-12 failed deliveries are replayed oldest first, 100 per call, each once', async () => {
    const acme = await newClient()
    responseStatus = 500
    const { id, receiver } = await createEndpoint(acme)
    const rows = await failDeliveries(acme, id, 105)
    expect(rows).toHaveLength(105)
    const first = await acme.replayFailed(id)
    expect([first.status, first.body.replayed, first.body.has_more]).toEqual([202, 100, true])
    expect(first.body.data.map(({ replay_of }: { replay_of: string }) => replay_of)).toEqual(
      rows.slice(0, 100).map((row) => row.id),
    )
    const second = await acme.replayFailed(id, {})
    expect([second.body.replayed, second.body.has_more]).toEqual([5, false])
    expect((await acme.replayFailed(id)).body).toEqual({ replayed: 0, has_more: false, data: [] })
    responseStatus = 200
    const sent = receiver.got.length
    expect((await acme.run()).attempts).toBe(105)
    expect(receiver.got).toHaveLength(sent + 105)
  })

  test('X-136 XD-12 since, until and event select the failed deliveries to replay', async () => {
    const acme = await newClient()
    responseStatus = 500
    const { id } = await createEndpoint(acme, { events: ['*'] })
    await acme.emit({ event: 'message.opened' })
    await acme.advance(60)
    const [a, b] = await failDeliveries(acme, id, 1)
    const at = (row: Row | undefined, plus = 0) => new Date(Date.parse(row?.created_at ?? '') + plus).toISOString()
    const count = async (body: object) => (await acme.replayFailed(id, body)).body.replayed
    expect(await count({ since: at(b, 1) })).toBe(0)
    expect(await count({ until: at(a, -1) })).toBe(0)
    expect(await count({ event: 'message.clicked' })).toBe(0)
    expect(await count({ since: at(a), until: at(a), event: 'message.opened' })).toBe(1)
    expect(await count({ since: at(b).replace('Z', '+00:00') })).toBe(1)
    for (const body of [{ since: 'yesterday' }, { until: 7 }, { since: '2026-02-30T00:00:00Z' }, { event: '*' }]) {
      expect((await acme.replayFailed(id, body)).status, JSON.stringify(body)).toBe(422)
    }
  })

  test('X-136 concurrent calls replay each failed delivery once', async () => {
    const acme = await newClient()
    responseStatus = 500
    const { id } = await createEndpoint(acme)
    const rows = await failDeliveries(acme, id, 150)
    const replies = await Promise.all([acme.replayFailed(id), acme.replayFailed(id), acme.replayFailed(id)])
    const replayed = replies.flatMap(({ body }) => body.data.map((row: { replay_of: string }) => row.replay_of))
    expect(replayed.toSorted()).toEqual(rows.map((row) => row.id).toSorted())
  })

  test('X-144 X-283 the 11th replay of an endpoint within a minute, single or bulk, is refused with 429', async () => {
    const acme = await newClient()
    responseStatus = 500
    const [one, two] = [await createEndpoint(acme), await createEndpoint(acme)]
    const [old] = await failDeliveries(acme, one.id, 1)
    for (let i = 0; i < 5; i++) expect((await acme.replayFailed(one.id)).status).toBe(202)
    for (let i = 0; i < 5; i++) expect((await acme.replay(one.id, old?.id ?? '')).status).toBe(202)
    for (const request of [() => acme.replayFailed(one.id), () => acme.replay(one.id, old?.id ?? '')]) {
      const refused = await leavesNoTrace(request)
      expectRefusal(refused, 'REPLAY_RATE_LIMITED')
      expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1)
      expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60)
    }
    expect((await acme.replayFailed(two.id)).status).toBe(202)
    expect((await acme.testFire(one.id)).status).toBe(200)
    await acme.advance(61)
    expect((await acme.replayFailed(one.id)).status).toBe(202)
  })
})

describe('the list of deliveries', () => {
  test('X-137 deliveries are paged, newest first, and can be filtered by status and event', async () => {
    const acme = await newClient()
    responseStatus = 200
    const { id } = await createEndpoint(acme, { events: ['*'] })
    for (const event of ['message.sent', 'message.opened', 'message.sent'] as const) await acme.emit({ event })
    await acme.run()
    responseStatus = 500
    await acme.emit()
    await acme.run()
    const all = (await acme.deliveries(id, '?limit=100')).body.data as Row[]
    expect(all).toHaveLength(4)
    const times = all.map(({ created_at, id: row }) => `${created_at} ${row}`)
    expect(times).toEqual(times.toSorted().reverse())
    const paged: Row[] = []
    for (let cursor = ''; ; ) {
      const { body } = await acme.deliveries(id, `?limit=1&cursor=${cursor}`)
      paged.push(...body.data)
      if (!body.has_more) break
      cursor = body.next_cursor
    }
    expect(paged).toEqual(all)
    const count = async (query: string) => (await acme.deliveries(id, query)).body.data.length
    expect(await count('?status=delivered')).toBe(3)
    expect(await count('?status=pending')).toBe(1)
    expect(await count('?event=message.sent')).toBe(3)
    expect(await count('?event=message.sent&status=delivered')).toBe(2)
    expect(await count('?event=message.clicked')).toBe(0)
    for (const query of ['?status=lost', '?event=x', '?limit=0', '?cursor=x']) {
      expect((await acme.deliveries(id, query)).status, query).toBe(422)
    }
  })
})
