import { afterAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../test/audit/trail.ts'
import { startWebhookService, webhookClient } from '../../test/clients/webhook-client.ts'
import { iso } from '../../test/expect/instants.ts'
import { expectRefusal, watchTables } from '../../test/expect/refusal.ts'
import { hostileUrls } from '../../test/hostile/urls.ts'
import { startDns } from '../../test/servers/dns.ts'
import { startTestService, testMasterKey } from '../../test/service/service.ts'
import type { Plan } from '../customers/orgs/plans.ts'
import { eventNames } from '../journal/events/names.ts'
import { makeVault } from '../platform/ground/crypto.ts'
import { newId } from '../platform/ground/ids.ts'

const t = await startWebhookService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const org = await t.org()
const acme = webhookClient(t, org)
const { live, test: testKey } = org.keys
const url = 'http://127.0.0.1:59999/hook'
const createEndpoint = async (body: object = {}, key = live): Promise<string> =>
  (await acme.create({ url, ...body }, key)).body.id

describe('an endpoint', () => {
  const entry = (id: string, action: string, metadata: object) =>
    expect.objectContaining({
      action,
      resource_type: 'webhook',
      resource_id: id,
      actor_user_id: null,
      metadata,
    })

  test('A-149 XD-11 creating an endpoint returns it with its secret and writes an audit entry', async () => {
    const { result: reply, trail } = await withTrail(t.database, acme.orgId, () =>
      acme.create({ url, events: ['message.delivered', 'message.bounced', 'message.delivered'] }),
    )
    expect(reply.status).toBe(201)
    expect(reply.body).toEqual({
      id: expect.stringMatching(/^whe_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
      url,
      description: null,
      events: ['message.delivered', 'message.bounced'],
      enabled: true,
      disabled_reason: null,
      disabled_at: null,
      consecutive_failures: 0,
      tenant_id: null,
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9_-]{43}$/),
      created_at: iso,
      updated_at: reply.body.created_at,
      secret_rotated_at: null,
    })
    const { secret, ...shown } = reply.body
    const created = expect.objectContaining({ url, events: shown.events, enabled: true, via: 'api_key' })
    expect(trail).toEqual([entry(shown.id, 'webhook.created', created)])
    expect(JSON.stringify(trail)).not.toContain(secret)
    expect([(await acme.get(shown.id)).body, (await acme.list('?limit=1')).body.data]).toEqual([shown, [shown]])
  })

  test('A-150 XD-11 changing an endpoint returns it whole and writes an audit entry', async () => {
    const { secret, ...shown } = (await acme.create({ url, events: ['message.delivered', 'message.bounced'] })).body
    const { id } = shown
    const patched = await withTrail(t.database, acme.orgId, () =>
      acme.patch(id, { url: `${url}/2`, description: 'Second', events: ['*'], enabled: false }),
    )
    expect([patched.result.status, patched.result.body]).toEqual([
      200,
      {
        ...shown,
        url: `${url}/2`,
        description: 'Second',
        events: ['*'],
        enabled: false,
        disabled_reason: 'manual',
        disabled_at: iso,
        updated_at: iso,
      },
    ])
    const updated = expect.objectContaining({ enabled: false, events: ['*'], via: 'api_key' })
    expect(patched.trail).toEqual([entry(id, 'webhook.updated', updated)])
    expect((await acme.get(id)).body).toEqual(patched.result.body)
    expect((await acme.patch(id, { description: null })).body.description).toBe(null)
  })

  test('A-151 XD-11 a deleted endpoint is not found by any route, and deleting it writes an audit entry', async () => {
    const id = await createEndpoint({ url: `${url}/2` })
    const removed = await withTrail(t.database, acme.orgId, () => acme.remove(id))
    expect([removed.result.status, removed.result.body]).toEqual([200, { id, deleted: true }])
    expect(removed.trail).toEqual([entry(id, 'webhook.removed', expect.objectContaining({ url: `${url}/2` }))])
    for (const request of [
      () => acme.get(id),
      () => acme.patch(id, { enabled: true }),
      () => acme.remove(id),
      () => acme.rotate(id),
      () => acme.testFire(id),
      () => acme.deliveries(id),
      () => acme.replayFailed(id),
    ]) {
      expectRefusal(await leavesNoTrace(request), 'NOT_FOUND')
    }
    expect(await t.database.sql('select 1 from webhook_lanes where endpoint_id = $1', [id])).toEqual([])
  })

  test('XD-11 an endpoint is enabled and receives every event by default, and can be created disabled', async () => {
    const { body } = await acme.create({ url })
    expect(body).toMatchObject({ events: ['*'], enabled: true, description: null })
    const off = await acme.create({ url, enabled: false, events: [] })
    expect(off.body).toMatchObject({
      enabled: false,
      disabled_reason: 'manual',
      disabled_at: iso,
      events: [],
    })
    expect((await acme.patch(off.body.id, { enabled: false })).body.disabled_at).toBe(off.body.disabled_at)
  })

  test('XD-11 a secret is stored encrypted and can be decrypted only for its own endpoint', async () => {
    const { body } = await acme.create({ url })
    const [row] = await t.database.sql<{ secret: string }>('select secret from webhook_endpoints where id = $1', [
      body.id,
    ])
    const vault = makeVault(testMasterKey)
    expect(row?.secret).not.toContain(body.secret.slice(6))
    expect(vault.open(row?.secret ?? '', `webhook_endpoints/${body.id}`)).toBe(body.secret)
    expect(() => vault.open(row?.secret ?? '', `webhook_endpoints/${newId('webhookEndpoint')}`)).toThrow()
  })

  test('XD-11 invalid and unknown fields are refused on create and on change', async () => {
    const id = await createEndpoint()
    const cases: [body: unknown, path: (string | number)[], code: string][] = [
      [{ url: 7 }, ['url'], 'invalid_type'],
      [{ url: 'not a url' }, ['url'], 'custom'],
      [{ url: `${url}?${'x'.repeat(2_048)}` }, ['url'], 'too_big'],
      [{ url, events: 'message.sent' }, ['events'], 'invalid_type'],
      [{ url, events: ['message.sent', 'message.lost'] }, ['events', 1], 'invalid_enum'],
      [{ url, events: ['message.*'] }, ['events', 0], 'invalid_enum'],
      [{ url, description: 'd'.repeat(201) }, ['description'], 'too_big'],
      [{ url, enabled: 'yes' }, ['enabled'], 'invalid_type'],
      [{ url, enabled: null }, ['enabled'], 'invalid_type'],
      [{ url, secret: 'whsec_mine' }, ['secret'], 'unrecognized'],
      [{ url, event: ['message.sent'] }, ['event'], 'unrecognized'],
      [[], [], 'invalid_type'],
    ]
    await leavesNoTrace(async () => {
      for (const [body, path, code] of cases) {
        const errors = [{ path, code, message: expect.any(String) }]
        expectRefusal(await acme.create(body), 'VALIDATION_ERROR', { errors }, JSON.stringify(body))
        expectRefusal(await acme.patch(id, body), 'VALIDATION_ERROR', { errors }, JSON.stringify(body))
      }
      const missing = [{ path: ['url'], code: 'required', message: 'Required.' }]
      expectRefusal(await acme.create({}), 'VALIDATION_ERROR', { errors: missing })
      const moved = [{ path: ['tenant_id'], code: 'unrecognized', message: 'Unknown field.' }]
      expectRefusal(await acme.patch(id, { tenant_id: null }), 'VALIDATION_ERROR', { errors: moved })
      const unknown = [{ path: ['tenant_id'], code: 'custom', message: 'This tenant does not exist.' }]
      const named = await acme.create({ url, tenant_id: newId('tenant') })
      expectRefusal(named, 'VALIDATION_ERROR', { errors: unknown })
      const extra = [{ path: ['x'], code: 'unrecognized', message: 'Unknown field.' }]
      expectRefusal(await acme.testFire(id, { x: 1 }), 'VALIDATION_ERROR', { errors: extra })
      expectRefusal(await acme.replayFailed(id, { x: 1 }), 'VALIDATION_ERROR', { errors: extra })
    })
  })

  test('XD-11 endpoints are listed in pages, newest first', async () => {
    const org = await t.org({ name: 'Pages' })
    const pages = webhookClient(t, org)
    const ids: string[] = []
    for (let i = 0; i < 3; i++) ids.unshift((await pages.create({ url })).body.id)
    const one = await pages.list('?limit=2')
    const two = await pages.list(`?limit=2&cursor=${one.body.next_cursor}`)
    expect([...one.body.data, ...two.body.data].map(({ id }) => id)).toEqual(ids)
    expect([one.body.has_more, two.body.has_more, two.body.next_cursor]).toEqual([true, false, null])
  })

  test('XD-01 reading endpoints needs the scope read:webhooks, and changing them write:webhooks', async () => {
    const id = await createEndpoint()
    const reader = await t.key(acme.orgId, { scopes: ['read:webhooks'] })
    const writer = await t.key(acme.orgId, { scopes: ['write:webhooks'] })
    for (const request of [
      () => acme.create({ url }, reader),
      () => acme.patch(id, { enabled: true }, reader),
      () => acme.remove(id, reader),
      () => acme.rotate(id, reader),
      () => acme.testFire(id, undefined, reader),
      () => acme.replayFailed(id, undefined, reader),
      () => acme.replay(id, newId('webhookDelivery'), reader),
      () => acme.get(id, writer),
      () => acme.list('', writer),
      () => acme.deliveries(id, '', writer),
      () => acme.delivery(id, newId('webhookDelivery'), writer),
      () => t.ask('GET', '/api/v1/webhooks/events', { key: writer }),
    ]) {
      expectRefusal(await leavesNoTrace(request), 'INSUFFICIENT_SCOPE')
    }
  })
})

