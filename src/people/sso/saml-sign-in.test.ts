import { createVerify, X509Certificate } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import { addMember, addPerson } from '../../../test/clients/people.ts'
import { entriesAbout, goodPassword } from '../../../test/clients/sign-in-client.ts'
import {
  acsPath,
  addVerifiedDomain,
  answerFor,
  beginSaml,
  idpKey,
  idpSsoUrl,
  newSamlOrg,
  newSsoOrg,
  postResponse,
  signInWithSaml,
  ssoBrowser,
} from '../../../test/clients/sso-client.ts'
import { readSentRequest, signElement, signedResponse } from '../../../test/servers/identity-provider.ts'
import { startTestService } from '../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())

const failed = [302, '/login?error=sso_failed']
const location = ({ status, headers }: { status: number; headers: Record<string, unknown> }) => [
  status,
  headers.location,
]
let people = 0
const newcomer = (domain: string): string => `person${++people}@${domain}`
const rolesOf = (userId: string) =>
  t.database.sql<{ org_id: string; role: string; source: string }>(
    'select org_id, role, source from memberships where user_id = $1',
    [userId],
  )

describe('metadata', () => {
  test('A-330 AD-46 describes the org to its identity provider, without a session', async () => {
    const org = await newSsoOrg(t)
    const reply = await t.ask('GET', `/api/auth/saml/metadata?org=${org.slug}`)
    expect([reply.status, reply.headers['content-type']]).toEqual([200, 'application/samlmetadata+xml'])
    expect(reply.text).toContain(`entityID="${t.url}/api/auth/saml/metadata?org=${org.slug}"`)
    expect(reply.text).toContain(`Location="${t.url}/api/auth/saml/acs?org=${org.slug}"`)
    expect(reply.text).toContain('nameid-format:emailAddress')
    expect(reply.text).toContain('WantAssertionsSigned="true"')
    const bare = /<ds:X509Certificate>([^<]+)</.exec(reply.text)?.[1] as string
    const certificate = new X509Certificate(Buffer.from(bare, 'base64'))
    expect(certificate.verify(certificate.publicKey)).toBe(true)
  })

  test('A-330 describes the whole service without an org, and is 404 for an unknown one', async () => {
    const whole = await t.ask('GET', '/api/auth/saml/metadata')
    expect(whole.text).toContain(`entityID="${t.url}/api/auth/saml/metadata"`)
    expect(whole.text).toContain(`Location="${t.url}/api/auth/saml/acs"`)
    expect((await t.ask('GET', '/api/auth/saml/metadata?org=nobody')).status).toBe(404)
  })
})

