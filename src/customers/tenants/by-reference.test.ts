/** Platform keys that select a tenant with X-Service-Tenant-Ref. The tenant is created on first use. */
import { afterAll, expect, test } from 'vitest'
import { keyClient, keyIdOf } from '../../../test/clients/key-client.ts'
import { requestsToEveryRoute } from '../../../test/expect/every-route.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { beginOtherTransaction } from '../../../test/service/other-transaction.ts'
import { gatedProbe, scopeProbes } from '../../../test/service/probes.ts'
import { type Reply, startTestService, type TestService } from '../../../test/service/service.ts'
import { codesOf } from '../../interfaces/http/openapi/refusals.ts'
import type { Code } from '../../platform/ground/errors.ts'

const t = await startTestService({ routes: () => [...scopeProbes(), gatedProbe(() => undefined)] })
afterAll(() => t.stop())

const acme = await t.org()
const { live, test: testKey } = acme.keys
const keys = await keyClient(t, acme)
const leavesNoTrace = await watchTables(t.database)

const suppressions = '/api/v1/suppressions'
const probe = '/api/v1/probe/read-messages'
let addresses = 0
const suppress = (key: string, headers: Record<string, string> = {}) =>
  t.ask('POST', suppressions, {
    key,
    headers,
    body: { channel: 'email', value: `a${++addresses}@example.com` },
  })
const asBytes = (ref: string): Record<string, string> => ({
  'x-service-tenant-ref': Buffer.from(ref).toString('latin1'),
})
const withRef = (ref: string, key = live, service: TestService = t) =>
  service.ask('GET', probe, { key, headers: asBytes(ref) })
const tenantsOf = (orgId: string) =>
  t.database.sql<{ id: string; external_ref: string; status: string }>(
    'select id, slug, name, external_ref, status, created_environment from tenants where org_id = $1 order by id',
    [orgId],
  )
const creations = (orgId: string) =>
  t.database.sql(
    `select actor_user_id, resource_type, resource_id, metadata, ip_address, user_agent from audit_entries
     where org_id = $1 and action = 'tenant.created'`,
    [orgId],
  )

test('X-038 a reference limits a platform key to that tenant, for that request only', async () => {
  const id = await t.tenant(acme.org.id, { ref: 'inside' })
  const headers = { 'x-service-tenant-ref': 'inside' }
  const inside = await suppress(live, headers)
  const outside = await suppress(live)
  expect([inside.body.tenant_id, outside.body.tenant_id]).toEqual([id, null])
  const listed = await t.ask('GET', suppressions, { key: live, headers })
  expect(listed.body.data).toEqual([inside.body])
  expect((await t.ask('GET', `${suppressions}/${outside.body.id}`, { key: live, headers })).status).toBe(404)
  const refused = await leavesNoTrace(() =>
    t.ask('DELETE', `${suppressions}/${outside.body.id}`, { key: live, headers }),
  )
  expectRefusal(refused, 'TENANT_FORBIDDEN')
  expect((await withRef('inside')).body.tenant_id).toBe(id)
  expect((await t.ask('GET', probe, { key: live })).body.tenant_id).toBe(null)
  expect((await t.ask('GET', `${suppressions}/${outside.body.id}`, { key: live })).status).toBe(200)
})

test('X-038 XD-09 a request with a reference cannot use the routes of other tenants', async () => {
  const id = await t.tenant(acme.org.id, { ref: 'limited' })
  const other = await t.tenant(acme.org.id)
  const foreign = await t.tenant((await t.org({ name: 'Foreign' })).org.id)
  const request = (method: string, tenant: string, rest = '', body?: unknown) =>
    t.ask(method, `/api/v1/tenants/${tenant}${rest}`, { key: live, headers: asBytes('limited'), body })
  const calls: [method: string, rest: string, body?: unknown][] = [
    ['GET', ''],
    ['GET', '/usage'],
    ['PATCH', '', { name: 'x' }],
    ['PATCH', '/quota', { sms_monthly: 1 }],
    ...['/suspend', '/unsuspend', '/restore', '/erase'].map((rest): [string, string] => ['POST', rest]),
    ['DELETE', ''],
  ]
  for (const [method, rest, body] of calls) {
    await leavesNoTrace(async () => {
      expectRefusal(await request(method, other, rest, body), 'TENANT_FORBIDDEN', {}, `${method} ${rest}`)
      expectRefusal(await request(method, foreign, rest, body), 'NOT_FOUND', {}, `${method} ${rest}`)
    })
  }
  expect((await request('GET', id)).body.id).toBe(id)
  expect((await request('PATCH', id, '/quota', { sms_monthly: 5 })).body.sms_monthly).toBe(5)
  expect((await request('POST', id, '/suspend')).body.status).toBe('suspended')
})

