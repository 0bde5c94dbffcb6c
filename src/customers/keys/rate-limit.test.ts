/** The number of keys an org can have, and how many it can create per hour. */
import { afterAll, describe, expect, test } from 'vitest'
import { advance, type KeyClient, keyClient, keyIdOf } from '../../../test/clients/key-client.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { type Reply, startTestService } from '../../../test/service/service.ts'
import type { CreatedOrg } from '../../app/operator/create-org.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Plan } from '../orgs/plans.ts'
import { mintKey } from './key-secret.ts'
import type { Origin } from './store.ts'

const t = await startTestService()
afterAll(() => t.stop())

const leavesNoTrace = await watchTables(t.database)

const orgWith = async (plan: Plan = 'enterprise'): Promise<{ org: CreatedOrg; keys: KeyClient }> => {
  const org = await t.org({ plan, name: 'Limited' })
  return { org, keys: await keyClient(t, org) }
}

/** Inserts keys directly, as created by another origin. */
const insert = async (org: CreatedOrg, n: number, origin: Origin, { expired = false } = {}): Promise<void> => {
  const minted = Array.from({ length: n }, () => mintKey('live'))
  await t.database.sql(
    `insert into api_keys (org_id, id, hash, name, environment, prefix, last_four, scopes, origin,
       created_at, updated_at, expires_at)
     select $1, id, hash, 'inserted', 'live', 'svc_live_0000', '0000', '{read:keys}', $4, $5, $5, $6
     from unnest($2::text[], $3::bytea[]) as k (id, hash)`,
    [
      org.org.id,
      minted.map(() => newId('key')),
      minted.map(({ hash }) => hash),
      origin,
      t.service.clock.now(),
      expired ? new Date(0) : null,
    ],
  )
}

const countsOf = async ({ org }: CreatedOrg) => {
  const [row] = await t.database.sql<{ keys: number; entries: number }>(
    `select (select count(*)::int from api_keys where org_id = $1 and origin = 'api') as keys,
       (select count(*)::int from audit_entries where org_id = $1 and action = 'api_key.created') as entries`,
    [org.id],
  )
  return row
}

const tally = (replies: Reply[]): Record<number, number> => {
  const counted: Record<number, number> = {}
  for (const { status } of replies) counted[status] = (counted[status] ?? 0) + 1
  return counted
}

const make = (keys: KeyClient, n: number, body: object = {}) =>
  Promise.all(Array.from({ length: n }, () => keys.create(body)))

const retryAfter = (reply: Reply): number => {
  expectRefusal(reply, 'KEY_CREATION_RATE_LIMITED')
  expect(reply.headers['retry-after']).toMatch(/^[1-9]\d*$/)
  return Number(reply.headers['retry-after'])
}

describe('plan limit', () => {
  test.for([
    ['free', 20],
    ['payg', 50],
    ['pro', 100],
    ['enterprise', 1_000],
  ] as const)('X-033 XD-25 the %s plan allows %i keys and refuses the next with 402', async ([plan, limit]) => {
    const { org, keys } = await orgWith(plan)
    // An org starts with two keys. Keys of both environments count, and so do expired ones.
    await insert(org, limit - 4, 'operator', { expired: true })
    expect((await keys.create({ environment: 'test' })).status).toBe(201)
    expect((await keys.create({})).status).toBe(201)
    for (const environment of ['live', 'test']) {
      const reply = await leavesNoTrace(() => keys.create({ environment }))
      expectRefusal(reply, 'PLAN_RESOURCE_LIMIT', { message: `The ${plan} plan allows ${limit} API keys.` })
    }
  })

  test('X-033 after a key is revoked another can be created', async () => {
    const { org, keys } = await orgWith('free')
    await insert(org, 17, 'operator')
    const { id } = (await keys.create({})).body
    const full = { message: 'The free plan allows 20 API keys.' }
    expectRefusal(await leavesNoTrace(() => keys.create({})), 'PLAN_RESOURCE_LIMIT', full)
    await keys.revoke(id)
    expect((await keys.create({})).status).toBe(201)
    expectRefusal(await leavesNoTrace(() => keys.create({})), 'PLAN_RESOURCE_LIMIT', full)
  })

  test('X-033 XD-25 a downgrade keeps all keys and only prevents new ones', async () => {
    const { org, keys } = await orgWith('pro')
    await insert(org, 30, 'operator')
    await t.database.sql("update orgs set plan = 'free' where id = $1", [org.org.id])
    const reply = await leavesNoTrace(() => keys.create({}))
    expectRefusal(reply, 'PLAN_RESOURCE_LIMIT', { message: 'The free plan allows 20 API keys.' })
    expect((await keys.list('?limit=100')).body.data).toHaveLength(32)
  })

  test('X-033 30 concurrent creations reach the plan limit exactly', async () => {
    const { org, keys } = await orgWith('free')
    await insert(org, 13, 'operator')
    expect(tally(await make(keys, 30))).toEqual({ 201: 5, 402: 25 })
    expect(await countsOf(org)).toEqual({ keys: 5, entries: 5 })
  })
})