describe('the start', () => {
  test('AD-46 sends a request that the key of the metadata signed, and a cookie that other sites send back', async () => {
    const org = await newSamlOrg(t)
    const reply = await ssoBrowser(t).ask('GET', `/api/auth/saml/login?org=${org.slug}`)
    expect(reply.status).toBe(302)
    const { url, xml, id } = readSentRequest(reply.headers.location as string)
    expect(`${url.origin}${url.pathname}`).toBe(idpSsoUrl)
    expect(xml).toContain(`AssertionConsumerServiceURL="${t.url}/api/auth/saml/acs?org=${org.slug}"`)
    expect(id).toMatch(/^_[0-9a-f]{40}$/)
    const metadata = await t.ask('GET', `/api/auth/saml/metadata?org=${org.slug}`)
    const bare = /<ds:X509Certificate>([^<]+)</.exec(metadata.text)?.[1] as string
    const signed = url.search.slice(1, url.search.indexOf('&Signature='))
    const verifier = createVerify('sha256').update(signed)
    const { publicKey } = new X509Certificate(Buffer.from(bare, 'base64'))
    expect(verifier.verify(publicKey, url.searchParams.get('Signature') as string, 'base64')).toBe(true)
    expect(reply.headers['set-cookie']).toMatch(
      /^service_oauth=v1\.[\w.-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=None; Secure$/,
    )
  })

  test('AD-46 finds the org by the verified domain of an address, and nothing for others', async () => {
    const org = await newSamlOrg(t)
    const found = await ssoBrowser(t).ask('GET', `/api/auth/saml/login?email=ann%40${org.domain.toUpperCase()}`)
    expect(found.headers.location).toMatch(/^https:\/\/idp\.example\.com\/sso\?/)
    await t.database.sql('update org_email_domains set verified_at = null where org_id = $1', [org.orgId])
    for (const query of [`email=ann%40${org.domain}`, 'email=x', 'org=nobody', '']) {
      expect(location(await ssoBrowser(t).ask('GET', `/api/auth/sso/login?${query}`)), query).toEqual(failed)
    }
  })
})

describe('a response of the identity provider', () => {
  test('A-015 A-121 AD-47 signs in a member, with the org active and the path that they came for', async () => {
    const org = await newSamlOrg(t)
    const email = newcomer(org.domain)
    const { userId } = await addPerson(t, { email, orgId: org.orgId, role: 'developer' })
    const who = ssoBrowser(t)
    const id = await beginSaml(who, org, '&redirect_to=%2Fdomains')
    const done = await postResponse(who, acsPath(org), signedResponse(answerFor(t, org, email, id), idpKey))
    expect(location(done)).toEqual([302, '/domains'])
    expect(who.cookie('service_oauth')).toBeUndefined()
    expect(who.cookie('service_active_org')).toBe(org.orgId)
    const { body } = await who.ask('GET', '/api/auth/session')
    expect(body).toMatchObject({
      user: { id: userId, email },
      session: { method: 'saml' },
      active_org: { id: org.orgId },
    })
    const entries = await entriesAbout(t, userId)
    expect(entries.map(({ action, metadata }) => [action, metadata])).toEqual([['user.login', { method: 'saml' }]])
    expect((await org.ask('GET', '/api/internal/sso')).body).toMatchObject({ tested: true, enforced: false })
  })

  test('AD-47 is accepted with a signature of the whole response too, and refused if that one is wrong', async () => {
    const org = await newSamlOrg(t)
    const email = newcomer(org.domain)
    const who = ssoBrowser(t)
    const answer = answerFor(t, org, email, await beginSaml(who, org))
    const both = signElement(signedResponse(answer, idpKey), 'Response', idpKey)
    const broken = both.replace('Version="2.0"', 'Version="2.0" Consent="urn:x"')
    expect(location(await postResponse(who, acsPath(org), broken))).toEqual(failed)
    await beginSaml(who, org)
    const again = answerFor(t, org, email, await beginSaml(who, org))
    const right = signElement(signedResponse(again, idpKey), 'Response', idpKey)
    expect(location(await postResponse(who, acsPath(org), right))).toEqual([302, '/'])
  })

  test('AD-46 R-49 is accepted at the address of the whole service, whose request names the org', async () => {
    const org = await newSamlOrg(t)
    const who = ssoBrowser(t)
    const id = await beginSaml(who, org)
    const whole = { audience: `${t.url}/api/auth/saml/metadata`, acsUrl: `${t.url}/api/auth/saml/acs` }
    const xml = signedResponse({ ...answerFor(t, org, newcomer(org.domain), id), ...whole }, idpKey)
    expect(location(await postResponse(ssoBrowser(t), '/api/auth/saml/acs', xml))).toEqual(failed)
    expect(location(await postResponse(who, '/api/auth/saml/acs', xml))).toEqual([302, '/'])
  })

  test('AD-43 does not ask for the second factor, which the identity provider answers for', async () => {
    const org = await newSamlOrg(t)
    const email = newcomer(org.domain)
    const { userId } = await addPerson(t, { email, orgId: org.orgId, role: 'viewer' })
    await t.database.sql('update users set totp_enabled_at = $2 where id = $1', [userId, t.service.clock.now()])
    expect(location(await signInWithSaml(t, ssoBrowser(t), org, email))).toEqual([302, '/'])
  })

  test('AD-47 without a request is refused, unless the org lets the identity provider begin', async () => {
    const org = await newSamlOrg(t)
    const email = newcomer(org.domain)
    const unsolicited = () => signedResponse(answerFor(t, org, email), idpKey)
    expect(location(await postResponse(ssoBrowser(t), acsPath(org), unsolicited()))).toEqual(failed)
    await org.ask('PUT', '/api/internal/sso', { allow_idp_initiated: true })
    const xml = unsolicited()
    const done = await postResponse(ssoBrowser(t), acsPath(org), xml, { RelayState: '/jobs' })
    expect(location(done)).toEqual([302, '/jobs'])
    expect(location(await postResponse(ssoBrowser(t), acsPath(org), xml))).toEqual(failed)
    const away = await postResponse(ssoBrowser(t), acsPath(org), unsolicited(), { RelayState: 'https://evil.test/' })
    expect(location(away)).toEqual([302, '/'])
  })
})

describe('a newcomer', () => {
  test('AD-48 AD-81 gets an account and a membership with the default role', async () => {
    const org = await newSamlOrg(t, { default_role: 'member' })
    const email = newcomer(org.domain)
    const who = ssoBrowser(t)
    const attributes = { displayName: 'Ann Lee' }
    expect(location(await signInWithSaml(t, who, org, email.toUpperCase(), { attributes }))).toEqual([302, '/'])
    const { body } = await who.ask('GET', '/api/auth/session')
    expect(body.user).toMatchObject({ email, name: 'Ann Lee', email_verified: true, has_password: false })
    expect(await rolesOf(body.user.id)).toEqual([{ org_id: org.orgId, role: 'member', source: 'sso' }])
    const entries = await entriesAbout(t, body.user.id)
    expect(entries.map(({ action, org_id }) => [action, org_id])).toEqual([
      ['user.registered', org.orgId],
      ['member.joined', org.orgId],
      ['user.login', org.orgId],
    ])
    expect(entries[1]?.metadata).toEqual({ role: 'member', via: 'sso' })
  })

  test('AD-48 is refused without just-in-time provisioning, and no account is left behind', async () => {
    const org = await newSamlOrg(t, { jit_provisioning: false })
    const email = newcomer(org.domain)
    expect(location(await signInWithSaml(t, ssoBrowser(t), org, email))).toEqual(failed)
    expect(await t.database.sql('select id from users where email = $1', [email])).toEqual([])
  })

  test('an invited newcomer joins with the role of the invitation, also without just-in-time provisioning', async () => {
    const org = await newSamlOrg(t, { jit_provisioning: false })
    const email = newcomer(org.domain)
    expect((await org.ask('POST', '/api/internal/team/invite', { email, role: 'developer' })).status).toBe(201)
    const who = ssoBrowser(t)
    expect(location(await signInWithSaml(t, who, org, email))).toEqual([302, '/'])
    const { body } = await who.ask('GET', '/api/auth/session')
    expect(await rolesOf(body.user.id)).toEqual([{ org_id: org.orgId, role: 'developer', source: 'sso' }])
    expect((await org.ask('GET', '/api/internal/team/invite')).body.data).toEqual([])
  })

  test('R-49 AD-48 is refused with an address outside the verified domains, also if its owner is a member', async () => {
    const org = await newSamlOrg(t)
    const victim = await addPerson(t, { email: newcomer('elsewhere.example.com') })
    await addMember(t, org.orgId, victim.userId, 'viewer')
    for (const email of [victim.email, `ann@sub.${org.domain}`, `ann@x${org.domain}`]) {
      expect(location(await signInWithSaml(t, ssoBrowser(t), org, email)), email).toEqual(failed)
    }
    expect(await entriesAbout(t, victim.userId)).toEqual([])
  })

  test('takes over an account that a stranger registered with the address and never verified', async () => {
    const org = await newSamlOrg(t)
    const email = newcomer(org.domain)
    const thief = ssoBrowser(t)
    await thief.post('/api/auth/register', { email, password: goodPassword, name: 'Thief' })
    const who = ssoBrowser(t)
    expect(location(await signInWithSaml(t, who, org, email))).toEqual([302, '/'])
    expect((await thief.post('/api/auth/login', { email, password: goodPassword })).status).toBe(401)
    expect((await who.ask('GET', '/api/auth/session')).body.user).toMatchObject({ email, has_password: false })
  })

  test('two first sign-ins at once make one account and one membership', async () => {
    const org = await newSamlOrg(t)
    const email = newcomer(org.domain)
    const replies = await Promise.all([1, 2, 3].map(() => signInWithSaml(t, ssoBrowser(t), org, email)))
    expect(replies.map(location)).toEqual([1, 2, 3].map(() => [302, '/']))
    const users = await t.database.sql<{ id: string }>('select id from users where email = $1', [email])
    expect(users).toHaveLength(1)
    expect(await rolesOf((users[0] as { id: string }).id)).toHaveLength(1)
  })
})

test('two orgs with the same domain each sign in their own members', async () => {
  const [first, second] = [await newSamlOrg(t), await newSamlOrg(t)]
  await addVerifiedDomain(t, second.orgId, first.domain)
  const email = newcomer(first.domain)
  expect(location(await signInWithSaml(t, ssoBrowser(t), second, email))).toEqual([302, '/'])
  const [user] = await t.database.sql<{ id: string }>('select id from users where email = $1', [email])
  expect((await rolesOf((user as { id: string }).id)).map(({ org_id }) => org_id)).toEqual([second.orgId])
})
