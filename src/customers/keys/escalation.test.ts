/** A key cannot create or update a key, itself included, so that it has more permissions than the caller's key. */
import { BlockList } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Body, keyClient, resetKeyCreationLimit } from '../../../test/clients/key-client.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { type KeyOptions, type Reply, startTestService } from '../../../test/service/service.ts'
import type { Code } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import { type ScopeName, scopes } from './scopes.ts'

const t = await startTestService()
afterAll(() => t.stop())

const acme = await t.org()
const { create, patch, get, held, domainId, projectId } = await keyClient(t, acme)
const leavesNoTrace = await watchTables(t.database)

const addDomain = async (name: string): Promise<string> => {
  const id = newId('domain')
  await t.database.sql(
    `insert into domains (org_id, id, project_id, name, status, dkim_status, region, created_environment,
       created_at, updated_at)
     values ($1, $2, $3, $4, 'verified', 'SUCCESS', 'us-east-1', 'live', $5, $5)`,
    [acme.org.id, id, projectId, name, t.service.clock.now()],
  )
  return id
}
const secondDomain = await addDomain('second.test')
const thirdDomain = await addDomain('third.test')
const days = (n: number) => new Date(t.service.clock.millis() + n * 86_400_000)

/** An address that every caller in this file is allowed to use. */
const from = { 'x-forwarded-for': '10.0.0.5' }

type Rule = {
  rows: string
  code: Code
  caller: () => KeyOptions
  /** Requests that are allowed, and the resulting fields. */
  within: [body: Body, result: Body][]
  beyond: Body[]
  /** A key with fewer permissions than the caller, and one with more. */
  narrower: () => KeyOptions
  wider: () => KeyOptions
  /** A restriction that the caller may put on itself, and the change back that it may not make. */
  narrowing: Body
  widening: Body
}

const callerScopes: ScopeName[] = ['read:keys', 'write:keys', 'send:email']
const lacking = scopes.filter((scope) => !callerScopes.includes(scope))