describe('the list of events', () => {
  test('XD-11 every event is listed with a sample', async () => {
    const events = await t.ask('GET', '/api/v1/webhooks/events', { key: live })
    expect(events.status).toBe(200)
    const names = events.body.data.map(({ event }: { event: string }) => event)
    expect(names).toEqual([...eventNames, 'webhook.test'])
    for (const { event, sample } of events.body.data) {
      expect(sample).toMatchObject({ event, tenant_id: null, delivery_id: 'whd_test' })
      const environment = /^(message|suppression|inbound|job)\./.test(event) ? 'test' : undefined
      expect(sample.environment, event).toBe(environment)
    }
    expect(events.body.data.find(({ event }: { event: string }) => event === 'message.bounced').sample.data).toEqual({
      message_id: 'msg_test',
      channel: 'email',
      status: 'bounced',
      reason: expect.any(String),
    })
  })

  test('X-128 XD-15 every sample has exactly the documented fields', async () => {
    const { body } = await t.ask('GET', '/api/v1/webhooks/events', { key: live })
    const fields = Object.fromEntries(
      body.data.map(({ event, sample }: { event: string; sample: { data: object } }) => [
        event,
        Object.keys(sample.data).join(' '),
      ]),
    )
    const registration = (more: string) => `id status ${more} provider_status reason`
    const campaign = registration('brand_id name kind use_case')
    const number = registration('kind e164 sender_id iso_country campaign_id')
    expect(fields).toEqual({
      'message.sent': 'message_id channel status',
      'message.delivered': 'message_id channel status',
      'message.bounced': 'message_id channel status reason',
      'message.failed': 'message_id channel status error',
      'message.complained': 'message_id channel status',
      'message.opened': 'message_id channel',
      'message.clicked': 'message_id channel url',
      'message.unsubscribed': 'channel recipient message_id source',
      'suppression.created': 'id channel value reason source inbound_sms_id created_at',
      'domain.verified': 'id domain status dkim_status region project_id verified_at',
      'domain.unverified': 'id domain status dkim_status region project_id unverified_at',
      'domain.removed': 'id domain status project_id removed_at',
      'domain.warmup_started': 'id domain status days daily_cap started_at ends_at',
      'brand.verified': registration('display_name'),
      'brand.unverified': registration('display_name'),
      'brand.removed': registration('display_name'),
      'campaign.verified': campaign,
      'campaign.unverified': campaign,
      'campaign.removed': campaign,
      'phone_number.verified': number,
      'phone_number.unverified': number,
      'phone_number.released': number,
      'inbound.email':
        'id status from to cc subject text html message_id in_reply_to attachments spam_verdict received_at',
      'inbound.sms': 'id status from to body media_url pool in_reply_to_message_id received_at',
      'job.started': 'id audience_id channel total status started_at',
      'job.completed': 'id audience_id channel total status sent delivered failed canceled suppressed completed_at',
      'job.canceled': 'id audience_id channel total status sent canceled canceled_at',
      'dlt.template_approved': 'id status name entity_id provider_template_id',
      'dlt.template_rejected': 'id status name entity_id reason',
      'usage.alert': 'channel period threshold kind used limit',
      'tenant.erased':
        'tenant_id external_ref messages_redacted message_events_deleted contacts_deleted inbound_deleted',
      'webhook.disabled': 'id status url reason consecutive_failures disabled_at',
      'webhook.test': 'id status message',
    })
  })
})

