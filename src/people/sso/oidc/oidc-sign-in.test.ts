import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { addPerson, askWith, signIn } from '../../../../test/clients/people.ts'
import { entriesAbout, goodPassword, logInPerson } from '../../../../test/clients/sign-in-client.ts'
import { newSsoOrg, type SsoOrg, ssoBrowser } from '../../../../test/clients/sso-client.ts'
import { type Claims, signInAtIssuer, startIssuer } from '../../../../test/servers/issuer.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { makePasswords } from '../../../customers/accounts/passwords.ts'

const issuer = await startIssuer()
const t = await startTestService({ env: { WEBHOOK_ALLOW_INSECURE: 'true' } })
issuer.serve(`${t.url}/api/auth/sso/callback`)
afterAll(async () => {
  await t.stop()
  await issuer.stop()
})

const failed = '/login?error=sso_failed'
let people = 0
const provider = () => ({
  protocol: 'oidc',
  oidc_issuer: issuer.url,
  oidc_client_id: issuer.clientId,
  oidc_client_secret: issuer.clientSecret,
})
const newOidcOrg = async (settings: Record<string, unknown> = {}): Promise<SsoOrg> => {
  const org = await newSsoOrg(t)
  const reply = await org.ask('PUT', '/api/internal/sso', { ...provider(), ...settings })
  expect(reply.status, reply.text).toBe(200)
  return org
}

const claimsOf = (email: string, more: Partial<Claims> = {}): Claims => ({
  sub: `sub-${++people}`,
  email,
  name: 'Ann Lee',
  ...more,
})

/** The whole way through the issuer. */
const throughIssuer = async (org: SsoOrg, claims: Claims, who = ssoBrowser(t), query = '') => {
  issuer.people.set(claims.sub, claims)
  const start = await who.ask('GET', `/api/auth/sso/login?org=${org.slug}${query}`)
  const back = await signInAtIssuer(issuer, start.headers.location as string, claims.sub)
  return { who, back, reply: await who.ask('GET', back.replace(t.url, '')) }
}

