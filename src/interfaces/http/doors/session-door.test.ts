import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { addMember, addPerson, askWith, memberCookie, signIn } from '../../../../test/clients/people.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { listQuery } from '../dashboard/list-query.ts'
import { bySession, defineRoute } from '../route.ts'

const handled: unknown[] = []
const change = defineRoute('POST', '/api/internal/probe', bySession('requireDeveloperSession'), {
  body: z.object({ name: z.string().max(10) }),
  responses: { 200: z.strictObject({ org_id: z.string(), role: z.string() }) },
  handle: async ({ session, body }) => {
    handled.push(body)
    return { status: 200, body: { org_id: session.orgId, role: session.role } }
  },
})
const patch = defineRoute('PATCH', '/api/internal/probe/{id}', bySession('requireOwnerSession'), {
  params: { id: 'session' },
  body: z.object({ name: z.string().max(10).optional() }),
  responses: { 204: null },
  handle: async () => ({ status: 204 }),
})
const list = defineRoute('GET', '/api/internal/probe', bySession('requireSession'), {
  query: listQuery({ fallback: 50, max: 100 }),
  responses: { 200: z.strictObject({ limit: z.number() }) },
  handle: async ({ query }) => ({ status: 200, body: { limit: query.limit } }),
})

const t = await startTestService({ dashboardRoutes: [change, patch, list] })
afterAll(() => t.stop())
const acme = await t.org()
const beta = await t.org({ name: 'Beta' })
const probe = '/api/internal/probe'
const valid = { body: { name: 'x' } }