const rules: Rule[] = [
  {
    rows: 'X-020 X-196',
    code: 'SCOPE_ESCALATION',
    caller: () => ({ scopes: callerScopes }),
    within: [
      [{ scopes: ['send:email'] }, { scopes: ['send:email'] }],
      [{ scopes: callerScopes }, { scopes: callerScopes }],
    ],
    beyond: [
      { scopes: ['send:email', 'send:sms'] },
      ...lacking.map((scope) => ({ scopes: [scope] })),
      { scopes: [...scopes] },
    ],
    narrower: () => ({ scopes: ['send:email'] }),
    wider: () => ({ scopes: ['send:email', 'send:sms'] }),
    narrowing: { scopes: ['write:keys'] },
    widening: { scopes: ['write:keys', 'send:email'] },
  },
  {
    rows: 'X-022 X-023 X-197',
    code: 'DOMAIN_SCOPE_ESCALATION',
    caller: () => ({ allowedDomainIds: [domainId, thirdDomain] }),
    within: [
      [{ allowed_domain_ids: [domainId] }, { allowed_domain_ids: [domainId] }],
      [{ allowed_domain_ids: [thirdDomain, domainId] }, { allowed_domain_ids: [thirdDomain, domainId] }],
    ],
    beyond: [
      { allowed_domain_ids: [secondDomain] },
      { allowed_domain_ids: [domainId, secondDomain] },
      { allowed_domain_ids: [newId('domain')] },
      { allowed_domain_ids: null },
    ],
    narrower: () => ({ allowedDomainIds: [domainId] }),
    wider: () => ({ allowedDomainIds: [domainId, secondDomain] }),
    narrowing: { allowed_domain_ids: [domainId] },
    widening: { allowed_domain_ids: [domainId, thirdDomain] },
  },
  {
    rows: 'X-024 X-025 X-198',
    code: 'CIDR_SCOPE_ESCALATION',
    caller: () => ({ allowedCidrs: ['10.0.0.0/16', '2001:db8::/32'] }),
    within: [
      [{ allowed_cidrs: ['10.0.1.0/24'] }, { allowed_cidrs: ['10.0.1.0/24'] }],
      [{ allowed_cidrs: ['10.0.0.0/16'] }, { allowed_cidrs: ['10.0.0.0/16'] }],
      [
        { allowed_cidrs: ['10.0.255.255', '2001:db8:1::1'] },
        { allowed_cidrs: ['10.0.255.255/32', '2001:db8:1::1/128'] },
      ],
      [{ allowed_cidrs: ['::ffff:10.0.3.4'] }, { allowed_cidrs: ['10.0.3.4/32'] }],
    ],
    beyond: [
      { allowed_cidrs: ['10.0.0.0/15'] },
      { allowed_cidrs: ['10.1.0.0/24'] },
      // The same address, but a larger network.
      { allowed_cidrs: ['10.0.0.0/8'] },
      { allowed_cidrs: ['10.0.1.0/24', '10.1.0.1'] },
      { allowed_cidrs: ['0.0.0.0/0'] },
      { allowed_cidrs: ['::/0'] },
      { allowed_cidrs: ['2001:db9::1'] },
      { allowed_cidrs: null },
    ],
    narrower: () => ({ allowedCidrs: ['10.0.9.0/24'] }),
    wider: () => ({ allowedCidrs: ['10.0.0.0/8'] }),
    narrowing: { allowed_cidrs: ['10.0.0.0/24'] },
    widening: { allowed_cidrs: ['10.0.0.0/16'] },
  },
  {
    rows: 'X-026 X-027 X-199',
    code: 'EXPIRY_ESCALATION',
    caller: () => ({ expiresAt: days(10) }),
    within: [
      [{ expires_in_days: 9 }, {}],
      [{ expires_in_days: 1 }, {}],
    ],
    beyond: [{ expires_in_days: 11 }, { expires_in_days: 3650 }, { expires_in_days: null }],
    narrower: () => ({ expiresAt: days(3) }),
    wider: () => ({ expiresAt: days(30) }),
    narrowing: { expires_in_days: 5 },
    widening: { expires_in_days: 6 },
  },
  {
    rows: 'X-028 X-029 X-200',
    code: 'RATE_LIMIT_ESCALATION',
    caller: () => ({ ratePerMinute: 100 }),
    within: [
      [{ rate_limit_per_minute: 100 }, { rate_limit_per_minute: 100 }],
      [{ rate_limit_per_minute: 1 }, { rate_limit_per_minute: 1 }],
    ],
    beyond: [{ rate_limit_per_minute: 101 }, { rate_limit_per_minute: 6000 }, { rate_limit_per_minute: null }],
    narrower: () => ({ ratePerMinute: 99 }),
    wider: () => ({ ratePerMinute: 101 }),
    narrowing: { rate_limit_per_minute: 50 },
    widening: { rate_limit_per_minute: 51 },
  },
]

describe.for(rules)('$code', (rule) => {
  const { rows, code } = rule

  test(`${rows} creating a key that exceeds the caller, or omits the restriction, is refused`, async () => {
    const { key } = await held(rule.caller())
    await leavesNoTrace(async () => {
      for (const body of [...rule.beyond, {}, { name: 'unrestricted', environment: 'test' }]) {
        expectRefusal(await create(body, key, from), code, {}, JSON.stringify(body))
      }
    })
  })

  test(`${rows} updating a key beyond the caller is refused`, async () => {
    const { key } = await held(rule.caller())
    const target = await held(rule.narrower())
    await leavesNoTrace(async () => {
      for (const body of rule.beyond) {
        expectRefusal(await patch(target.id, body, key, from), code, {}, JSON.stringify(body))
      }
    })
  })

  test(`${rows} XD-06 a key that already exceeds the caller can be updated only if the same update restricts it`, async () => {
    const { key } = await held(rule.caller())
    for (const target of [await held(rule.wider()), await held()]) {
      expectRefusal(await leavesNoTrace(() => patch(target.id, { name: 'mine' }, key, from)), code)
      const inside = await patch(target.id, { name: 'mine', ...rule.narrowing }, key, from)
      expect([inside.status, inside.body.name]).toEqual([200, 'mine'])
    }
  })

  test('X-021 a key cannot extend its own permissions, not even to undo its own restriction', async () => {
    const self = await held(rule.caller())
    await leavesNoTrace(async () => {
      for (const body of rule.beyond) {
        expectRefusal(await patch(self.id, body, self.key, from), code, {}, JSON.stringify(body))
      }
    })
    expect((await patch(self.id, rule.narrowing, self.key, from)).status).toBe(200)
    expectRefusal(await leavesNoTrace(() => patch(self.id, rule.widening, self.key, from)), code)
  })

  test('X-030 equal or stricter limits are allowed, and an update does not have to repeat them', async () => {
    await resetKeyCreationLimit(t)
    const { key } = await held(rule.caller())
    for (const [body, result] of rule.within) {
      const created = await create(body, key, from)
      expect([created.status, created.body], JSON.stringify(body)).toMatchObject([201, result])
      const target = await held(rule.narrower())
      const changed = await patch(target.id, body, key, from)
      expect([changed.status, changed.body], JSON.stringify(body)).toMatchObject([200, result])
    }
    const target = await held(rule.narrower())
    const before = (await get(target.id)).body
    const renamed = await patch(target.id, { name: 'renamed' }, key, from)
    expect([renamed.status, renamed.body]).toEqual([200, { ...before, name: 'renamed' }])
  })
})

