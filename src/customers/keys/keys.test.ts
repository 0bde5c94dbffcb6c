import { afterAll, describe, expect, test } from 'vitest'
import { advance, type Body, keyClient, keyIdOf, resetKeyCreationLimit } from '../../../test/clients/key-client.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { scopeProbes, senderProbe } from '../../../test/service/probes.ts'
import { startTestService } from '../../../test/service/service.ts'
import { sha256 } from '../../platform/ground/crypto.ts'
import { newId } from '../../platform/ground/ids.ts'
import { scopes } from './scopes.ts'

const t = await startTestService({ routes: (modules) => [...scopeProbes(), senderProbe(modules)] })
afterAll(() => t.stop())

const acme = await t.org()
const { create, patch, revoke, get, list, held, domainId, projectId } = await keyClient(t, acme)
const leavesNoTrace = await watchTables(t.database)

const day = 86_400_000
const withoutKey = ({ key: _, ...rest }: Body): Body => rest

describe('creating', () => {
  test('X-015 X-018 creating a key returns it with its secret, and the key has the requested permissions', async () => {
    const tenantId = await t.tenant(acme.org.id)
    const before = t.service.clock.millis()
    const reply = await create({
      name: '  CI  ',
      scopes: ['send:email', 'read:suppressions', 'send:email'],
      environment: 'live',
      tenant_id: tenantId,
      project_id: projectId,
      allowed_domain_ids: [domainId, domainId],
      allowed_cidrs: ['127.0.0.1', '203.0.113.0/24'],
      expires_in_days: 30,
      rate_limit_per_minute: 120,
    })
    const { id, key, created_at } = reply.body
    expect([reply.status, reply.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^key_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
        name: 'CI',
        environment: 'live',
        key: expect.stringMatching(/^svc_live_[0-9A-Za-z]{38}$/),
        prefix: key.slice(0, 13),
        last_four: key.slice(-4),
        scopes: ['send:email', 'read:suppressions'],
        tenant_id: tenantId,
        project_id: projectId,
        allowed_domain_ids: [domainId],
        allowed_cidrs: ['127.0.0.1/32', '203.0.113.0/24'],
        rate_limit_per_minute: 120,
        expires_at: new Date(Date.parse(created_at) + 30 * day).toISOString(),
        last_used_at: null,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        revoked_at: null,
      },
    ])
    expect(Date.parse(created_at)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(created_at)).toBeLessThanOrEqual(t.service.clock.millis())
    expect((await get(id)).body).toEqual(withoutKey(reply.body))
    const seen = await t.ask('GET', '/api/v1/probe/read-suppressions', { key })
    expect(seen.body).toEqual({
      org_id: acme.org.id,
      tenant_id: tenantId,
      environment: 'live',
      address: '127.0.0.1',
    })
    expectRefusal(await t.ask('GET', '/api/v1/probe/read-messages', { key }), 'INSUFFICIENT_SCOPE')
  })

  test('X-015 X-030 an omitted or null restriction does not apply, and the environment defaults to that of the caller', async () => {
    const unrestricted = {
      name: 'API key',
      scopes,
      tenant_id: null,
      project_id: null,
      allowed_domain_ids: null,
      allowed_cidrs: null,
      rate_limit_per_minute: null,
      expires_at: null,
    }
    for (const environment of ['live', 'test'] as const) {
      const reply = await create({}, acme.keys[environment])
      expect([reply.status, reply.body]).toMatchObject([201, { ...unrestricted, environment }])
      expect(reply.body.key).toMatch(new RegExp(`^svc_${environment}_`))
      const seen = await t.ask('GET', '/api/v1/probe/write-keys', { key: reply.body.key })
      expect(seen.body).toMatchObject({ environment, tenant_id: null })
    }
    const reply = await create({
      tenant_id: null,
      project_id: null,
      allowed_domain_ids: null,
      allowed_cidrs: null,
      expires_in_days: null,
      rate_limit_per_minute: null,
    })
    expect([reply.status, reply.body]).toMatchObject([201, { ...unrestricted, environment: 'live' }])
  })

  test('X-018 XD-05 the largest and smallest values are accepted, and addresses are stored as ranges', async () => {
    const ranges = Array.from({ length: 46 }, (_, i) => `10.0.${i}.0/24`)
    const widest = await create({
      name: 'n'.repeat(100),
      expires_in_days: 3650,
      rate_limit_per_minute: 6000,
      allowed_cidrs: ['198.51.100.9', '2001:DB8::1', '::ffff:192.0.2.1', ' 203.0.113.77/24 ', ...ranges],
      allowed_domain_ids: Array.from({ length: 100 }, () => domainId),
    })
    expect([widest.status, widest.body]).toMatchObject([
      201,
      {
        name: 'n'.repeat(100),
        rate_limit_per_minute: 6000,
        allowed_domain_ids: [domainId],
        allowed_cidrs: ['198.51.100.9/32', '2001:db8::1/128', '192.0.2.1/32', '203.0.113.0/24', ...ranges],
      },
    ])
    expect(Date.parse(widest.body.expires_at) - Date.parse(widest.body.created_at)).toBe(3650 * day)
    const least = await create({ name: 'x', expires_in_days: 1, rate_limit_per_minute: 1 })
    expect([least.status, least.body]).toMatchObject([201, { name: 'x', rate_limit_per_minute: 1 }])
    expect(Date.parse(least.body.expires_at) - Date.parse(least.body.created_at)).toBe(day)
  })

  test('A-139 XD-04 the secret is in no table, list or audit entry, and only its hash is stored', async () => {
    const { id, key } = (await create({ name: 'secret' })).body
    await patch(id, { name: 'still secret' })
    const tables = await t.database.sql<{ name: string }>(
      "select table_name as name from information_schema.tables where table_schema = 'public'",
    )
    const secret = key.slice(13, -4)
    const stored: string[] = []
    for (const { name } of tables) {
      const rows = await t.database.sql<{ row: string }>(`select r::text as row from "${name}" r`)
      stored.push(...rows.map(({ row }) => row))
    }
    expect(stored.filter((row) => row.includes(id)).length).toBeGreaterThanOrEqual(3)
    expect(stored.filter((row) => row.includes(secret))).toEqual([])
    for (const reply of [await get(id), await list('?limit=100'), await revoke(id)]) {
      expect(reply.text).toContain(id)
      expect(reply.text).not.toContain(secret)
    }
    const [row] = await t.database.sql<{ hash: Buffer }>('select hash from api_keys where id = $1', [id])
    expect(row?.hash).toEqual(sha256(key))
  })

  test('XD-04 last_used_at of a new key is null until its first use', async () => {
    await resetKeyCreationLimit(t)
    const { id, key } = (await create({})).body
    const lastUse = async () => (await get(id)).body.last_used_at
    expect(await lastUse()).toBe(null)
    const before = t.service.clock.millis()
    await t.ask('GET', '/api/v1/probe/read-messages', { key })
    await expect.poll(lastUse).toEqual(expect.any(String))
    expect(Date.parse(await lastUse())).toBeGreaterThanOrEqual(before)
    expect(Date.parse(await lastUse())).toBeLessThanOrEqual(t.service.clock.millis())
  })
})