describe('the URL of an endpoint', () => {
  test('X-142 X-143 X-259 a hostile URL is refused on create and on change', async () => {
    const service = await startTestService()
    const org = await service.org()
    const strict = webhookClient(service, org)
    const noTrace = await watchTables(service.database)
    const fine = await strict.create({ url: 'https://8.8.8.8/hook' })
    expect(fine.status).toBe(201)
    await noTrace(async () => {
      for (const [hostile, reason] of hostileUrls) {
        for (const reply of [
          await strict.create({ url: hostile }),
          await strict.patch(fine.body.id, { url: hostile }),
        ]) {
          const code = URL.canParse(hostile) ? 'WEBHOOK_URL_NOT_ALLOWED' : 'VALIDATION_ERROR'
          expect([reply.status, reply.body.error.code], `${hostile}: ${reason}`).toEqual([422, code])
        }
      }
    })
    await service.stop()
  })

  test('Outside production, a URL that is refused for its plain HTTP or private host names the setting that allows it', async () => {
    const zone: Record<string, string[]> = {
      'private.example.com': ['10.0.0.1'],
      'metadata.example.com': ['10.0.0.1', '169.254.169.254'],
    }
    const dns = await startDns((name, type) => zone[name] && (type === 'A' ? zone[name] : []))
    const service = await startTestService({ env: { DNS_SERVERS: dns.server } })
    const strict = webhookClient(service, await service.org())
    const messageFor = async (tried: string) => {
      const reply = await strict.create({ url: tried })
      expect([reply.status, reply.body.error.code], tried).toEqual([422, 'WEBHOOK_URL_NOT_ALLOWED'])
      return reply.body.error.message
    }
    for (const tried of ['http://localhost:4000/hook', 'https://127.0.0.1:4000/', 'https://private.example.com/hook']) {
      expect(await messageFor(tried), tried).toBe(
        'This webhook URL is not allowed, because it uses plain HTTP or a private host. Set WEBHOOK_ALLOW_INSECURE=true and restart the service to allow it.',
      )
    }
    const plain = 'This webhook URL is not allowed. Use an HTTPS URL with a public host.'
    for (const tried of ['http://169.254.169.254/', 'https://metadata.example.com/hook', 'ftp://localhost/']) {
      expect(await messageFor(tried), tried).toBe(plain)
    }
    await service.stop()
    const production = await startTestService({ config: { production: true } })
    const refused = await webhookClient(production, await production.org()).create({ url: 'https://127.0.0.1:4000/' })
    expect([refused.status, refused.body.error.message]).toEqual([422, plain])
    await production.stop()
  })

  test('X-142 XD-13 the addresses that a URL resolves to are checked on create, on change and on each attempt', async () => {
    const zone: Record<string, string[]> = {
      'good.example.com': ['8.8.8.8'],
      'bad.example.com': ['10.0.0.1'],
      'mixed.example.com': ['8.8.8.8', '169.254.169.254'],
    }
    const dns = await startDns((name, type) => zone[name] && (type === 'A' ? zone[name] : []))
    const service = await startTestService({ env: { DNS_SERVERS: dns.server } })
    const strict = webhookClient(service, await service.org())
    const good = await strict.create({ url: 'https://good.example.com/hook' })
    expect(good.status).toBe(201)
    const message = expect.stringContaining('not allowed')
    for (const name of ['bad', 'mixed']) {
      const hostile = `https://${name}.example.com/hook`
      expectRefusal(await strict.create({ url: hostile }), 'WEBHOOK_URL_NOT_ALLOWED', { message })
      expectRefusal(await strict.patch(good.body.id, { url: hostile }), 'WEBHOOK_URL_NOT_ALLOWED', { message })
    }
    // A name that does not resolve yet is accepted.
    expect((await strict.create({ url: 'https://soon.example.com/hook', events: [] })).status).toBe(201)

    // Later the name resolves to loopback.
    zone['good.example.com'] = ['127.0.0.1']
    const fired = await strict.testFire(good.body.id)
    expect([fired.status, fired.body]).toMatchObject([
      200,
      { success: false, response_status: null, response_body: null, error: 'url_not_allowed' },
    ])
    await strict.emit()
    await strict.run()
    const { body } = await strict.deliveries(good.body.id, '?status=pending')
    expect(body.data[0].attempts).toMatchObject([{ attempt: 1, response_status: null, error: 'url_not_allowed' }])
    delete zone['good.example.com']
    expect((await strict.testFire(good.body.id)).body.error).toBe('dns')
    await service.stop()
    await dns.stop()
  })
})

