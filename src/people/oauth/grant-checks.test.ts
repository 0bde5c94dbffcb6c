/** Grants are checked like sessions: what ends or closes these, ends or closes them too. */
import pg from 'pg'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { rpc } from '../../../test/clients/mcp-client.ts'
import {
  decide,
  getCode,
  getTokens,
  newPkce,
  openRequest,
  redeem,
  refresh,
  registerClient,
  type Tokens,
} from '../../../test/clients/oauth-client.ts'
import { addMember, addPerson, askWith, signIn } from '../../../test/clients/people.ts'
import { type Browser, goodPassword, logInPerson, mailsTo } from '../../../test/clients/sign-in-client.ts'
import { newSamlOrg, type SsoOrg, signInWithSaml, ssoBrowser } from '../../../test/clients/sso-client.ts'
import { cheapHash } from '../../../test/service/cheap-password.ts'
import { startTestService, testService } from '../../../test/service/service.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
afterEach(() => vi.restoreAllMocks())

const passwordHash = await cheapHash(goodPassword)
let count = 0

const invalidGrant = [
  400,
  {
    error: 'invalid_grant',
    error_description: 'The code or refresh token is invalid, expired, used or issued to another client.',
  },
]

const scopes = ['read:usage']
const statusWith = async (token: string): Promise<number> =>
  (await t.ask('GET', '/api/v1/usage', { key: token })).status
const grantOn = (cookie: string, orgId: string): Promise<Tokens> => getTokens(t, { cookie, orgId, scopes })
const refreshed = async (tokens: Tokens) => {
  const { status, body } = await refresh(t, tokens.clientId, tokens.refresh)
  return [status, body]
}
const cookieOf = (who: Browser): string => `service_session=${who.cookie('service_session')}`
const enforce = async (org: SsoOrg, enforced = true): Promise<void> => {
  await t.database.sql('update sso_connections set tested_at = created_at where org_id = $1', [org.orgId])
  expect((await org.ask('PUT', '/api/internal/sso', { enforced })).status).toBe(200)
}
const personIn = async (org: SsoOrg, { domain = 'example.test', role = 'developer' } = {}) => {
  const { org: own } = await t.org({ name: `Own ${++count}` })
  const email = `person${++count}@${domain}`
  const person = await addPerson(t, { email, orgId: own.id, passwordHash })
  const membershipId = await addMember(t, org.orgId, person.userId, role)
  return { ...person, ownId: own.id, membershipId, cookie: await signIn(t, person.userId) }
}
const throughProvider = async (org: SsoOrg, email: string): Promise<Browser> => {
  const who = ssoBrowser(t)
  expect((await signInWithSaml(t, who, org, email)).headers.location).toBe('/')
  return who
}
const revocations = (orgId: string) =>
  t.database.sql<{ metadata: { reason: string; user_id: string }; actor_user_id: string }>(
    `select metadata, actor_user_id from audit_entries where org_id = $1 and action = 'oauth.revoked' order by id`,
    [orgId],
  )
const advance = (days: number) => t.ask('POST', '/api/dev/clock', { body: { advance_seconds: days * 86_400 } })

