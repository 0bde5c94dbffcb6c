/** Keys bound to one tenant: what they can reach, and when they are refused. */
import { afterAll, expect, test } from 'vitest'
import { keyClient } from '../../../test/clients/key-client.ts'
import { requestsToEveryRoute } from '../../../test/expect/every-route.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { scopeProbes } from '../../../test/service/probes.ts'
import { startTestService } from '../../../test/service/service.ts'
import type { Code } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'

const t = await startTestService({ routes: scopeProbes })
afterAll(() => t.stop())

const acme = await t.org()
const { live } = acme.keys
const keys = await keyClient(t, acme)
const leavesNoTrace = await watchTables(t.database)

const suppressions = '/api/v1/suppressions'
const probe = '/api/v1/probe/read-messages'
let addresses = 0
const suppress = (key: string) =>
  t.ask('POST', suppressions, { key, body: { channel: 'email', value: `a${++addresses}@example.com` } })

test('X-036 a tenant key creates and lists rows of its own tenant only', async () => {
  const [own, sibling] = [await t.tenant(acme.org.id), await t.tenant(acme.org.id)]
  const [key, siblingKey] = [
    await t.key(acme.org.id, { tenantId: own }),
    await t.key(acme.org.id, { tenantId: sibling }),
  ]
  const [mine] = [await suppress(key), await suppress(siblingKey), await suppress(live)]
  expect([mine.status, mine.body.tenant_id]).toEqual([201, own])
  const stored = await t.database.sql('select tenant_id from suppressions where id = $1', [mine.body.id])
  expect(stored).toEqual([{ tenant_id: own }])
  expect((await t.ask('GET', suppressions, { key })).body.data).toEqual([mine.body])
  const created = await keys.create({ name: 'theirs' }, key)
  expect([created.status, created.body.tenant_id]).toEqual([201, own])
  expect((await t.ask('GET', probe, { key: created.body.key })).body.tenant_id).toBe(own)
  const { data } = (await t.ask('GET', '/api/v1/tenants', { key })).body
  expect(data.map((row: { id: string }) => row.id)).toEqual([own])
  expect((await t.ask('GET', '/api/v1/usage', { key })).body).toMatchObject({ tenant_id: own, spend: null })
})

test('X-037 X-177 a tenant key cannot read or change rows of another tenant or of the org', async () => {
  const [own, sibling] = [await t.tenant(acme.org.id), await t.tenant(acme.org.id)]
  const key = await t.key(acme.org.id, { tenantId: own })
  const theirs = (await suppress(await t.key(acme.org.id, { tenantId: sibling }))).body.id
  const orgs = (await suppress(live)).body.id
  const theirKey = (await keys.held({ tenantId: sibling })).id
  const request = (method: string, path: string, body?: unknown) =>
    leavesNoTrace(() => t.ask(method, `/api/v1${path}`, { key, body }))
  for (const id of [theirs, orgs]) {
    expectRefusal(await request('DELETE', `/suppressions/${id}`), 'TENANT_FORBIDDEN')
    expectRefusal(await request('DELETE', '/suppressions', { id }), 'TENANT_FORBIDDEN')
    expectRefusal(await request('GET', `/suppressions/${id}`), 'NOT_FOUND')
  }
  expectRefusal(await request('PATCH', `/keys/${theirKey}`, { name: 'x' }), 'TENANT_FORBIDDEN')
  expectRefusal(await request('DELETE', `/keys/${theirKey}`), 'TENANT_FORBIDDEN')
  expectRefusal(await request('GET', `/keys/${theirKey}`), 'NOT_FOUND')
  expectRefusal(await request('POST', '/keys', { tenant_id: sibling }), 'TENANT_FORBIDDEN')
  expectRefusal(await request('GET', `/keys?tenant_id=${sibling}`), 'TENANT_FORBIDDEN')
  expectRefusal(await request('GET', `/tenants/${sibling}`), 'TENANT_FORBIDDEN')
  expectRefusal(await request('GET', `/tenants/${sibling}/usage`), 'TENANT_FORBIDDEN')
  expect((await request('GET', `/tenants/${own}`)).body.id).toBe(own)
})

