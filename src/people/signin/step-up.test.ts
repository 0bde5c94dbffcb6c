import { TOTP } from 'otpauth'
import { afterAll, describe, expect, test } from 'vitest'
import { addMember, addPerson } from '../../../test/clients/people.ts'
import {
  type Browser,
  entriesAbout,
  goodPassword,
  mailedCode,
  mailsTo,
  openBrowser,
  otherThan,
} from '../../../test/clients/sign-in-client.ts'
import { cheapHash } from '../../../test/service/cheap-password.ts'
import { type Reply, startTestService } from '../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())

const passwordHash = await cheapHash(goodPassword)
const path = '/api/auth/step-up'
let count = 0
const flat = ({ status, body }: Reply) => [status, body]
const settled = () => t.service.people.background.drained()
const advance = (seconds: number) => t.ask('POST', '/api/dev/clock', { body: { advance_seconds: seconds } })

/** A person with an org of their own, in a session that the identity provider of another org opened. */
const atProvider = async (hash: string | null = passwordHash) => {
  const [own, org] = [await t.org({ name: `Own ${++count}` }), await t.org({ name: `Sso ${count}` })]
  const person = await addPerson(t, { orgId: own.org.id, passwordHash: hash })
  await addMember(t, org.org.id, person.userId, 'developer')
  const open = async (): Promise<Browser> => {
    const who = openBrowser(t, `2001:db8:51::${(++count).toString(16)}`)
    const from = { method: 'saml', ip: null, userAgent: 'test', ssoOrgId: org.org.id }
    who.setCookie('service_session', await t.service.sessions.open(person.userId, from))
    return who
  }
  return { ...person, ownId: own.org.id, ssoId: org.org.id, open, who: await open() }
}
const openOwn = (who: Browser, orgId: string) => who.post('/api/internal/org/switch', { org_id: orgId })

const enableFactor = async (who: Browser): Promise<{ totp: TOTP; codes: string[] }> => {
  const { body: setup } = await who.post('/api/internal/user/2fa/setup')
  const totp = new TOTP({ secret: setup.secret })
  const code = totp.generate({ timestamp: t.service.clock.millis() })
  const { body } = await who.post('/api/internal/user/2fa/enable', { code })
  await advance(60)
  return { totp, codes: body.backup_codes }
}

/** Password and mailed code. Returns the last answer. */
const stepUp = async (who: Browser, email: string): Promise<Reply> => {
  const started = await who.post(path, { password: goodPassword })
  expect(started.status).toBe(200)
  return who.post(path, { challenge_id: started.body.challenge_id, code: await mailedCode(t, email) })
}

const wrongCode = [401, { error: 'Invalid or expired code' }]
const wrongPassword = [401, { error: 'Invalid email or password' }]

