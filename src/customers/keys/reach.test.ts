/** The keys that a key can read and manage: those of its environment, tenant and project. */
import { afterAll, describe, expect, test } from 'vitest'
import { type Held, keyClient, keyIdOf, resetKeyCreationLimit } from '../../../test/clients/key-client.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'

const t = await startTestService()
afterAll(() => t.stop())

const acme = await t.org()
const { create, patch, revoke, get, list, held, projectId } = await keyClient(t, acme)
const leavesNoTrace = await watchTables(t.database)

describe('environments', () => {
  test('X-031 X-201 a test key cannot create, update or revoke a live key', async () => {
    const live = await held()
    const testKey = acme.keys.test
    for (const send of [
      () => create({ environment: 'live' }, testKey),
      () => patch(live.id, { name: 'taken' }, testKey),
      () => patch(live.id, { rate_limit_per_minute: 5 }, testKey),
      () => revoke(live.id, testKey),
    ]) {
      expectRefusal(await leavesNoTrace(send), 'ENVIRONMENT_ESCALATION')
    }
    expect((await list('', live.key)).status).toBe(200)
    expectRefusal(await get(live.id, testKey), 'NOT_FOUND')
  })

  test('XD-06 live and test keys can create, update and revoke test keys', async () => {
    await resetKeyCreationLimit(t)
    for (const key of [acme.keys.live, acme.keys.test]) {
      const created = await create({ environment: 'test', name: 'simulated' }, key)
      expect([created.status, created.body.environment]).toEqual([201, 'test'])
      expect(created.body.key).toMatch(/^svc_test_/)
      const changed = await patch(created.body.id, { rate_limit_per_minute: 5 }, key)
      expect([changed.status, changed.body.environment]).toEqual([200, 'test'])
      expect((await get(created.body.id, key)).status).toBe(200)
      expect((await revoke(created.body.id, key)).status).toBe(200)
      expectRefusal(await list('', created.body.key), 'UNAUTHORIZED')
    }
  })

  test('XD-05 a test key lists only test keys, whatever the filter', async () => {
    const environments = async (query: string): Promise<Set<string>> => {
      const { body } = await list(`?limit=100${query}`, acme.keys.test)
      return new Set(body.data.map((row: { environment: string }) => row.environment))
    }
    expect(await environments('')).toEqual(new Set(['test']))
    expect(await environments('&environment=test')).toEqual(new Set(['test']))
    expect(await environments('&environment=live')).toEqual(new Set())
  })
})