describe('updating', () => {
  test('X-016 an update changes the given fields, keeps omitted ones, and null removes a restriction', async () => {
    const tenantId = await t.tenant(acme.org.id)
    const { id } = await held({
      tenantId,
      projectId,
      allowedDomainIds: [domainId],
      allowedCidrs: ['10.0.0.0/8'],
      ratePerMinute: 60,
      scopes: ['send:email', 'send:sms'],
      expiresAt: new Date(t.service.clock.millis() + 5 * day),
    })
    let expected = (await get(id)).body as Body
    const changes: [Body, Body][] = [
      [{ name: ' Renamed ' }, { name: 'Renamed' }],
      [{ scopes: ['send:sms'] }, { scopes: ['send:sms'] }],
      [{ allowed_cidrs: ['2001:db8::1'] }, { allowed_cidrs: ['2001:db8::1/128'] }],
      [{ rate_limit_per_minute: 7 }, { rate_limit_per_minute: 7 }],
      [{ tenant_id: null }, { tenant_id: null }],
      [{ allowed_domain_ids: null }, { allowed_domain_ids: null }],
      [{ allowed_cidrs: null }, { allowed_cidrs: null }],
      [{ expires_in_days: null }, { expires_at: null }],
      [{ rate_limit_per_minute: null }, { rate_limit_per_minute: null }],
      [
        { tenant_id: tenantId, allowed_domain_ids: [domainId, domainId] },
        { tenant_id: tenantId, allowed_domain_ids: [domainId] },
      ],
    ]
    for (const [body, change] of changes) {
      const reply = await patch(id, body)
      expected = { ...expected, ...change }
      expect([reply.status, reply.body], JSON.stringify(body)).toEqual([200, expected])
      expect((await get(id)).body).toEqual(expected)
    }
  })

  test('X-016 expires_in_days counts from the update, not from the creation', async () => {
    const { id } = await held()
    await advance(t, 3_600)
    const before = t.service.clock.millis()
    const expires = Date.parse((await patch(id, { expires_in_days: 2 })).body.expires_at)
    expect(expires).toBeGreaterThanOrEqual(before + 2 * day)
    expect(expires).toBeLessThanOrEqual(t.service.clock.millis() + 2 * day)
  })

  test('X-016 a key whose domain or tenant was deleted can still be updated', async () => {
    const deleted = { allowedDomainIds: [newId('domain')], tenantId: newId('tenant') }
    const { id } = await held(deleted)
    const reply = await patch(id, { name: 'kept', rate_limit_per_minute: 5 })
    expect([reply.status, reply.body]).toMatchObject([
      200,
      { name: 'kept', allowed_domain_ids: deleted.allowedDomainIds, tenant_id: deleted.tenantId },
    ])
  })

  test('X-016 X-018 X-019 adding or removing a restriction takes effect with the next request', async () => {
    const { key, id } = await held()
    const read = (headers: Record<string, string> = {}) => t.ask('GET', '/api/v1/probe/read-messages', { key, headers })
    const send = () => t.ask('POST', '/api/v1/probe/sender', { key, body: { from_domain: 'other.test' } })
    const expectAllowed = async () => {
      for (const reply of [await read(), await send()]) expect(reply.status).toBe(200)
    }
    await expectAllowed()

    await patch(id, { scopes: ['send:email'] })
    expectRefusal(await read(), 'INSUFFICIENT_SCOPE')
    await patch(id, { scopes: ['send:email', 'read:messages'] })
    await expectAllowed()

    await patch(id, { allowed_cidrs: ['203.0.113.0/24'] })
    expectRefusal(await read(), 'IP_NOT_ALLOWED')
    expect((await read({ 'x-forwarded-for': '203.0.113.9' })).status).toBe(200)
    await patch(id, { allowed_cidrs: null })
    await expectAllowed()

    await patch(id, { allowed_domain_ids: [domainId] })
    expectRefusal(await send(), 'DOMAIN_NOT_ALLOWED_FOR_KEY')
    await patch(id, { allowed_domain_ids: null })
    await expectAllowed()

    await patch(id, { rate_limit_per_minute: 1 })
    await read()
    const limited = await read()
    expectRefusal(limited, 'RATE_LIMITED')
    expect([limited.headers['x-ratelimit-limit'], limited.headers['x-ratelimit-scope']]).toEqual(['1', 'key'])
    await patch(id, { rate_limit_per_minute: null })
    await expectAllowed()

    const tenantId = await t.tenant(acme.org.id)
    await patch(id, { tenant_id: tenantId })
    expect((await read()).body.tenant_id).toBe(tenantId)
    await patch(id, { tenant_id: null })
    expect((await read()).body.tenant_id).toBe(null)

    await patch(id, { expires_in_days: 1 })
    await expectAllowed()
    await advance(t, 86_400)
    expectRefusal(await read(), 'UNAUTHORIZED')
    await patch(id, { expires_in_days: null })
    await expectAllowed()
  })

  test('X-016 a revoked key cannot be updated', async () => {
    const { id } = await held()
    await revoke(id)
    for (const body of [{ name: 'back' }, { expires_in_days: null }]) {
      expectRefusal(await leavesNoTrace(() => patch(id, body)), 'KEY_REVOKED')
    }
  })
})

