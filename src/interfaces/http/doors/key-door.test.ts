import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gatedProbe, scopeProbes, senderProbe } from '../../../../test/service/probes.ts'
import { type Reply, startTestService, type TestService } from '../../../../test/service/service.ts'
import type { CreatedOrg } from '../../../app/operator/create-org.ts'
import { mintKey } from '../../../customers/keys/key-secret.ts'
import { scopes } from '../../../customers/keys/scopes.ts'

let reached = 0
let t: TestService
let acme: CreatedOrg

beforeAll(async () => {
  t = await startTestService({
    routes: (modules) => [...scopeProbes(), gatedProbe(() => reached++), senderProbe(modules)],
  })
  acme = await t.org({ name: 'Acme' })
})
afterAll(() => t.stop())

const refusal = (reply: Reply) => [reply.status, reply.body?.error?.code]
const list = (key?: string, headers?: Record<string, string>) =>
  t.ask('GET', '/api/v1/suppressions', { ...(key !== undefined && { key }), ...(headers && { headers }) })

describe('authentication', () => {
  test('X-001 live and test keys are accepted', async () => {
    expect((await list(acme.keys.live)).status).toBe(200)
    expect((await list(acme.keys.test)).status).toBe(200)
    expect((await list(undefined, { authorization: `bearer  ${acme.keys.live} ` })).status).toBe(200)
  })

  test('X-002 S-002 X-174 without a valid key every route returns 401 UNAUTHORIZED', async () => {
    const { key } = mintKey('live')
    const flipped = acme.keys.live.slice(0, -1) + (acme.keys.live.endsWith('0') ? '1' : '0')
    const wrong: Record<string, string>[] = [
      {},
      { authorization: acme.keys.live },
      { authorization: `Basic ${acme.keys.live}` },
      { authorization: 'Bearer' },
      { authorization: 'Bearer ' },
      { authorization: `Bearer ${flipped}` },
      { authorization: `Bearer ${key}` },
      { authorization: `Bearer ${acme.keys.live} ${acme.keys.live}` },
    ]
    for (const headers of wrong) {
      const reply = await list(undefined, headers)
      expect(reply.status, JSON.stringify(headers)).toBe(401)
      expect(reply.body).toEqual({
        error: {
          type: 'authentication_error',
          message:
            'The API key is missing or invalid. Send a valid key in the Authorization header: "Authorization: Bearer <key>".',
          code: 'UNAUTHORIZED',
          request_id: reply.headers['x-request-id'],
        },
      })
    }
    for (const [n, { method, path }] of t.service.routes.entries()) {
      // From many addresses, because failed attempts are rate limited per address.
      const reply = await t.ask(method, `/api/v1${path}`, {
        headers: { 'x-forwarded-for': `203.0.113.${n % 250}` },
      })
      expect(refusal(reply), `${method} ${path}`).toEqual([401, 'UNAUTHORIZED'])
    }
  })

  test('a key with an invalid checksum is rejected without a database read', async () => {
    const before = await t.database.sql<{ n: string }>(
      "select coalesce(sum(idx_scan), 0) as n from pg_stat_user_indexes where indexrelname = 'api_keys_hash'",
    )
    for (let i = 0; i < 5; i++) await list(`svc_live_${'0'.repeat(38)}`)
    await t.database.sql('select pg_stat_clear_snapshot()')
    const after = await t.database.sql<{ n: string }>(
      "select coalesce(sum(idx_scan), 0) as n from pg_stat_user_indexes where indexrelname = 'api_keys_hash'",
    )
    expect(after).toEqual(before)
  })

  test('X-003 a revoked key is rejected in this process and in another one', async () => {
    const key = await t.key(acme.org.id)
    const second = await startTestService({ database: t.database })
    try {
      expect((await list(key)).status).toBe(200)
      expect((await second.ask('GET', '/api/v1/suppressions', { key })).status).toBe(200)
      await t.database.sql('update api_keys set revoked_at = created_at where prefix = $1 and last_four = $2', [
        key.slice(0, 13),
        key.slice(-4),
      ])
      // The database notifies both processes, which then drop their cached copy of the key.
      await expect.poll(async () => refusal(await list(key))).toEqual([401, 'UNAUTHORIZED'])
      await expect
        .poll(async () => refusal(await second.ask('GET', '/api/v1/suppressions', { key })))
        .toEqual([401, 'UNAUTHORIZED'])
    } finally {
      await second.stop()
    }
  })

  test('X-004 X-005 a key works until it expires, and a key without an expiry keeps working', async () => {
    const later = new Date(t.service.clock.millis() + 3_600_000)
    const key = await t.key(acme.org.id, { expiresAt: later })
    const lasting = await t.key(acme.org.id)
    expect((await list(key)).status).toBe(200)
    const advance = async (seconds: number) => {
      expect((await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } })).status).toBe(200)
    }
    await advance((later.getTime() - t.service.clock.millis()) / 1000 - 30)
    expect((await list(key)).status).toBe(200)
    await advance(30)
    expect(refusal(await list(key))).toEqual([401, 'UNAUTHORIZED'])
    await advance(10 * 365 * 86_400)
    expect((await list(lasting)).status).toBe(200)
  })

  test('X-007 X-175 each scope allows its own routes and no others', async () => {
    for (const scope of scopes) {
      const key = await t.key(acme.org.id, { scopes: [scope] })
      const path = (name: string) => `/api/v1/probe/${name.replace(':', '-')}`
      expect((await t.ask('GET', path(scope), { key })).status, scope).toBe(200)
      const other = scopes[(scopes.indexOf(scope) + 1) % scopes.length] as string
      expect(refusal(await t.ask('GET', path(other), { key })), scope).toEqual([403, 'INSUFFICIENT_SCOPE'])
    }
  })

  test('X-013 an API key is not accepted under /api/internal', async () => {
    const reply = await t.ask('GET', '/api/internal/api-keys', { key: acme.keys.live })
    expect([reply.status, reply.body]).toEqual([401, { error: 'Unauthorized' }])
  })

  test('X-014 a browser session is not accepted under /api/v1', async () => {
    const [owner] = await t.database.sql<{ owner_user_id: string }>('select owner_user_id from orgs where id = $1', [
      acme.org.id,
    ])
    const from = { method: 'credentials', ip: null, userAgent: 'test' }
    const token = await t.service.sessions.open(owner?.owner_user_id as string, from)
    const cookie = `service_session=${token}`
    expect((await t.ask('GET', '/api/internal/api-keys', { headers: { cookie } })).status).toBe(200)
    expect(refusal(await list(undefined, { cookie }))).toEqual([401, 'UNAUTHORIZED'])
  })

  test('the last use of a key is recorded at most once a minute', async () => {
    const key = await t.key(acme.org.id)
    const used = async () =>
      (
        await t.database.sql<{ last_used_at: Date }>(
          'select last_used_at from api_keys where last_four = $1 and prefix = $2',
          [key.slice(-4), key.slice(0, 13)],
        )
      )[0]?.last_used_at
    await list(key)
    await expect.poll(used).toBeInstanceOf(Date)
    const first = await used()
    await list(key)
    await list(key)
    expect(await used()).toEqual(first)
    await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 61 } })
    await list(key)
    await expect.poll(used).not.toEqual(first)
  })
})