describe('hourly rate', () => {
  test('X-034 the eleventh key within an hour gets 429 until the oldest of the ten is an hour old', async () => {
    const { keys } = await orgWith()
    expect((await keys.create({})).status).toBe(201)
    await advance(t, 600)
    for (let i = 0; i < 9; i++) {
      expect((await keys.create({ environment: i % 2 ? 'live' : 'test' })).status).toBe(201)
    }
    const first = retryAfter(await leavesNoTrace(() => keys.create({})))
    expect(first).toBeGreaterThan(2_980)
    expect(first).toBeLessThanOrEqual(3_000)

    await advance(t, first - 20)
    const left = retryAfter(await leavesNoTrace(() => keys.create({ environment: 'test' })))
    expect(left).toBeGreaterThan(10)
    expect(left).toBeLessThanOrEqual(20)
    await advance(t, left)
    expect((await keys.create({})).status).toBe(201)

    const second = retryAfter(await leavesNoTrace(() => keys.create({})))
    expect(second).toBeGreaterThan(570)
    expect(second).toBeLessThanOrEqual(600)
    await advance(t, second)
    expect((await keys.create({})).status).toBe(201)
  })

  test('X-034 the limit of one org does not affect another', async () => {
    const [one, two] = [await orgWith(), await orgWith()]
    expect(tally(await make(one.keys, 10))).toEqual({ 201: 10 })
    expect(tally(await make(one.keys, 2))).toEqual({ 429: 2 })
    expect(tally(await make(two.keys, 10))).toEqual({ 201: 10 })
  })

  test('X-034 XD-07 live and test keys share the hourly limit, whichever key creates them', async () => {
    const { org, keys } = await orgWith()
    for (let i = 0; i < 5; i++) {
      expect((await keys.create({}, org.keys.test)).status).toBe(201)
      expect((await keys.create({}, org.keys.live)).status).toBe(201)
    }
    for (const key of [org.keys.test, org.keys.live]) {
      retryAfter(await leavesNoTrace(() => keys.create({}, key)))
    }
  })

  test('X-034 XD-07 a creation that is refused, for any reason, does not count towards the hourly limit', async () => {
    const { org, keys } = await orgWith()
    const narrow = await keys.held({ scopes: ['write:keys'] })
    for (let i = 0; i < 12; i++) {
      expect((await keys.create({ nme: 'x' })).status).toBe(422)
      expect((await keys.create({ tenant_id: newId('tenant') })).status).toBe(422)
      expect((await keys.create({}, narrow.key)).status).toBe(403)
      expect((await keys.create({ environment: 'live' }, org.keys.test)).status).toBe(403)
    }
    await t.database.sql("update orgs set plan = 'free' where id = $1", [org.org.id])
    await insert(org, 17, 'operator')
    for (let i = 0; i < 12; i++) expect((await keys.create({})).status).toBe(402)
    await t.database.sql("update orgs set plan = 'enterprise' where id = $1", [org.org.id])
    const planOfRequests = async () =>
      (await t.ask('GET', '/api/v1/keys', { key: org.keys.live })).headers['x-ratelimit-plan']
    await expect.poll(planOfRequests).toBe('enterprise')

    expect(tally(await make(keys, 10))).toEqual({ 201: 10 })
    const before = retryAfter(await keys.create({}))
    for (let i = 0; i < 5; i++) retryAfter(await keys.create({}))
    await advance(t, 100)
    expect(retryAfter(await keys.create({}))).toBeLessThanOrEqual(before - 100)
  })

  test('X-034 a key that was revoked still counts', async () => {
    const { keys } = await orgWith()
    for (const { body } of await make(keys, 10)) await keys.revoke(body.id)
    retryAfter(await leavesNoTrace(() => keys.create({})))
  })

  test('X-035 A-368 keys created in the dashboard count towards the hourly limit, but those of an operator do not', async () => {
    const { org, keys } = await orgWith()
    await insert(org, 30, 'operator')
    await insert(org, 6, 'dashboard')
    expect(tally(await make(keys, 4))).toEqual({ 201: 4 })
    await advance(t, 60)
    const wait = retryAfter(await leavesNoTrace(() => keys.create({})))
    expect(wait).toBeGreaterThan(3_500)
    expect(wait).toBeLessThanOrEqual(3_540)

    const dashboardOnly = await orgWith()
    await insert(dashboardOnly.org, 10, 'dashboard')
    retryAfter(await leavesNoTrace(() => dashboardOnly.keys.create({})))
  })

  test('X-035 if the dashboard created more than ten, Retry-After is the time until only nine are within the hour', async () => {
    const { org, keys } = await orgWith()
    await insert(org, 3, 'dashboard')
    await advance(t, 600)
    await insert(org, 9, 'dashboard')
    await advance(t, 600)
    await insert(org, 1, 'dashboard')
    const wait = retryAfter(await leavesNoTrace(() => keys.create({})))
    expect(wait).toBeGreaterThan(2_980)
    expect(wait).toBeLessThanOrEqual(3_000)
    await advance(t, wait)
    expect(tally(await make(keys, 10))).toEqual({ 201: 9, 429: 1 })
  })

  test('X-034 of 30 concurrent creations in two processes exactly ten succeed', async () => {
    const { org, keys } = await orgWith()
    const second = await startTestService({ database: t.database })
    try {
      const there = await keyClient(second, org)
      const replies = await Promise.all([make(keys, 15), make(there, 15, { environment: 'test' })])
      expect(tally(replies.flat())).toEqual({ 201: 10, 429: 20 })
      expect(await countsOf(org)).toEqual({ keys: 10, entries: 10 })
      const created = replies.flat().filter(({ status }) => status === 201)
      expect(new Set(created.map(({ body }) => body.key)).size).toBe(10)
    } finally {
      await second.stop()
    }
  })
})

test('XD-07 of several refusals the first is reported, in the order body, permissions, plan, hourly rate', async () => {
  const { org, keys } = await orgWith('free')
  const narrow = await keys.held({ scopes: ['write:keys'] })
  await insert(org, 10, 'dashboard')
  await insert(org, 7, 'operator')
  const wide = { scopes: ['send:email'] }
  const order = [
    [() => keys.create({ ...wide, name: '' }, narrow.key), 422],
    [() => keys.create(wide, narrow.key), 403],
    [() => keys.create({ scopes: ['write:keys'] }, narrow.key), 402],
  ] as const
  for (const [send, status] of order) expect((await leavesNoTrace(send)).status).toBe(status)
  await keys.revoke(await keyIdOf(t, org.keys.test))
  retryAfter(await leavesNoTrace(() => keys.create({ scopes: ['write:keys'] }, narrow.key)))
})
