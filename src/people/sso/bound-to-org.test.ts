/** What the identity provider of one org may and may not do for a person who belongs to others too. */
import { afterAll, describe, expect, test } from 'vitest'
import { addMember, addPerson, askWith, type Person, signIn } from '../../../test/clients/people.ts'
import {
  type Browser,
  goodPassword,
  logInPerson,
  mailedCode,
  mailsTo,
  startLogin,
} from '../../../test/clients/sign-in-client.ts'
import {
  addVerifiedDomain,
  newSamlOrg,
  type SsoOrg,
  signInWithSaml,
  ssoBrowser,
} from '../../../test/clients/sso-client.ts'
import { primaryOwner, tokenOf } from '../../../test/clients/team-client.ts'
import { cheapHash } from '../../../test/service/cheap-password.ts'
import { type Reply, startTestService } from '../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())

const passwordHash = await cheapHash(goodPassword)
let count = 0
const flat = ({ status, body }: Reply) => [status, body]

const enforce = async (org: SsoOrg, enforced = true): Promise<void> => {
  await t.database.sql('update sso_connections set tested_at = created_at where org_id = $1', [org.orgId])
  const reply = await org.ask('PUT', '/api/internal/sso', { enforced })
  if (reply.status !== 200) throw new Error(reply.text)
}
const enforcingOrg = async (): Promise<SsoOrg> => {
  const org = await newSamlOrg(t)
  await enforce(org)
  return org
}

type OwnOrg = { orgId: string; name: string }
/** An org of its own for a person, who is its first owner. */
const ownOrg = async (): Promise<OwnOrg> => {
  const name = `Own ${++count}`
  return { orgId: (await t.org({ name })).org.id, name }
}

/** A person who owns an org and has joined another one in some role. */
const joined = async (org: SsoOrg, { domain = 'example.test', role = 'developer' } = {}) => {
  const own = await ownOrg()
  const email = `person${++count}@${domain}`
  const person: Person = await addPerson(t, { email, orgId: own.orgId, role: 'owner', passwordHash })
  const membershipId = await addMember(t, org.orgId, person.userId, role)
  return { ...person, own, membershipId }
}

const ssoRequired = ({ slug }: SsoOrg) => [
  403,
  {
    error: 'Your organisation requires single sign-on',
    code: 'SSO_REQUIRED',
    login_url: `/api/auth/saml/login?org=${slug}`,
  },
]
const exemptionNeeded = ({ slug }: SsoOrg) => [
  403,
  {
    error:
      'This organisation requires single sign-on, and its identity provider does not sign in addresses outside its domains. Ask an owner to exempt you.',
    code: 'SSO_REQUIRED',
    login_url: `/api/auth/saml/login?org=${slug}`,
    exemption_needed: true,
  },
]
const stepUpRequired = [
  403,
  {
    error: 'Confirm with your own password first. An identity provider opened this session for its organisation only.',
    code: 'STEP_UP_REQUIRED',
  },
]

const readOrg = (who: Browser, orgId: string) =>
  who.ask('GET', '/api/internal/org', {
    headers: { cookie: `service_session=${who.cookie('service_session')}; service_active_org=${orgId}` },
  })
const switchTo = (who: Browser, orgId: string) => who.post('/api/internal/org/switch', { org_id: orgId })

const throughProvider = async (org: SsoOrg, email: string): Promise<Browser> => {
  const who = ssoBrowser(t)
  const reply = await signInWithSaml(t, who, org, email)
  expect(reply.headers.location).toBe('/')
  return who
}
const withPassword = async (email: string): Promise<Browser> => {
  const who = ssoBrowser(t)
  expect((await logInPerson(t, who, email)).status).toBe(200)
  return who
}

