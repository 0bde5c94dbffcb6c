import { afterAll, describe, expect, test } from 'vitest'
import { addPerson, askWith, signIn } from '../../../test/clients/people.ts'
import { entriesAbout, goodPassword, logInPerson, mailedCode, mailsTo } from '../../../test/clients/sign-in-client.ts'
import { idpKey, newSamlOrg, type SsoOrg, signInWithSaml, ssoBrowser } from '../../../test/clients/sso-client.ts'
import { startGitHub } from '../../../test/servers/github.ts'
import { signInAtIssuer, startIssuer } from '../../../test/servers/issuer.ts'
import { startTestService } from '../../../test/service/service.ts'
import { makePasswords } from '../../customers/accounts/passwords.ts'

const [google, issuer, github] = [await startIssuer(), await startIssuer(), await startGitHub()]
const t = await startTestService({
  env: {
    GOOGLE_CLIENT_ID: google.clientId,
    GOOGLE_CLIENT_SECRET: google.clientSecret,
    GOOGLE_ISSUER: google.url,
    OIDC_NAME: 'Acme',
    OIDC_CLIENT_ID: issuer.clientId,
    OIDC_CLIENT_SECRET: issuer.clientSecret,
    OIDC_ISSUER: issuer.url,
    GITHUB_CLIENT_ID: github.clientId,
    GITHUB_CLIENT_SECRET: github.clientSecret,
    GITHUB_URL: github.url,
    GITHUB_API_URL: github.url,
  },
})
issuer.serve(`${t.url}/api/auth/oidc/callback`)
google.serve(`${t.url}/api/auth/google/callback`)
afterAll(async () => {
  await t.stop()
  await Promise.all([google.stop(), issuer.stop(), github.stop()])
})

const passwordHash = await makePasswords().hash(goodPassword, null)
let people = 0
const newPerson = async (org: SsoOrg, role: string) => {
  const email = `member${++people}@${org.domain}`
  return addPerson(t, { email, orgId: org.orgId, role, passwordHash })
}

/** An org whose configuration was tested by a first sign-in. */
const testedOrg = async (settings: Record<string, unknown> = {}): Promise<SsoOrg> => {
  const org = await newSamlOrg(t, settings)
  expect((await signInWithSaml(t, ssoBrowser(t), org, `tester@${org.domain}`)).headers.location).toBe('/')
  return org
}
const enforce = (org: SsoOrg, enforced = true) => org.ask('PUT', '/api/internal/sso', { enforced })
const enforcingOrg = async (settings: Record<string, unknown> = {}): Promise<SsoOrg> => {
  const org = await testedOrg({ jit_provisioning: true })
  expect((await enforce(org)).status).toBe(200)
  if (Object.keys(settings).length > 0) await org.ask('PUT', '/api/internal/sso', settings)
  return org
}

const ssoRequired = ({ slug }: SsoOrg) => [
  403,
  {
    error: 'Your organisation requires single sign-on',
    code: 'SSO_REQUIRED',
    login_url: `/api/auth/saml/login?org=${slug}`,
  },
]

type ProviderId = 'google' | 'oidc' | 'github'

/** Where the provider sends the browser back to. */
const atProvider = async (id: ProviderId, start: string, email: string): Promise<string> => {
  if (id === 'github') {
    const emails = [{ email, primary: true, verified: true, visibility: null }]
    return github.authorize(start, { id: ++people, login: 'ann', name: null, emails })
  }
  const at = id === 'google' ? google : issuer
  at.people.set(email, { sub: email, email, email_verified: true })
  return signInAtIssuer(at, start, email)
}

const throughProvider = async (id: ProviderId, email: string) => {
  const who = ssoBrowser(t)
  const start = await who.ask('GET', `/api/auth/${id}`)
  const back = await atProvider(id, start.headers.location as string, email)
  return { who, reply: await who.ask('GET', back.replace(t.url, '')) }
}
const throughGoogle = (email: string) => throughProvider('google', email)