describe('allowed IP addresses', () => {
  const from = (address: string, key: string) => list(key, { 'x-forwarded-for': address })

  test('X-008 X-176 a key with allowed ranges works only from addresses inside them', async () => {
    const key = await t.key(acme.org.id, {
      allowedCidrs: ['203.0.113.0/24', '2001:db8::/32', '198.51.100.7/32'],
    })
    for (const inside of ['203.0.113.1', '203.0.113.255', '2001:db8:ffff::1', '198.51.100.7', '::ffff:203.0.113.9']) {
      expect((await from(inside, key)).status, inside).toBe(200)
    }
    for (const outside of ['203.0.114.1', '198.51.100.8', '2001:db9::1', '127.0.0.1', 'unknown', '']) {
      expect(refusal(await from(outside, key)), outside).toEqual([403, 'IP_NOT_ALLOWED'])
    }
    expect(refusal(await list(key))).toEqual([403, 'IP_NOT_ALLOWED'])
  })

  test('X-009 the caller address is the X-Forwarded-For entry of the trusted proxy, not one that the client sent', async () => {
    const key = await t.key(acme.org.id, { allowedCidrs: ['203.0.113.0/24'] })
    expect((await from('10.0.0.1, 203.0.113.5', key)).status).toBe(200)
    expect((await from('10.0.0.1, 203.0.113.5:4711', key)).status).toBe(200)
    expect(refusal(await from('203.0.113.5, 10.0.0.1', key))).toEqual([403, 'IP_NOT_ALLOWED'])
  })

  test('X-009 TRUSTED_PROXY_HOPS selects the entry from the right, and 0 ignores the header', async () => {
    for (const [hops, header, seen] of [
      ['2', '1.1.1.1, 2.2.2.2, 3.3.3.3', '2.2.2.2'],
      ['2', '3.3.3.3', null],
      ['0', '203.0.113.5', '127.0.0.1'],
      ['1', undefined, '127.0.0.1'],
      ['1', '[2001:db8::1]:443', '2001:db8::1'],
    ] as const) {
      const other = await startTestService({
        database: t.database,
        env: { TRUSTED_PROXY_HOPS: hops },
        routes: scopeProbes,
      })
      const headers: Record<string, string> = header === undefined ? {} : { 'x-forwarded-for': header }
      const reply = await other.ask('GET', '/api/v1/probe/read-keys', { key: acme.keys.live, headers })
      await other.stop()
      expect(reply.body?.address, `${hops} ${header}`).toBe(seen)
    }
  })
})