describe('a member whose address the enforcing org does not manage', () => {
  test('R-54 keeps their session and their own org when enforcement is turned on, and loses that org', async () => {
    const org = await newSamlOrg(t)
    const person = await joined(org)
    const who = await withPassword(person.email)
    expect((await readOrg(who, org.orgId)).status).toBe(200)
    await enforce(org)
    expect((await who.ask('GET', '/api/internal/user')).status).toBe(200)
    expect((await readOrg(who, person.own.orgId)).body.name).toBe(person.own.name)
    expect(flat(await readOrg(who, org.orgId))).toEqual(exemptionNeeded(org))
    expect(flat(await switchTo(who, org.orgId))).toEqual(exemptionNeeded(org))
    expect((await switchTo(who, person.own.orgId)).status).toBe(200)
    const [entry] = await t.database.sql(
      `select metadata from audit_entries where org_id = $1 and action = 'org.sso_updated' order by id desc limit 1`,
      [org.orgId],
    )
    expect(entry).toEqual({ metadata: { protocol: 'saml', enforced: true, changed: ['enforced'] } })
  })

  test('R-54 signs in as usual, into an org that is open to them', async () => {
    const org = await enforcingOrg()
    const person = await joined(org)
    await t.database.sql('update users set default_org_id = $1 where id = $2', [org.orgId, person.userId])
    const who = ssoBrowser(t)
    who.setCookie('service_active_org', org.orgId)
    const reply = await logInPerson(t, who, person.email)
    expect([reply.status, reply.body.active_org_id]).toEqual([200, person.own.orgId])
    expect(who.cookie('service_active_org')).toBeUndefined()
    expect((await who.ask('GET', '/api/internal/org')).body.id).toBe(person.own.orgId)
    const { body } = await who.ask('GET', '/api/auth/session')
    expect([body.active_org.id, body.closed_org]).toEqual([person.own.orgId, undefined])
  })

  test('R-54 reads in their session why the org is closed to it', async () => {
    const org = await enforcingOrg()
    const person = await joined(org)
    const who = await withPassword(person.email)
    who.setCookie('service_active_org', org.orgId)
    const { body } = await who.ask('GET', '/api/auth/session')
    const [, refusal] = exemptionNeeded(org)
    expect([body.active_org, body.closed_org]).toEqual([
      null,
      { id: org.orgId, name: expect.any(String), slug: org.slug, role: 'developer', ...(refusal as object) },
    ])
  })

  test('R-54 opens the org once an owner exempts them, until the exemption ends', async () => {
    const org = await enforcingOrg()
    const { email, membershipId: id, userId } = await joined(org)
    const who = await withPassword(email)
    const exempt = (sso_exempt: boolean) => org.ask('PATCH', '/api/internal/team/members', { id, sso_exempt })
    const member = async () =>
      (await org.ask('GET', '/api/internal/team/members?limit=100')).body.data.find(
        (one: { id: string }) => one.id === id,
      )
    expect(await member()).toMatchObject({ sso_exempt: false, sso_access: 'none' })
    expect((await exempt(true)).body).toMatchObject({ id, role: 'developer', sso_exempt: true, sso_access: 'any' })
    expect(await member()).toMatchObject({ sso_exempt: true, sso_access: 'any' })
    expect((await switchTo(who, org.orgId)).status).toBe(200)
    expect((await who.ask('GET', '/api/internal/org')).body.id).toBe(org.orgId)
    expect((await exempt(true)).status).toBe(200)
    expect((await exempt(false)).body.sso_access).toBe('none')
    expect(flat(await who.ask('GET', '/api/internal/org'))).toEqual(exemptionNeeded(org))
    const entries = await t.database.sql(
      `select metadata, resource_type, actor_user_id from audit_entries
       where org_id = $1 and action = 'member.sso_exemption_changed' order by id`,
      [org.orgId],
    )
    const entry = (exempted: boolean) => ({
      metadata: { exempt: exempted, user_id: userId },
      resource_type: 'membership',
      actor_user_id: org.ownerId,
    })
    expect(entries).toEqual([entry(true), entry(false)])
  })

  test('R-54 only an owner exempts, and a change needs a field', async () => {
    const org = await enforcingOrg()
    const { membershipId: id } = await joined(org)
    const developer = await addPerson(t, { orgId: org.orgId, role: 'developer', email: `dev${++count}@${org.domain}` })
    const saml = await throughProvider(org, developer.email)
    const refused = await saml.ask('PATCH', '/api/internal/team/members', { body: { id, sso_exempt: true } })
    expect(flat(refused)).toEqual([403, { error: 'Owner role required' }])
    const empty = await org.ask('PATCH', '/api/internal/team/members', { id })
    expect([empty.status, empty.body.code]).toEqual([422, 'VALIDATION_ERROR'])
  })

  test('R-54 R-55 leaves the org that is closed to them', async () => {
    const org = await enforcingOrg()
    const person = await joined(org)
    const who = await withPassword(person.email)
    expect(flat(await who.ask('DELETE', `/api/internal/team/membership?org_id=${org.orgId}`))).toEqual([
      200,
      { deleted: true },
    ])
    const { data } = (await who.ask('GET', '/api/internal/orgs')).body
    expect(data.map(({ id }: { id: string }) => id)).toEqual([person.own.orgId])
  })

  test('R-54 an owner of the enforcing org keeps it, whichever way they sign in', async () => {
    const org = await enforcingOrg()
    const person = await joined(org, { role: 'owner' })
    const who = await withPassword(person.email)
    expect((await switchTo(who, org.orgId)).status).toBe(200)
    await t.database.sql(`update memberships set role = 'viewer' where id = $1`, [person.membershipId])
    expect(flat(await who.ask('GET', '/api/internal/org'))).toEqual(exemptionNeeded(org))
    expect((await who.ask('GET', '/api/internal/user')).status).toBe(200)
  })
})