test('X-042 X-180 a tenant key that sends a tenant reference is refused by every route, even for its own tenant', async () => {
  const own = await t.tenant(acme.org.id, { ref: 'own-ref' })
  const key = await t.key(acme.org.id, { tenantId: own })
  await leavesNoTrace(async () => {
    for (const ref of ['own-ref', 'unknown', '', ' ', 'x'.repeat(201)]) {
      for (const request of requestsToEveryRoute(t, key, { 'x-service-tenant-ref': ref })) {
        expectRefusal(await request(), 'TENANT_KEY_FORBIDDEN', {}, ref)
      }
    }
  })
})

test('X-043 X-180 a tenant key cannot change the state, quota or name of any tenant, not even its own', async () => {
  const [own, sibling] = [await t.tenant(acme.org.id), await t.tenant(acme.org.id)]
  const key = await t.key(acme.org.id, { tenantId: own })
  await leavesNoTrace(async () => {
    for (const id of [own, sibling, newId('tenant'), 'ten_x']) {
      const request = (method: string, rest = '', body?: unknown) =>
        t.ask(method, `/api/v1/tenants/${id}${rest}`, { key, body })
      for (const move of ['suspend', 'unsuspend', 'restore', 'erase']) {
        expectRefusal(await request('POST', `/${move}`), 'TENANT_KEY_FORBIDDEN', {}, move)
      }
      expectRefusal(await request('PATCH', '/quota', { email_monthly: 1 }), 'TENANT_KEY_FORBIDDEN')
      expectRefusal(await request('PATCH', '', { name: 'x' }), 'TENANT_KEY_FORBIDDEN')
    }
  })
})

test('X-044 X-178 X-179 a tenant key that creates or deletes a tenant gets the codes of those routes', async () => {
  const [own, sibling] = [await t.tenant(acme.org.id), await t.tenant(acme.org.id)]
  const key = await t.key(acme.org.id, { tenantId: own })
  await leavesNoTrace(async () => {
    for (const id of [own, sibling, newId('tenant'), 'ten_x']) {
      expectRefusal(await t.ask('DELETE', `/api/v1/tenants/${id}`, { key }), 'TENANT_KEY_CANNOT_DELETE')
    }
    const created = await t.ask('POST', '/api/v1/tenants', { key, body: { name: 'New' } })
    expectRefusal(created, 'TENANT_KEY_CANNOT_CREATE_TENANTS')
  })
})

test.for([
  ['X-045 X-181', 'suspended', 'TENANT_SUSPENDED'],
  ['X-045 X-182', 'archived', 'TENANT_ARCHIVED'],
  ['X-045 X-183', 'erased', 'TENANT_NOT_FOUND'],
  ['X-045 X-183', 'missing', 'TENANT_NOT_FOUND'],
] as const)(
  '%s a tenant key is refused by every route and unknown path while its tenant is %s',
  async ([, status, code]) => {
    const tenantId = status === 'missing' ? newId('tenant') : await t.tenant(acme.org.id, { status })
    for (const environment of ['live', 'test'] as const) {
      const key = await t.key(acme.org.id, { tenantId, environment })
      const withoutScopes = await t.key(acme.org.id, { tenantId, environment, scopes: [] })
      await leavesNoTrace(async () => {
        for (const request of [
          ...requestsToEveryRoute(t, key),
          ...requestsToEveryRoute(t, withoutScopes),
          ...requestsToEveryRoute(t, key, { 'x-service-tenant-ref': 'x' }),
        ]) {
          expectRefusal(await request(), code)
        }
      })
    }
  },
)

test('X-045 suspending, archiving and restoring a tenant takes effect with the next request of its key', async () => {
  const tenantId = await t.tenant(acme.org.id)
  const key = await t.key(acme.org.id, { tenantId })
  const move = (method: string, rest: string) => t.ask(method, `/api/v1/tenants/${tenantId}${rest}`, { key: live })
  const steps: [method: string, rest: string, refusal: Code | undefined][] = [
    ['POST', '/suspend', 'TENANT_SUSPENDED'],
    ['POST', '/unsuspend', undefined],
    ['DELETE', '', 'TENANT_ARCHIVED'],
    ['POST', '/restore', undefined],
  ]
  expect((await t.ask('GET', probe, { key })).status).toBe(200)
  for (const [method, rest, refusal] of steps) {
    expect((await move(method, rest)).status).toBe(200)
    const reply = await t.ask('GET', probe, { key })
    if (refusal) expectRefusal(reply, refusal)
    else expect(reply.status).toBe(200)
  }
})