test('X-039 A-265 an unknown reference creates a tenant, and the request continues in it', async () => {
  const org = await t.org({ name: 'Provisions' })
  const headers = { ...asBytes('  Customer #42 '), 'user-agent': 'app/2', 'x-forwarded-for': '203.0.113.9' }
  const reply = await t.ask('POST', suppressions, {
    key: org.keys.live,
    headers,
    body: { channel: 'email', value: 'first@example.com' },
  })
  const [tenant, ...more] = await tenantsOf(org.org.id)
  expect(more).toEqual([])
  expect(tenant).toEqual({
    id: expect.stringMatching(/^ten_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
    slug: 'customer-42',
    name: 'Customer #42',
    external_ref: 'customer #42',
    status: 'active',
    created_environment: 'live',
  })
  expect([reply.status, reply.body.tenant_id]).toEqual([201, tenant?.id])
  expect(await creations(org.org.id)).toEqual([
    {
      actor_user_id: null,
      resource_type: 'tenant',
      resource_id: tenant?.id,
      metadata: {
        name: 'Customer #42',
        slug: 'customer-42',
        external_ref: 'customer #42',
        via: 'api_key',
        api_key_id: await keyIdOf(t, org.keys.live),
      },
      ip_address: '203.0.113.9',
      user_agent: 'app/2',
    },
  ])
})

test('X-040 a known reference finds its tenant whatever the case and surrounding space', async () => {
  const org = await t.org({ name: 'Finds' })
  const { body } = await withRef('Ünïcode-Ref', org.keys.live)
  const spellings = ['Ünïcode-Ref', ' ünïcode-ref', 'ÜNÏCODE-REF\t', '\u3000ünïcode-ref\u00a0']
  for (const key of [org.keys.live, org.keys.test]) {
    for (const ref of spellings) expect((await withRef(ref, key)).body.tenant_id, ref).toBe(body.tenant_id)
  }
  expect(await tenantsOf(org.org.id)).toHaveLength(1)
  expect(await creations(org.org.id)).toHaveLength(1)
  expect((await withRef('unicode-ref', org.keys.live)).body.tenant_id).not.toBe(body.tenant_id)
})

test('X-041 X-208 X-358 a reference must have 1 to 200 characters after trimming', async () => {
  const org = await t.org({ name: 'Lengths' })
  const key = org.keys.live
  await leavesNoTrace(async () => {
    for (const ref of ['', ' ', '\u3000\u00a0', 'x'.repeat(201), 'é'.repeat(201), '🦊'.repeat(201)]) {
      for (const request of requestsToEveryRoute(t, key, asBytes(ref))) {
        expectRefusal(await request(), 'INVALID_TENANT_REF', {}, `${ref.length}`)
      }
    }
  })
  for (const ref of ['x'.repeat(200), ` ${'y'.repeat(200)} `, 'é'.repeat(200), '🦊'.repeat(200), 'z']) {
    const { status, body } = await withRef(ref, key)
    expect(status, ref).toBe(200)
    const [row] = await t.database.sql('select external_ref, name from tenants where id = $1', [body.tenant_id])
    expect(row).toEqual({ external_ref: ref.trim(), name: ref.trim() })
  }
})

test('X-039 X-041 a reference that is not valid UTF-8 is read as Latin-1', async () => {
  const org = await t.org({ name: 'Bytes' })
  const reply = await t.ask('GET', probe, {
    key: org.keys.live,
    headers: { 'x-service-tenant-ref': 'caf\u00e9' },
  })
  expect(reply.status).toBe(200)
  expect((await tenantsOf(org.org.id)).map((row) => row.external_ref)).toEqual(['café'])
  expect((await withRef('café', org.keys.live)).body.tenant_id).toBe(reply.body.tenant_id)
  // The replacement character is itself a valid reference.
  const odd = await withRef('\ufffd', org.keys.live)
  const [row] = await t.database.sql('select external_ref from tenants where id = $1', [odd.body.tenant_id])
  expect(row).toEqual({ external_ref: '\ufffd' })
})

test('X-039 X-040 50 concurrent first uses of a reference in two processes create one tenant and one audit entry', async () => {
  const org = await t.org({ name: 'Herd' })
  const second = await startTestService({ database: t.database, routes: scopeProbes })
  try {
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, i) => withRef('At Once', org.keys.live, i % 2 ? t : second)),
    )
    const [tenant, ...more] = await tenantsOf(org.org.id)
    expect(more).toEqual([])
    expect(new Set(replies.map(({ status, body }) => `${status} ${body.tenant_id}`))).toEqual(
      new Set([`200 ${tenant?.id}`]),
    )
    expect(await creations(org.org.id)).toHaveLength(1)
  } finally {
    await second.stop()
  }
})