describe('a member whose address the enforcing org manages', () => {
  test('R-54 is refused at sign-in with the address of that org, also if they own another one', async () => {
    const org = await enforcingOrg()
    const person = await joined(org, { domain: org.domain })
    expect(flat(await logInPerson(t, ssoBrowser(t), person.email))).toEqual(ssoRequired(org))
    const cookie = await signIn(t, person.userId)
    expect((await askWith(t, cookie, 'GET', '/api/internal/user')).status).toBe(401)
  })

  test('R-54 loses sessions that no provider opened when enforcement is turned on', async () => {
    const org = await newSamlOrg(t)
    const [managed, other] = [await joined(org, { domain: org.domain }), await joined(org)]
    const own = await withPassword(managed.email)
    const saml = await throughProvider(org, managed.email)
    const outside = await withPassword(other.email)
    await enforce(org)
    const statuses = await Promise.all([own, saml, outside].map((who) => who.ask('GET', '/api/internal/user')))
    expect(statuses.map(({ status }) => status)).toEqual([401, 200, 200])
    expect(await t.database.sql('select sso_org_id from sessions where user_id = $1', [managed.userId])).toEqual([
      { sso_org_id: org.orgId },
    ])
  })

  test('R-54 signs in with a password again once the domain is removed, and the org stays closed', async () => {
    const org = await enforcingOrg()
    const extra = `extra${++count}.example.com`
    await addVerifiedDomain(t, org.orgId, extra)
    const person = await joined(org, { domain: extra })
    const saml = await throughProvider(org, person.email)
    expect((await logInPerson(t, ssoBrowser(t), person.email)).status).toBe(403)
    expect((await org.ask('DELETE', `/api/internal/sso/domains?domain=${extra}`)).status).toBe(204)
    const who = await withPassword(person.email)
    expect(flat(await readOrg(who, org.orgId))).toEqual(exemptionNeeded(org))
    expect((await readOrg(who, person.own.orgId)).status).toBe(200)
    // The session of the time when the org vouched for the person stays good for that org.
    expect((await readOrg(saml, org.orgId)).status).toBe(200)
    expect((await signInWithSaml(t, ssoBrowser(t), org, person.email)).headers.location).toBe('/login?error=sso_failed')
  })

  test('R-54 signs in with a password while an owner exempts them', async () => {
    const org = await enforcingOrg()
    const person = await joined(org, { domain: org.domain })
    await org.ask('PATCH', '/api/internal/team/members', { id: person.membershipId, sso_exempt: true })
    const who = await withPassword(person.email)
    expect((await switchTo(who, org.orgId)).status).toBe(200)
    await org.ask('PATCH', '/api/internal/team/members', { id: person.membershipId, sso_exempt: false })
    expect((await who.ask('GET', '/api/internal/user')).status).toBe(401)
  })

  test('R-54 an owner who loses the role loses the sessions that no provider opened', async () => {
    const org = await enforcingOrg()
    const person = await joined(org, { domain: org.domain, role: 'owner' })
    const who = await withPassword(person.email)
    expect((await readOrg(who, org.orgId)).status).toBe(200)
    await t.database.sql(`update memberships set role = 'developer' where id = $1`, [person.membershipId])
    expect((await who.ask('GET', '/api/internal/user')).status).toBe(401)
  })
})

