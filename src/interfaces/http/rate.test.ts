import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Reply, startTestService, type TestService } from '../../../test/service/service.ts'
import type { Plan } from '../../customers/orgs/plans.ts'

let t: TestService
beforeAll(async () => {
  t = await startTestService()
})
afterAll(() => t.stop())

const refusal = (reply: Reply) => [reply.status, reply.body?.error?.code]
const list = (key: string) => t.ask('GET', '/api/v1/suppressions', { key })
const advance = (seconds: number) => t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } })
const rate = ({ headers }: Reply) => ({
  limit: headers['x-ratelimit-limit'],
  remaining: headers['x-ratelimit-remaining'],
  plan: headers['x-ratelimit-plan'],
  scope: headers['x-ratelimit-scope'],
})

describe('the rate limit of an org', () => {
  test.each<[Plan, number]>([
    ['free', 60],
    ['payg', 600],
    ['pro', 600],
    ['enterprise', 6000],
  ])('X-320 on plan %s is %i requests per minute', async (plan, limit) => {
    const { keys } = await t.org({ plan, name: plan })
    expect(rate(await list(keys.live))).toEqual({
      limit: String(limit),
      remaining: String(limit - 1),
      plan,
      scope: 'org',
    })
  })

  test('X-320 X-321 X-323 X-275 is shared by all keys of the org, and a request over it returns 429 without effect', async () => {
    const org = await t.org({ plan: 'free', name: 'Shared bucket' })
    const other = await t.org({ plan: 'free', name: 'Another' })
    const keys = [org.keys.live, org.keys.test, await t.key(org.org.id)]
    const replies: Reply[] = []
    for (let i = 0; i < 60; i++) replies.push(await list(keys[i % 3] as string))
    expect(replies.map((reply) => reply.status)).toEqual(new Array(60).fill(200))
    expect(replies.map((reply) => Number(reply.headers['x-ratelimit-remaining']))).toEqual(
      Array.from({ length: 60 }, (_, i) => 59 - i),
    )
    const refused = await t.ask('POST', '/api/v1/suppressions', {
      key: org.keys.live,
      body: { channel: 'email', value: 'nobody@example.com' },
    })
    expect(refusal(refused)).toEqual([429, 'RATE_LIMITED'])
    expect(refused.body.error.type).toBe('rate_limit_error')
    expect(rate(refused)).toEqual({ limit: '60', remaining: '0', plan: 'free', scope: 'org' })
    expect(await t.database.sql('select 1 from suppressions where org_id = $1', [org.org.id])).toEqual([])
    expect((await list(other.keys.live)).status).toBe(200)
  })

  test('X-318 counts over a sliding window instead of fixed minutes', async () => {
    const org = await t.org({ plan: 'free', name: 'Sliding' })
    for (let i = 0; i < 30; i++) await list(org.keys.live)
    await advance(40)
    for (let i = 0; i < 30; i++) expect((await list(org.keys.live)).status).toBe(200)
    expect(refusal(await list(org.keys.live))).toEqual([429, 'RATE_LIMITED'])
    // 70 s after the first half: a fixed minute would allow 60 again, the sliding window allows 30.
    await advance(30)
    const statuses: number[] = []
    for (let i = 0; i < 31; i++) statuses.push((await list(org.keys.live)).status)
    expect(statuses).toEqual([...new Array(30).fill(200), 429])
  })

  test('X-326 X-327 X-330 a 429 reports when to retry, in Unix milliseconds and in seconds', async () => {
    const { keys } = await t.org({ plan: 'free', name: 'Retry time' })
    const first = t.service.clock.millis()
    for (let i = 0; i < 60; i++) await list(keys.live)
    const last = t.service.clock.millis()
    const refused = await list(keys.live)
    const reset = Number(refused.headers['x-ratelimit-reset'])
    expect(reset).toBeGreaterThanOrEqual(first + 60_000)
    expect(reset).toBeLessThanOrEqual(last + 60_000)
    const retryAfter = Number(refused.headers['retry-after'])
    expect(Number.isInteger(retryAfter) && retryAfter >= 1 && retryAfter <= 60).toBe(true)
    await advance(retryAfter)
    expect((await list(keys.live)).status).toBe(200)
  })

  test('X-324 counts reads, writes, invalid requests and unknown paths', async () => {
    const { keys } = await t.org({ plan: 'free', name: 'Everything counts' })
    const replies = [
      await list(keys.live),
      await t.ask('POST', '/api/v1/suppressions', { key: keys.live, body: {} }),
      await t.ask('GET', '/api/v1/nowhere', { key: keys.live }),
      await t.ask('PUT', '/api/v1/suppressions', { key: keys.live }),
      await t.ask('GET', '/api/v1/suppressions/sup_none', { key: keys.live }),
    ]
    expect(replies.map((reply) => [reply.status, reply.headers['x-ratelimit-remaining']])).toEqual([
      [200, '59'],
      [422, '58'],
      [404, '57'],
      [405, '56'],
      [404, '55'],
    ])
  })

  test('can be overridden for one org', async () => {
    const org = await t.org({ plan: 'enterprise', name: 'Contract' })
    await list(org.keys.live)
    await t.database.sql('update orgs set rate_limit_per_minute = 12345 where id = $1', [org.org.id])
    await expect.poll(async () => rate(await list(org.keys.live)).limit).toBe('12345')
  })
})

