import { TOTP } from 'otpauth'
import { afterAll, describe, expect, test } from 'vitest'
import { addPerson, signIn } from '../../../test/clients/people.ts'
import {
  entriesAbout,
  goodPassword,
  mailedCode,
  openBrowser,
  startLogin,
} from '../../../test/clients/sign-in-client.ts'
import { type GitHubPerson, startGitHub } from '../../../test/servers/github.ts'
import { type Claims, signInAtIssuer, startIssuer } from '../../../test/servers/issuer.ts'
import { type Reply, startTestService } from '../../../test/service/service.ts'

const [google, issuer, github] = [await startIssuer(), await startIssuer(), await startGitHub()]
const t = await startTestService({
  env: {
    GOOGLE_CLIENT_ID: google.clientId,
    GOOGLE_CLIENT_SECRET: google.clientSecret,
    GOOGLE_ISSUER: google.url,
    OIDC_NAME: 'Acme SSO',
    OIDC_CLIENT_ID: issuer.clientId,
    OIDC_CLIENT_SECRET: issuer.clientSecret,
    OIDC_ISSUER: issuer.url,
    GITHUB_CLIENT_ID: github.clientId,
    GITHUB_CLIENT_SECRET: github.clientSecret,
    GITHUB_URL: github.url,
    GITHUB_API_URL: github.url,
  },
})
google.serve(`${t.url}/api/auth/google/callback`)
issuer.serve(`${t.url}/api/auth/oidc/callback`)
afterAll(async () => {
  await t.stop()
  await Promise.all([google.stop(), issuer.stop(), github.stop()])
})

let counter = 0
const newEmail = (): string => `provided${++counter}@example.com`
let addresses = 0
const browser = () => openBrowser(t, `2001:db8:${(++addresses).toString(16)}::1`)
type Who = ReturnType<typeof browser>

const pathOf = (url: string): string => url.replace(t.url, '')
const location = ({ status, headers }: Reply) => [status, headers.location]
const loginError = (code: string) => [302, `/login?error=${code}`]

const userOf = async (email: string) =>
  (await t.database.sql('select * from users where email = $1', [email]))[0] as Record<string, unknown> | undefined

/** The whole way through an issuer. Returns the response of the callback. */
const throughIssuer = async (who: Who, at: typeof google, id: 'google' | 'oidc', claims: Claims, query = '') => {
  at.people.set(claims.sub, claims)
  const start = await who.ask('GET', `/api/auth/${id}${query}`)
  return who.ask('GET', pathOf(await signInAtIssuer(at, start.headers.location as string, claims.sub)))
}
const claimsOf = (email: string, more: Partial<Claims> = {}): Claims => ({
  sub: `subject-${email}`,
  email,
  email_verified: true,
  name: 'Ann Lee',
  ...more,
})

const throughGitHub = async (who: Who, person: Partial<GitHubPerson> & Pick<GitHubPerson, 'emails'>) => {
  const start = await who.ask('GET', '/api/auth/github')
  const full = { id: ++counter, login: 'annlee', name: 'Ann Lee', ...person }
  return who.ask('GET', pathOf(github.authorize(start.headers.location as string, full)))
}
const primary = (email: string, verified = true) => ({ email, primary: true, verified, visibility: 'private' })

test('the sign-in page learns which providers are on', async () => {
  const { body } = await browser().ask('GET', '/api/auth/providers')
  expect(body).toEqual({
    data: [
      { id: 'google', name: 'Google' },
      { id: 'github', name: 'GitHub' },
      { id: 'oidc', name: 'Acme SSO' },
    ],
  })
})