describe('the identity provider of another org', () => {
  test.each([false, true])('R-54 does not open an enforcing org (it enforces itself: %s)', async (enforces) => {
    const corp = await enforcingOrg()
    const other = enforces ? await enforcingOrg() : await newSamlOrg(t)
    const person = await joined(corp, { domain: other.domain })
    await addMember(t, other.orgId, person.userId, 'viewer')
    const who = await throughProvider(other, person.email)
    expect((await who.ask('GET', '/api/internal/org')).body.id).toBe(other.orgId)
    expect(flat(await readOrg(who, corp.orgId))).toEqual(exemptionNeeded(corp))
    expect(flat(await switchTo(who, corp.orgId))).toEqual(exemptionNeeded(corp))
    expect(flat(await readOrg(who, person.own.orgId))).toEqual(stepUpRequired)
  })

  test('R-54 does not sign in a member whom an enforcing org with the same domain manages', async () => {
    const corp = await enforcingOrg()
    const other = await newSamlOrg(t)
    await addVerifiedDomain(t, other.orgId, corp.domain)
    const person = await joined(corp, { domain: corp.domain })
    await addMember(t, other.orgId, person.userId, 'owner')
    const refused = await signInWithSaml(t, ssoBrowser(t), other, person.email)
    expect(refused.headers.location).toBe('/login?error=sso_required')
    const who = await throughProvider(corp, person.email)
    expect((await readOrg(who, corp.orgId)).status).toBe(200)
    expect(flat(await readOrg(who, other.orgId))).toEqual(stepUpRequired)
  })

  test('R-54 two enforcing orgs with the same domain each sign in for themselves', async () => {
    const [one, two] = [await enforcingOrg(), await enforcingOrg()]
    await addVerifiedDomain(t, two.orgId, one.domain)
    const person = await joined(one, { domain: one.domain })
    await addMember(t, two.orgId, person.userId, 'developer')
    expect(flat(await logInPerson(t, ssoBrowser(t), person.email))).toEqual(ssoRequired(one))
    const [atOne, atTwo] = [await throughProvider(one, person.email), await throughProvider(two, person.email)]
    expect([(await readOrg(atOne, one.orgId)).status, (await readOrg(atTwo, two.orgId)).status]).toEqual([200, 200])
    expect(flat(await readOrg(atOne, two.orgId))).toEqual(ssoRequired(two))
    expect(flat(await readOrg(atTwo, one.orgId))).toEqual(ssoRequired(one))
  })
})

