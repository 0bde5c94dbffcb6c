import { afterAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../test/audit/trail.ts'
import { domainClient } from '../../../test/clients/domain-client.ts'
import { keyClient, keyIdOf } from '../../../test/clients/key-client.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { beginOtherTransaction } from '../../../test/service/other-transaction.ts'
import { type Reply, startTestService, testService } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { DomainSender } from './sender.ts'

const t = await startTestService()
afterAll(() => t.stop())

const acme = await t.org()
const { live, test: testKey } = acme.keys
const domains = domainClient(t, acme)
const leavesNoTrace = await watchTables(t.database)

const at = '/api/v1/ip-pools'
const create = (body: unknown, key = live) => t.ask('POST', at, { key, body })
const get = (id: string, key = live) => t.ask('GET', `${at}/${id}`, { key })
const list = (query = '', key = live) => t.ask('GET', `${at}${query}`, { key })
const patch = (id: string, body: unknown, key = live) => t.ask('PATCH', `${at}/${id}`, { key, body })
const remove = (id: string, key = live) => t.ask('DELETE', `${at}/${id}`, { key })
const created = async (body: object = {}, key = live): Promise<string> =>
  (await create({ name: 'main', ...body }, key)).body.id
const idsOf = ({ body }: Reply): string[] => body.data.map((row: { id: string }) => row.id)
const address = expect.stringMatching(/^198\.1[89]\.\d{1,3}\.\d{1,3}$/)

describe('routes', () => {
  test('XD-21 AD-99 a pool is created, read, listed, changed and deleted, and each change is audited', async () => {
    const { result, trail } = await withTrail(t.database, acme.org.id, async () => {
      const reply = await create({ name: '  main ', region: 'eu-west-1', ip_count: 2, colour: 'ignored' })
      expect([reply.status, reply.body]).toEqual([
        201,
        {
          id: expect.stringMatching(/^ipp_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
          name: 'main',
          region: 'eu-west-1',
          paused: false,
          ip_count: 2,
          ips: [
            { address, status: 'active' },
            { address, status: 'active' },
          ],
          domain_ids: [],
          created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        },
      ])
      const { id, ips } = reply.body
      expect((await get(id)).body).toEqual(reply.body)
      expect((await list('?limit=1')).body.data).toEqual([reply.body])
      expect((await patch(id, { paused: true })).body).toEqual({ ...reply.body, paused: true })
      const grown = (await patch(id, { name: 'bulk', ip_count: 3, paused: false })).body
      expect(grown).toEqual({
        ...reply.body,
        name: 'bulk',
        ip_count: 3,
        ips: [...ips, { address, status: 'active' }],
      })
      expect((await patch(id, { ip_count: 1 })).body).toMatchObject({ ip_count: 1, ips: [ips[0]] })
      const removed = await remove(id)
      expect([removed.status, removed.body]).toEqual([200, { id, deleted: true }])
      for (const request of [() => get(id), () => patch(id, { name: 'x' }), () => remove(id)]) {
        expectRefusal(await leavesNoTrace(request), 'NOT_FOUND')
      }
      return id
    })
    const via = { via: 'api_key', api_key_id: await keyIdOf(t, live) }
    expect(
      trail.map(({ action, resource_type, resource_id, metadata }) => [action, resource_type, resource_id, metadata]),
    ).toEqual([
      ['ip_pool.created', 'ip_pool', result, { name: 'main', region: 'eu-west-1', ip_count: 2, ...via }],
      ['ip_pool.updated', 'ip_pool', result, { paused: true, ...via }],
      ['ip_pool.updated', 'ip_pool', result, { name: 'bulk', ip_count: 3, paused: false, ...via }],
      ['ip_pool.updated', 'ip_pool', result, { ip_count: 1, ...via }],
      ['ip_pool.removed', 'ip_pool', result, { name: 'bulk', region: 'eu-west-1', ...via }],
    ])
  })

  test('XD-21 region and count have defaults, and invalid values are rejected with their path', async () => {
    const { body } = await create({ name: 'default' })
    expect(body).toMatchObject({ region: 'us-east-1', ip_count: 1 })
    const cases: [body: unknown, path: string[], code: string][] = [
      [{ name: ' ' }, ['name'], 'too_small'],
      [{ name: 'n'.repeat(101) }, ['name'], 'too_big'],
      [{ name: 'x', ip_count: 0 }, ['ip_count'], 'too_small'],
      [{ name: 'x', ip_count: 51 }, ['ip_count'], 'too_big'],
      [{ name: 'x', ip_count: '1' }, ['ip_count'], 'invalid_type'],
    ]
    await leavesNoTrace(async () => {
      for (const [invalid, path, code] of cases) {
        const errors = [{ path, code, message: expect.any(String) }]
        expectRefusal(await create(invalid), 'VALIDATION_ERROR', { errors })
        expectRefusal(await patch(body.id, invalid), 'VALIDATION_ERROR', { errors })
      }
      const errors = [{ path: ['region'], code: 'invalid_enum', message: expect.any(String) }]
      expectRefusal(await create({ name: 'x', region: 'mars-1' }), 'VALIDATION_ERROR', { errors })
    })
  })

  test('XD-21 the list returns the pools of the org, newest first, in pages', async () => {
    const org = await t.org({ name: 'Pages' })
    await created({}, (await t.org({ name: 'Not listed' })).keys.live)
    const ids: string[] = []
    for (const name of ['one', 'two', 'three']) ids.unshift(await created({ name }, org.keys.live))
    const one = await list('?limit=2', org.keys.live)
    const two = await list(`?limit=2&cursor=${one.body.next_cursor}`, org.keys.live)
    expect([...idsOf(one), ...idsOf(two)]).toEqual(ids)
    expect(two.body).toMatchObject({ has_more: false, next_cursor: null })
  })

  test('XD-21 without the local provider new addresses are provisioning', async () => {
    const own = await testService({ env: { EMAIL_PROVIDER: 'ses' } })
    const { keys } = await own.org()
    const { body } = await own.ask('POST', at, { key: keys.live, body: { name: 'real', ip_count: 2 } })
    expect(body.ips).toEqual([
      { address: null, status: 'provisioning' },
      { address: null, status: 'provisioning' },
    ])
  })
})

describe('domains in a pool', () => {
  test('X-317 XD-21 a domain joins a pool of its region, and a pool with domains cannot be deleted', async () => {
    const pool = await created({ name: 'joined' })
    const [one, two] = [await domains.added('one.example'), await domains.added('two.example')]
    expect((await domains.patch(one, { ip_pool_id: pool, inbound: true })).body).toMatchObject({
      ip_pool_id: pool,
      inbound: true,
    })
    expect((await domains.patch(one, { inbound: false })).body.ip_pool_id).toBe(pool)
    await domains.patch(two, { ip_pool_id: pool })
    expect((await get(pool)).body.domain_ids).toEqual([one, two])
    expectRefusal(await leavesNoTrace(() => remove(pool)), 'IP_POOL_IN_USE')
    await domains.patch(one, { ip_pool_id: null })
    await domains.remove(two)
    expect((await get(pool)).body.domain_ids).toEqual([])
    expect((await remove(pool)).status).toBe(200)
  })

  test('XD-21 a pool that is in another region, belongs to another org or does not exist is rejected', async () => {
    const id = await domains.added('regions.example')
    const far = await created({ name: 'far', region: 'eu-west-1' })
    const theirs = await created({}, (await t.org({ name: 'Theirs' })).keys.live)
    const unknown = 'There is no such IP pool.'
    for (const [ip_pool_id, message] of [
      [far, 'The IP pool must be in the same region as the domain.'],
      [theirs, unknown],
      [newId('ipPool'), unknown],
      ['x', unknown],
    ] as const) {
      const errors = [{ path: ['ip_pool_id'], code: 'custom', message }]
      const request = () => domains.patch(id, { ip_pool_id, inbound: true })
      expectRefusal(await leavesNoTrace(request), 'VALIDATION_ERROR', { errors })
    }
  })

  test('XD-21 a pool is not deleted when a domain is assigned to it meanwhile', async () => {
    const pool = await created({ name: 'raced' })
    const id = await domains.added('raced.example')
    const other = await beginOtherTransaction(t.database)
    await other.sql('update domains set ip_pool_id = $2 where id = $1', [id, pool])
    const reply = remove(pool)
    await other.untilWaitedFor()
    await other.commit()
    expectRefusal(await reply, 'IP_POOL_IN_USE')
    expect((await get(pool)).body.domain_ids).toEqual([id])
  })

  test("XD-18 a key that is bound to a project sees only that project's domains in a pool", async () => {
    const pool = await created({ name: 'shared' })
    const { body: project } = await t.ask('POST', '/api/v1/projects', { key: live, body: { name: 'Own' } })
    const own = await domains.added('own.example', live, { project_id: project.id })
    for (const id of [own, await domains.added('not-own.example')]) await domains.patch(id, { ip_pool_id: pool })
    const key = await t.key(acme.org.id, { projectId: project.id })
    expect((await get(pool, key)).body.domain_ids).toEqual([own])
    const listed = (await list('?limit=100', key)).body.data.find((row: { id: string }) => row.id === pool)
    expect(listed.domain_ids).toEqual([own])
    expect((await get(pool)).body.domain_ids).toHaveLength(2)
  })
})

describe("a pool's name at the provider", () => {
  /** An org with a verified domain. `nameOf` puts the domain into a pool and returns the pool's name at the provider. */
  const sender = async (name: string) => {
    const org = await t.org({ name })
    const own = domainClient(t, org)
    const { domainId } = await keyClient(t, org)
    const caller = { orgId: org.org.id, tenantId: null, environment: 'live', projectId: null } as const
    return {
      key: org.keys.live,
      nameOf: async (poolId: string) => {
        expect((await own.patch(domainId, { ip_pool_id: poolId })).body.ip_pool_id).toBe(poolId)
        const chosen = await t.service.modules.senders.resolve({ ...caller, allowedDomainIds: null }, 'example.test')
        return (chosen as DomainSender).ipPool
      },
    }
  }

  test('XD-21 is its own name, or one with a number when a pool of the region in any org has that name', async () => {
    const [one, two] = [await sender('One'), await sender('Two')]
    const first = await created({ name: 'gold' }, one.key)
    const second = await created({ name: 'gold' }, two.key)
    expect([await one.nameOf(first), await two.nameOf(second)]).toEqual(['gold', 'gold-2'])
    expect((await get(second, two.key)).body.name).toBe('gold')
    await created({ name: 'gold', region: 'eu-west-1' }, two.key)
    expect(await one.nameOf(await created({ name: 'gold-3' }, one.key))).toBe('gold-3')
    expect(await one.nameOf(await created({ name: 'gold' }, one.key))).toBe('gold-4')
    // Setting the same name again keeps the provider's name, although the name without a number is free now.
    await remove(first, one.key)
    await patch(second, { name: 'gold', ip_count: 2 }, two.key)
    expect(await two.nameOf(second)).toBe('gold-2')
    await patch(second, { name: 'silver' }, two.key)
    expect(await two.nameOf(second)).toBe('silver')
    await patch(second, { name: 'gold-3' }, two.key)
    expect(await two.nameOf(second)).toBe('gold-3-2')
    await patch(second, { name: 'gold' }, two.key)
    expect(await two.nameOf(second)).toBe('gold')
  })

  test('XD-21 is unique among pools that are named concurrently', async () => {
    const orgs = await Promise.all(Array.from({ length: 6 }, (_, i) => sender(`At once ${i}`)))
    const renamed = await Promise.all(orgs.slice(3).map(({ key }, i) => created({ name: `before ${i}` }, key)))
    const named = await Promise.all([
      ...orgs.slice(0, 3).map(({ key }) => created({ name: 'rush' }, key)),
      ...orgs.slice(3).map(async ({ key }, i) => {
        const id = renamed[i] as string
        expect((await patch(id, { name: 'rush' }, key)).status).toBe(200)
        return id
      }),
    ])
    const known = await Promise.all(orgs.map(({ nameOf }, i) => nameOf(named[i] as string)))
    expect(known.sort()).toEqual(['rush', 'rush-2', 'rush-3', 'rush-4', 'rush-5', 'rush-6'])
  })
})

describe('permissions', () => {
  test("X-201 XD-09 XD-21 tenants' keys and test keys may not use pools", async () => {
    const id = await created({ name: 'barred' })
    const tenantKey = await t.key(acme.org.id, { tenantId: await t.tenant(acme.org.id) })
    for (const [key, code] of [
      [tenantKey, 'TENANT_KEY_FORBIDDEN'],
      [testKey, 'ENVIRONMENT_ESCALATION'],
    ] as const) {
      for (const request of [
        () => create({ name: 'x' }, key),
        () => list('', key),
        () => get(id, key),
        () => patch(id, { paused: true }, key),
        () => remove(id, key),
      ]) {
        expectRefusal(await leavesNoTrace(request), code)
      }
    }
  })

  test('XD-01 reading and writing pools need separate scopes', async () => {
    const id = await created({ name: 'scoped' })
    const reader = await t.key(acme.org.id, { scopes: ['read:ip_pools'] })
    const writer = await t.key(acme.org.id, { scopes: ['write:ip_pools'] })
    for (const request of [
      () => create({ name: 'x' }, reader),
      () => patch(id, { paused: true }, reader),
      () => remove(id, reader),
      () => get(id, writer),
      () => list('', writer),
    ]) {
      expectRefusal(await leavesNoTrace(request), 'INSUFFICIENT_SCOPE')
    }
  })
})

describe('the plan', () => {
  test.for([
    ['free', 0],
    ['payg', 0],
    ['pro', 2],
    ['enterprise', 50],
  ] as const)('X-280 XD-25 the %s plan allows %i dedicated IPs over all pools', async ([plan, limit]) => {
    const org = await t.org({ plan, name: 'Planned' })
    const { live: key } = org.keys
    const message = `The ${plan} plan allows ${limit} dedicated IPs.`
    if (limit > 0) {
      const id = await created({ ip_count: limit - 1 }, key)
      const over = () => patch(id, { ip_count: Math.min(50, limit + 1) }, key)
      if (limit < 50) expectRefusal(await leavesNoTrace(over), 'DEDICATED_IP_LIMIT_EXCEEDED', { message })
      expect((await create({ name: 'last' }, key)).status).toBe(201)
      // A change that adds no address is not limited.
      expect((await patch(id, { paused: true, ip_count: limit - 1 }, key)).status).toBe(200)
      const more = () => patch(id, { ip_count: limit }, key)
      expectRefusal(await leavesNoTrace(more), 'DEDICATED_IP_LIMIT_EXCEEDED', { message })
    }
    const reply = await leavesNoTrace(() => create({ name: 'one more' }, key))
    expectRefusal(reply, 'DEDICATED_IP_LIMIT_EXCEEDED', { message })
  })

  test('X-280 pools that are created and enlarged concurrently never exceed the plan', async () => {
    const org = await t.org({ plan: 'pro', name: 'At once' })
    const replies = await Promise.all(Array.from({ length: 8 }, () => create({ name: 'main' }, org.keys.live)))
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 201, ...new Array(6).fill(402)])
    const [one] = idsOf(await list('', org.keys.live)) as [string]
    await remove(one, org.keys.live)
    const [left] = idsOf(await list('', org.keys.live)) as [string]
    const grown = await Promise.all([
      ...Array.from({ length: 4 }, () => create({ name: 'more' }, org.keys.live)),
      ...Array.from({ length: 4 }, () => patch(left, { ip_count: 2 }, org.keys.live)),
    ])
    expect(grown.filter(({ status }) => status < 300).length).toBeGreaterThan(0)
    const [sum] = await t.database.sql<{ n: number }>(
      'select sum(ip_count)::int as n from ip_pools where org_id = $1',
      [org.org.id],
    )
    expect(sum?.n).toBe(2)
  })
})
