import { afterAll, describe, expect, test } from 'vitest'
import { addPerson } from '../../../test/clients/people.ts'
import {
  entriesAbout,
  goodPassword,
  logInPerson,
  mailsTo,
  openBrowser,
  startLogin,
} from '../../../test/clients/sign-in-client.ts'
import { type Reply, startTestService } from '../../../test/service/service.ts'
import { hashPassword } from '../../customers/accounts/passwords.ts'

const t = await startTestService()
afterAll(() => t.stop())
const acme = await t.org()
const passwordHash = await hashPassword(goodPassword)
const newPassword = 'another long password'

let addresses = 0
const browser = () => openBrowser(t, `2001:db8:${(++addresses).toString(16)}::1`)
const person = () => addPerson(t, { orgId: acme.org.id, role: 'viewer', passwordHash })
const settled = () => t.service.people.background.drained()
const flat = ({ status, body }: Reply) => [status, body]

const linksTo = async (email: string): Promise<string[]> => {
  await settled()
  const mails = await mailsTo(t, email)
  return mails.flatMap(({ text }) => /reset-password\?token=([\w-]{43})\n/.exec(text)?.[1] ?? [])
}
const forgot = (email: string) => browser().post('/api/auth/forgot-password', { email })
const reset = (token: string, password = newPassword) => browser().post('/api/auth/reset-password', { token, password })
const invalidLink = [400, { error: 'This link is invalid or has expired', code: 'INVALID_TOKEN' }]

describe('a forgotten password', () => {
  test('A-016 A-017 A-133 is reset with a mailed link, which ends every session and challenge', async () => {
    const { email, userId } = await person()
    const [ann, ben] = [browser(), browser()]
    await logInPerson(t, ann, email)
    await logInPerson(t, ben, email)
    const open = await startLogin(t, browser(), email)
    expect(flat(await forgot(email))).toEqual([202, { status: 'sent' }])
    await forgot(email)
    const [second, first] = await linksTo(email)
    const done = await reset(first as string)
    expect(flat(done)).toEqual([200, { status: 'password_reset', redirect_to: '/login' }])
    // No session: the browser only becomes known to the account.
    expect(done.headers['set-cookie']).toMatch(/^service_device=/)
    for (const who of [ann, ben]) {
      expect(flat(await who.ask('GET', '/api/internal/user'))).toEqual([401, { error: 'Unauthorized' }])
    }
    const [user] = await t.database.sql('select session_version from users where id = $1', [userId])
    expect(user?.session_version).toBe(1)
    expect((await browser().post('/api/auth/login/code', open)).status).toBe(401)
    expect(flat(await reset(first as string))).toEqual(invalidLink)
    expect(flat(await reset(second as string))).toEqual(invalidLink)
    expect((await startLogin(t, browser(), email)).reply.status).toBe(401)
    expect((await logInPerson(t, browser(), email, newPassword)).status).toBe(200)
    const actions = (await entriesAbout(t, userId)).map(({ action }) => action)
    expect(actions.filter((action) => action === 'user.password_reset')).toHaveLength(1)
    expect((await mailsTo(t, email)).some(({ subject }) => subject === 'Your password was changed')).toBe(true)
  })

  test('the answer is the same for an unknown address, which gets no mail', async () => {
    const { email } = await person()
    const [known, unknown] = [await forgot(email), await forgot('stranger@example.com')]
    expect([flat(unknown), Object.keys(unknown.headers).sort()]).toEqual([
      flat(known),
      Object.keys(known.headers).sort(),
    ])
    expect(await linksTo('stranger@example.com')).toEqual([])
    expect(await linksTo(email)).toHaveLength(1)
  })

  test('at most 3 mails an hour go to an address', async () => {
    const { email } = await person()
    for (let i = 0; i < 5; i++) {
      expect((await forgot(email)).status).toBe(202)
      await settled()
    }
    expect(await linksTo(email)).toHaveLength(3)
  })

  test('a link expires after an hour, only its hash is stored, and a weak password leaves it usable', async () => {
    const { email, userId } = await person()
    await forgot(email)
    const [token] = await linksTo(email)
    const stored = await t.database.sql('select to_jsonb(r)::text as row from password_resets r where user_id = $1', [
      userId,
    ])
    expect(stored).toHaveLength(1)
    expect(JSON.stringify(stored)).not.toContain(token)
    const weak = await reset(token as string, 'password123')
    expect([weak.status, weak.body.errors[0].code]).toEqual([422, 'common_password'])
    await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 3_600 } })
    expect(flat(await reset(token as string))).toEqual(invalidLink)
    expect(flat(await reset('x'.repeat(43)))).toEqual(invalidLink)
  })

  test('of two uses of a link at once one succeeds', async () => {
    const { email } = await person()
    await forgot(email)
    const [token] = await linksTo(email)
    const replies = await Promise.all([reset(token as string), reset(token as string, 'yet another password')])
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 400])
  })
})

