import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { type Member, person, primaryOwner } from '../../../../test/clients/team-client.ts'
import {
  hexHmac,
  startWebhookService,
  type WebhookClient,
  webhookClient,
} from '../../../../test/clients/webhook-client.ts'
import { expectOutOfReach } from '../../../../test/dashboard/foreign-rows.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startWebhookService()
afterAll(() => t.stop())

const path = '/api/internal/webhooks'
const deliveriesPath = '/api/internal/webhook-deliveries'

let acme: WebhookClient
let developer: Member

beforeEach(async () => {
  acme = webhookClient(t, await t.org())
  developer = await person(t, { orgId: acme.orgId, role: 'developer' })
})

const withEntries = <T>(work: () => Promise<T>) => withTrail(t.database, acme.orgId, work)
const entry = (action: string, id: string, metadata: object) =>
  expect.objectContaining({
    actor_user_id: developer.userId,
    action,
    resource_type: 'webhook',
    resource_id: id,
    metadata,
  })
const failing = () => acme.made({ events: ['message.sent'] }, (_, response) => response.writeHead(500).end('down'))

/** Delivers one event to each endpoint and returns the ids of the deliveries by endpoint. */
const deliver = async (...endpoints: string[]): Promise<string[]> => {
  await acme.emit()
  await acme.run()
  return Promise.all(endpoints.map(async (id) => (await acme.deliveries(id)).body.data[0].id))
}