describe('revoking', () => {
  test('X-017 AD-114 a revoked key gets 401 at once, and revoking it again returns the same response', async () => {
    const { key, id } = await held()
    expect((await list('', key)).status).toBe(200)
    const before = t.service.clock.millis()
    const first = await revoke(id)
    expect([first.status, first.body]).toEqual([200, { id, revoked_at: expect.any(String) }])
    expect(Date.parse(first.body.revoked_at)).toBeGreaterThanOrEqual(before)
    expectRefusal(await list('', key), 'UNAUTHORIZED')
    await advance(t, 60)
    const again = await leavesNoTrace(() => revoke(id))
    expect([again.status, again.body]).toEqual([200, first.body])
    expect((await get(id)).body.revoked_at).toBe(first.body.revoked_at)
  })

  test('X-016 X-017 a change takes effect at once in the process that made it, even without the database notification', async () => {
    await t.database.sql('alter table api_keys disable trigger api_keys_announce')
    try {
      const { key, id } = await held()
      expect((await list('', key)).status).toBe(200)
      await patch(id, { scopes: ['send:email'] })
      expectRefusal(await list('', key), 'INSUFFICIENT_SCOPE')
      await revoke(id)
      expectRefusal(await list('', key), 'UNAUTHORIZED')
    } finally {
      await t.database.sql('alter table api_keys enable trigger api_keys_announce')
    }
  })

  test('X-017 A-141 concurrent revocations return the same response and write one audit entry', async () => {
    const { id } = await held()
    const replies = await Promise.all(Array.from({ length: 8 }, () => revoke(id)))
    const bodies = new Set(replies.map(({ text }) => text))
    expect([replies.map(({ status }) => status), bodies.size]).toEqual([new Array(8).fill(200), 1])
    const entries = await t.database.sql('select 1 from audit_entries where resource_id = $1', [id])
    expect(entries).toHaveLength(1)
  })

  test('X-032 a key cannot revoke itself', async () => {
    for (const options of [
      {},
      { environment: 'test' as const },
      { tenantId: await t.tenant(acme.org.id) },
      { projectId },
    ]) {
      const { key, id } = await held(options)
      expectRefusal(await leavesNoTrace(() => revoke(id, key)), 'SELF_REVOKE_FORBIDDEN')
      expect((await get(id, key)).body).toMatchObject({ id, revoked_at: null })
    }
  })
})