test('X-040 a reference that an existing tenant gets during its first use selects that tenant', async () => {
  const org = await t.org({ name: 'Given' })
  const id = await t.tenant(org.org.id)
  const other = await beginOtherTransaction(t.database)
  await other.sql("update tenants set external_ref = 'given' where id = $1", [id])
  const reply = withRef('given', org.keys.live)
  await other.untilWaitedFor()
  await other.commit()
  expect([(await reply).status, (await reply).body.tenant_id]).toEqual([200, id])
  expect(await tenantsOf(org.org.id)).toHaveLength(1)
  expect(await creations(org.org.id)).toEqual([])
})

test('X-039 X-279 at the plan limit an unknown reference is refused, and known ones still work', async () => {
  for (const route of t.service.routes) expect(codesOf(route)).toContain('PLAN_RESOURCE_LIMIT')
  const org = await t.org({ name: 'Limits', plan: 'free' })
  const key = org.keys.live
  await t.tenant(org.org.id, { status: 'archived' })
  await t.tenant(org.org.id, { status: 'erased' })
  await t.tenant(org.org.id, { status: 'suspended' })
  const ids = [(await withRef('one', key)).body.tenant_id, (await withRef('two', key)).body.tenant_id]
  const message = 'The free plan allows 3 tenants.'
  for (const request of [() => withRef('three', key), () => withRef('three', org.keys.test)]) {
    expectRefusal(await leavesNoTrace(request), 'PLAN_RESOURCE_LIMIT', { message })
  }
  expect((await withRef('ONE', key)).body.tenant_id).toBe(ids[0])
  await t.ask('DELETE', `/api/v1/tenants/${ids[1]}`, { key })
  expect((await withRef('three', key)).status).toBe(200)
  expectRefusal(await leavesNoTrace(() => withRef('four', key)), 'PLAN_RESOURCE_LIMIT', { message })
})

test('X-039 X-279 concurrent new references create exactly as many tenants as the plan allows', async () => {
  const org = await t.org({ name: 'Concurrent', plan: 'free' })
  const replies = await Promise.all(Array.from({ length: 12 }, (_, i) => withRef(`new ${i}`, org.keys.live)))
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(3)
  expect(replies.filter(({ status }) => status === 402)).toHaveLength(9)
  expect(await tenantsOf(org.org.id)).toHaveLength(3)
  expect(await creations(org.org.id)).toHaveLength(3)
})