describe('setting enforcement', () => {
  test('AD-138 is 409 before a sign-in through the configuration, and without a verified domain', async () => {
    const org = await newSamlOrg(t)
    const untested = await enforce(org)
    expect([untested.status, untested.body]).toEqual([
      409,
      { error: 'Sign in once through this configuration before you enforce it', code: 'SSO_NOT_TESTED' },
    ])
    await signInWithSaml(t, ssoBrowser(t), org, `tester@${org.domain}`)
    await t.database.sql('delete from org_email_domains where org_id = $1', [org.orgId])
    const noDomain = await enforce(org)
    expect([noDomain.status, noDomain.body]).toEqual([
      409,
      { error: 'Verify an email domain before you enforce single sign-on', code: 'SSO_NO_DOMAIN' },
    ])
    expect((await org.ask('GET', '/api/internal/sso')).body.enforced).toBe(false)
  })

  test('AD-50 ends the sessions of members that the identity provider did not open, and no others', async () => {
    const org = await testedOrg()
    const [member, owner] = [await newPerson(org, 'developer'), await newPerson(org, 'owner')]
    const stranger = await addPerson(t)
    const saml = ssoBrowser(t)
    await signInWithSaml(t, saml, org, member.email)
    const [ofMember, ofOwner, ofStranger] = [
      await signIn(t, member.userId),
      await signIn(t, owner.userId),
      await signIn(t, stranger.userId),
    ]
    expect((await enforce(org)).body.enforced).toBe(true)
    const isOpen = async (cookie: string) => (await askWith(t, cookie, 'GET', '/api/internal/user')).status
    expect([await isOpen(ofMember), await isOpen(ofOwner), await isOpen(ofStranger)]).toEqual([401, 200, 200])
    expect((await saml.ask('GET', '/api/internal/user')).status).toBe(200)
    // The session is gone for good, not only while enforcement lasts.
    await enforce(org, false)
    expect(await isOpen(ofMember)).toBe(401)
    const entries = (await entriesAbout(t, org.ownerId)).filter(({ action }) => action === 'org.sso_updated')
    expect(entries.at(-2)?.metadata).toEqual({
      protocol: 'saml',
      enforced: true,
      changed: ['enforced'],
      ended_sessions: 1,
    })
  })

  test('AD-138 deleting the connection ends enforcement, and the email domains stay', async () => {
    const org = await enforcingOrg()
    const member = await newPerson(org, 'viewer')
    expect((await org.ask('DELETE', '/api/internal/sso')).status).toBe(204)
    const { body } = await org.ask('GET', '/api/internal/sso')
    expect(body).toMatchObject({
      protocol: null,
      enforced: false,
      email_domains: [{ domain: org.domain, verified: true }],
    })
    expect((await logInPerson(t, ssoBrowser(t), member.email)).status).toBe(200)
    expect((await org.ask('DELETE', '/api/internal/sso')).status).toBe(404)
    const entries = await entriesAbout(t, org.ownerId)
    expect(entries.at(-1)).toMatchObject({ action: 'org.sso_removed', metadata: { protocol: 'saml' } })
  })

  test('another identity provider is refused while single sign-on is enforced', async () => {
    const org = await enforcingOrg()
    const { body: before } = await org.ask('GET', '/api/internal/sso')
    const change = { idp_entity_id: 'https://other.example.com', idp_sso_url: 'https://other.example.com/sso' }
    const reply = await org.ask('PUT', '/api/internal/sso', { ...change, idp_certificates: [idpKey.certificate] })
    expect([reply.status, reply.body.code]).toEqual([409, 'SSO_NOT_TESTED'])
    expect((await org.ask('GET', '/api/internal/sso')).body).toEqual(before)
  })

  test('the last verified domain of an enforcing org cannot be removed', async () => {
    const org = await enforcingOrg()
    const reply = await org.ask('DELETE', `/api/internal/sso/domains?domain=${org.domain}`)
    expect([reply.status, reply.body.code]).toEqual([409, 'SSO_NO_DOMAIN'])
  })
})

describe('while single sign-on is configured but not enforced', () => {
  test('A-331 password and Google still sign in', async () => {
    const org = await testedOrg()
    const member = await newPerson(org, 'viewer')
    expect((await logInPerson(t, ssoBrowser(t), member.email)).status).toBe(200)
    const { reply } = await throughGoogle(member.email)
    expect(reply.headers.location).toBe('/')
    const logins = (await entriesAbout(t, member.userId)).filter(({ action }) => action === 'user.login')
    expect(logins.map(({ metadata }) => metadata)).toEqual([{ method: 'credentials' }, { method: 'google' }])
  })
})