describe('endpoints', () => {
  test('A-302 A-063 creates an endpoint and shows its secret in this response only', async () => {
    const tenantId = await t.tenant(acme.orgId)
    const body = {
      url: 'https://93.184.215.14/hooks',
      events: ['message.sent'],
      tenant_id: tenantId,
      description: 'CI',
    }
    const { result, trail } = await withEntries(() => developer.ask('POST', path, body))
    const { id, secret, created_at } = result.body
    const shown = {
      id,
      ...body,
      enabled: true,
      disabled_reason: null,
      disabled_at: null,
      consecutive_failures: 0,
      created_at,
      updated_at: created_at,
      secret_rotated_at: null,
    }
    expect([result.status, result.body]).toEqual([
      201,
      { ...shown, id: expect.stringMatching(/^whe_/), secret: expect.stringMatching(/^whsec_/) },
    ])
    const { events, url, description } = body
    expect(trail).toEqual([
      entry('webhook.created', id, { url, events, enabled: true, description, tenant_id: tenantId }),
    ])
    expect(JSON.stringify(trail)).not.toContain(secret)
    const viewer = await person(t, { orgId: acme.orgId, role: 'viewer' })
    expect((await viewer.ask('GET', path)).body).toEqual({ data: [shown], has_more: false, next_cursor: null })
    expect((await viewer.ask('GET', `${path}?tenant_id=${newId('tenant')}`)).body.data).toEqual([])
  })

  test('A-302 takes no unknown field, no unknown tenant and no unsafe address', async () => {
    const { result, trail } = await withEntries(async () => {
      const url = 'https://93.184.215.14/hooks'
      const bodies = [
        {},
        { url, event: ['message.sent'] },
        { url, tenant_id: newId('tenant') },
        { url: 'ftp://x.test' },
      ]
      return Promise.all(bodies.map((body) => developer.ask('POST', path, body)))
    })
    expect(result.map(({ status, body }) => [status, body.code])).toEqual([
      [422, 'VALIDATION_ERROR'],
      [422, 'VALIDATION_ERROR'],
      [422, 'VALIDATION_ERROR'],
      [422, 'WEBHOOK_URL_NOT_ALLOWED'],
    ])
    expect(trail).toEqual([])
    expect((await developer.ask('GET', path)).body.data).toEqual([])
  })

  test('A-302 is refused at the limit of the plan, over both surfaces', async () => {
    const free = await t.org({ plan: 'free' })
    const client = webhookClient(t, free)
    for (let n = 0; n < 3; n++) await client.create({ url: 'https://93.184.215.14/' })
    const owner = await primaryOwner(t, free.org.id)
    const reply = await owner.ask('POST', path, { url: 'https://93.184.215.14/' })
    expect([reply.status, reply.body]).toEqual([
      402,
      { error: 'The free plan allows 3 webhook endpoints.', code: 'PLAN_RESOURCE_LIMIT' },
    ])
  })

  test('A-063 A-150 changes an endpoint, and a disabled one gets nothing more', async () => {
    const { id, receiver } = await failing()
    const changes = { enabled: false, description: 'Paused' }
    const { result, trail } = await withEntries(() => developer.ask('PATCH', `${path}/${id}`, changes))
    expect([result.status, result.body]).toEqual([
      200,
      expect.objectContaining({ id, ...changes, disabled_reason: 'manual', events: ['message.sent'] }),
    ])
    expect(trail).toEqual([entry('webhook.updated', id, changes)])
    await acme.emit()
    await acme.run()
    expect(receiver.got).toEqual([])
    const empty = await developer.ask('PATCH', `${path}/${id}`, {})
    expect([empty.status, empty.body.code]).toEqual([422, 'NO_FIELDS'])
  })

  test('A-303 removes an endpoint and its deliveries from the lists', async () => {
    const { id } = await failing()
    await deliver(id)
    const { result, trail } = await withEntries(() => developer.ask('DELETE', `${path}?id=${id}`))
    expect([result.status, result.body]).toEqual([200, { id, deleted: true }])
    expect(trail).toEqual([entry('webhook.removed', id, expect.objectContaining({ events: ['message.sent'] }))])
    expect((await developer.ask('GET', path)).body.data).toEqual([])
    expect((await developer.ask('GET', deliveriesPath)).body.data).toEqual([])
    expect((await developer.ask('DELETE', `${path}?id=${id}`)).status).toBe(404)
  })

  test('A-304 A-063 rotates the secret, and the old one stops signing at once', async () => {
    const { id, secret, receiver } = await acme.made()
    const { result, trail } = await withEntries(() => developer.ask('POST', `${path}/rotate`, { id }))
    expect([result.status, result.body]).toEqual([
      200,
      { id, secret: expect.stringMatching(/^whsec_/), secret_rotated_at: expect.stringMatching(/Z$/) },
    ])
    expect(result.body.secret).not.toBe(secret)
    expect(trail).toEqual([entry('webhook.rotated', id, { overlap_hours: 0 })])
    await developer.ask('POST', `${path}/${id}/test`)
    const [got] = receiver.got
    expect(got?.headers['x-service-signature']).toBe(hexHmac(result.body.secret, got?.text ?? ''))
    expect((await developer.ask('GET', path)).text).not.toContain(result.body.secret)
  })

  test('A-306 A-070 fires a test once, also when the endpoint does not subscribe to the event and fails', async () => {
    const { id, receiver } = await failing()
    const { result, trail } = await withEntries(() => developer.ask('POST', `${path}/${id}/test`))
    const { delivery_id } = result.body
    expect([result.status, result.body]).toEqual([
      200,
      {
        delivery_id: expect.stringMatching(/^whd_/),
        event: 'webhook.test',
        success: false,
        response_status: 500,
        response_body: 'down',
        duration_ms: expect.any(Number),
        error: null,
      },
    ])
    expect(trail).toEqual([entry('webhook.test_fired', id, { delivery_id, event: 'webhook.test', success: false })])
    await acme.run()
    expect(receiver.got.length).toBe(1)
    const named = await developer.ask('POST', `${path}/${id}/test`, { event: 'message.bounced' })
    expect([named.body.event, receiver.got[1]?.body.event]).toEqual(['message.bounced', 'message.bounced'])
    expect((await developer.ask('POST', `${path}/${id}/test`, { event: 'x' })).status).toBe(422)
  })

  test('A-306 shares the limit of 20 test fires a minute with the API', async () => {
    const { id } = await acme.made()
    for (let n = 0; n < 10; n++) {
      await acme.testFire(id)
      await developer.ask('POST', `${path}/${id}/test`)
    }
    const refused = await developer.ask('POST', `${path}/${id}/test`)
    expect([refused.status, refused.body]).toEqual([
      429,
      { error: expect.stringMatching(/20/), code: 'TEST_FIRE_RATE_LIMITED' },
    ])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  })
})