describe('the secret of an endpoint', () => {
  test('X-138 A-152 XD-12 rotating returns the new secret once and writes an audit entry', async () => {
    const { body } = await acme.create({ url })
    const { result, trail } = await withTrail(t.database, acme.orgId, () => acme.rotate(body.id))
    expect([result.status, result.body]).toEqual([
      200,
      { id: body.id, secret: expect.stringMatching(/^whsec_[A-Za-z0-9]{43}$/), secret_rotated_at: iso },
    ])
    expect(result.body.secret).not.toBe(body.secret)
    expect(trail).toEqual([expect.objectContaining({ action: 'webhook.rotated', resource_id: body.id })])
    expect(JSON.stringify(trail)).not.toContain('whsec_')
    const shown = await acme.get(body.id)
    expect(shown.body.secret_rotated_at).toBe(result.body.secret_rotated_at)
    expect(shown.text).not.toContain('whsec_')
  })

  test('X-053 X-201 XD-10 a test key cannot rotate a secret, and changes only endpoints that a test key created', async () => {
    const [fromLive, fromTest] = [await createEndpoint(), await createEndpoint({}, testKey)]
    for (const request of [
      () => acme.rotate(fromLive, testKey),
      () => acme.rotate(fromTest, testKey),
      () => acme.patch(fromLive, { enabled: false }, testKey),
      () => acme.remove(fromLive, testKey),
    ]) {
      expectRefusal(await leavesNoTrace(request), 'ENVIRONMENT_ESCALATION')
    }
    expect((await acme.get(fromLive, testKey)).status).toBe(200)
    expect((await acme.testFire(fromLive, undefined, testKey)).status).toBe(200)
    expect((await acme.replayFailed(fromLive, undefined, testKey)).status).toBe(202)
    expect((await acme.patch(fromTest, { enabled: false }, testKey)).body.enabled).toBe(false)
    expect((await acme.rotate(fromTest)).status).toBe(200)
    expect((await acme.remove(fromTest, testKey)).status).toBe(200)
  })
})