test('X-030 a caller without a restriction can set any value for it', async () => {
  await resetKeyCreationLimit(t)
  const free = await held({ scopes: callerScopes })
  for (const body of [
    { scopes: ['send:email'] },
    { scopes: ['send:email'], allowed_cidrs: ['::/0'], expires_in_days: 3650, rate_limit_per_minute: 6000 },
    { scopes: ['send:email'], allowed_domain_ids: [domainId, secondDomain], project_id: projectId },
  ]) {
    expect((await create(body, free.key)).status, JSON.stringify(body)).toBe(201)
  }
})

test('X-026 a key may expire at the same instant as its caller, but not a millisecond later', async () => {
  await resetKeyCreationLimit(t)
  const caller = await held({ expiresAt: days(1) })
  const { id } = await held({ expiresAt: days(1) })
  const ends = (await get(caller.id)).body.expires_at
  const setTo = (at: number) => t.database.sql('update api_keys set expires_at = $2 where id = $1', [id, new Date(at)])
  await setTo(Date.parse(ends))
  expect((await patch(id, { name: 'as long' }, caller.key)).status).toBe(200)
  await setTo(Date.parse(ends) + 1)
  expectRefusal(await leavesNoTrace(() => patch(id, { name: 'longer' }, caller.key)), 'EXPIRY_ESCALATION')
})

test('XD-06 of several escalations the first is reported, in the order scope, domain, range, expiry, rate', async () => {
  await resetKeyCreationLimit(t)
  const all: KeyOptions = {
    scopes: callerScopes,
    allowedDomainIds: [domainId],
    allowedCidrs: ['10.0.0.0/16'],
    expiresAt: days(10),
    ratePerMinute: 100,
  }
  const { key } = await held(all)
  const { id } = await held(all)
  const wide: Body = {
    scopes: [...scopes],
    allowed_domain_ids: null,
    allowed_cidrs: null,
    expires_in_days: null,
    rate_limit_per_minute: null,
  }
  const steps: [Code, Body][] = [
    ['SCOPE_ESCALATION', { scopes: ['send:email'] }],
    ['DOMAIN_SCOPE_ESCALATION', { allowed_domain_ids: [domainId] }],
    ['CIDR_SCOPE_ESCALATION', { allowed_cidrs: ['10.0.0.5'] }],
    ['EXPIRY_ESCALATION', { expires_in_days: 5 }],
    ['RATE_LIMIT_ESCALATION', { rate_limit_per_minute: 50 }],
  ]
  let body = wide
  for (const [code, fix] of steps) {
    expectRefusal(await leavesNoTrace(() => create(body, key, from)), code)
    expectRefusal(await leavesNoTrace(() => patch(id, body, key, from)), code)
    body = { ...body, ...fix }
  }
  expect((await create(body, key, from)).status).toBe(201)
  expect((await patch(id, body, key, from)).status).toBe(200)
})