describe('allowed domains of a key', () => {
  const domainIdOf = async (org: CreatedOrg) =>
    (await t.database.sql<{ id: string }>('select id from domains where org_id = $1', [org.org.id]))[0]?.id as string
  const send = (key: string, domain: string) =>
    t.ask('POST', '/api/v1/probe/sender', { key, body: { from_domain: domain } })

  test('X-010 X-186 a key can send only from its allowed domains', async () => {
    const domainId = await domainIdOf(acme)
    const key = await t.key(acme.org.id, { allowedDomainIds: [domainId] })
    expect((await send(key, 'Example.TEST')).body).toEqual({ from_domain: 'Example.TEST' })
    expect(refusal(await send(key, 'other.test'))).toEqual([403, 'DOMAIN_NOT_ALLOWED_FOR_KEY'])
    const elsewhere = await t.key(acme.org.id, { allowedDomainIds: ['dom_01m7ekszz4e8brbwp01pb7h1dp'] })
    expect(refusal(await send(elsewhere, 'example.test'))).toEqual([403, 'DOMAIN_NOT_ALLOWED_FOR_KEY'])
    expect((await send(acme.keys.live, 'example.test')).status).toBe(200)
    expect((await send(acme.keys.live, 'other.test')).status).toBe(200)
  })

  test("X-010 another org's domain id in the list does not allow any domain", async () => {
    const other = await t.org({ name: 'Elsewhere' })
    const key = await t.key(acme.org.id, { allowedDomainIds: [await domainIdOf(other)] })
    expect(refusal(await send(key, 'example.test'))).toEqual([403, 'DOMAIN_NOT_ALLOWED_FOR_KEY'])
  })
})

describe('suspended orgs', () => {
  test('X-012 X-187 every request of a suspended org is rejected, and its keys work again after the suspension', async () => {
    const org = await t.org({ name: 'Suspended' })
    const keys = [org.keys.live, org.keys.test, await t.key(org.org.id, { scopes: [] })]
    const requestAll = async () =>
      Promise.all(
        keys.flatMap((key) => [
          list(key),
          t.ask('POST', '/api/v1/suppressions', { key, body: {} }),
          t.ask('GET', '/api/v1/nowhere', { key }),
        ]),
      )
    await t.database.sql("update orgs set suspended_at = $2, suspension_reason = 'abuse' where id = $1", [
      org.org.id,
      new Date(),
    ])
    await expect.poll(async () => refusal(await list(org.keys.live))).toEqual([403, 'ORG_SUSPENDED'])
    for (const reply of await requestAll()) {
      expect(refusal(reply)).toEqual([403, 'ORG_SUSPENDED'])
      expect(reply.headers['x-ratelimit-limit']).toBe(undefined)
    }
    expect((await list(acme.keys.live)).status).toBe(200)
    await t.database.sql('update orgs set suspended_at = null where id = $1', [org.org.id])
    await expect.poll(async () => (await list(org.keys.live)).status).toBe(200)
    expect((await list(org.keys.test)).status).toBe(200)
  })
})

