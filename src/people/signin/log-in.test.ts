import { TOTP } from 'otpauth'
import { afterAll, describe, expect, test } from 'vitest'
import { addMember, addPerson } from '../../../test/clients/people.ts'
import {
  type Browser,
  entriesAbout,
  goodPassword,
  logInPerson,
  mailedCode,
  mailsTo,
  openBrowser,
  otherThan,
  startLogin,
} from '../../../test/clients/sign-in-client.ts'
import { type Reply, startTestService } from '../../../test/service/service.ts'
import { hashPassword } from '../../customers/accounts/passwords.ts'

const t = await startTestService()
afterAll(() => t.stop())
const acme = await t.org()
const beta = await t.org({ name: 'Beta' })
const passwordHash = await hashPassword(goodPassword)

let addresses = 0
const browser = () => openBrowser(t, `2001:db8:${(++addresses).toString(16)}::1`)
const person = () => addPerson(t, { orgId: acme.org.id, role: 'developer', passwordHash })
const advance = (seconds: number) => t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } })
const settled = () => t.service.people.background.drained()
const flat = ({ status, body }: Reply) => [status, body]

const wrongPassword = [401, { error: 'Invalid email or password' }]
const wrongCode = [401, { error: 'Invalid or expired code' }]
const throttled = [429, { error: 'Too many attempts. Try again later.', code: 'RATE_LIMITED' }]

const sessionsOf = (userId: string) => t.database.sql('select method from sessions where user_id = $1', [userId])
const failuresOf = async (userId: string) => {
  await settled()
  return (await entriesAbout(t, userId)).filter(({ action }) => action === 'user.login_failed')
}