describe('against a model', () => {
  type Limits = {
    scopes: ScopeName[]
    allowed_domain_ids: string[] | null
    allowed_cidrs: string[] | null
    expires_in_days: number | null
    rate_limit_per_minute: number | null
  }

  /** The first and last address of a range, computed without the code under test. */
  const ends = (range: string): [first: string, last: string] => {
    const [base, bits] = range.split('/') as [string, string]
    const size = 2 ** (32 - Number(bits))
    const number = base.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
    const first = Math.floor(number / size) * size
    const dotted = (n: number) => [24, 16, 8, 0].map((shift) => Math.floor(n / 2 ** shift) % 256).join('.')
    return [dotted(first), dotted(first + size - 1)]
  }

  const inside = (outer: string, inner: string): boolean => {
    const [base, bits] = outer.split('/') as [string, string]
    const reference = new BlockList()
    reference.addSubnet(base, Number(bits), 'ipv4')
    return ends(inner).every((address) => reference.check(address, 'ipv4'))
  }

  const expectedCode = (caller: Limits, requested: Limits): Code | undefined => {
    const beyond = <T>(own: T[] | null, wanted: T[] | null, contains: (a: T, b: T) => boolean) =>
      own !== null && !(wanted?.every((one) => own.some((mine) => contains(mine, one))) ?? false)
    const above = (own: number | null, wanted: number | null) => own !== null && (wanted === null || wanted > own)
    const same = <T>(a: T, b: T) => a === b
    if (beyond(caller.scopes, requested.scopes, same)) return 'SCOPE_ESCALATION'
    if (beyond(caller.allowed_domain_ids, requested.allowed_domain_ids, same)) return 'DOMAIN_SCOPE_ESCALATION'
    if (beyond(caller.allowed_cidrs, requested.allowed_cidrs, inside)) return 'CIDR_SCOPE_ESCALATION'
    // The caller was updated earlier, so with the same number of days the requested key expires later.
    if (caller.expires_in_days !== null && requested.expires_in_days === caller.expires_in_days)
      return 'EXPIRY_ESCALATION'
    if (above(caller.expires_in_days, requested.expires_in_days)) return 'EXPIRY_ESCALATION'
    if (above(caller.rate_limit_per_minute, requested.rate_limit_per_minute)) return 'RATE_LIMIT_ESCALATION'
    return undefined
  }

  const some = <T>(values: fc.Arbitrary<T>, freq: number) =>
    fc.option(fc.uniqueArray(values, { minLength: 1, maxLength: 3 }), { freq })
  // Few addresses and lengths, so that ranges are often adjacent, nested or equal.
  const range = fc
    .tuple(
      fc.constantFrom('10.0.0.0', '10.0.0.128', '10.0.1.0', '10.1.0.0', '11.0.0.0'),
      fc.constantFrom(7, 8, 15, 16, 23, 24, 25, 32),
    )
    .map(([base, bits]) => `${ends(`${base}/${bits}`)[0]}/${bits}`)
  /** Each limit is null in one of `freq` cases. */
  const limits = (freq: number, ...always: ScopeName[]): fc.Arbitrary<Limits> =>
    fc.record({
      scopes: fc
        .constantFrom<ScopeName[]>([], [], [], ['send:sms'], ['read:usage'])
        .map((more) => [...always, ...more]),
      allowed_domain_ids: some(fc.constantFrom(domainId, secondDomain, thirdDomain), freq),
      allowed_cidrs: some(range, freq),
      expires_in_days: fc.option(fc.integer({ min: 2, max: 5 }), { freq }),
      rate_limit_per_minute: fc.option(fc.integer({ min: 4000, max: 4003 }), { freq }),
    })
  const fields = ['scopes', 'allowed_domain_ids', 'allowed_cidrs', 'expires_in_days', 'rate_limit_per_minute'] as const
  const unrestricted: Limits = {
    scopes: [...scopes],
    allowed_domain_ids: null,
    allowed_cidrs: null,
    expires_in_days: null,
    rate_limit_per_minute: null,
  }
  const picked = (all: Limits, names: readonly string[]): Body =>
    Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)))
  /** One or two restrictions, so that every code is often the first one violated. */
  const callers = fc
    .tuple(limits(1_000, 'write:keys', 'send:email'), fc.subarray([...fields], { minLength: 1, maxLength: 2 }))
    .map(([all, restricted]): Limits => ({ ...unrestricted, ...picked(all, restricted) }))
  const callFrom = ({ allowed_cidrs }: Limits) => ({
    'x-forwarded-for': ends(allowed_cidrs?.[0] ?? '10.0.0.0/32')[0],
  })

  /** One request, the code it should be refused with, and the target key around it. Undefined means allowed. */
  type Outcome = { expected: Code | undefined; body: Body; reply: Reply; before?: Body; after?: Body }

  const ofCodes = (outcomes: Outcome[], ...codes: Code[]): Outcome[] => {
    const found = outcomes.filter(({ expected }) => expected !== undefined && codes.includes(expected))
    // The generated requests must violate each of the limits, or the test proves nothing.
    expect(new Set(found.map(({ expected }) => expected))).toEqual(new Set(codes))
    return found
  }

  describe('updating', () => {
    const outcomes: Outcome[] = []

    beforeAll(async () => {
      const caller = await held()
      const target = await held()
      const run = async (own: Limits, present: Limits, requested: Limits, named: string[]) => {
        expect((await patch(target.id, present)).status).toBe(200)
        expect((await patch(caller.id, own)).status).toBe(200)
        const body = picked(requested, named)
        const result = { ...present, ...body }
        // The target was updated before the caller, so with the same number of days it expires earlier.
        const expiresEarlier = !('expires_in_days' in body) && present.expires_in_days === own.expires_in_days
        const expected = expectedCode(own, expiresEarlier ? { ...result, expires_in_days: 1 } : result)
        const before = (await get(target.id)).body
        const reply = await patch(target.id, body, caller.key, callFrom(own))
        outcomes.push({ expected, body, reply, before, after: (await get(target.id)).body })
      }
      const named = fc.subarray([...fields], { minLength: 1 })
      const property = fc.asyncProperty(callers, limits(2, 'send:email'), limits(2, 'send:email'), named, run)
      await fc.assert(property, { numRuns: 150 })
    }, 90_000)

    const expectRefused = (...codes: Code[]) => {
      for (const { expected, reply, before, after } of ofCodes(outcomes, ...codes)) {
        expectRefusal(reply, expected as Code)
        expect(after).toEqual(before)
      }
    }

    test('X-020 X-022 X-024 an update beyond the scopes, domains or ranges of the caller is refused', () =>
      expectRefused('SCOPE_ESCALATION', 'DOMAIN_SCOPE_ESCALATION', 'CIDR_SCOPE_ESCALATION'))

    test('X-026 X-028 an update beyond the expiry or rate limit of the caller is refused', () =>
      expectRefused('EXPIRY_ESCALATION', 'RATE_LIMIT_ESCALATION'))

    test('X-030 an update within the limits of the caller is accepted', () => {
      const accepted = outcomes.filter(({ expected }) => expected === undefined)
      expect(accepted).not.toEqual([])
      for (const { body, reply } of accepted) {
        const { expires_in_days: _, ...result } = body
        expect([reply.status, reply.body]).toMatchObject([200, result])
      }
    })
  })

  describe('creating', () => {
    const outcomes: Outcome[] = []

    beforeAll(async () => {
      const caller = await held()
      const run = async (own: Limits, requested: Limits, named: string[]) => {
        expect((await patch(caller.id, own)).status).toBe(200)
        await resetKeyCreationLimit(t)
        const body = picked(requested, named)
        const expected = expectedCode(own, { ...unrestricted, ...body })
        outcomes.push({ expected, body, reply: await create(body, caller.key, callFrom(own)) })
      }
      const property = fc.asyncProperty(callers, limits(2, 'send:email'), fc.subarray([...fields]), run)
      await fc.assert(property, { numRuns: 150 })
    }, 90_000)

    const expectRefused = (...codes: Code[]) => {
      for (const { expected, reply } of ofCodes(outcomes, ...codes)) expectRefusal(reply, expected as Code)
    }

    test('X-020 X-023 X-025 a key beyond the scopes, domains or ranges of the caller is refused', () =>
      expectRefused('SCOPE_ESCALATION', 'DOMAIN_SCOPE_ESCALATION', 'CIDR_SCOPE_ESCALATION'))

    test('X-027 X-029 a key beyond the expiry or rate limit of the caller is refused', () =>
      expectRefused('EXPIRY_ESCALATION', 'RATE_LIMIT_ESCALATION'))

    test('X-030 a key within the limits of the caller is created', () => {
      for (const { expected, reply } of outcomes) if (expected === undefined) expect(reply.status).toBe(201)
    })
  })
})