test('X-039 XD-03 a request that is refused does not create a tenant', async () => {
  const headers = asBytes('not created')
  const { projectId } = keys
  const spent = await t.key(acme.org.id, { ratePerMinute: 1 })
  await t.ask('GET', probe, { key: spent })
  const requests: [Code, () => Promise<Reply>][] = [
    ['UNAUTHORIZED', () => t.ask('GET', probe, { headers })],
    [
      'IP_NOT_ALLOWED',
      async () => t.ask('GET', probe, { key: await t.key(acme.org.id, { allowedCidrs: ['10.0.0.0/8'] }), headers }),
    ],
    ['RATE_LIMITED', () => t.ask('GET', probe, { key: spent, headers })],
    [
      'INSUFFICIENT_SCOPE',
      async () => t.ask('GET', probe, { key: await t.key(acme.org.id, { scopes: ['send:sms'] }), headers }),
    ],
    [
      'PROJECT_SCOPED_KEY',
      async () =>
        t.ask('POST', '/api/v1/projects', {
          key: await t.key(acme.org.id, { projectId }),
          headers,
          body: { name: 'x' },
        }),
    ],
    ['ENVIRONMENT_ESCALATION', () => t.ask('POST', '/api/v1/probe/gated', { key: testKey, headers, body: { n: 1 } })],
    ['NOT_FOUND', () => t.ask('GET', '/api/v1/nowhere', { key: live, headers })],
    ['METHOD_NOT_ALLOWED', () => t.ask('PUT', suppressions, { key: live, headers })],
    [
      'UNSUPPORTED_MEDIA_TYPE',
      () =>
        t.ask('POST', suppressions, {
          key: live,
          headers: { ...headers, 'content-type': 'text/plain' },
          raw: 'x',
        }),
    ],
    ['NOT_FOUND', () => t.ask('GET', `${suppressions}/sup_x`, { key: live, headers })],
    ['INVALID_CURSOR', () => t.ask('GET', `${suppressions}?cursor=x`, { key: live, headers })],
  ]
  const invalid: (() => Promise<Reply>)[] = [
    () => t.ask('POST', suppressions, { key: live, headers, raw: '{"channel": ' }),
    () => t.ask('POST', suppressions, { key: live, headers, body: { channel: 'fax' } }),
    () => t.ask('GET', `${suppressions}?limit=0`, { key: live, headers }),
    () =>
      t.ask('POST', suppressions, {
        key: live,
        headers: { ...headers, 'idempotency-key': 'é' },
        body: { channel: 'email', value: 'a@b.test' },
      }),
  ]
  const before = await tenantsOf(acme.org.id)
  for (const [code, request] of requests) expectRefusal(await request(), code)
  const large = { key: live, headers, raw: JSON.stringify({ n: 'x'.repeat(2_000) }) }
  expectRefusal(await t.ask('POST', '/api/v1/probe/gated', large), 'PAYLOAD_TOO_LARGE', {
    message: 'The request body exceeds 1 KB. Send a smaller body.',
  })
  for (const request of invalid) expect((await request()).body.error.code).toBe('VALIDATION_ERROR')
  expect(await tenantsOf(acme.org.id)).toEqual(before)
  expect((await withRef('not created')).status).toBe(200)
  expect(await tenantsOf(acme.org.id)).toHaveLength(before.length + 1)
})

test.for(['suspended', 'archived'] as const)(
  'X-046 X-184 a reference to a tenant that is %s is refused by every route, and does not create another tenant',
  async (status) => {
    const id = await t.tenant(acme.org.id, { status, ref: `idle-${status}` })
    await leavesNoTrace(async () => {
      for (const key of [live, testKey]) {
        for (const request of requestsToEveryRoute(t, key, asBytes(` IDLE-${status}`)))
          expectRefusal(await request(), 'TENANT_NOT_USABLE')
      }
    })
    const found = (await tenantsOf(acme.org.id)).filter((row) => row.external_ref === `idle-${status}`)
    expect(found).toMatchObject([{ id, status }])
  },
)

test('X-046 suspending and unsuspending a tenant takes effect with the next request that uses its reference', async () => {
  const org = await t.org({ name: 'Turns' })
  const { tenant_id: id } = (await withRef('turns', org.keys.live)).body
  await t.ask('POST', `/api/v1/tenants/${id}/suspend`, { key: org.keys.live })
  expectRefusal(await leavesNoTrace(() => withRef('turns', org.keys.live)), 'TENANT_NOT_USABLE')
  await t.ask('POST', `/api/v1/tenants/${id}/unsuspend`, { key: org.keys.live })
  expect((await withRef('turns', org.keys.live)).body.tenant_id).toBe(id)
})

test('X-039 the reference of an erased tenant creates a new tenant', async () => {
  const org = await t.org({ name: 'Freed' })
  const { tenant_id: id } = (await withRef('freed', org.keys.live)).body
  await t.ask('DELETE', `/api/v1/tenants/${id}`, { key: org.keys.live })
  await t.ask('POST', `/api/v1/tenants/${id}/erase`, { key: org.keys.live })
  const again = await withRef('freed', org.keys.live)
  expect(again.status).toBe(200)
  expect(again.body.tenant_id).not.toBe(id)
})

test('X-040 the same reference in two orgs selects two tenants', async () => {
  const [one, two] = [await t.org({ name: 'One' }), await t.org({ name: 'Two' })]
  const first = await withRef('shared name', one.keys.live)
  const second = await withRef('shared name', two.keys.live)
  expect([first.status, second.status]).toEqual([200, 200])
  expect(first.body.tenant_id).not.toBe(second.body.tenant_id)
  expect([first.body.org_id, second.body.org_id]).toEqual([one.org.id, two.org.id])
})