describe('a session that the identity provider of an org opened', () => {
  const atProvider = async (role = 'developer') => {
    const org = await newSamlOrg(t)
    const person = await joined(org, { domain: org.domain, role })
    return { org, person, who: await throughProvider(org, person.email) }
  }

  test('R-56 does not make the browser known to the account, so the provider gains no guesses of its password', async () => {
    const { person, who } = await atProvider()
    expect(who.cookie('service_device')).toBeUndefined()
    expect((await withPassword(person.email)).cookie('service_device')).toBeDefined()
  })

  test('R-54 is good for that org only: neither cookie, default org nor switch opens another', async () => {
    const { org, person, who } = await atProvider()
    expect(flat(await readOrg(who, person.own.orgId))).toEqual(stepUpRequired)
    expect(flat(await switchTo(who, person.own.orgId))).toEqual(stepUpRequired)
    const change = await who.ask('PATCH', '/api/internal/org', {
      body: { name: 'Taken' },
      headers: { cookie: `service_session=${who.cookie('service_session')}; service_active_org=${person.own.orgId}` },
    })
    expect(flat(change)).toEqual(stepUpRequired)
    // Without a chosen org it is the org that vouches, not the default org.
    const bare = await askWith(t, `service_session=${who.cookie('service_session')}`, 'GET', '/api/internal/org')
    expect(bare.body.id).toBe(org.orgId)
    const { body } = await who.ask('PATCH', '/api/internal/user', { body: { name: 'Ann' } })
    expect(body.name).toBe('Ann')
    const asDefault = { body: { default_org_id: person.own.orgId } }
    expect(flat(await who.ask('PATCH', '/api/internal/user', asDefault))).toEqual(stepUpRequired)
  })

  test('R-54 cannot reach what belongs to the whole account', async () => {
    const { who, person } = await atProvider()
    const calls: [string, string, unknown?][] = [
      ['DELETE', '/api/internal/user', { email: person.email, delete_owned_orgs: true }],
      ['POST', '/api/internal/user/data-export'],
      ['POST', '/api/internal/user/password', { current_password: goodPassword, new_password: 'another long one' }],
      ['POST', '/api/internal/user/2fa/setup'],
      ['POST', '/api/internal/user/2fa/enable', { code: '123456' }],
      ['POST', '/api/internal/user/2fa/disable', { password: goodPassword }],
      ['POST', '/api/internal/user/2fa/backup-codes', { code: '123456' }],
      ['POST', '/api/auth/verify-phone', { phone: '+14155550123' }],
      ['POST', '/api/internal/org', { name: 'New' }],
    ]
    for (const [method, path, body] of calls) {
      const reply = await who.ask(method, path, body === undefined ? {} : { body })
      expect([path, ...flat(reply)]).toEqual([path, ...stepUpRequired])
    }
    expect(await t.database.sql('select id from users where id = $1', [person.userId])).toHaveLength(1)
  })

  test('R-54 shows and ends only sessions of the same provider', async () => {
    const { org, person, who } = await atProvider()
    await throughProvider(org, person.email)
    const own = await withPassword(person.email)
    const listed = (await who.ask('GET', '/api/internal/sessions')).body.data
    expect(listed.map(({ method }: { method: string }) => method)).toEqual(['saml', 'saml'])
    const all = (await own.ask('GET', '/api/internal/sessions')).body.data
    expect(all).toHaveLength(3)
    const current = all.find((one: { current: boolean }) => one.current)
    expect((await who.ask('DELETE', `/api/internal/sessions?id=${current.id}`)).status).toBe(404)
    expect((await who.ask('DELETE', '/api/internal/sessions?id=others')).body).toEqual({ revoked: 1 })
    expect((await own.ask('GET', '/api/internal/user')).status).toBe(200)
  })

  test('R-54 accepts no invitation of another org before the step-up', async () => {
    const { person, who } = await atProvider()
    const inviting = await t.org({ name: `Inviting ${++count}` })
    const owner = await primaryOwner(t, inviting.org.id)
    await owner.ask('POST', '/api/internal/team/invite', { email: person.email, role: 'developer' })
    const token = await tokenOf(t, person.email)
    expect(flat(await who.post('/api/internal/team/accept', { token }))).toEqual(stepUpRequired)
    const own = await withPassword(person.email)
    expect((await own.post('/api/internal/team/accept', { token })).status).toBe(200)
  })

  test('R-54 leaves its own org, and another one only after the step-up', async () => {
    const { org, person, who } = await atProvider()
    const other = await t.org({ name: `Other ${++count}` })
    await addMember(t, other.org.id, person.userId, 'viewer')
    const leave = (orgId: string) => who.ask('DELETE', `/api/internal/team/membership?org_id=${orgId}`)
    expect(flat(await leave(other.org.id))).toEqual(stepUpRequired)
    const left = await leave(org.orgId)
    expect([left.status, who.cookie('service_session'), who.cookie('service_active_org')]).toEqual([
      200,
      undefined,
      undefined,
    ])
    expect(await t.database.sql('select id from sessions where user_id = $1', [person.userId])).toEqual([])
  })

  test('R-54 ends when the membership ends, and sessions of the person themselves stay', async () => {
    const { org, person, who } = await atProvider()
    const own = await withPassword(person.email)
    await org.ask('DELETE', `/api/internal/team/members?id=${person.membershipId}`)
    expect((await who.ask('GET', '/api/internal/user')).status).toBe(401)
    expect((await own.ask('GET', '/api/internal/user')).status).toBe(200)
  })

  test('a session of the previous release without a provider counts as one of the own factors', async () => {
    const { org, person } = await atProvider()
    const cookie = await signIn(t, person.userId)
    const rows = await t.database.sql(
      'select sso_org_id, stepped_up_at from sessions where user_id = $1 and sso_org_id is null',
      [person.userId],
    )
    expect(rows).toEqual([{ sso_org_id: null, stepped_up_at: null }])
    for (const orgId of [org.orgId, person.own.orgId]) {
      const reply = await askWith(t, `${cookie}; service_active_org=${orgId}`, 'GET', '/api/internal/org')
      expect(reply.body.id).toBe(orgId)
    }
  })
})

