import { afterAll, describe, expect, test } from 'vitest'
import { addPerson } from '../../../test/clients/people.ts'
import { entriesAbout, goodPassword, mailsTo } from '../../../test/clients/sign-in-client.ts'
import { type Reply, startTestService } from '../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())

type Request = { limit: number; ask: (address: string, n: number) => Promise<Reply> }

const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })
const post = (path: string, body: unknown, address: string) => t.ask('POST', path, { body, ...from(address) })
const form = { 'content-type': 'application/x-www-form-urlencoded' }

const limits: Record<string, Request> = {
  'bad API keys': { limit: 100, ask: (address) => t.ask('GET', '/api/v1/suppressions', from(address)) },
  'failed sign-ins': {
    limit: 100,
    ask: (address, n) => post('/api/auth/login', { email: `n${n}@example.com`, password: 'wrong' }, address),
  },
  'failed sign-ins of one account': {
    limit: 20,
    ask: (address) => post('/api/auth/login', { email: 'nobody@example.com', password: 'wrong' }, address),
  },
  'wrong codes': {
    limit: 100,
    ask: (address) => post('/api/auth/login/code', { challenge_id: 'chl_x', code: '123456' }, address),
  },
  'single sign-on': { limit: 60, ask: (address) => t.ask('GET', '/api/auth/sso/login?org=none', from(address)) },
  'client registrations': {
    limit: 20,
    ask: (address) => post('/api/oauth/register', { redirect_uris: ['https://example.com/cb'] }, address),
  },
  'token requests': {
    limit: 120,
    ask: (address) =>
      t.ask('POST', '/api/oauth/token', { raw: 'a=b', headers: { ...form, 'x-forwarded-for': address } }),
  },
  'bad directory tokens': { limit: 600, ask: (address) => t.ask('GET', '/scim/v2/Users', from(address)) },
  'provider notifications': {
    limit: 600,
    ask: (address) => t.ask('POST', '/api/webhooks/provider/inbound-sms', { raw: '{}', ...from(address) }),
  },
}

/** Sends requests from as many addresses, a few at a time. Returns how many were refused. */
const refusals = async (request: Request, addresses: string[]): Promise<number> => {
  let refused = 0
  for (let i = 0; i < addresses.length; i += 20) {
    const some = addresses.slice(i, i + 20).map((address, n) => request.ask(address, i + n))
    refused += (await Promise.all(some)).filter(({ status }) => status === 429).length
  }
  return refused
}

const many = (count: number, address: (n: string) => string): string[] =>
  Array.from({ length: count }, (_, n) => address((n + 1).toString(16)))

describe.each(Object.entries(limits))('the limit on %s', (name, request) => {
  const site = `2001:db8:a${Object.keys(limits).indexOf(name)}`

  test('R-56 counts the addresses of an IPv6 /64 together, and no other network', async () => {
    const refused = await refusals(
      request,
      many(request.limit + 10, (n) => `${site}:1:${n}::${n}`),
    )
    // Failed sign-ins are counted when they end, so that requests at the same time may be refused early.
    expect(refused).toBeGreaterThanOrEqual(10)
    expect((await request.ask(`${site}:1::ffff`, 0)).status).toBe(429)
    expect((await request.ask(`${site}:2::1`, 0)).status).not.toBe(429)
  })
})

test('R-56 a /48 of IPv6 has ten times the limit of one address', async () => {
  const request = limits['client registrations'] as Request
  expect(
    await refusals(
      request,
      many(200, (n) => `2001:db8:2:${n}::1`),
    ),
  ).toBe(0)
  const refused = await request.ask('2001:db8:2:ffff::1', 0)
  expect(refused.status).toBe(429)
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_500)
  expect((await request.ask('2001:db8:3::1', 0)).status).toBe(201)
})

test('R-56 an IPv4 address in IPv6 form counts as the IPv4 address', async () => {
  const request = limits['client registrations'] as Request
  expect(
    await refusals(
      request,
      many(20, () => '203.0.113.9'),
    ),
  ).toBe(0)
  expect((await request.ask('::ffff:203.0.113.9', 0)).status).toBe(429)
  expect((await request.ask('::ffff:203.0.113.10', 0)).status).toBe(201)
})

test('R-56 registrations from one /64 mail 20 people an hour', async () => {
  const register = (n: string) => {
    const body = { email: `r${n}@example.com`, password: goodPassword, name: 'Ann Lee' }
    return post('/api/auth/register', body, `2001:db8:4:1::${n}`)
  }
  for (const n of many(22, (one) => one)) expect((await register(n)).status).toBe(202)
  const mailed = await Promise.all(many(22, (n) => `r${n}@example.com`).map((to) => mailsTo(t, to)))
  expect(mailed.map(({ length }) => length)).toEqual([...Array(20).fill(1), 0, 0])
})

test('R-56 failed logins from one /64 are recorded ten times an hour, each with its full address', async () => {
  const { email, userId } = await addPerson(t, { orgId: (await t.org()).org.id })
  for (const n of many(12, (one) => one)) {
    await post('/api/auth/login', { email, password: 'wrong' }, `2001:db8:5:1::${n}`)
    await t.service.people.background.drained()
  }
  const entries = await entriesAbout(t, userId)
  expect(entries.map(({ metadata }) => (metadata as { ip: string }).ip)).toEqual(many(10, (n) => `2001:db8:5:1::${n}`))
})