describe('the rate limit of a key', () => {
  const spendKeyLimit = async (name: string) => {
    const org = await t.org({ plan: 'free', name })
    const limited = await t.key(org.org.id, { ratePerMinute: 3 })
    const replies: Reply[] = []
    for (let i = 0; i < 5; i++) replies.push(await list(limited))
    return { org, replies }
  }

  test('X-011 X-322 X-328 applies before that of the org, and the headers describe it', async () => {
    const { replies } = await spendKeyLimit('Own limit')
    expect(replies.map((reply) => [reply.status, rate(reply).scope, rate(reply).limit, rate(reply).remaining])).toEqual(
      [
        [200, 'key', '3', '2'],
        [200, 'key', '3', '1'],
        [200, 'key', '3', '0'],
        [429, 'key', '3', '0'],
        [429, 'key', '3', '0'],
      ],
    )
    expect(refusal(replies[3] as Reply)).toEqual([429, 'RATE_LIMITED'])
    expect(replies[3]?.headers['retry-after']).toMatch(/^\d+$/)
  })

  test('X-319 X-322 X-329 does not count rejected requests for the org, and keys without one report the limit of the org', async () => {
    const { org } = await spendKeyLimit('Shared with the org')
    // The org counted three requests of the limited key and this one, but not the two rejected ones.
    expect(rate(await list(org.keys.live))).toEqual({
      limit: '60',
      remaining: '56',
      plan: 'free',
      scope: 'org',
    })
  })

  test('X-328 the headers describe the org when its limit rejects a key with its own limit', async () => {
    const org = await t.org({ plan: 'free', name: 'Org limit first' })
    const limited = await t.key(org.org.id, { ratePerMinute: 100 })
    for (let i = 0; i < 60; i++) await list(org.keys.live)
    const refused = await list(limited)
    expect(refusal(refused)).toEqual([429, 'RATE_LIMITED'])
    expect(rate(refused)).toEqual({ limit: '60', remaining: '0', plan: 'free', scope: 'org' })
    await advance(61)
    expect(rate(await list(limited))).toEqual({ limit: '100', remaining: '99', plan: 'free', scope: 'key' })
  })

  test('X-322 is enforced for concurrent requests', async () => {
    const org = await t.org({ name: 'Together' })
    const limited = await t.key(org.org.id, { ratePerMinute: 20 })
    const replies = await Promise.all(Array.from({ length: 100 }, () => list(limited)))
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(20)
    expect(replies.filter((reply) => reply.status === 429)).toHaveLength(80)
  })
})

describe('rate limiting', () => {
  test('X-326 successes and 429s have the five headers, and requests rejected earlier have none', async () => {
    const org = await t.org({ name: 'Headers' })
    const names = ['limit', 'remaining', 'reset', 'plan', 'scope'].map((name) => `x-ratelimit-${name}`)
    const present = (reply: Reply) => names.filter((name) => reply.headers[name] !== undefined)
    expect(present(await list(org.keys.live))).toEqual(names)
    const limited = await t.key(org.org.id, { ratePerMinute: 1 })
    await list(limited)
    expect(present(await list(limited))).toEqual(names)
    expect(present(await t.ask('GET', '/api/v1/suppressions'))).toEqual([])
    expect(present(await list(await t.key(org.org.id, { allowedCidrs: ['203.0.113.0/24'] })))).toEqual([])
  })

  test('X-325 with the limiter off requests succeed without the headers', async () => {
    const open = await startTestService({ database: t.database, env: { RATE_LIMITER: 'off' } })
    try {
      const { keys } = await t.org({ plan: 'free', name: 'No store' })
      for (let i = 0; i < 65; i++) {
        const reply = await open.ask('GET', '/api/v1/suppressions', { key: keys.live })
        expect([reply.status, reply.headers['x-ratelimit-limit']]).toEqual([200, undefined])
      }
    } finally {
      await open.stop()
    }
  })

  test('X-325 when Redis is unreachable requests succeed without the headers', async () => {
    const open = await startTestService({ database: t.database, env: { REDIS_URL: 'redis://127.0.0.1:1' } })
    try {
      const { keys } = await t.org({ plan: 'free', name: 'Store down' })
      const reply = await open.ask('GET', '/api/v1/suppressions', { key: keys.live })
      expect([reply.status, reply.headers['x-ratelimit-limit']]).toEqual([200, undefined])
    } finally {
      await open.stop()
    }
  })

  test('failed authentication is limited to 100 attempts per minute and address, which does not affect valid keys', async () => {
    const { keys } = await t.org({ name: 'Guessed' })
    const from = (address: string, key?: string) =>
      t.ask('GET', '/api/v1/suppressions', { ...(key && { key }), headers: { 'x-forwarded-for': address } })
    const statuses = (await Promise.all(Array.from({ length: 105 }, () => from('198.51.100.1')))).map((r) => r.status)
    expect(statuses.filter((status) => status === 401)).toHaveLength(100)
    expect(statuses.filter((status) => status === 429)).toHaveLength(5)
    const refused = await from('198.51.100.1')
    expect(refusal(refused)).toEqual([429, 'RATE_LIMITED'])
    expect(refused.headers['retry-after']).toMatch(/^\d+$/)
    expect((await from('198.51.100.1', keys.live)).status).toBe(200)
    expect((await from('198.51.100.2')).status).toBe(401)
    await advance(61)
    expect((await from('198.51.100.1')).status).toBe(401)
  })
})