describe('listing', () => {
  type Row = { id: string; revoked_at: string | null }
  const idsOf = ({ body }: { body: { data: Row[] } }) => body.data.map(({ id }) => id)

  test('XD-05 the list returns active keys, newest first, in pages, with the same fields as the key by id', async () => {
    const org = await t.org({ name: 'Listed' })
    const own = await keyClient(t, org)
    const firstTwo = [await keyIdOf(t, org.keys.test), await keyIdOf(t, org.keys.live)]
    const created: string[] = []
    for (let i = 0; i < 5; i++) created.unshift((await own.held()).id)
    await own.revoke(created[2] as string)
    const active = created.filter((id) => id !== created[2])
    const all = await own.list()
    expect([all.status, idsOf(all)]).toEqual([200, [...active, ...firstTwo]])
    expect(Object.keys(all.body)).toEqual(['data', 'has_more', 'next_cursor'])
    // The row of the calling key is left out: its last use changes with every request.
    for (const row of all.body.data.slice(0, 4)) expect((await own.get(row.id)).body).toEqual(row)
    const one = await own.list('?limit=3')
    const two = await own.list(`?limit=3&cursor=${one.body.next_cursor}`)
    expect([...idsOf(one), ...idsOf(two)]).toEqual([...active, ...firstTwo])
    expect([one.body.has_more, two.body.has_more, two.body.next_cursor]).toEqual([true, false, null])

    const withRevoked = await own.list('?include_revoked=true')
    expect(idsOf(withRevoked)).toEqual([...created, ...firstTwo])
    const revoked = withRevoked.body.data.filter((row: Row) => row.revoked_at !== null)
    expect(revoked.map((row: Row) => row.id)).toEqual([created[2]])
    expect(idsOf(await own.list('?include_revoked=false'))).toEqual(idsOf(all))
  })

  test('XD-05 the list can be filtered by environment and tenant, and never contains keys of another org', async () => {
    const org = await t.org({ name: 'Filtered' })
    const own = await keyClient(t, org)
    const [live, test_] = [await keyIdOf(t, org.keys.live), await keyIdOf(t, org.keys.test)]
    const tenantId = await t.tenant(org.org.id)
    const bound = (await own.held({ tenantId })).id
    const boundTest = (await own.held({ tenantId, environment: 'test' })).id
    expect(idsOf(await own.list('?environment=live'))).toEqual([bound, live])
    expect(idsOf(await own.list('?environment=test'))).toEqual([boundTest, test_])
    expect(idsOf(await own.list(`?tenant_id=${tenantId}`))).toEqual([boundTest, bound])
    expect(idsOf(await own.list(`?tenant_id=${tenantId}&environment=test`))).toEqual([boundTest])
    const foreign = await t.tenant(acme.org.id)
    await held({ tenantId: foreign })
    expect(idsOf(await own.list(`?tenant_id=${foreign}`))).toEqual([])
    for (const query of ['environment=prod', 'environment=', 'include_revoked=yes', 'limit=0']) {
      const reply = await own.list(`?${query}`)
      const path = [query.slice(0, query.indexOf('='))]
      expect([reply.status, reply.body.error.code, reply.body.error.errors[0].path]).toEqual([
        422,
        'VALIDATION_ERROR',
        path,
      ])
    }
  })
})

