import { afterAll, describe, expect, test } from 'vitest'
import { addMember, addPerson, askWith, memberCookie, signIn } from '../../../test/clients/people.ts'
import { entriesAbout } from '../../../test/clients/sign-in-client.ts'
import { startTestService } from '../../../test/service/service.ts'
import { deviceName } from './device-name.ts'

const t = await startTestService()
afterAll(() => t.stop())
const chrome =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0.0.0 Safari/537.36'

const list = async (cookie: string) => (await askWith(t, cookie, 'GET', '/api/internal/sessions')).body.data
const revoke = (cookie: string, id: string) => askWith(t, cookie, 'DELETE', `/api/internal/sessions?id=${id}`)
const works = async (cookie: string) => (await askWith(t, cookie, 'GET', '/api/internal/user')).status
const advance = (hours: number) => t.ask('POST', '/api/dev/clock', { body: { advance_seconds: hours * 3_600 } })
const setPolicy = (cookie: string, body: object) =>
  askWith(t, cookie, 'PATCH', '/api/internal/org/session-policy', { body })

describe('the device list', () => {
  test('A-018 A-019 A-022 shows the own sessions with readable devices, the current one first', async () => {
    const { userId } = await addPerson(t)
    const from = { method: 'credentials', ip: '203.0.113.9', userAgent: chrome }
    const cookie = `service_session=${await t.service.sessions.open(userId, from)}`
    await signIn(t, userId)
    const org = await t.org()
    await memberCookie(t, org.org.id, 'owner')
    const reply = await askWith(t, cookie, 'GET', '/api/internal/sessions')
    expect(Object.keys(reply.body)).toEqual(['data', 'has_more', 'next_cursor'])
    expect(reply.body.data).toHaveLength(2)
    expect(reply.body.data[0]).toEqual({
      id: expect.stringMatching(/^ses_/),
      current: true,
      method: 'credentials',
      ip_address: '203.0.113.9',
      user_agent: chrome,
      device: 'Chrome on macOS',
      created_at: expect.any(String),
      last_active_at: expect.any(String),
      expires_at: expect.any(String),
    })
    expect(reply.body.data[1].current).toBe(false)
    const { created_at, expires_at } = reply.body.data[0]
    expect(Date.parse(expires_at) - Date.parse(created_at)).toBe(720 * 3_600_000)
  })

  test.each([
    [chrome, 'Chrome on macOS'],
    ['Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:131.0) Gecko/20100101 Firefox/131.0', 'Firefox on Windows'],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
      'Safari on iOS',
    ],
    ['curl/8.5.0', 'curl'],
    ['', 'Unknown device'],
    ['\u0000<script>', 'Unknown device'],
  ])('names the device of %j', (userAgent, name) => {
    expect(deviceName(userAgent)).toBe(name)
  })

  test('the last activity is written at most once a minute', async () => {
    const { userId } = await addPerson(t)
    const cookie = await signIn(t, userId)
    const [first] = await list(cookie)
    await advance(1 / 120)
    await works(cookie)
    await t.service.sessions.drained()
    expect((await list(cookie))[0].last_active_at).toBe(first.last_active_at)
    await advance(1 / 60)
    await works(cookie)
    await t.service.sessions.drained()
    const [later] = await list(cookie)
    expect(Date.parse(later.last_active_at) - Date.parse(first.last_active_at)).toBeGreaterThanOrEqual(60_000)
  })
})