describe('deliveries', () => {
  test('A-048 lists the deliveries of all endpoints, newest first, by endpoint, status and event', async () => {
    const [one, two] = [await failing(), await acme.made()]
    const [failed, delivered] = await deliver(one.id, two.id)
    const shown = async (query: string) => (await developer.ask('GET', `${deliveriesPath}${query}`)).body.data
    const idsIn = async (query = '') => (await shown(query)).map(({ id }: { id: string }) => id)
    expect((await idsIn()).sort()).toEqual([failed, delivered].sort())
    expect(await shown(`?endpoint_id=${one.id}`)).toEqual((await acme.deliveries(one.id)).body.data)
    expect(await idsIn('?status=delivered')).toEqual([delivered])
    expect(await idsIn('?event=message.bounced')).toEqual([])
    expect(await idsIn(`?endpoint_id=${newId('webhookEndpoint')}`)).toEqual([])
    await acme.advance(1)
    const [newer] = await deliver(two.id)
    const first = await developer.ask('GET', `${deliveriesPath}?limit=1&endpoint_id=${two.id}`)
    expect(first.body).toMatchObject({ data: [{ id: newer }], has_more: true })
    const rest = await shown(`?limit=100&endpoint_id=${two.id}&cursor=${first.body.next_cursor}`)
    expect(rest.map(({ id }: { id: string }) => id)).toEqual([delivered])
    const all = await shown('?limit=100')
    expect(all.map(({ created_at }: { created_at: string }) => created_at)).toEqual(
      all
        .map(({ created_at }: { created_at: string }) => created_at)
        .toSorted()
        .toReversed(),
    )
    expect((await developer.ask('GET', `${deliveriesPath}?status=lost`)).status).toBe(422)
  })

  test('A-305 A-070 replays a delivery as a new one', async () => {
    const { id, receiver } = await acme.made({ events: ['message.sent'] })
    const [original] = await deliver(id)
    const { result, trail } = await withEntries(() => developer.ask('POST', `${deliveriesPath}/${original}/replay`))
    const { delivery_id } = result.body
    expect([result.status, result.body]).toEqual([
      202,
      { delivery_id: expect.stringMatching(/^whd_/), replay_of: original },
    ])
    expect(delivery_id).not.toBe(original)
    expect(trail).toEqual([entry('webhook.delivery_replayed', id, { delivery_id, replay_of: original })])
    await acme.run()
    expect(receiver.got.map(({ body }) => body.delivery_id)).toEqual([original, delivery_id])
    const { data } = (await developer.ask('GET', deliveriesPath)).body
    expect(data).toEqual([
      expect.objectContaining({ id: delivery_id, status: 'delivered', replay_of: original }),
      expect.objectContaining({ id: original, replayed_as: delivery_id }),
    ])
  })

  test('A-305 refuses a disabled endpoint, and the eleventh replay in a minute over both surfaces', async () => {
    const { id } = await acme.made({ events: ['message.sent'] })
    const [original = ''] = await deliver(id)
    const replay = () => developer.ask('POST', `${deliveriesPath}/${original}/replay`)
    await acme.patch(id, { enabled: false })
    const disabled = await replay()
    expect([disabled.status, disabled.body.code]).toEqual([409, 'ENDPOINT_DISABLED'])
    await acme.patch(id, { enabled: true })
    for (let n = 0; n < 5; n++) {
      expect((await acme.replay(id, original)).status).toBe(202)
      expect((await replay()).status).toBe(202)
    }
    const { result: refused, trail } = await withEntries(replay)
    expect([refused.status, refused.body.code]).toEqual([429, 'REPLAY_RATE_LIMITED'])
    expect(trail).toEqual([])
  })
})

test('A-030 an endpoint and a delivery of another org cannot be reached', async () => {
  const other = webhookClient(t, await t.org({ name: 'Other' }))
  const { id } = await other.made()
  const { delivery_id } = (await other.testFire(id)).body
  const endpoint = { table: 'webhook_endpoints', orgId: other.orgId, id, unknownId: newId('webhookEndpoint') }
  await expectOutOfReach(t, developer, endpoint, (whe) => [
    ['PATCH', `${path}/${whe}`, { enabled: false }],
    ['DELETE', `${path}?id=${whe}`],
    ['POST', `${path}/rotate`, { id: whe }],
    ['POST', `${path}/${whe}/test`],
  ])
  const unknownId = newId('webhookDelivery')
  const delivery = { table: 'webhook_deliveries', orgId: other.orgId, id: delivery_id, unknownId }
  await expectOutOfReach(t, developer, delivery, (whd) => [['POST', `${deliveriesPath}/${whd}/replay`]])
  expect((await developer.ask('GET', `${deliveriesPath}?endpoint_id=${id}`)).body.data).toEqual([])
})