describe('a change of the password', () => {
  const change = (who: ReturnType<typeof browser>, current: string, next = newPassword) =>
    who.post('/api/internal/user/password', { current_password: current, new_password: next })

  test('keeps only the current session, and is recorded as made in the settings', async () => {
    const { email, userId } = await person()
    const [ann, ben] = [browser(), browser()]
    await logInPerson(t, ann, email)
    await logInPerson(t, ben, email)
    expect(flat(await change(ann, goodPassword))).toEqual([200, { status: 'password_changed' }])
    expect((await ann.ask('GET', '/api/internal/user')).status).toBe(200)
    expect((await ben.ask('GET', '/api/internal/user')).status).toBe(401)
    const [user] = await t.database.sql('select session_version from users where id = $1', [userId])
    expect(user?.session_version).toBe(1)
    expect((await entriesAbout(t, userId)).at(-1)).toMatchObject({
      action: 'user.password_reset',
      actor_user_id: userId,
      metadata: { via: 'settings' },
    })
    expect((await logInPerson(t, browser(), email, newPassword)).status).toBe(200)
  })

  test('needs the current password and a good new one, and changes nothing without', async () => {
    const { email, userId } = await person()
    const ann = browser()
    await logInPerson(t, ann, email)
    expect(flat(await change(ann, 'a wrong password'))).toEqual([
      403,
      { error: 'The password is wrong', code: 'CONFIRMATION_FAILED' },
    ])
    expect((await change(ann, goodPassword, 'short')).status).toBe(422)
    expect((await change(ann, goodPassword, email.toUpperCase())).body.errors[0].code).toBe('same_as_email')
    const [user] = await t.database.sql('select password_hash, session_version from users where id = $1', [userId])
    expect(user).toEqual({ password_hash: passwordHash, session_version: 0 })
  })

  test('wrong passwords are limited like failed sign-ins', async () => {
    const { email } = await person()
    const ann = browser()
    await logInPerson(t, ann, email)
    for (let i = 0; i < 20; i++) expect((await change(ann, 'a wrong password')).status).toBe(403)
    expect((await change(ann, goodPassword)).status).toBe(429)
  })
})

test('the profile shows and changes name and default org, and a foreign org is not found', async () => {
  const beta = await t.org({ name: 'Beta' })
  const { email, userId } = await person()
  const ann = browser()
  await logInPerson(t, ann, email)
  const read = await ann.ask('GET', '/api/internal/user')
  expect(flat(read)).toEqual([
    200,
    {
      id: userId,
      email,
      name: 'Ann Lee',
      email_verified: true,
      phone: null,
      phone_verified: false,
      has_password: true,
      two_factor_enabled: false,
      default_org_id: acme.org.id,
      created_at: expect.any(String),
    },
  ])
  const patch = (body: object) => ann.ask('PATCH', '/api/internal/user', { body })
  expect((await patch({ name: 'Ann Bee' })).body).toEqual({ ...read.body, name: 'Ann Bee' })
  expect(flat(await patch({ default_org_id: beta.org.id }))).toEqual([404, { error: 'Not found' }])
  expect((await patch({})).body.code).toBe('NO_FIELDS')
  expect((await patch({ default_org_id: acme.org.id })).status).toBe(200)
})

test('the session of a first load shows the user, the active org and all orgs, or null', async () => {
  expect(flat(await browser().ask('GET', '/api/auth/session'))).toEqual([200, { user: null }])
  const { email, userId } = await person()
  const ann = browser()
  await logInPerson(t, ann, email)
  const { body } = await ann.ask('GET', '/api/auth/session')
  expect(body).toEqual({
    user: {
      id: userId,
      email,
      name: 'Ann Lee',
      email_verified: true,
      phone: null,
      phone_verified: false,
      has_password: true,
      two_factor_enabled: false,
    },
    session: {
      id: expect.stringMatching(/^ses_/),
      method: 'credentials',
      created_at: expect.any(String),
      expires_at: expect.any(String),
    },
    active_org: {
      id: acme.org.id,
      name: 'Acme',
      slug: acme.org.slug,
      role: 'viewer',
      suspended: false,
      suspension_reason: null,
    },
    orgs: [{ id: acme.org.id, name: 'Acme', slug: acme.org.slug, role: 'viewer' }],
  })
})