describe('revocation', () => {
  test('A-020 A-021 A-134 A-114 ends one session at once and leaves the others', async () => {
    const org = await t.org()
    const { userId } = await addPerson(t, { orgId: org.org.id, role: 'viewer' })
    const [mine, other, third] = [await signIn(t, userId), await signIn(t, userId), await signIn(t, userId)]
    const [{ id }] = await list(other)
    const reply = await revoke(mine, id)
    expect([reply.status, reply.body]).toEqual([200, { revoked: 1 }])
    expect([await works(mine), await works(other), await works(third)]).toEqual([200, 401, 200])
    expect((await revoke(mine, id)).body).toEqual({ error: 'Not found' })
    expect(await entriesAbout(t, userId)).toMatchObject([
      {
        action: 'user.sessions_revoked',
        actor_user_id: userId,
        org_id: org.org.id,
        metadata: { count: 1, session_ids: [id] },
      },
    ])
  })

  test('`others` ends all sessions but the current one', async () => {
    const { userId } = await addPerson(t)
    const [mine, other, third] = [await signIn(t, userId), await signIn(t, userId), await signIn(t, userId)]
    expect((await revoke(mine, 'others')).body).toEqual({ revoked: 2 })
    expect([await works(mine), await works(other), await works(third)]).toEqual([200, 401, 401])
    expect((await revoke(mine, 'others')).body).toEqual({ revoked: 0 })
  })

  test('A-116 a missing id is 422, and an unknown id or that of another user is 404 and changes nothing', async () => {
    const [ann, ben] = [await addPerson(t), await addPerson(t)]
    const [annCookie, benCookie] = [await signIn(t, ann.userId), await signIn(t, ben.userId)]
    const [foreign] = await list(benCookie)
    for (const id of [foreign.id, 'ses_01m7ekszz4e8brbwp01pb7h1dp', 'nonsense']) {
      const reply = await revoke(annCookie, id)
      expect([reply.status, reply.body], id).toEqual([404, { error: 'Not found' }])
    }
    expect(await works(benCookie)).toBe(200)
    expect((await askWith(t, annCookie, 'DELETE', '/api/internal/sessions')).status).toBe(422)
    expect(await entriesAbout(t, ann.userId)).toEqual([])
  })
})

describe('the life of a session', () => {
  test('ends after 720 hours, however much it is used', async () => {
    const { userId } = await addPerson(t)
    const cookie = await signIn(t, userId)
    await advance(719)
    expect(await works(cookie)).toBe(200)
    await advance(1)
    expect(await works(cookie)).toBe(401)
  })

  test('ends when the version of the user is raised or its row is gone', async () => {
    const { userId } = await addPerson(t)
    const cookie = await signIn(t, userId)
    await t.database.sql('update users set session_version = session_version + 1 where id = $1', [userId])
    expect(await works(cookie)).toBe(401)
    const second = await signIn(t, userId)
    await t.database.sql('delete from sessions where user_id = $1', [userId])
    expect(await works(second)).toBe(401)
  })
})