describe('OpenID Connect of an org', () => {
  test('signs in a newcomer as a member, with the default role, and counts as tested', async () => {
    const org = await newOidcOrg({ default_role: 'developer' })
    const email = `new@${org.domain}`
    const { who, reply } = await throughIssuer(org, claimsOf(email), ssoBrowser(t), '&redirect_to=%2Fjobs')
    expect([reply.status, reply.headers.location]).toEqual([302, '/jobs'])
    const { body } = await who.ask('GET', '/api/auth/session')
    expect(body).toMatchObject({
      user: { email, name: 'Ann Lee' },
      session: { method: 'oidc' },
      active_org: { id: org.orgId, role: 'developer' },
    })
    const actions = (await entriesAbout(t, body.user.id)).map(({ action }) => action)
    expect(actions).toEqual(['user.registered', 'member.joined', 'user.login'])
    expect((await org.ask('GET', '/api/internal/sso')).body.tested).toBe(true)
  })

  test('the settings never show the secret, which is stored encrypted', async () => {
    const org = await newOidcOrg()
    const { text, body } = await org.ask('GET', '/api/internal/sso')
    expect(text).not.toContain(issuer.clientSecret)
    expect(body).toMatchObject({ protocol: 'oidc', oidc_issuer: issuer.url, oidc_client_id: issuer.clientId })
    const [row] = await t.database.sql<{ oidc_client_secret: string }>(
      'select oidc_client_secret from sso_connections where org_id = $1',
      [org.orgId],
    )
    expect(row?.oidc_client_secret).toMatch(/^v1\./)
    const moved = await org.ask('PUT', '/api/internal/sso', { oidc_issuer: 'https://evil.test', oidc_client_id: 'x' })
    expect([moved.status, moved.body.errors[0].path]).toEqual([422, ['oidc_client_secret']])
    const same = { oidc_issuer: issuer.url, oidc_client_id: issuer.clientId }
    expect((await org.ask('PUT', '/api/internal/sso', same)).status).toBe(200)
    expect((await throughIssuer(org, claimsOf(`a@${org.domain}`))).reply.headers.location).toBe('/')
  })

  test('shares domains and provisioning: a foreign or unverified address and an unwanted newcomer are refused', async () => {
    const org = await newOidcOrg({ jit_provisioning: false })
    const member = await addPerson(t, { email: `in@${org.domain}`, orgId: org.orgId, role: 'viewer' })
    expect((await throughIssuer(org, claimsOf(member.email))).reply.headers.location).toBe('/')
    const foreign = await addPerson(t)
    for (const claims of [
      claimsOf(foreign.email),
      claimsOf(`stranger@${org.domain}`),
      claimsOf(member.email, { email_verified: false }),
      { sub: `nobody-${++people}` },
    ]) {
      const { who, reply } = await throughIssuer(org, claims)
      expect(reply.headers.location, JSON.stringify(claims)).toBe(failed)
      expect(who.cookie('service_session')).toBeUndefined()
    }
  })

  test('shares enforcement, with the address where to sign in', async () => {
    const org = await newOidcOrg()
    const passwordHash = await makePasswords().hash(goodPassword, null)
    const email = `held@${org.domain}`
    const { userId } = await addPerson(t, { email, orgId: org.orgId, role: 'viewer', passwordHash })
    const untested = await org.ask('PUT', '/api/internal/sso', { enforced: true })
    expect([untested.status, untested.body.code]).toEqual([409, 'SSO_NOT_TESTED'])
    const { who } = await throughIssuer(org, claimsOf(email))
    const cookie = await signIn(t, userId)
    expect((await org.ask('PUT', '/api/internal/sso', { enforced: true })).status).toBe(200)
    expect((await askWith(t, cookie, 'GET', '/api/internal/user')).status).toBe(401)
    expect((await who.ask('GET', '/api/internal/user')).status).toBe(200)
    const refused = await logInPerson(t, ssoBrowser(t), email)
    expect([refused.status, refused.body.login_url]).toEqual([403, `/api/auth/sso/login?org=${org.slug}`])
  })

  test('a callback of another browser, with another state or a second time is refused', async () => {
    const org = await newOidcOrg()
    const { who, back } = await throughIssuer(org, claimsOf(`once@${org.domain}`))
    const path = back.replace(t.url, '')
    expect((await who.ask('GET', path)).headers.location).toBe(failed)
    expect((await ssoBrowser(t).ask('GET', path)).headers.location).toBe(failed)
    const other = ssoBrowser(t)
    await other.ask('GET', `/api/auth/sso/login?org=${org.slug}`)
    expect((await other.ask('GET', path)).headers.location).toBe(failed)
    const denied = ssoBrowser(t)
    await denied.ask('GET', `/api/auth/sso/login?org=${org.slug}`)
    const refusal = await denied.ask('GET', '/api/auth/sso/callback?error=access_denied&state=x')
    expect(refusal.headers.location).toBe(failed)
  })

  test('an issuer that is down, lies about its name or is not allowed ends at the sign-in page', async () => {
    const liar = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ issuer: issuer.url, authorization_endpoint: 'https://x.test/a' }))
    })
    liar.listen(0, '127.0.0.1')
    await once(liar, 'listening')
    const lying = `http://127.0.0.1:${(liar.address() as AddressInfo).port}`
    for (const oidc_issuer of [lying, 'http://127.0.0.1:1', 'http://169.254.169.254']) {
      const org = await newOidcOrg({ oidc_issuer })
      const reply = await ssoBrowser(t).ask('GET', `/api/auth/sso/login?org=${org.slug}`)
      expect([reply.status, reply.headers.location], oidc_issuer).toEqual([302, failed])
    }
    liar.close()
  })
})