describe('order of the checks', () => {
  test('checks run in order, and a failed check prevents the effects of later ones', async () => {
    const org = await t.org({ name: 'Order' })
    const tenantId = await t.tenant(org.org.id, { status: 'suspended' })
    await t.tenant(org.org.id, { status: 'archived', ref: 'gone' })
    const [project] = await t.database.sql<{ id: string }>('select id from projects where org_id = $1', [org.org.id])
    // This key fails every check. Each step fixes the one that failed last.
    const id = await (async () => {
      await t.key(org.org.id, {
        environment: 'test',
        scopes: [],
        tenantId,
        projectId: project?.id as string,
        allowedCidrs: ['203.0.113.0/24'],
        ratePerMinute: 1,
        expiresAt: new Date(0),
      })
      const rows = await t.database.sql<{ id: string }>(
        'select id from api_keys where org_id = $1 order by created_at desc, id desc limit 1',
        [org.org.id],
      )
      return rows[0]?.id as string
    })()
    const { key, hash } = mintKey('test')
    const set = (change: string, ...values: unknown[]) =>
      t.database.sql(`update api_keys set ${change} where org_id = $1 and id = $2`, [org.org.id, id, ...values])
    await set('hash = $3', hash)
    await t.database.sql('update orgs set suspended_at = created_at where id = $1', [org.org.id])

    let request: { raw: string; headers: Record<string, string> } = {
      raw: `{"n": "${'x'.repeat(2_000)}"`,
      headers: { 'x-service-tenant-ref': ' ', 'idempotency-key': 'snowman ☃'.replace('☃', '\u00e9') },
    }
    const count = async () =>
      Number(
        (await t.database.sql<{ n: string }>('select count(*) as n from tenants where org_id = $1', [org.org.id]))[0]
          ?.n,
      )
    const idempotent = async () =>
      Number(
        (
          await t.database.sql<{ n: string }>('select count(*) as n from idempotency_keys where org_id = $1', [
            org.org.id,
          ])
        )[0]?.n,
      )
    const tenantsBefore = await count()
    reached = 0

    const steps: { gate: string; expected: [number, string]; fix: () => unknown }[] = [
      { gate: 'key', expected: [401, 'UNAUTHORIZED'], fix: () => set('expires_at = null') },
      {
        gate: 'org',
        expected: [403, 'ORG_SUSPENDED'],
        fix: () => t.database.sql('update orgs set suspended_at = null where id = $1', [org.org.id]),
      },
      { gate: 'address', expected: [403, 'IP_NOT_ALLOWED'], fix: () => set('allowed_cidrs = null') },
      {
        gate: 'rate',
        expected: [429, 'RATE_LIMITED'],
        fix: () => set('rate_limit_per_minute = null'),
      },
      {
        gate: 'tenant of the key',
        expected: [403, 'TENANT_SUSPENDED'],
        fix: () => t.database.sql("update tenants set status = 'active' where id = $1", [tenantId]),
      },
      {
        gate: 'tenant key with a reference',
        expected: [403, 'TENANT_KEY_FORBIDDEN'],
        fix: () => set('tenant_id = null'),
      },
      {
        gate: 'tenant reference',
        expected: [422, 'INVALID_TENANT_REF'],
        fix: () => {
          request = { ...request, headers: { ...request.headers, 'x-service-tenant-ref': 'gone' } }
        },
      },
      {
        gate: 'referenced tenant',
        expected: [409, 'TENANT_NOT_USABLE'],
        fix: () => {
          request = { ...request, headers: { ...request.headers, 'x-service-tenant-ref': 'brand new' } }
        },
      },
      { gate: 'scope', expected: [403, 'INSUFFICIENT_SCOPE'], fix: () => set("scopes = '{send:email}'") },
      { gate: 'project', expected: [403, 'PROJECT_SCOPED_KEY'], fix: () => set('project_id = null') },
      {
        gate: 'environment',
        expected: [403, 'ENVIRONMENT_ESCALATION'],
        fix: () => set("environment = 'live', scopes = scopes"),
      },
      {
        gate: 'size',
        expected: [413, 'PAYLOAD_TOO_LARGE'],
        fix: () => {
          request = { ...request, raw: '{"n": ' }
        },
      },
      {
        gate: 'JSON',
        expected: [422, 'VALIDATION_ERROR'],
        fix: () => {
          request = { ...request, raw: '{"n": "one"}' }
        },
      },
      {
        gate: 'schema',
        expected: [422, 'VALIDATION_ERROR'],
        fix: () => {
          request = { ...request, raw: '{"n": 1}' }
        },
      },
      {
        gate: 'idempotency key',
        expected: [422, 'VALIDATION_ERROR'],
        fix: () => {
          request = { ...request, headers: { ...request.headers, 'idempotency-key': 'good' } }
        },
      },
    ]
    for (const { gate, expected, fix } of steps) {
      const ask = () => t.ask('POST', '/api/v1/probe/gated', { key, raw: request.raw, headers: request.headers })
      // The key allows one request per minute. This one uses it up.
      if (gate === 'rate') await ask()
      await expect.poll(async () => refusal(await ask()), { message: gate }).toEqual(expected)
      expect([reached, await count(), await idempotent()], gate).toEqual([0, tenantsBefore, 0])
      await fix()
    }
    const passed = await t.ask('POST', '/api/v1/probe/gated', {
      key,
      raw: request.raw,
      headers: request.headers,
    })
    expect([passed.status, passed.body]).toEqual([200, { n: 1 }])
    expect([reached, await count(), await idempotent()]).toEqual([1, tenantsBefore + 1, 1])
  })

  test('a route checks the scope before it rejects tenant-bound keys', async () => {
    const tenantId = await t.tenant(acme.org.id)
    const ask = (key: string) => t.ask('POST', '/api/v1/probe/gated', { key, body: { n: 1 } })
    expect(refusal(await ask(await t.key(acme.org.id, { tenantId, scopes: [] })))).toEqual([403, 'INSUFFICIENT_SCOPE'])
    expect(refusal(await ask(await t.key(acme.org.id, { tenantId })))).toEqual([403, 'TENANT_KEY_FORBIDDEN'])
  })
})