describe('the session policy of an org', () => {
  const ownerOf = async () => {
    const { org } = await t.org()
    return { orgId: org.id, owner: await memberCookie(t, org.id, 'owner') }
  }

  test('A-024 A-026 a session older than the strictest org allows is refused', async () => {
    const strict = await ownerOf()
    const loose = await ownerOf()
    const { userId } = await addPerson(t, { orgId: loose.orgId, role: 'viewer' })
    await addMember(t, strict.orgId, userId, 'viewer')
    const cookie = await signIn(t, userId)
    await setPolicy(loose.owner, { max_session_age_hours: 100 })
    const changed = await setPolicy(strict.owner, { max_session_age_hours: 5 })
    expect([changed.status, changed.body]).toEqual([
      200,
      {
        max_session_age_hours: 5,
        max_sessions_per_user: null,
        effective: { max_session_age_hours: 5, max_sessions_per_user: null },
      },
    ])
    const read = await askWith(t, cookie, 'GET', '/api/internal/org/session-policy')
    expect(read.body).toEqual({
      max_session_age_hours: 100,
      max_sessions_per_user: null,
      effective: { max_session_age_hours: 5, max_sessions_per_user: null },
    })
    const [{ created_at, expires_at }] = await list(cookie)
    expect(Date.parse(expires_at) - Date.parse(created_at)).toBe(5 * 3_600_000)
    await advance(4.9)
    expect(await works(cookie)).toBe(200)
    await advance(0.1)
    expect(await works(cookie)).toBe(401)
    await t.database.sql('delete from memberships where user_id = $1 and org_id = $2', [userId, strict.orgId])
    expect(await works(cookie)).toBe(200)
  })

  test('A-025 A-027 a sign-in beyond the strictest number ends the oldest sessions, also when many arrive at once', async () => {
    const strict = await ownerOf()
    const loose = await ownerOf()
    const { userId } = await addPerson(t, { orgId: loose.orgId, role: 'viewer' })
    await addMember(t, strict.orgId, userId, 'viewer')
    await setPolicy(loose.owner, { max_sessions_per_user: 10 })
    await setPolicy(strict.owner, { max_sessions_per_user: 2 })
    const cookies: string[] = []
    for (let i = 0; i < 3; i++) cookies.push(await signIn(t, userId))
    expect(await Promise.all(cookies.map(works))).toEqual([401, 200, 200])
    await Promise.all(Array.from({ length: 10 }, () => signIn(t, userId)))
    const rows = await t.database.sql('select 1 from sessions where user_id = $1', [userId])
    expect(rows).toHaveLength(2)
  })

  test('tightening ends the excess sessions of every member at once, oldest first, and is recorded', async () => {
    const { orgId, owner } = await ownerOf()
    const { userId } = await addPerson(t, { orgId, role: 'viewer' })
    const cookies: string[] = []
    for (let i = 0; i < 3; i++) cookies.push(await signIn(t, userId))
    const stranger = await signIn(t, (await addPerson(t)).userId)
    await setPolicy(owner, { max_sessions_per_user: 1 })
    expect(await Promise.all(cookies.map(works))).toEqual([401, 401, 200])
    expect([await works(owner), await works(stranger)]).toEqual([200, 200])
    await setPolicy(owner, { max_sessions_per_user: 1 })
    const entries = await t.database.sql(
      "select metadata from audit_entries where org_id = $1 and action = 'org.session_policy_updated'",
      [orgId],
    )
    expect(entries).toEqual([{ metadata: { max_session_age_hours: null, max_sessions_per_user: 1 } }])
  })

  test.each([
    [{ max_session_age_hours: 0 }],
    [{ max_session_age_hours: 721 }],
    [{ max_sessions_per_user: 0 }],
    [{ max_sessions_per_user: 51 }],
    [{ max_sessions_per_user: 1.5 }],
    [{}],
  ])('refuses %j', async (body) => {
    const { owner } = await ownerOf()
    expect((await setPolicy(owner, body)).status).toBe(422)
  })

  test('A-053 is changed by owners only, and read by every member', async () => {
    const { orgId } = await ownerOf()
    for (const role of ['developer', 'member', 'viewer']) {
      const cookie = await memberCookie(t, orgId, role)
      const refused = await setPolicy(cookie, { max_sessions_per_user: 1 })
      expect([refused.status, refused.body]).toEqual([403, { error: 'Owner role required' }])
      const read = await askWith(t, cookie, 'GET', '/api/internal/org/session-policy')
      expect([read.status, read.body.max_sessions_per_user]).toEqual([200, null])
    }
  })

  test('null imposes nothing, and a field that is not given stays', async () => {
    const { owner } = await ownerOf()
    await setPolicy(owner, { max_session_age_hours: 24, max_sessions_per_user: 3 })
    const { body } = await setPolicy(owner, { max_session_age_hours: null })
    expect(body).toMatchObject({ max_session_age_hours: null, max_sessions_per_user: 3 })
  })

  test('the cookie lives as long as the session or the policy allows, whichever is shorter', async () => {
    const { orgId, owner } = await ownerOf()
    await setPolicy(owner, { max_session_age_hours: 12 })
    const { userId } = await addPerson(t, { orgId, role: 'viewer' })
    const { db, sessions } = t.service
    const from = { method: 'credentials', ip: null, userAgent: '' }
    const opened = await db.tx((tx) => sessions.begin(tx, userId, from))
    expect(opened.maxAgeSeconds).toBe(12 * 3_600)
  })
})

test('cookies are secure when the service is reached over https', async () => {
  const { makeCookies } = await import('../../interfaces/http/cookies.ts')
  expect(makeCookies(() => true).set('service_session', 'x', 60)).toBe(
    'service_session=x; Max-Age=60; Path=/; HttpOnly; SameSite=Lax; Secure',
  )
})

test('expired sessions, challenges, links and codes are deleted after 30 days', async () => {
  const { userId } = await addPerson(t)
  await signIn(t, userId)
  const now = t.service.clock.now()
  await t.database.sql("insert into password_resets values ('\\x01', $1, $2, $2)", [userId, now])
  await t.database.sql("insert into account_codes values ($1, 'email', 'a', '\\x01', 0, null, $2, $2)", [userId, now])
  await t.database.sql(
    "insert into login_challenges values ('chl_x', $1, 'credentials', 'code', null, 0, '/', $2, $2, null)",
    [userId, now],
  )
  const left = async () =>
    (
      await t.database.sql<{ count: number }>(
        `select ((select count(*) from sessions where user_id = $1) + (select count(*) from password_resets where user_id = $1)
           + (select count(*) from account_codes where user_id = $1)
           + (select count(*) from login_challenges where user_id = $1))::int as count`,
        [userId],
      )
    )[0]?.count
  await advance(29 * 24)
  await t.ask('POST', '/api/dev/run', { body: { task: 'retention' } })
  expect(await left()).toBe(4)
  await advance(32 * 24)
  await t.ask('POST', '/api/dev/run', { body: { task: 'retention' } })
  expect(await left()).toBe(0)
})