describe('tenant keys', () => {
  const setUp = async () => {
    await resetKeyCreationLimit(t)
    const [own, sibling] = [await t.tenant(acme.org.id), await t.tenant(acme.org.id)]
    const caller = await held({ tenantId: own })
    const others = [await held({ tenantId: sibling }), await held(), { id: await keyIdOf(t, acme.keys.live) }]
    return { own, sibling, caller, others: others as Pick<Held, 'id'>[] }
  }

  test('X-036 XD-06 a key created by a tenant key belongs to that tenant, and any other tenant_id gets 403', async () => {
    const { own, sibling, caller } = await setUp()
    for (const body of [{}, { tenant_id: own }]) {
      const created = await create(body, caller.key)
      expect([created.status, created.body.tenant_id]).toEqual([201, own])
      const renamed = await patch(created.body.id, { name: 'renamed', ...body }, caller.key)
      expect([renamed.status, renamed.body.tenant_id]).toEqual([200, own])
    }
    const target = await held({ tenantId: own })
    for (const tenant_id of [sibling, null, newId('tenant'), 'ten_x', '']) {
      for (const send of [
        () => create({ tenant_id }, caller.key),
        () => patch(target.id, { tenant_id }, caller.key),
        () => patch(caller.id, { tenant_id }, caller.key),
      ]) {
        expectRefusal(await leavesNoTrace(send), 'TENANT_FORBIDDEN', {}, String(tenant_id))
      }
    }
  })

  test('X-037 X-177 a tenant key gets 404 when it reads, and 403 when it changes, a key outside its tenant', async () => {
    const { caller, others } = await setUp()
    for (const { id } of others) {
      expectRefusal(await get(id, caller.key), 'NOT_FOUND')
      for (const send of [
        () => patch(id, { name: 'taken' }, caller.key),
        () => patch(id, { rate_limit_per_minute: 5 }, caller.key),
        () => revoke(id, caller.key),
      ]) {
        expectRefusal(await leavesNoTrace(send), 'TENANT_FORBIDDEN')
      }
    }
  })

  test('XD-05 XD-09 a tenant key lists the keys of its tenant, and gets 403 for another tenant', async () => {
    const { own, sibling, caller } = await setUp()
    const second = await held({ tenantId: own, environment: 'test' })
    for (const query of ['', `?tenant_id=${own}`]) {
      const { status, body } = await list(query, caller.key)
      const ids = body.data.map((row: { id: string }) => row.id)
      expect([status, ids], query).toEqual([200, [second.id, caller.id]])
    }
    for (const tenantId of [sibling, newId('tenant'), '']) {
      expectRefusal(await list(`?tenant_id=${tenantId}`, caller.key), 'TENANT_FORBIDDEN')
    }
  })

  test('X-038 a platform key with a tenant reference is limited to that tenant in the same way', async () => {
    const { sibling } = await setUp()
    const own = await t.tenant(acme.org.id, { ref: 'by-reference' })
    const inside = { 'x-service-tenant-ref': 'by-reference' }
    const created = await create({}, acme.keys.live, inside)
    expect([created.status, created.body.tenant_id]).toEqual([201, own])
    for (const tenant_id of [sibling, null]) {
      expectRefusal(await leavesNoTrace(() => create({ tenant_id }, acme.keys.live, inside)), 'TENANT_FORBIDDEN')
    }
    const { body } = await list('', acme.keys.live, inside)
    expect(body.data.map((row: { id: string }) => row.id)).toEqual([created.body.id])
    const { id } = await held()
    expectRefusal(await leavesNoTrace(() => revoke(id, acme.keys.live, inside)), 'TENANT_FORBIDDEN')
  })
})

describe('project keys', () => {
  test('X-056 XD-06 a key created by a project key belongs to that project, and any other project_id gets 403', async () => {
    await resetKeyCreationLimit(t)
    const second = (await t.ask('POST', '/api/v1/projects', { key: acme.keys.live, body: { name: 'Second' } })).body.id
    const caller = await held({ projectId })
    for (const body of [{}, { project_id: projectId }]) {
      const created = await create(body, caller.key)
      expect([created.status, created.body.project_id]).toEqual([201, projectId])
    }
    for (const project_id of [second, null, newId('project'), 'prj_x', '']) {
      const reply = await leavesNoTrace(() => create({ project_id }, caller.key))
      expectRefusal(reply, 'SCOPE_ESCALATION', {}, String(project_id))
    }
  })

  test('XD-05 a project key cannot read, list, update or revoke keys outside its project', async () => {
    const caller = await held({ projectId })
    const inside = await held({ projectId })
    const outside = await held()
    for (const send of [
      () => get(outside.id, caller.key),
      () => patch(outside.id, { name: 'taken' }, caller.key),
      () => revoke(outside.id, caller.key),
    ]) {
      expectRefusal(await leavesNoTrace(send), 'NOT_FOUND')
    }
    const rows = (await list('?limit=100', caller.key)).body.data as { id: string; project_id: string }[]
    expect(new Set(rows.map((row) => row.project_id))).toEqual(new Set([projectId]))
    expect(rows.map((row) => row.id)).toEqual(expect.arrayContaining([caller.id, inside.id]))
    expect((await patch(inside.id, { name: 'ours' }, caller.key)).body.name).toBe('ours')
    expect((await revoke(inside.id, caller.key)).status).toBe(200)
  })
})