describe('paths', () => {
  test('S-001 X-361 /v1 serves the same routes as /api/v1', async () => {
    const [one, two] = [await list(acme.keys.live), await t.ask('GET', '/v1/suppressions', { key: acme.keys.live })]
    expect(two.status).toBe(200)
    expect(two.body).toEqual(one.body)
    expect(two.headers['content-type']).toBe('application/json; charset=utf-8')
    for (const path of ['/api/v2/suppressions', '/v2/suppressions', '/suppressions', '/v1x/suppressions']) {
      expect((await t.ask('GET', path, { key: acme.keys.live })).status, path).toBe(404)
    }
  })

  test('an unknown path returns 404 with a valid key and 401 without one', async () => {
    for (const path of [
      '/api/v1',
      '/api/v1/',
      '/api/v1/nowhere',
      '/api/v1/suppressions//',
      '/api/v1/Suppressions',
      '/api/v1/%',
      '/api/v1/%ff',
      `/api/v1/${'x'.repeat(3_000)}`,
    ]) {
      expect(refusal(await t.ask('GET', path, { key: acme.keys.live })), path).toEqual([404, 'NOT_FOUND'])
      expect(refusal(await t.ask('GET', path)), path).toEqual([401, 'UNAUTHORIZED'])
    }
  })

  test('an unsupported method returns 405 and Allow with a valid key, and 401 without one', async () => {
    const reply = await t.ask('PUT', '/api/v1/suppressions', { key: acme.keys.live, raw: 'not read' })
    expect(refusal(reply)).toEqual([405, 'METHOD_NOT_ALLOWED'])
    expect(reply.headers.allow).toBe('DELETE, GET, HEAD, POST')
    expect(reply.body.error.type).toBe('validation_error')
    expect(refusal(await t.ask('PUT', '/api/v1/suppressions'))).toEqual([401, 'UNAUTHORIZED'])
    const one = await t.ask('POST', '/api/v1/suppressions/sup_x', { key: acme.keys.live })
    expect([one.status, one.headers.allow]).toEqual([405, 'DELETE, GET, HEAD'])
  })

  test('HEAD returns the response of GET without a body', async () => {
    const reply = await t.ask('HEAD', '/api/v1/suppressions', { key: acme.keys.live })
    expect([reply.status, reply.text]).toEqual([200, ''])
  })
})