describe('the cross-site rule', () => {
  const send = (cookie: string, headers: object) => t.ask('POST', probe, { ...valid, headers: { cookie, ...headers } })
  const refused = [403, { error: 'Cross-site request refused', code: 'CROSS_SITE_REFUSED' }]

  test.each([
    ['cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['same-site', { 'sec-fetch-site': 'same-site', origin: 'URL' }],
    ['an unknown value', { 'sec-fetch-site': 'SAME-ORIGIN' }],
    ['another origin', { origin: 'https://evil.example' }],
    ['another port', { origin: 'http://127.0.0.1:1' }],
    ['an opaque origin', { origin: 'null' }],
  ])('refuses %s', async (_, given) => {
    const cookie = await memberCookie(t, acme.org.id, 'owner')
    const headers = JSON.parse(JSON.stringify(given).replace('URL', t.url))
    const before = handled.length
    const reply = await send(cookie, headers)
    expect([reply.status, reply.body]).toEqual(refused)
    expect(handled.length).toBe(before)
  })

  test.each([
    ['the same origin', { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' }],
    ['a typed address', { 'sec-fetch-site': 'none' }],
    ['an older browser on the same origin', { origin: 'URL' }],
    ['a caller that is not a browser', {}],
  ])('admits %s', async (_, given) => {
    const cookie = await memberCookie(t, acme.org.id, 'owner')
    const headers = JSON.parse(JSON.stringify(given).replace('URL', t.url))
    expect((await send(cookie, headers)).status).toBe(200)
  })

  test('does not concern reads', async () => {
    const cookie = await memberCookie(t, acme.org.id, 'viewer')
    expect((await askWith(t, cookie, 'GET', probe, { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(200)
  })
})

describe('the active org', () => {
  test('A-031 A-032 A-035 is the one in the cookie, and the role is that of its membership', async () => {
    const { userId } = await addPerson(t, { orgId: acme.org.id, role: 'owner' })
    await addMember(t, beta.org.id, userId, 'viewer')
    const cookie = await signIn(t, userId)
    expect((await askWith(t, cookie, 'POST', probe, valid)).body).toEqual({ org_id: acme.org.id, role: 'owner' })
    const inBeta = `${cookie}; service_active_org=${beta.org.id}`
    const reply = await askWith(t, inBeta, 'POST', probe, valid)
    expect([reply.status, reply.body]).toEqual([403, { error: 'Developer or owner role required' }])
    await t.database.sql("update memberships set role = 'developer' where user_id = $1 and org_id = $2", [
      userId,
      beta.org.id,
    ])
    expect((await askWith(t, inBeta, 'POST', probe, valid)).body).toEqual({ org_id: beta.org.id, role: 'developer' })
  })

  test('is the oldest membership without a cookie and a default org', async () => {
    const { userId } = await addPerson(t)
    await addMember(t, beta.org.id, userId, 'owner')
    await addMember(t, acme.org.id, userId, 'owner')
    await t.database.sql(
      'update memberships set created_at = created_at - $3::interval where user_id = $1 and org_id = $2',
      [userId, acme.org.id, '1 hour'],
    )
    expect((await askWith(t, await signIn(t, userId), 'POST', probe, valid)).body.org_id).toBe(acme.org.id)
  })

  test('a membership that is removed in mid-session ends access on the next request', async () => {
    const { userId } = await addPerson(t, { orgId: acme.org.id, role: 'owner' })
    const cookie = `${await signIn(t, userId)}; service_active_org=${acme.org.id}`
    expect((await askWith(t, cookie, 'POST', probe, valid)).status).toBe(200)
    await t.database.sql('delete from memberships where user_id = $1', [userId])
    const reply = await askWith(t, cookie, 'POST', probe, valid)
    expect([reply.status, reply.body, reply.headers['set-cookie']]).toEqual([
      401,
      { error: 'Unauthorized' },
      'service_active_org=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
    ])
  })
})

describe('the order of the checks', () => {
  test('a caller whom the gate refuses learns nothing about the body, its type or its size', async () => {
    const viewer = await memberCookie(t, acme.org.id, 'viewer')
    const large = 'x'.repeat(1_100_000)
    for (const sent of [{ raw: '{' }, { raw: large }, { raw: 'a', headers: { 'content-type': 'text/plain' } }, {}]) {
      const reply = await askWith(t, viewer, 'POST', probe, sent)
      expect([reply.status, reply.body]).toEqual([403, { error: 'Developer or owner role required' }])
      const stranger = await t.ask('POST', probe, sent)
      expect([stranger.status, stranger.body]).toEqual([401, { error: 'Unauthorized' }])
    }
  })

  test('an admitted caller gets 413, 415 and 422 with flat bodies', async () => {
    const owner = await memberCookie(t, acme.org.id, 'owner')
    const large = await askWith(t, owner, 'POST', probe, { raw: JSON.stringify('x'.repeat(1_048_577)) })
    expect([large.status, large.body]).toEqual([413, { error: 'Request body too large', code: 'PAYLOAD_TOO_LARGE' }])
    const form = { raw: 'name=x', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
    const typed = await askWith(t, owner, 'POST', probe, form)
    expect([typed.status, typed.body.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
    const broken = await askWith(t, owner, 'POST', probe, { raw: '{"name":' })
    expect([broken.status, broken.body]).toEqual([
      422,
      {
        error: 'Validation failed',
        code: 'VALIDATION_ERROR',
        errors: [{ path: [], code: 'custom', message: 'The body must be valid JSON.' }],
      },
    ])
    const wrong = await askWith(t, owner, 'POST', probe, { body: { Name: 'x' } })
    expect([wrong.status, wrong.body.error]).toEqual([422, 'Validation failed'])
    expect(wrong.headers['x-request-id']).toMatch(/^req_/)
  })

  test('a patch without fields is 422 NO_FIELDS, and an id of another kind is 404', async () => {
    const owner = await memberCookie(t, acme.org.id, 'owner')
    const empty = await askWith(t, owner, 'PATCH', `${probe}/ses_01m7ekszz4e8brbwp01pb7h1dp`, { body: {} })
    expect([empty.status, empty.body.code]).toEqual([422, 'NO_FIELDS'])
    const wrong = await askWith(t, owner, 'PATCH', `${probe}/key_01m7ekszz4e8brbwp01pb7h1dp`, { body: { name: 'x' } })
    expect([wrong.status, wrong.body]).toEqual([404, { error: 'Not found' }])
  })
})

describe('a path that no route serves', () => {
  test('is 401 for a stranger and 404 for a user, and a wrong method is 405 with Allow', async () => {
    const cookie = await memberCookie(t, acme.org.id, 'viewer')
    for (const path of ['/api/internal', '/api/internal/', '/api/internal/nowhere', `${probe}/x/y`, `${probe}/`]) {
      const stranger = await t.ask('POST', path, { raw: 'x', headers: { 'content-type': 'text/plain' } })
      expect([stranger.status, stranger.body], path).toEqual([401, { error: 'Unauthorized' }])
      const user = await askWith(t, cookie, 'POST', path)
      expect([user.status, user.body], path).toEqual([404, { error: 'Not found' }])
    }
    const method = await askWith(t, cookie, 'PUT', probe)
    expect([method.status, method.body.code, method.headers.allow]).toEqual([
      405,
      'METHOD_NOT_ALLOWED',
      'GET, HEAD, POST',
    ])
    expect((await t.ask('PUT', probe)).status).toBe(401)
    expect((await t.ask('POST', '/api/auth/nowhere')).body).toEqual({ error: 'Not found' })
  })
})

describe('lists', () => {
  test.each([
    ['', 50],
    ['?limit=', 50],
    ['?limit=0', 50],
    ['?limit=-1', 50],
    ['?limit=1.5', 50],
    ['?limit=abc', 50],
    ['?limit=7', 7],
    ['?limit=100', 100],
    ['?limit=101', 100],
    ['?limit=99999999999999999999', 100],
    ['?cursor=', 50],
  ])('A-357 %j has a limit of %i', async (query, limit) => {
    const cookie = await memberCookie(t, acme.org.id, 'viewer')
    expect((await askWith(t, cookie, 'GET', `${probe}${query}`)).body).toEqual({ limit })
  })

  test('A-356 X-172 an invalid cursor is a flat 400', async () => {
    const cookie = await memberCookie(t, acme.org.id, 'viewer')
    const reply = await askWith(t, cookie, 'GET', `${probe}?cursor=nonsense`)
    expect([reply.status, reply.body]).toEqual([400, { error: 'Invalid cursor' }])
  })
})

test('A response has the time of the service, which the development tools can move', async () => {
  const timeOf = async () => Date.parse(String((await t.ask('GET', '/api/auth/session')).headers['x-service-time']))
  const [before, at] = [await timeOf(), t.service.clock.millis()]
  await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 7_200 } })
  const moved = await timeOf()
  await t.ask('POST', '/api/dev/clock', { body: { reset: true } })
  expect([before <= at, moved - at >= 7_200_000, moved - at < 7_300_000]).toEqual([true, true, true])
})