describe('an org that enforces single sign-on', () => {
  test('R-54 closes to the grants of a member until they sign in through its provider, and other orgs stay open', async () => {
    const org = await newSamlOrg(t)
    const person = await personIn(org, { domain: org.domain })
    const [here, elsewhere] = [await grantOn(person.cookie, org.orgId), await grantOn(person.cookie, person.ownId)]
    expect([await statusWith(here.access), await statusWith(elsewhere.access)]).toEqual([200, 200])
    await enforce(org)
    expect([await statusWith(here.access), await statusWith(elsewhere.access)]).toEqual([401, 200])
    expect((await rpc(t, here.access, 'tools/list')).status).toBe(401)
    expect(await refreshed(here)).toEqual(invalidGrant)
    await throughProvider(org, person.email)
    expect(await statusWith(here.access)).toBe(200)
    expect((await rpc(t, here.access, 'tools/list')).status).toBe(200)
    expect((await refreshed(here))[0]).toBe(200)
  })

  test('R-54 counts only a sign-in since it enforces it, and opens again when enforcement ends', async () => {
    const org = await newSamlOrg(t)
    const person = await personIn(org, { domain: org.domain })
    const tokens = await grantOn(cookieOf(await throughProvider(org, person.email)), org.orgId)
    await t.database.sql('delete from sessions where user_id = $1', [person.userId])
    await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 60 } })
    await enforce(org)
    expect(await statusWith(tokens.access)).toBe(401)
    await enforce(org, false)
    expect(await statusWith(tokens.access)).toBe(200)
  })

  test('R-54 closes to a member outside its domains, and opens to an exempt member and to an owner', async () => {
    const org = await newSamlOrg(t)
    const [outside, owner] = [await personIn(org), await personIn(org, { role: 'owner' })]
    const [ofOutside, ofOwner] = [await grantOn(outside.cookie, org.orgId), await grantOn(owner.cookie, org.orgId)]
    await enforce(org)
    expect([await statusWith(ofOutside.access), await statusWith(ofOwner.access)]).toEqual([401, 200])
    await org.ask('PATCH', '/api/internal/team/members', { id: outside.membershipId, sso_exempt: true })
    expect(await statusWith(ofOutside.access)).toBe(200)
    expect((await refreshed(ofOutside))[0]).toBe(200)
  })

  test('R-54 redeems no code that was allowed before it enforced it', async () => {
    const org = await newSamlOrg(t)
    const person = await personIn(org)
    const code = await getCode(t, { cookie: person.cookie, orgId: org.orgId, scopes })
    await enforce(org)
    const reply = await redeem(t, code)
    expect([reply.status, reply.body]).toEqual(invalidGrant)
  })

  test('R-54 counts a session that a process of the previous release opened through the provider', async () => {
    const org = await newSamlOrg(t)
    const person = await personIn(org, { domain: org.domain })
    const tokens = await grantOn(person.cookie, org.orgId)
    await enforce(org)
    await throughProvider(org, person.email)
    await t.database.sql('update memberships set sso_signed_in_at = null where id = $1', [person.membershipId])
    expect(await statusWith(tokens.access)).toBe(200)
    await t.database.sql('delete from sessions where user_id = $1', [person.userId])
    expect(await statusWith(tokens.access)).toBe(401)
  })

  test('R-54 is not granted by a session to which it is closed, and another org only after the step-up', async () => {
    const org = await newSamlOrg(t)
    const [outside, managed] = [await personIn(org), await personIn(org, { domain: org.domain })]
    await enforce(org)
    const allow = async (cookie: string, orgId: string) => {
      const request_id = await openRequest(t, cookie, await registerClient(t), newPkce(), { scope: 'read:usage' })
      const body = { request_id, decision: 'allow', org_id: orgId, scopes }
      const reply = await decide(t, cookie, body)
      // A refusal leaves the request open: the page can go on after the step-up.
      if (reply.status === 403) expect((await decide(t, cookie, body)).status).toBe(403)
      return [reply.status, reply.body.code]
    }
    expect(await allow(outside.cookie, org.orgId)).toEqual([403, 'SSO_REQUIRED'])
    expect(await allow(outside.cookie, outside.ownId)).toEqual([200, undefined])
    const saml = cookieOf(await throughProvider(org, managed.email))
    expect(await allow(saml, managed.ownId)).toEqual([403, 'STEP_UP_REQUIRED'])
    expect(await allow(saml, org.orgId)).toEqual([200, undefined])
  })

  test('R-54 a session of its provider shows and ends only grants on it', async () => {
    const org = await newSamlOrg(t)
    const person = await personIn(org, { domain: org.domain })
    const [here, elsewhere] = [await grantOn(person.cookie, org.orgId), await grantOn(person.cookie, person.ownId)]
    const saml = cookieOf(await throughProvider(org, person.email))
    const list = async (cookie: string) => (await askWith(t, cookie, 'GET', '/api/internal/oauth/grants')).body.data
    expect((await list(saml)).map((grant: { org_id: string }) => grant.org_id)).toEqual([org.orgId])
    const foreign = (await list(person.cookie)).find((grant: { org_id: string }) => grant.org_id === person.ownId)
    const end = (id: string) => askWith(t, saml, 'DELETE', `/api/internal/oauth/grants?id=${id}`)
    expect((await end(foreign.id)).status).toBe(404)
    expect((await askWith(t, saml, 'DELETE', '/api/internal/sessions?id=others')).status).toBe(200)
    expect([await statusWith(here.access), await statusWith(elsewhere.access)]).toEqual([401, 200])
  })
})