describe('a new person', () => {
  test.each([
    ['A-013 A-119', 'google', google],
    ['AD-40', 'oidc', issuer],
  ] as const)('%s signs in with %s, and gets an account with an org', async (_, id, at) => {
    const email = newEmail()
    const who = browser()
    const done = await throughIssuer(who, at, id, claimsOf(email), '?redirect_to=%2Fdomains')
    expect(location(done)).toEqual([302, '/domains'])
    expect(who.cookie('service_oauth')).toBeUndefined()
    const { body } = await who.ask('GET', '/api/auth/session')
    expect(body).toMatchObject({
      user: { email, name: 'Ann Lee', email_verified: true, has_password: false },
      session: { method: id },
      active_org: { name: "Ann Lee's organisation", role: 'owner' },
    })
    const entries = await entriesAbout(t, body.user.id)
    expect(entries.map(({ action }) => action)).toEqual(['user.registered', 'org.created', 'user.login'])
    expect(entries.at(-1)?.metadata).toEqual({ method: id })
  })

  test('A-014 A-120 signs in with GitHub by the primary verified address', async () => {
    const email = newEmail()
    const who = browser()
    const others = [{ email: newEmail(), primary: false, verified: true, visibility: null }]
    const done = await throughGitHub(who, { name: null, emails: [...others, primary(email)] })
    expect(location(done)).toEqual([302, '/'])
    const { body } = await who.ask('GET', '/api/auth/session')
    expect(body).toMatchObject({ user: { email, name: 'annlee' }, session: { method: 'github' } })
    expect((await entriesAbout(t, body.user.id)).at(-1)?.metadata).toEqual({ method: 'github' })
  })

  test('the redirect carries state, nonce and a PKCE challenge, and the cookie hides them', async () => {
    for (const id of ['google', 'github', 'oidc'] as const) {
      const start = await browser().ask('GET', `/api/auth/${id}`)
      expect(start.status).toBe(302)
      const asked = new URL(start.headers.location as string).searchParams
      expect(asked.get('redirect_uri')).toBe(`${t.url}/api/auth/${id}/callback`)
      expect([asked.get('code_challenge_method'), asked.get('response_type')]).toEqual(['S256', 'code'])
      expect(asked.get('code_challenge')).toMatch(/^[\w-]{43}$/)
      expect(asked.get('state')).toMatch(/^[\w-]{43}$/)
      if (id !== 'github') expect(asked.get('nonce')).toMatch(/^[\w-]{43}$/)
      const cookie = start.headers['set-cookie'] as string
      expect(cookie).toMatch(/^service_oauth=v1\.[\w.-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/)
      expect(cookie).not.toContain(asked.get('state'))
    }
  })
})

describe('an address that has an account', () => {
  test('is linked when it is verified here, and the same person finds it again under another address', async () => {
    const { email, userId } = await addPerson(t)
    const who = browser()
    expect(location(await throughIssuer(who, google, 'google', claimsOf(email.toUpperCase())))).toEqual([302, '/'])
    expect((await who.ask('GET', '/api/auth/session')).body.user.id).toBe(userId)
    const moved = browser()
    await throughIssuer(moved, google, 'google', claimsOf(newEmail(), { sub: `subject-${email.toUpperCase()}` }))
    expect((await moved.ask('GET', '/api/auth/session')).body.user.id).toBe(userId)
  })

  test('is taken over when it is not verified here: password, sessions and codes are gone', async () => {
    const email = newEmail()
    const thief = browser()
    await thief.post('/api/auth/register', { email, password: goodPassword, name: 'Thief' })
    const code = await mailedCode(t, email)
    const before = await userOf(email)
    const stolen = await signIn(t, before?.id as string)
    const who = browser()
    expect(location(await throughIssuer(who, google, 'google', claimsOf(email)))).toEqual([302, '/'])
    const after = await userOf(email)
    expect([after?.id, after?.name, after?.password_hash]).toEqual([before?.id, 'Ann Lee', null])
    expect(after?.email_verified_at).toBeInstanceOf(Date)
    expect((await thief.post('/api/auth/verify-email', { email, code })).status).toBe(400)
    expect((await startLogin(t, thief, email)).reply.status).toBe(401)
    expect((await t.ask('GET', '/api/internal/user', { headers: { cookie: stolen } })).status).toBe(401)
    expect((await who.ask('GET', '/api/internal/user')).status).toBe(200)
  })

  test('with a second factor is asked for it, and gets its session only then', async () => {
    const { email, userId } = await addPerson(t)
    const cookie = await signIn(t, userId)
    const { body: setup } = await t.ask('POST', '/api/internal/user/2fa/setup', { headers: { cookie } })
    const totp = new TOTP({ secret: setup.secret })
    const codeAt = (shift: number) => totp.generate({ timestamp: t.service.clock.millis() + shift * 30_000 })
    await t.ask('POST', '/api/internal/user/2fa/enable', { headers: { cookie }, body: { code: codeAt(0) } })
    const who = browser()
    const asked = await throughGitHub(who, { emails: [primary(email)] })
    const [, challenge_id] = /^\/login\/2fa\?challenge_id=(chl_\w+)$/.exec(asked.headers.location as string) ?? []
    expect([asked.status, who.cookie('service_session')]).toEqual([302, undefined])
    const done = await who.post('/api/auth/login/2fa', { challenge_id, code: codeAt(1) })
    expect([done.status, done.body.status]).toEqual([200, 'signed_in'])
    expect((await who.ask('GET', '/api/auth/session')).body.session.method).toBe('github')
  })

  test('of ten sign-ins at once all reach the one new account', async () => {
    const email = newEmail()
    const browsers = Array.from({ length: 10 }, browser)
    google.people.set(`subject-${email}`, claimsOf(email))
    const returns = await Promise.all(
      browsers.map(async (who) => {
        const start = await who.ask('GET', '/api/auth/google')
        return pathOf(await signInAtIssuer(google, start.headers.location as string, `subject-${email}`))
      }),
    )
    const done = await Promise.all(browsers.map((who, i) => who.ask('GET', returns[i] as string)))
    expect(done.map(location)).toEqual(Array(10).fill([302, '/']))
    const rows = await t.database.sql(
      'select count(*)::int as orgs from orgs o join users u on u.id = o.owner_user_id where u.email = $1',
      [email],
    )
    expect(rows).toEqual([{ orgs: 1 }])
  })
})

describe('a failed sign-in', () => {
  test.each([
    ['google', false],
    ['google', undefined],
  ] as const)('at %s with email_verified %j opens nothing', async (id, email_verified) => {
    const email = newEmail()
    const who = browser()
    const { email_verified: _, ...claims } = claimsOf(email)
    const done = await throughIssuer(who, google, id, {
      ...claims,
      ...(email_verified !== undefined && { email_verified }),
    })
    expect(location(done)).toEqual(loginError('email_unverified'))
    expect([await userOf(email), who.cookie('service_session')]).toEqual([undefined, undefined])
  })

  test('at GitHub without a verified primary address opens nothing', async () => {
    const emails = [primary(newEmail(), false), { ...primary(newEmail()), primary: false }]
    expect(location(await throughGitHub(browser(), { emails }))).toEqual(loginError('email_unverified'))
    for (const { email } of emails) expect(await userOf(email)).toBeUndefined()
  })

  test('another browser cannot use what the provider sent back, nor can the same one twice', async () => {
    const email = newEmail()
    const who = browser()
    google.people.set('twice', claimsOf(email, { sub: 'twice' }))
    const start = await who.ask('GET', '/api/auth/google')
    const returned = pathOf(await signInAtIssuer(google, start.headers.location as string, 'twice'))
    const other = browser()
    expect(location(await other.ask('GET', returned))).toEqual(loginError('oauth_failed'))
    await other.ask('GET', '/api/auth/google')
    expect(location(await other.ask('GET', returned))).toEqual(loginError('oauth_failed'))
    expect(await userOf(email)).toBeUndefined()
    const cookie = who.cookie('service_oauth') as string
    expect(location(await who.ask('GET', returned))).toEqual([302, '/'])
    who.setCookie('service_oauth', cookie)
    expect(location(await who.ask('GET', returned))).toEqual(loginError('oauth_failed'))
  })

  test('a cookie of another provider, a forged one and one of ten minutes ago are refused', async () => {
    const emails = [primary(newEmail())]
    const who = browser()
    const start = await who.ask('GET', '/api/auth/github')
    const person = { id: 1, login: 'x', name: null, emails }
    const returned = pathOf(github.authorize(start.headers.location as string, person))
    const own = who.cookie('service_oauth') as string
    await who.ask('GET', '/api/auth/google')
    expect(location(await who.ask('GET', returned))).toEqual(loginError('oauth_failed'))
    who.setCookie('service_oauth', `${own.slice(0, -4)}AAAA`)
    expect(location(await who.ask('GET', returned))).toEqual(loginError('oauth_failed'))
    who.setCookie('service_oauth', own)
    await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 600 } })
    expect(location(await who.ask('GET', returned))).toEqual(loginError('oauth_failed'))
    await t.ask('POST', '/api/dev/clock', { body: { reset: true } })
  })

  test('a refusal of the person is access_denied, and any other error oauth_failed', async () => {
    for (const [error, code] of [
      ['access_denied', 'access_denied'],
      ['server_error', 'oauth_failed'],
    ] as const) {
      for (const id of ['google', 'github'] as const) {
        const who = browser()
        const start = await who.ask('GET', `/api/auth/${id}`)
        const state = new URL(start.headers.location as string).searchParams.get('state')
        const iss = id === 'google' ? `&iss=${encodeURIComponent(google.url)}` : ''
        const reply = await who.ask('GET', `/api/auth/${id}/callback?error=${error}&state=${state}${iss}`)
        expect(location(reply), `${id} ${error}`).toEqual(loginError(code))
      }
    }
  })

  test('while the provider is down the browser is sent back, and nothing is made', async () => {
    github.down = true
    const email = newEmail()
    expect(location(await throughGitHub(browser(), { emails: [primary(email)] }))).toEqual(loginError('oauth_failed'))
    github.down = false
    expect(await userOf(email)).toBeUndefined()
  })

  test('redirect_to leads only to this site', async () => {
    const who = browser()
    const done = await throughIssuer(who, google, 'google', claimsOf(newEmail()), '?redirect_to=%2F%2Fevil.example')
    expect(location(done)).toEqual([302, '/'])
  })
})