describe('sign-in with a password', () => {
  test('A-006 A-007 A-009 A-118 opens a session only after the mailed code', async () => {
    const { email, userId } = await person()
    const ann = browser()
    const { reply, challenge_id, code } = await startLogin(t, ann, email)
    expect(flat(reply)).toEqual([
      200,
      {
        status: 'code_required',
        challenge_id: expect.stringMatching(/^chl_/),
        sent_to: `${email[0]}••@example.test`,
        expires_at: expect.any(String),
      },
    ])
    expect([reply.headers['set-cookie'], await sessionsOf(userId)]).toEqual([undefined, []])
    const done = await ann.post('/api/auth/login/code', { challenge_id, code })
    expect(flat(done)).toEqual([
      200,
      {
        status: 'signed_in',
        user: { id: userId, email, name: 'Ann Lee' },
        active_org_id: acme.org.id,
        redirect_to: '/',
      },
    ])
    expect(await sessionsOf(userId)).toEqual([{ method: 'credentials' }])
    expect((await ann.ask('GET', '/api/internal/user')).body.id).toBe(userId)
    expect(await entriesAbout(t, userId)).toMatchObject([
      { action: 'user.login', actor_user_id: userId, metadata: { method: 'credentials' }, org_id: acme.org.id },
    ])
  })

  test('A-008 A-125 a wrong, expired, used or foreign code opens no session', async () => {
    const { email, userId } = await person()
    const ann = browser()
    const { challenge_id, code } = await startLogin(t, ann, email)
    const enter = async (id: string, given: string) =>
      flat(await ann.post('/api/auth/login/code', { challenge_id: id, code: given }))
    expect(await enter(challenge_id, otherThan(code))).toEqual(wrongCode)
    expect(await enter('chl_01m7ekszz4e8brbwp01pb7h1dp', code)).toEqual(wrongCode)
    expect(await enter('nonsense', code)).toEqual(wrongCode)
    const second = await startLogin(t, ann, email)
    if (second.code !== code) expect(await enter(second.challenge_id, code)).toEqual(wrongCode)
    expect(await sessionsOf(userId)).toEqual([])
    expect((await enter(challenge_id, code))[0]).toBe(200)
    expect(await enter(challenge_id, code)).toEqual(wrongCode)
    await advance(600)
    expect(await enter(second.challenge_id, second.code)).toEqual(wrongCode)
    expect(await sessionsOf(userId)).toHaveLength(1)
    expect((await failuresOf(userId))[0]).toMatchObject({ actor_user_id: null, metadata: { stage: 'code', email } })
  })

  test('the fifth wrong code ends the challenge, also when all guesses arrive at once', async () => {
    const { email, userId } = await person()
    const { challenge_id, code } = await startLogin(t, browser(), email)
    const guess = (given: string) => browser().post('/api/auth/login/code', { challenge_id, code: given })
    await Promise.all(Array.from({ length: 30 }, () => guess(otherThan(code))))
    expect(flat(await guess(code))).toEqual(wrongCode)
    const fresh = await startLogin(t, browser(), email)
    const both = await Promise.all([fresh, fresh].map((given) => browser().post('/api/auth/login/code', given)))
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401])
    expect(await sessionsOf(userId)).toHaveLength(1)
  })

  test('A-123 A-124 A-127 A-129 an unknown address, a wrong password and an account without one look the same', async () => {
    const { email, userId } = await person()
    const bare = await addPerson(t, { orgId: acme.org.id })
    const replies: Reply[] = []
    for (const address of [email, bare.email, 'stranger@example.com']) {
      replies.push(await browser().post('/api/auth/login', { email: address, password: 'a wrong password' }))
    }
    const shape = (reply: Reply) => [...flat(reply), Object.keys(reply.headers).sort()]
    for (const reply of replies) expect(shape(reply)).toEqual(shape(replies[0] as Reply))
    expect(flat(replies[0] as Reply)).toEqual(wrongPassword)
    const ip = expect.stringMatching(/^2001:db8:\w+::1$/)
    expect(await failuresOf(userId)).toMatchObject([
      { actor_user_id: null, org_id: acme.org.id, resource_id: userId, metadata: { email, ip, stage: 'password' } },
    ])
    const all = await t.database.sql("select 1 from audit_entries where metadata->>'email' = 'stranger@example.com'")
    expect(all).toEqual([])
  })

  test('A-128 A-366 at most 10 failures per address and client are recorded in an hour', async () => {
    const { email, userId } = await person()
    const one = browser()
    for (let i = 0; i < 12; i++) {
      expect(flat(await one.post('/api/auth/login', { email, password: 'a wrong password' }))).toEqual(wrongPassword)
    }
    expect(await failuresOf(userId)).toHaveLength(10)
    await browser().post('/api/auth/login', { email, password: 'a wrong password' })
    expect(await failuresOf(userId)).toHaveLength(11)
    await advance(3_600)
    await one.post('/api/auth/login', { email, password: 'a wrong password' })
    expect(await failuresOf(userId)).toHaveLength(12)
  })

  test('after 20 failures of an address and a client even the right password is refused for 15 minutes', async () => {
    const { email } = await person()
    for (const address of [email, 'nobody@example.com']) {
      const one = browser()
      const guess = (password: string) => one.post('/api/auth/login', { email: address, password })
      for (let i = 0; i < 20; i++) expect(flat(await guess('a wrong password'))).toEqual(wrongPassword)
      const refused = await guess(goodPassword)
      expect(flat(refused)).toEqual(throttled)
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(800)
      if (address !== email) continue
      expect((await browser().post('/api/auth/login', { email, password: goodPassword })).status).toBe(200)
      await advance(900)
      expect((await guess(goodPassword)).status).toBe(200)
    }
  })

  test('guesses at once cannot exceed the limit', async () => {
    const { email } = await person()
    const one = browser()
    const guesses = Array.from({ length: 40 }, () =>
      one.post('/api/auth/login', { email, password: 'a wrong password' }),
    )
    const statuses = (await Promise.all(guesses)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(20)
  })

  test('100 failures of one client refuse it whatever the address and the step', async () => {
    const { email } = await person()
    const one = browser()
    const guess = { challenge_id: 'chl_01m7ekszz4e8brbwp01pb7h1dp', code: '123456' }
    for (let i = 0; i < 100; i += 10) {
      const ten = await Promise.all(Array.from({ length: 10 }, () => one.post('/api/auth/login/code', guess)))
      expect(ten.every(({ status }) => status === 401)).toBe(true)
    }
    expect(flat(await one.post('/api/auth/login/code', guess))).toEqual(throttled)
    expect(flat(await one.post('/api/auth/login', { email, password: goodPassword }))).toEqual(throttled)
    expect(await mailsTo(t, email)).toEqual([])
  })

  test('a right code verifies an address that was not yet verified', async () => {
    const { email, userId } = await person()
    await t.database.sql('update users set email_verified_at = null where id = $1', [userId])
    expect((await logInPerson(t, browser(), email)).status).toBe(200)
    const [row] = await t.database.sql('select email_verified_at from users where id = $1', [userId])
    expect(row?.email_verified_at).toBeInstanceOf(Date)
    expect((await entriesAbout(t, userId)).map(({ action }) => action)).toEqual(['user.email_verified', 'user.login'])
  })

  test('a new code can be mailed 3 times an hour, and voids the former', async () => {
    const { email } = await person()
    const ann = browser()
    const { challenge_id, code } = await startLogin(t, ann, email)
    for (let i = 0; i < 3; i++) {
      const reply = await ann.post('/api/auth/login/resend', { challenge_id })
      expect([reply.status, reply.body.status, reply.body.challenge_id]).toEqual([202, 'code_required', challenge_id])
    }
    const refused = await ann.post('/api/auth/login/resend', { challenge_id })
    expect([refused.status, refused.body.code]).toEqual([429, 'RATE_LIMITED'])
    expect(await mailsTo(t, email)).toHaveLength(4)
    const newest = await mailedCode(t, email)
    if (newest !== code) expect((await ann.post('/api/auth/login/code', { challenge_id, code })).status).toBe(401)
    expect((await ann.post('/api/auth/login/code', { challenge_id, code: newest })).status).toBe(200)
    expect(flat(await ann.post('/api/auth/login/resend', { challenge_id }))).toEqual(wrongCode)
  })

  test('AD-29 AD-32 after five wrong codes no further code is mailed', async () => {
    const { email } = await person()
    const ann = browser()
    const { challenge_id, code } = await startLogin(t, ann, email)
    for (let i = 0; i < 5; i++) {
      expect(flat(await ann.post('/api/auth/login/code', { challenge_id, code: otherThan(code) }))).toEqual(wrongCode)
    }
    expect(flat(await ann.post('/api/auth/login/resend', { challenge_id }))).toEqual(wrongCode)
    expect(await mailsTo(t, email)).toHaveLength(1)
    const again = await startLogin(t, ann, email)
    expect((await ann.post('/api/auth/login/resend', { challenge_id: again.challenge_id })).status).toBe(202)
    expect(await mailsTo(t, email)).toHaveLength(3)
  })

  test.each([
    ['/domains?x=1#y', '/domains?x=1#y'],
    ['//evil.example', '/'],
    ['/\\evil.example', '/'],
    ['https://evil.example', '/'],
    ['/a\\b', '/'],
    ['/a b', '/'],
    ['/a\nb', '/'],
    ['domains', '/'],
    ['', '/'],
    [null, '/'],
  ])('redirect_to %j becomes %j', async (given, expected) => {
    const { email } = await person()
    const ann = browser()
    const { body } = await ann.post('/api/auth/login', { email, password: goodPassword, redirect_to: given })
    const code = await mailedCode(t, email)
    const done = await ann.post('/api/auth/login/code', { challenge_id: body.challenge_id, code })
    expect(done.body.redirect_to).toBe(expected)
  })

  test('A-122 is recorded under the default org, and keeps an active org that the user belongs to', async () => {
    const { email, userId } = await person()
    await addMember(t, beta.org.id, userId, 'viewer')
    const ann = browser()
    ann.setCookie('service_active_org', beta.org.id)
    expect((await logInPerson(t, ann, email)).body.active_org_id).toBe(beta.org.id)
    expect((await entriesAbout(t, userId)).at(-1)?.org_id).toBe(acme.org.id)
    ann.setCookie('service_active_org', 'org_01m7ekszz4e8brbwp01pb7h1dp')
    expect((await logInPerson(t, ann, email)).body.active_org_id).toBe(acme.org.id)
    expect(ann.cookie('service_active_org')).toBeUndefined()
  })

  test('a session value that the browser had before sign-in is never adopted', async () => {
    const { email, userId } = await person()
    const planted = 'A'.repeat(43)
    const ann = browser()
    ann.setCookie('service_session', planted)
    await logInPerson(t, ann, email)
    const first = ann.cookie('service_session')
    expect(first).not.toBe(planted)
    expect(
      (await t.ask('GET', '/api/internal/user', { headers: { cookie: `service_session=${planted}` } })).status,
    ).toBe(401)
    await logInPerson(t, ann, email)
    expect(ann.cookie('service_session')).not.toBe(first)
    const stored = await t.database.sql('select to_jsonb(s)::text as row from sessions s where user_id = $1', [userId])
    expect(JSON.stringify(stored)).not.toContain(ann.cookie('service_session'))
  })

  test('log-out ends the session and clears the cookies, also without a session', async () => {
    const { email } = await person()
    const ann = browser()
    await logInPerson(t, ann, email)
    const token = ann.cookie('service_session')
    const out = await ann.post('/api/auth/logout')
    expect([out.status, out.text, out.headers['set-cookie']]).toEqual([
      204,
      '',
      [
        'service_session=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
        'service_active_org=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
      ],
    ])
    const reply = await t.ask('GET', '/api/internal/user', { headers: { cookie: `service_session=${token}` } })
    expect(reply.status).toBe(401)
    expect((await browser().post('/api/auth/logout')).status).toBe(204)
  })
})