describe('tenants', () => {
  test('X-141 XD-09 a tenant key creates, sees and changes only endpoints of its own tenant', async () => {
    const [own, other] = [await t.tenant(acme.orgId), await t.tenant(acme.orgId)]
    const key = await t.key(acme.orgId, { tenantId: own })
    const mine = await acme.create({ url }, key)
    expect([mine.status, mine.body.tenant_id]).toEqual([201, own])
    expect((await acme.create({ url, tenant_id: own }, key)).body.tenant_id).toBe(own)
    for (const tenant_id of [other, null, newId('tenant')]) {
      expectRefusal(await leavesNoTrace(() => acme.create({ url, tenant_id }, key)), 'TENANT_FORBIDDEN')
    }
    const ofOrg = await createEndpoint()
    const ofOther = await createEndpoint({ tenant_id: other })
    for (const id of [ofOrg, ofOther]) {
      for (const request of [() => acme.get(id, key), () => acme.deliveries(id, '', key)]) {
        expectRefusal(await request(), 'NOT_FOUND')
      }
      for (const request of [
        () => acme.patch(id, { enabled: false }, key),
        () => acme.remove(id, key),
        () => acme.rotate(id, key),
        () => acme.testFire(id, undefined, key),
        () => acme.replayFailed(id, undefined, key),
      ]) {
        expectRefusal(await leavesNoTrace(request), 'TENANT_FORBIDDEN')
      }
    }
    const listed = await acme.list('?limit=100', key)
    expect(new Set(listed.body.data.map((row: { tenant_id: string }) => row.tenant_id))).toEqual(new Set([own]))
    expect((await acme.rotate(mine.body.id, key)).status).toBe(200)
    expect((await acme.remove(mine.body.id, key)).status).toBe(200)
  })

  test('AD-107 erasing a tenant deletes its endpoints and its deliveries', async () => {
    const tenantId = await t.tenant(acme.orgId, { status: 'archived' })
    const ofTenant = await createEndpoint({ tenant_id: tenantId })
    const ofOrg = await acme.made({ events: ['message.opened'] })
    await acme.emit({ tenantId, event: 'message.opened' })
    await acme.emit({ event: 'message.opened' })
    await acme.run()
    expect((await acme.deliveries(ofOrg.id)).body.data).toHaveLength(2)
    expect((await t.ask('POST', `/api/v1/tenants/${tenantId}/erase`, { key: live })).status).toBe(200)
    expectRefusal(await acme.get(ofTenant), 'NOT_FOUND')
    const left = (await acme.deliveries(ofOrg.id)).body.data
    expect(left.map((row: { tenant_id: string }) => row.tenant_id)).toEqual([null])
  })
})