describe('the grants of a person end everywhere', () => {
  const twoGrants = async () => {
    const org = await newSamlOrg(t)
    const person = await personIn(org)
    const grants = [await grantOn(person.cookie, org.orgId), await grantOn(person.cookie, person.ownId)]
    const statuses = () => Promise.all(grants.map(({ access }) => statusWith(access)))
    expect(await statuses()).toEqual([200, 200])
    const expectEnded = async (reason: string) => {
      expect(await statuses()).toEqual([401, 401])
      for (const tokens of grants) expect(await refreshed(tokens)).toEqual(invalidGrant)
      for (const orgId of [org.orgId, person.ownId]) {
        expect(await revocations(orgId)).toMatchObject([
          { metadata: { reason, user_id: person.userId }, actor_user_id: person.userId },
        ])
      }
    }
    return { org, person, statuses, expectEnded }
  }

  test('R-54 with a password reset', async () => {
    const { person, expectEnded } = await twoGrants()
    await t.ask('POST', '/api/auth/forgot-password', { body: { email: person.email } })
    const token = /token=([\w-]+)/.exec((await mailsTo(t, person.email))[0]?.text ?? '')?.[1]
    const body = { token, password: 'another long password' }
    expect((await t.ask('POST', '/api/auth/reset-password', { body })).status).toBe(200)
    await expectEnded('password_changed')
  })

  test('R-54 with a changed password', async () => {
    const { person, expectEnded } = await twoGrants()
    const body = { current_password: goodPassword, new_password: 'another long password' }
    expect((await askWith(t, person.cookie, 'POST', '/api/internal/user/password', { body })).status).toBe(200)
    await expectEnded('password_changed')
  })

  test('R-54 when all other sessions are ended, and not when one session is', async () => {
    const { person, statuses, expectEnded } = await twoGrants()
    const who = ssoBrowser(t)
    await logInPerson(t, who, person.email)
    const [{ id }] = (await who.ask('GET', '/api/internal/sessions')).body.data
    await askWith(t, person.cookie, 'DELETE', `/api/internal/sessions?id=${id}`)
    expect(await statuses()).toEqual([200, 200])
    const reply = await askWith(t, person.cookie, 'DELETE', '/api/internal/sessions?id=others')
    expect(reply.body).toEqual({ revoked: 0 })
    await expectEnded('signed_out')
  })
})

describe('a grant has a longest life', () => {
  test('of 90 days, however often its refresh token is used', async () => {
    const org = await newSamlOrg(t)
    const person = await personIn(org)
    let tokens = await grantOn(person.cookie, org.orgId)
    for (const days of [29, 29, 29]) {
      await advance(days)
      const reply = await refresh(t, tokens.clientId, tokens.refresh)
      expect([reply.status, reply.body.expires_in]).toEqual([200, 3_600])
      tokens = { ...tokens, access: reply.body.access_token, refresh: reply.body.refresh_token }
    }
    await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 3 * 86_400 - 1_800 } })
    const last = await refresh(t, tokens.clientId, tokens.refresh)
    expect(last.status).toBe(200)
    expect(last.body.expires_in).toBeGreaterThan(1_700)
    expect(last.body.expires_in).toBeLessThanOrEqual(1_800)
    expect(await statusWith(last.body.access_token)).toBe(200)
    await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 1_800 } })
    expect(await statusWith(last.body.access_token)).toBe(401)
    const over = await refresh(t, tokens.clientId, last.body.refresh_token)
    expect([over.status, over.body]).toEqual(invalidGrant)
  })

  test('that OAUTH_GRANT_MAX_DAYS sets, and a shorter one ends grants that are older at their next refresh', async () => {
    const strict = await testService({ env: { RATE_LIMITER: 'off', OAUTH_GRANT_MAX_DAYS: '7' }, database: t.database })
    const org = await newSamlOrg(t)
    const person = await personIn(org)
    const tokens = await grantOn(person.cookie, org.orgId)
    const [grant] = await strict.database.sql<{ days: number }>(
      `select extract(epoch from expires_at - created_at) / 86400 as days from oauth_grants where user_id = $1`,
      [person.userId],
    )
    expect(Math.round(Number(grant?.days))).toBe(30)
    const first = await refresh(strict, tokens.clientId, tokens.refresh)
    expect(first.status).toBe(200)
    const [cut] = await strict.database.sql<{ days: number }>(
      `select extract(epoch from expires_at - created_at) / 86400 as days from oauth_grants where user_id = $1`,
      [person.userId],
    )
    expect(Number(cut?.days)).toBe(7)
  })
})

test('a request with a token looks it up with one statement', async () => {
  const org = await newSamlOrg(t)
  const person = await personIn(org)
  const { access } = await grantOn(person.cookie, org.orgId)
  await statusWith(access)
  const query = vi.spyOn(pg.Client.prototype, 'query')
  expect(await statusWith(access)).toBe(200)
  const names = query.mock.calls.map(([first]) => (first as unknown as { name?: string }).name ?? '')
  const ofGrants = names.filter((name) => /^(?:oauth|accounts|team|sso)\./.test(name))
  expect(ofGrants).toEqual(['oauth.find_tokens'])
})