describe('the second factor', () => {
  const totp = (secret: string, shift = 0) =>
    new TOTP({ algorithm: 'SHA1', digits: 6, period: 30, secret }).generate({
      timestamp: t.service.clock.millis() + shift * 30_000,
    })

  const withFactor = async () => {
    const { email, userId } = await person()
    const ann = browser()
    await logInPerson(t, ann, email)
    const { body: setup } = await ann.post('/api/internal/user/2fa/setup')
    const enabled = await ann.post('/api/internal/user/2fa/enable', { code: totp(setup.secret) })
    return { email, userId, ann, setup, enabled, secret: setup.secret as string }
  }

  const challenge = async (who: Browser, email: string) =>
    (await logInPerson(t, who, email)).body.challenge_id as string

  test('A-023 A-135 is set up with a secret that an authenticator app reads, and shows ten backup codes once', async () => {
    const { userId, ann, email, setup, enabled, secret } = await withFactor()
    expect(setup).toEqual({
      secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
      otpauth_url: `otpauth://totp/Tidings:${encodeURIComponent(email)}?issuer=Tidings&secret=${secret}&algorithm=SHA1&digits=6&period=30`,
      qr_svg: expect.stringMatching(/^<svg .*<\/svg>$/s),
    })
    expect([enabled.status, enabled.body.enabled]).toEqual([200, true])
    expect(enabled.body.backup_codes).toHaveLength(10)
    for (const code of enabled.body.backup_codes) expect(code).toMatch(/^[2-9A-HJ-NP-Z]{5}-[2-9A-HJ-NP-Z]{5}$/)
    const status = await ann.ask('GET', '/api/internal/user/2fa')
    expect(status.body).toEqual({ enabled: true, enabled_at: expect.any(String), backup_codes_left: 10 })
    const stored = JSON.stringify(
      await t.database.sql(
        'select to_jsonb(u) as u, (select jsonb_agg(b) from backup_codes b where user_id = u.id) as b from users u where id = $1',
        [userId],
      ),
    )
    for (const value of [secret, enabled.body.backup_codes[0]]) expect(stored).not.toContain(value)
    expect((await entriesAbout(t, userId)).at(-1)).toMatchObject({ action: 'user.2fa_enabled', actor_user_id: userId })
    const again = await ann.post('/api/internal/user/2fa/enable', { code: totp(secret, 1) })
    expect(flat(again)).toEqual([
      409,
      { error: 'Two-factor authentication is already enabled', code: 'TWO_FACTOR_ENABLED' },
    ])
    expect((await ann.post('/api/internal/user/2fa/setup')).status).toBe(409)
  })

  test('A-010 A-011 is asked after password and code, and a right code opens the session', async () => {
    const { email, userId, secret } = await withFactor()
    await advance(60)
    const ben = browser()
    const asked = await logInPerson(t, ben, email)
    expect(flat(asked)).toEqual([
      200,
      {
        status: 'two_factor_required',
        challenge_id: expect.stringMatching(/^chl_/),
        methods: ['totp', 'backup_code'],
        expires_at: expect.any(String),
      },
    ])
    expect([ben.cookie('service_session'), await sessionsOf(userId)]).toEqual([undefined, [{ method: 'credentials' }]])
    const done = await ben.post('/api/auth/login/2fa', { challenge_id: asked.body.challenge_id, code: totp(secret) })
    expect([done.status, done.body.status, done.body.backup_codes_left]).toEqual([200, 'signed_in', 10])
    expect((await ben.ask('GET', '/api/internal/user')).status).toBe(200)
    const used = await ben.post('/api/auth/login/2fa', { challenge_id: asked.body.challenge_id, code: totp(secret, 1) })
    expect(flat(used)).toEqual(wrongCode)
  })

  test('accepts one step either side and refuses a step that was used', async () => {
    const { email, secret } = await withFactor()
    await advance(120)
    const enter = async (code: string) => {
      const who = browser()
      return (await who.post('/api/auth/login/2fa', { challenge_id: await challenge(who, email), code })).status
    }
    expect(await enter(totp(secret, -2))).toBe(401)
    expect(await enter(totp(secret, 2))).toBe(401)
    const before = totp(secret, -1)
    expect(await enter(before)).toBe(200)
    expect(await enter(before)).toBe(401)
    expect(await enter(totp(secret))).toBe(200)
    const next = totp(secret, 1)
    expect(await enter(next)).toBe(200)
    expect(await enter(totp(secret))).toBe(401)
  })

  test('A-012 a backup code works once, however it is typed', async () => {
    const { email, enabled } = await withFactor()
    const [code] = enabled.body.backup_codes
    const who = browser()
    const typed = ` ${code.toLowerCase().replace('-', ' ')} `
    const done = await who.post('/api/auth/login/2fa', {
      challenge_id: await challenge(who, email),
      backup_code: typed,
    })
    expect([done.status, done.body.backup_codes_left]).toEqual([200, 9])
    const again = await who.post('/api/auth/login/2fa', {
      challenge_id: await challenge(who, email),
      backup_code: code,
    })
    expect(flat(again)).toEqual(wrongCode)
  })

  test('A-126 five wrong tries end the challenge', async () => {
    const { email, userId, secret } = await withFactor()
    await advance(60)
    const who = browser()
    const challenge_id = await challenge(who, email)
    for (let i = 0; i < 5; i++) {
      expect(flat(await who.post('/api/auth/login/2fa', { challenge_id, code: otherThan(totp(secret)) }))).toEqual(
        wrongCode,
      )
    }
    expect(flat(await who.post('/api/auth/login/2fa', { challenge_id, code: totp(secret) }))).toEqual(wrongCode)
    expect((await failuresOf(userId)).at(-1)).toMatchObject({ metadata: { stage: '2fa', email } })
  })

  test('two uses of one code at once open one session', async () => {
    const { email, secret } = await withFactor()
    await advance(60)
    const browsers = [browser(), browser()] as const
    const challenges: string[] = []
    for (const who of browsers) challenges.push(await challenge(who, email))
    const code = totp(secret)
    const replies = await Promise.all(
      browsers.map((who, i) => who.post('/api/auth/login/2fa', { challenge_id: challenges[i], code })),
    )
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 401])
  })

  test('A-136 is turned off with a code, a backup code or the password, and with nothing else', async () => {
    const { ann, userId, email, secret } = await withFactor()
    await advance(60)
    const disable = async (body: object) => flat(await ann.post('/api/internal/user/2fa/disable', body))
    expect((await disable({}))[0]).toBe(422)
    expect((await disable({ code: totp(secret), password: goodPassword }))[0]).toBe(422)
    expect(await disable({ code: otherThan(totp(secret)) })).toEqual([
      400,
      { error: 'Invalid or expired code', code: 'INVALID_CODE' },
    ])
    expect(await disable({ password: 'a wrong password' })).toEqual([
      403,
      { error: 'The password is wrong', code: 'CONFIRMATION_FAILED' },
    ])
    expect(await disable({ password: goodPassword })).toEqual([200, { enabled: false }])
    expect((await entriesAbout(t, userId)).at(-1)).toMatchObject({ action: 'user.2fa_disabled' })
    expect(await disable({ code: totp(secret) })).toEqual([
      409,
      { error: 'Two-factor authentication is not enabled', code: 'TWO_FACTOR_NOT_ENABLED' },
    ])
    expect((await logInPerson(t, browser(), email)).body.status).toBe('signed_in')
  })

  test('new backup codes replace the old ones', async () => {
    const { ann, email, secret, enabled } = await withFactor()
    await advance(60)
    const wrong = await ann.post('/api/internal/user/2fa/backup-codes', { code: otherThan(totp(secret)) })
    expect([wrong.status, wrong.body.code]).toEqual([400, 'INVALID_CODE'])
    const fresh = await ann.post('/api/internal/user/2fa/backup-codes', { code: totp(secret) })
    expect(fresh.body.backup_codes).toHaveLength(10)
    const who = browser()
    const challenge_id = await challenge(who, email)
    const enter = async (backup_code: string) =>
      (await who.post('/api/auth/login/2fa', { challenge_id, backup_code })).status
    expect(await enter(enabled.body.backup_codes[0])).toBe(401)
    expect(await enter(fresh.body.backup_codes[0])).toBe(200)
  })

  test('enabling without a set-up or with a wrong code is refused', async () => {
    const { email } = await person()
    const ann = browser()
    await logInPerson(t, ann, email)
    const invalid = [400, { error: 'Invalid or expired code', code: 'INVALID_CODE' }]
    expect(flat(await ann.post('/api/internal/user/2fa/enable', { code: '123456' }))).toEqual(invalid)
    const { body } = await ann.post('/api/internal/user/2fa/setup')
    expect(flat(await ann.post('/api/internal/user/2fa/enable', { code: otherThan(totp(body.secret)) }))).toEqual(
      invalid,
    )
    expect((await ann.ask('GET', '/api/internal/user/2fa')).body.enabled).toBe(false)
  })
})