describe('while single sign-on is enforced', () => {
  test('A-332 AD-49 a member cannot sign in with a password or Google, only with SAML', async () => {
    const org = await enforcingOrg()
    const member = await newPerson(org, 'developer')
    const who = ssoBrowser(t)
    const reply = await logInPerson(t, who, member.email)
    expect([reply.status, reply.body]).toEqual(ssoRequired(org))
    expect(who.cookie('service_session')).toBeUndefined()
    const google = await throughGoogle(member.email)
    expect(google.reply.headers.location).toBe('/login?error=sso_required')
    expect(google.who.cookie('service_session')).toBeUndefined()
    const saml = ssoBrowser(t)
    await signInWithSaml(t, saml, org, member.email)
    expect((await saml.ask('GET', '/api/auth/session')).body.user.id).toBe(member.userId)
    const logins = (await entriesAbout(t, member.userId)).filter(({ action }) => action === 'user.login')
    expect(logins.map(({ metadata }) => metadata)).toEqual([{ method: 'saml' }])
  })

  test.each<ProviderId>(['google', 'github', 'oidc'])(
    'A-332 A-333 AD-49 sign-in with %s sends a member to single sign-on and lets an owner in',
    async (id) => {
      const org = await enforcingOrg()
      const [member, owner] = [await newPerson(org, 'member'), await newPerson(org, 'owner')]
      const refused = await throughProvider(id, member.email)
      expect([refused.reply.status, refused.reply.headers.location]).toEqual([302, '/login?error=sso_required'])
      expect(refused.who.cookie('service_session')).toBeUndefined()
      expect(await t.database.sql('select id from sessions where user_id = $1', [member.userId])).toEqual([])
      const entries = await entriesAbout(t, member.userId)
      expect(entries.filter(({ action }) => action === 'user.login')).toEqual([])
      const allowed = await throughProvider(id, owner.email)
      expect([allowed.reply.status, allowed.reply.headers.location]).toEqual([302, '/'])
      expect((await allowed.who.ask('GET', '/api/internal/user')).status).toBe(200)
      const logins = (await entriesAbout(t, owner.userId)).filter(({ action }) => action === 'user.login')
      expect(logins.map(({ metadata }) => metadata)).toEqual([{ method: id, break_glass: true }])
      // The refused person signs in where the page sends them.
      expect((await signInWithSaml(t, ssoBrowser(t), org, member.email)).headers.location).toBe('/')
    },
  )

  test('AD-49 a wrong password reveals nothing, and a code that was refused cannot be used again', async () => {
    const org = await enforcingOrg()
    const member = await newPerson(org, 'developer')
    const who = ssoBrowser(t)
    const wrong = await who.post('/api/auth/login', { email: member.email, password: 'not the password' })
    expect([wrong.status, wrong.body]).toEqual([401, { error: 'Invalid email or password' }])
    const started = await who.post('/api/auth/login', { email: member.email, password: goodPassword })
    expect(started.status).toBe(200)
    const given = { challenge_id: started.body.challenge_id, code: await mailedCode(t, member.email) }
    expect((await who.post('/api/auth/login/code', given)).status).toBe(403)
    expect((await who.post('/api/auth/login/code', given)).status).toBe(401)
  })

  test('A-333 AD-49 an owner still signs in with a password and with Google, which the audit log marks', async () => {
    const org = await enforcingOrg()
    const owner = await newPerson(org, 'owner')
    expect((await logInPerson(t, ssoBrowser(t), owner.email)).status).toBe(200)
    expect((await throughGoogle(owner.email)).reply.headers.location).toBe('/')
    await signInWithSaml(t, ssoBrowser(t), org, owner.email)
    const logins = (await entriesAbout(t, owner.userId)).filter(({ action }) => action === 'user.login')
    expect(logins.map(({ metadata }) => metadata)).toEqual([
      { method: 'credentials', break_glass: true },
      { method: 'google', break_glass: true },
      { method: 'saml' },
    ])
  })

  test('an owner who loses the role loses the sessions that the identity provider did not open', async () => {
    const org = await enforcingOrg()
    const owner = await newPerson(org, 'owner')
    const cookie = await signIn(t, owner.userId)
    expect((await askWith(t, cookie, 'GET', '/api/internal/user')).status).toBe(200)
    await t.database.sql(`update memberships set role = 'developer' where user_id = $1`, [owner.userId])
    expect((await askWith(t, cookie, 'GET', '/api/internal/user')).status).toBe(401)
  })
})

describe('an invitation to an enforcing org', () => {
  const tokenIn = async (email: string): Promise<string> =>
    /token=([\w-]+)/.exec((await mailsTo(t, email))[0]?.text ?? '')?.[1] as string

  test('R-53 R-49 is not accepted in a session that the identity provider did not open', async () => {
    const org = await enforcingOrg()
    const guest = await addPerson(t, { email: `guest${++people}@${org.domain}` })
    await org.ask('POST', '/api/internal/team/invite', { email: guest.email, role: 'viewer' })
    const token = await tokenIn(guest.email)
    const cookie = await signIn(t, guest.userId)
    const reply = await askWith(t, cookie, 'POST', '/api/internal/team/accept', { body: { token } })
    expect([reply.status, reply.body]).toEqual(ssoRequired(org))
    expect(await t.database.sql('select id from memberships where user_id = $1', [guest.userId])).toEqual([])
    // The invitation is still open, and the identity provider accepts it.
    expect((await signInWithSaml(t, ssoBrowser(t), org, guest.email)).headers.location).toBe('/')
  })

  test('R-53 verification of an invited address verifies it and opens no session', async () => {
    const org = await enforcingOrg()
    const email = `invited${++people}@${org.domain}`
    await org.ask('POST', '/api/internal/team/invite', { email, role: 'viewer' })
    const invite_token = await tokenIn(email)
    const who = ssoBrowser(t)
    await who.post('/api/auth/register', { email, password: goodPassword, name: 'Ann', invite_token })
    const reply = await who.post('/api/auth/verify-email', { email, code: await mailedCode(t, email) })
    expect([reply.status, reply.body]).toEqual([200, { status: 'verified', redirect_to: '/login' }])
    expect(who.cookie('service_session')).toBeUndefined()
    const [user] = await t.database.sql<{ id: string; email_verified_at: Date | null }>(
      'select id, email_verified_at from users where email = $1',
      [email],
    )
    expect(user?.email_verified_at).not.toBeNull()
    expect((await signInWithSaml(t, ssoBrowser(t), org, email)).headers.location).toBe('/')
  })
})