describe('a step-up', () => {
  test('R-54 with password and mailed code opens the other orgs, for that session only', async () => {
    const { who, email, ownId, userId, ssoId, open } = await atProvider()
    const other = await open()
    const before = who.cookie('service_session') as string
    const started = await who.post(path, { password: goodPassword })
    expect(flat(started)).toEqual([
      200,
      {
        status: 'code_required',
        challenge_id: expect.stringMatching(/^chl_/),
        sent_to: expect.stringMatching(/^.••@example\.test$/),
        expires_at: expect.any(String),
      },
    ])
    expect((await openOwn(who, ownId)).status).toBe(403)
    const done = await who.post(path, {
      challenge_id: started.body.challenge_id,
      code: await mailedCode(t, email),
    })
    expect(flat(done)).toEqual([200, { status: 'stepped_up' }])
    expect((await openOwn(who, ownId)).status).toBe(200)
    expect((await who.ask('GET', '/api/internal/org')).body.id).toBe(ownId)
    expect((await openOwn(who, ssoId)).status).toBe(200)
    expect((await openOwn(other, ownId)).status).toBe(403)
    // The cookie changes with what it opens. Someone who knew the former value gains nothing.
    expect(who.cookie('service_session')).not.toBe(before)
    const former = await t.ask('GET', '/api/internal/user', { headers: { cookie: `service_session=${before}` } })
    expect(former.status).toBe(401)
    const entries = (await entriesAbout(t, userId)).filter(({ action }) => action === 'user.stepped_up')
    expect(entries).toMatchObject([{ org_id: ownId, actor_user_id: userId, metadata: { method: 'credentials' } }])
  })

  test('R-54 asks for the second factor of an account that has one, or for a backup code', async () => {
    const { who, email, ownId, open, userId } = await atProvider()
    await stepUp(who, email)
    const { totp, codes } = await enableFactor(who)
    for (const proof of [
      () => ({ code: totp.generate({ timestamp: t.service.clock.millis() }) }),
      () => ({ backup_code: codes[0] }),
    ]) {
      const again = await open()
      const asked = await stepUp(again, email)
      expect(flat(asked)).toEqual([
        200,
        {
          status: 'two_factor_required',
          challenge_id: expect.stringMatching(/^chl_/),
          methods: ['totp', 'backup_code'],
          expires_at: expect.any(String),
        },
      ])
      expect((await openOwn(again, ownId)).status).toBe(403)
      const { challenge_id } = asked.body
      expect(flat(await again.post(path, { challenge_id, code: '000000' }))).toEqual(wrongCode)
      const done = await again.post(path, { challenge_id, ...proof() })
      expect([done.status, done.body.status, typeof done.body.backup_codes_left]).toEqual([200, 'stepped_up', 'number'])
      expect((await openOwn(again, ownId)).status).toBe(200)
      await advance(60)
    }
    await settled()
    const failed = (await entriesAbout(t, userId)).filter(({ action }) => action === 'user.login_failed')
    expect(failed.map(({ metadata }) => (metadata as { stage: string }).stage)).toEqual(['2fa', '2fa'])
  })

  test('R-54 a wrong password or code changes nothing, is recorded, and the fifth try ends the challenge', async () => {
    const { who, email, ownId, userId } = await atProvider()
    expect(flat(await who.post(path, { password: 'not the password' }))).toEqual(wrongPassword)
    expect(flat(await who.post(path, { email: 'other@example.test', password: goodPassword }))).toEqual(wrongPassword)
    const { body } = await who.post(path, { email, password: goodPassword })
    const code = await mailedCode(t, email)
    const { challenge_id } = body
    for (let i = 0; i < 5; i++)
      expect(flat(await who.post(path, { challenge_id, code: otherThan(code) }))).toEqual(wrongCode)
    expect(flat(await who.post(path, { challenge_id, code }))).toEqual(wrongCode)
    expect((await openOwn(who, ownId)).status).toBe(403)
    await settled()
    const failed = (await entriesAbout(t, userId)).filter(({ action }) => action === 'user.login_failed')
    // Another address is no guess at the password of this account.
    expect(failed).toHaveLength(6)
  })

  test('R-54 AD-36 guesses count with failed sign-ins: after 20 even the right password is refused', async () => {
    const { who, email } = await atProvider()
    for (let i = 0; i < 20; i++) expect((await who.post(path, { password: `wrong ${i}` })).status).toBe(401)
    const refused = await who.post(path, { password: goodPassword })
    expect(flat(refused)).toEqual([429, { error: 'Too many attempts. Try again later.', code: 'RATE_LIMITED' }])
    expect((await who.post('/api/auth/login', { email, password: goodPassword })).status).toBe(429)
  })

  test('R-54 mails another code for the challenge, and the former one stops working', async () => {
    const { who, email, ownId, open } = await atProvider()
    const { body } = await who.post(path, { password: goodPassword })
    const { challenge_id } = body
    const first = await mailedCode(t, email)
    expect((await (await open()).post(path, { challenge_id })).status).toBe(401)
    const resent = await who.post(path, { challenge_id })
    expect([resent.status, resent.body.status]).toEqual([202, 'code_required'])
    const second = await mailedCode(t, email)
    if (first !== second) expect((await who.post(path, { challenge_id, code: first })).status).toBe(401)
    expect((await who.post(path, { challenge_id, code: second })).body.status).toBe('stepped_up')
    expect((await openOwn(who, ownId)).status).toBe(200)
    expect(await mailsTo(t, email)).toHaveLength(2)
  })

  test('R-54 a challenge works only in its session and opens none', async () => {
    const { who, email, ownId, open } = await atProvider()
    const other = await open()
    const { body } = await who.post(path, { password: goodPassword })
    const given = { challenge_id: body.challenge_id, code: await mailedCode(t, email) }
    expect(flat(await other.post(path, given))).toEqual(wrongCode)
    expect(flat(await openBrowser(t).post('/api/auth/login/code', given))).toEqual(wrongCode)
    expect((await openBrowser(t).post(path, given)).status).toBe(401)
    expect((await who.post(path, given)).body.status).toBe('stepped_up')
    expect(flat(await who.post(path, given))).toEqual(wrongCode)
    expect((await openOwn(other, ownId)).status).toBe(403)
  })

  test('R-54 of two right answers at the same time one steps up', async () => {
    const { who, email } = await atProvider()
    const { body } = await who.post(path, { password: goodPassword })
    const given = { challenge_id: body.challenge_id, code: await mailedCode(t, email) }
    const cookie = `service_session=${who.cookie('service_session')}`
    const both = await Promise.all([1, 2].map(() => t.ask('POST', path, { headers: { cookie }, body: given })))
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401])
  })

  test('R-54 a person without a password is told to set one, and does so by the reset mail', async () => {
    const { email, ownId, who, open } = await atProvider(null)
    expect(flat(await who.post(path, { password: 'anything at all' }))).toEqual([
      401,
      { error: 'You have no password yet. Set one with the link that "Forgot password" mails to you.' },
    ])
    await who.post('/api/auth/forgot-password', { email })
    const [mail] = await mailsTo(t, email)
    const token = /token=([\w-]+)/.exec(mail?.text ?? '')?.[1]
    expect((await who.post('/api/auth/reset-password', { token, password: goodPassword })).status).toBe(200)
    expect((await who.ask('GET', '/api/internal/user')).status).toBe(401)
    const again = await open()
    expect((await stepUp(again, email)).body).toEqual({ status: 'stepped_up' })
    expect((await openOwn(again, ownId)).status).toBe(200)
  })

  test.each([
    {},
    { code: '123456' },
    { password: 'x', challenge_id: 'y' },
    { challenge_id: 'x', code: '1', backup_code: '2' },
  ])('refuses %j', async (body) => {
    const { who } = await atProvider()
    const reply = await who.post(path, body)
    expect([reply.status, reply.body.code]).toEqual([422, 'VALIDATION_ERROR'])
  })
})