describe('an invitation to an enforcing org', () => {
  const invite = async (org: SsoOrg, email: string, more = {}) => {
    await org.ask('POST', '/api/internal/team/invite', { email, role: 'viewer', ...more })
    return tokenOf(t, email)
  }

  test('R-53 R-54 is refused to an address outside its domains with the way in, and an owner invites them as exempt', async () => {
    const org = await enforcingOrg()
    const { email } = await addPerson(t, { passwordHash, email: `guest${++count}@example.test` })
    const who = await withPassword(email)
    const refused = await who.post('/api/internal/team/accept', { token: await invite(org, email) })
    expect(flat(refused)).toEqual(exemptionNeeded(org))
    const token = await invite(org, email, { sso_exempt: true })
    const listed = (await org.ask('GET', '/api/internal/team/invite')).body.data
    expect(listed).toMatchObject([{ email, sso_exempt: true }])
    expect((await who.post('/api/internal/team/accept', { token })).status).toBe(200)
    expect((await who.ask('GET', '/api/internal/org')).body.id).toBe(org.orgId)
  })

  test('R-54 a newcomer outside its domains who registers with it signs in, and the org is closed to them', async () => {
    const org = await enforcingOrg()
    const email = `new${++count}@example.test`
    const who = ssoBrowser(t)
    const invite_token = await invite(org, email)
    await who.post('/api/auth/register', { email, password: goodPassword, name: 'New', invite_token })
    const done = await who.post('/api/auth/verify-email', { email, code: await mailedCode(t, email) })
    expect([done.status, done.body.status, done.body.active_org_id]).toEqual([200, 'signed_in', null])
    expect(flat(await who.ask('GET', '/api/internal/org'))).toEqual(exemptionNeeded(org))
  })
})

test('R-54 the settings say how many members would lose the org', async () => {
  const org = await newSamlOrg(t)
  await joined(org)
  await joined(org, { domain: org.domain })
  await joined(org, { role: 'owner' })
  expect((await org.ask('GET', '/api/internal/sso')).body.members_outside_domains).toBe(1)
})

test('R-54 a password that is right does not open a challenge for another session', async () => {
  const org = await newSamlOrg(t)
  const person = await joined(org, { domain: org.domain })
  const who = await throughProvider(org, person.email)
  const { challenge_id, code } = await startLogin(t, ssoBrowser(t), person.email)
  expect((await who.post('/api/auth/step-up', { challenge_id, code })).status).toBe(401)
  expect(flat(await readOrg(who, person.own.orgId))).toEqual(stepUpRequired)
  expect((await mailsTo(t, person.email)).length).toBe(1)
})