describe('the audit log', () => {
  const entries = (orgId: string) =>
    t.database.sql(
      `select id, actor_user_id, action, resource_type, resource_id, metadata, ip_address, user_agent, created_at
       from audit_entries where org_id = $1 order by created_at, id`,
      [orgId],
    )
  const from = { 'user-agent': 'deploy/1.0', 'x-forwarded-for': '203.0.113.9' }

  test('A-139 A-140 A-141 AD-94 creating, updating and revoking a key each write one entry with the key and its caller', async () => {
    const org = await t.org({ name: 'Audited' })
    const own = await keyClient(t, org)
    const tenantId = await t.tenant(org.org.id)
    const caller = await keyIdOf(t, org.keys.live)
    const { body: key } = await own.create(
      { name: 'CI', scopes: ['send:email'], tenant_id: tenantId, expires_in_days: 3, environment: 'test' },
      org.keys.live,
      from,
    )
    const via = { via: 'api_key', api_key_id: caller }
    const common = {
      id: expect.stringMatching(/^aud_/),
      actor_user_id: null,
      resource_type: 'api_key',
      resource_id: key.id,
      ip_address: '203.0.113.9',
      user_agent: 'deploy/1.0',
      created_at: expect.any(Date),
    }
    const fields = {
      name: 'CI',
      environment: 'test',
      scopes: ['send:email'],
      tenant_id: tenantId,
      project_id: null,
      allowed_domain_ids: null,
      allowed_cidrs: null,
      rate_limit_per_minute: null,
      expires_at: key.expires_at,
    }
    const created = { ...common, action: 'api_key.created', metadata: { ...fields, ...via } }
    expect(await entries(org.org.id)).toEqual([created])

    await own.patch(key.id, { allowed_cidrs: ['10.0.0.1'], name: 'CD' }, org.keys.live, from)
    const after = { ...fields, name: 'CD', allowed_cidrs: ['10.0.0.1/32'] }
    const metadata = { ...after, changed: ['allowed_cidrs', 'name'], ...via }
    const updated = { ...common, action: 'api_key.updated', metadata }
    const twoRows = await entries(org.org.id)
    expect(twoRows).toEqual([created, updated].map((row) => ({ ...row, metadata: expect.anything() })))
    const [, second] = twoRows as { metadata: { changed: string[] } }[]
    expect({ ...second?.metadata, changed: second?.metadata.changed.toSorted() }).toEqual(metadata)

    await own.revoke(key.id, org.keys.live, from)
    await own.revoke(key.id, org.keys.live, from)
    await own.patch(key.id, { name: 'late' }, org.keys.live, from)
    const threeRows = await entries(org.org.id)
    expect(threeRows).toHaveLength(3)
    expect(threeRows[2]).toEqual({
      ...common,
      action: 'api_key.revoked',
      metadata: { name: 'CD', environment: 'test', ...via },
    })
  })

  test('A-140 an empty update is rejected and writes no entry', async () => {
    const { id } = await held()
    expectRefusal(await leavesNoTrace(() => patch(id, {})), 'NO_FIELDS')
  })
})
