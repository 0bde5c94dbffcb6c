import { afterAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../test/audit/trail.ts'
import {
  directory,
  freshAddress,
  patchBody,
  userBody,
  verifiedDomains,
} from '../../../test/clients/directory-client.ts'
import { getTokens } from '../../../test/clients/oauth-client.ts'
import { addMember, askWith, signIn } from '../../../test/clients/people.ts'
import { type Member, person, primaryOwner } from '../../../test/clients/team-client.ts'
import { type Reply, startTestService } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'

const t = await startTestService(verifiedDomains)
afterAll(() => t.stop())

const path = '/api/internal/team/membership'
const flat = ({ status, body }: Reply) => [status, body]
const left = [200, { deleted: true }]
const notFound = [404, { error: 'Not found' }]

const setUp = async (role: string) => {
  const { org } = await t.org()
  const member = await person(t, { orgId: org.id, role })
  return { orgId: org.id, member, owner: await primaryOwner(t, org.id) }
}
const membersOf = async (orgId: string): Promise<string[]> =>
  (await t.database.sql<{ user_id: string }>('select user_id from memberships where org_id = $1', [orgId])).map(
    (row) => row.user_id,
  )
const providerSession = async (userId: string, ssoOrgId: string): Promise<string> => {
  const from = { method: 'saml', ip: null, userAgent: 'test', ssoOrgId }
  return `service_session=${await t.service.sessions.open(userId, from)}`
}
const works = async (cookie: string): Promise<number> => (await askWith(t, cookie, 'GET', '/api/internal/user')).status

describe('leaving an org', () => {
  test('R-55 ends the membership, the grants and the sessions of its provider, and the audit log has it', async () => {
    const { orgId, member } = await setUp('developer')
    const other = await t.org({ name: 'Other' })
    await addMember(t, other.org.id, member.userId, 'viewer')
    const tokens = await getTokens(t, { cookie: member.cookie, orgId, scopes: ['read:usage'] })
    const [here, there] = [
      await providerSession(member.userId, orgId),
      await providerSession(member.userId, other.org.id),
    ]
    const { result, trail } = await withTrail(t.database, orgId, () =>
      askWith(t, `${member.cookie}; service_active_org=${orgId}`, 'DELETE', path),
    )
    expect(flat(result)).toEqual(left)
    expect(result.headers['set-cookie']).toBe('service_active_org=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax')
    expect(
      trail.map(({ action, actor_user_id, resource_type, resource_id }) => [
        action,
        actor_user_id,
        resource_type,
        resource_id,
      ]),
    ).toEqual([
      ['oauth.revoked', member.userId, 'oauth_grant', expect.stringMatching(/^oag_/)],
      ['member.left', member.userId, 'membership', member.membershipId],
    ])
    expect(trail.map(({ metadata }) => metadata)).toEqual([
      { client_id: tokens.clientId, reason: 'member_left', user_id: member.userId },
      { role: 'developer', user_id: member.userId },
    ])
    expect(await membersOf(orgId)).not.toContain(member.userId)
    expect([await works(member.cookie), await works(here), await works(there)]).toEqual([200, 401, 200])
    expect((await t.ask('GET', '/api/v1/usage', { key: tokens.access })).status).toBe(401)
    expect((await member.ask('GET', '/api/internal/org')).body.id).toBe(other.org.id)
    expect((await member.ask('GET', '/api/internal/user')).body.default_org_id).toBe(other.org.id)
  })

  test('R-55 names another org of the person, whichever is active', async () => {
    const { orgId, member } = await setUp('viewer')
    const other = await t.org({ name: 'Other' })
    await addMember(t, other.org.id, member.userId, 'viewer')
    const cookie = `${member.cookie}; service_active_org=${orgId}`
    const reply = await askWith(t, cookie, 'DELETE', `${path}?org_id=${other.org.id}`)
    expect([...flat(reply), reply.headers['set-cookie']]).toEqual([...left, undefined])
    expect([await membersOf(orgId), await membersOf(other.org.id)]).toEqual([
      expect.arrayContaining([member.userId]),
      expect.not.arrayContaining([member.userId]),
    ])
  })

  test('R-55 is refused to the primary owner and to the last owner, and another owner leaves', async () => {
    const { orgId, member, owner } = await setUp('owner')
    const refused = await withTrail(t.database, orgId, () => owner.ask('DELETE', path))
    expect([...flat(refused.result), refused.trail]).toEqual([
      409,
      { error: 'You are the primary owner. Transfer the ownership before you leave.', code: 'SOLE_OWNER' },
      [],
    ])
    expect(flat(await member.ask('DELETE', path))).toEqual(left)
    // An org without a pointer, as an operator may leave it.
    await t.database.sql('update orgs set owner_user_id = null where id = $1', [orgId])
    expect(flat(await owner.ask('DELETE', path))).toEqual([
      409,
      { error: 'You are the last owner. Make another member an owner before you leave.', code: 'SOLE_OWNER' },
    ])
    expect(await membersOf(orgId)).toEqual([owner.userId])
  })

  test('R-55 of two last owners who leave at the same time one stays', async () => {
    const { orgId, member, owner } = await setUp('owner')
    await t.database.sql('update orgs set owner_user_id = null where id = $1', [orgId])
    const both = await Promise.all([member, owner].map((who: Member) => who.ask('DELETE', path)))
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
    expect(await membersOf(orgId)).toHaveLength(1)
  })

  test('R-55 an org that the person does not belong to is not found, and without any org there is nothing to leave', async () => {
    const { member } = await setUp('viewer')
    const other = await t.org({ name: 'Other' })
    for (const id of [other.org.id, newId('org'), 'nonsense']) {
      expect(flat(await member.ask('DELETE', `${path}?org_id=${id}`))).toEqual(notFound)
    }
    const foreign = `${member.cookie}; service_active_org=${other.org.id}`
    expect(flat(await askWith(t, foreign, 'DELETE', path))).toEqual(notFound)
    expect(flat(await member.ask('DELETE', path))).toEqual(left)
    expect(flat(await member.ask('DELETE', path))).toEqual(notFound)
  })

  test('R-55 works while the org is suspended', async () => {
    const { orgId, member } = await setUp('member')
    await t.database.sql("update orgs set suspended_at = created_at, suspension_reason = 'x' where id = $1", [orgId])
    expect(flat(await member.ask('DELETE', path))).toEqual(left)
  })
})

describe('a person of the directory', () => {
  const provisioned = async () => {
    const corp = await directory(t)
    const { body } = await corp.ask('POST', '/Users', userBody(freshAddress()))
    const [row] = await t.database.sql<{ user_id: string }>('select user_id from memberships where id = $1', [body.id])
    return { corp, id: body.id as string, userId: row?.user_id as string }
  }

  test('R-54 AD-142 loses the sessions of the identity provider when the directory deactivates them', async () => {
    const { corp, id, userId } = await provisioned()
    const [saml, own] = [await providerSession(userId, corp.orgId), await signIn(t, userId)]
    await corp.ask('PATCH', `/Users/${id}`, patchBody({ op: 'replace', path: 'active', value: false }))
    expect([await works(saml), await works(own)]).toEqual([401, 200])
    // Activated again, the former session does not come back.
    await corp.ask('PATCH', `/Users/${id}`, patchBody({ op: 'replace', path: 'active', value: true }))
    expect(await works(saml)).toBe(401)
  })

  test('R-55 who leaves is inactive in the directory, which can activate them again', async () => {
    const { corp, id, userId } = await provisioned()
    const cookie = await signIn(t, userId)
    expect(flat(await askWith(t, cookie, 'DELETE', path))).toEqual(left)
    expect((await corp.ask('GET', `/Users/${id}`)).body.active).toBe(false)
    await corp.ask('PATCH', `/Users/${id}`, patchBody({ op: 'replace', path: 'active', value: true }))
    expect(await membersOf(corp.orgId)).toContain(userId)
  })
})