describe('the plan', () => {
  test.for([
    ['free', 3],
    ['payg', 10],
    ['pro', 25],
    ['enterprise', 250],
  ] as const)(
    'X-279 XD-25 the %s plan allows %i endpoints, and the next is refused with 402',
    async ([plan, limit]) => {
      const org = await t.org({ plan: plan as Plan, name: 'Acme' })
      const client = webhookClient(t, org)
      await t.database.sql(
        `insert into webhook_endpoints (org_id, id, url, events, enabled, secret, created_environment, created_at,
         updated_at)
       select $1, id, 'https://example.com', '{}', true, 'x', 'live', $3, $3 from unnest($2::text[]) as p (id)`,
        [org.org.id, Array.from({ length: limit - 1 }, () => newId('webhookEndpoint')), t.service.clock.now()],
      )
      const last = await client.create({ url })
      expect(last.status).toBe(201)
      const message = `The ${plan} plan allows ${limit} webhook endpoints.`
      expectRefusal(await leavesNoTrace(() => client.create({ url })), 'PLAN_RESOURCE_LIMIT', { message })
      await client.remove(last.body.id)
      const both = await Promise.all([client.create({ url }), client.create({ url })])
      expect(both.map(({ status }) => status).toSorted()).toEqual([201, 402])
    },
  )
})
