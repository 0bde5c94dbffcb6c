import { afterAll, describe, expect, it } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import {
  directory,
  freshAddress,
  groupBody,
  membersOf,
  newScimToken,
  userBody,
  verifiedDomains,
} from '../../../../test/clients/directory-client.ts'
import { person, primaryOwner } from '../../../../test/clients/team-client.ts'
import { expectOutOfReach } from '../../../../test/dashboard/foreign-rows.ts'
import { iso as instant } from '../../../../test/expect/instants.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { sha256 } from '../../../platform/ground/crypto.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startTestService(verifiedDomains)
afterAll(() => t.stop())

const tokens = '/api/internal/scim/tokens'
const mapping = '/api/internal/scim/mapping'

const newOrg = async () => {
  const { org } = await t.org()
  return { orgId: org.id, owner: await primaryOwner(t, org.id) }
}

describe('directory tokens', () => {
  it('AD-139 are shown once, stored as a hash and listed without the secret', async () => {
    const { orgId, owner } = await newOrg()
    const { result, trail } = await withTrail(t.database, orgId, () =>
      owner.ask('POST', tokens, { name: ' Okta ', expires_in_days: 30 }),
    )
    const { id, token, ...shown } = result.body
    expect([result.status, token, shown]).toEqual([
      201,
      expect.stringMatching(/^scim_[0-9A-Za-z]{43}$/),
      { name: 'Okta', created_by: owner.userId, created_at: instant, expires_at: instant, last_used_at: null },
    ])
    expect(Date.parse(shown.expires_at) - Date.parse(shown.created_at)).toBe(30 * 86_400_000)
    expect(trail).toMatchObject([
      {
        action: 'scim.token_created',
        actor_user_id: owner.userId,
        resource_type: 'scim_token',
        resource_id: id,
        metadata: { name: 'Okta', expires_at: shown.expires_at },
      },
    ])
    const stored = await t.database.sql('select * from scim_tokens where org_id = $1', [orgId])
    expect(stored).toMatchObject([{ id, token_hash: sha256(token) }])
    expect(JSON.stringify([stored, trail])).not.toContain(token)
    const viewer = await person(t, { orgId, role: 'viewer' })
    const list = await viewer.ask('GET', tokens)
    expect([list.status, list.body]).toEqual([200, { data: [{ id, ...shown }], has_more: false, next_cursor: null }])
    await t.ask('GET', '/scim/v2/Users', { key: token })
    expect((await viewer.ask('GET', tokens)).body.data[0].last_used_at).toEqual(instant)
  })

  it('AD-139 R-50 are at most two at a time, also for concurrent requests', async () => {
    const { orgId, owner } = await newOrg()
    const { result, trail } = await withTrail(t.database, orgId, () =>
      Promise.all(Array.from({ length: 5 }, () => owner.ask('POST', tokens, { name: 'Okta' }))),
    )
    expect(result.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409, 409])
    expect(result.find(({ status }) => status === 409)?.body).toEqual({
      error: 'The organisation has two live directory tokens. Revoke one first.',
      code: 'SCIM_TOKEN_LIMIT',
    })
    expect(trail).toHaveLength(2)
    const [first] = (await owner.ask('GET', tokens)).body.data
    const revoked = await withTrail(t.database, orgId, () => owner.ask('DELETE', `${tokens}?id=${first.id}`))
    expect([revoked.result.status, revoked.result.body]).toEqual([200, { deleted: true, id: first.id }])
    expect(revoked.trail).toMatchObject([
      { action: 'scim.token_revoked', actor_user_id: owner.userId, resource_type: 'scim_token', resource_id: first.id },
    ])
    expect((await owner.ask('POST', tokens, { name: 'Next' })).status).toBe(201)
  })

  it('A-056 A-336 are changed by owners of their own org alone', async () => {
    const acme = await directory(t)
    const [row] = (await acme.owner.ask('GET', tokens)).body.data
    const developer = await person(t, { orgId: acme.orgId, role: 'developer' })
    const refused = { error: 'Owner role required' }
    for (const [method, path, body] of [
      ['POST', tokens, { name: 'x' }],
      ['DELETE', `${tokens}?id=${row.id}`, undefined],
      ['PUT', mapping, { default_role: 'developer' }],
    ] as const) {
      const reply = await developer.ask(method, path, body)
      expect([reply.status, reply.body]).toEqual([403, refused])
    }
    const { owner } = await newOrg()
    const foreign = { table: 'scim_tokens', orgId: acme.orgId, id: row.id, unknownId: newId('scimToken') }
    await expectOutOfReach(t, owner, foreign, (id) => [['DELETE', `${tokens}?id=${id}`]])
  })

  it('AD-139 refuse a name or an expiry out of bounds', async () => {
    const { owner } = await newOrg()
    for (const body of [
      {},
      { name: ' ' },
      { name: 'x'.repeat(81) },
      { name: 'x', expires_in_days: 0 },
      { name: 'x', expires_in_days: 4_000 },
    ]) {
      const reply = await owner.ask('POST', tokens, body)
      expect([reply.status, reply.body.code]).toEqual([422, 'VALIDATION_ERROR'])
    }
    expect((await owner.ask('GET', tokens)).body.data).toEqual([])
  })
})

describe('the group mapping', () => {
  const initial = {
    default_role: 'viewer',
    groups: [
      { display_name: 'developers', role: 'developer' },
      { display_name: 'developer', role: 'developer' },
      { display_name: 'engineering', role: 'developer' },
      { display_name: 'members', role: 'member' },
      { display_name: 'member', role: 'member' },
      { display_name: 'viewers', role: 'viewer' },
      { display_name: 'viewer', role: 'viewer' },
      { display_name: 'read-only', role: 'viewer' },
    ],
    scim_base_url: `${t.url}/scim/v2`,
  }

  it('AD-143 begins with the common names, and a viewer can read it', async () => {
    const { orgId } = await newOrg()
    const viewer = await person(t, { orgId, role: 'viewer' })
    const reply = await viewer.ask('GET', mapping)
    expect([reply.status, reply.body]).toEqual([200, initial])
  })

  it('AD-143 AD-144 works out all roles again when it changes', async () => {
    const acme = await directory(t)
    const [bob, eve] = [freshAddress(), freshAddress()]
    const { id } = (await acme.ask('POST', '/Users', userBody(bob))).body
    await acme.ask('POST', '/Users', userBody(eve))
    const invited = await person(t, { orgId: acme.orgId, role: 'viewer' })
    await acme.ask('POST', '/Groups', groupBody('Platform Team', [id, invited.membershipId]))
    const next = { default_role: 'member', groups: [{ display_name: 'platform TEAM', role: 'developer' }] }
    const { result, trail } = await withTrail(t.database, acme.orgId, () => acme.owner.ask('PUT', mapping, next))
    expect([result.status, result.body]).toEqual([200, { ...next, scim_base_url: initial.scim_base_url }])
    expect((await acme.owner.ask('GET', mapping)).body).toEqual(result.body)
    expect(await membersOf(t, acme.orgId)).toMatchObject({
      [bob]: 'developer scim',
      [eve]: 'member scim',
      [invited.email]: 'viewer created',
      [acme.owner.email]: 'owner created',
    })
    const [first, ...changes] = trail
    expect(first).toMatchObject({ action: 'org.updated', actor_user_id: acme.owner.userId, resource_type: 'org' })
    expect(changes.map(({ action, actor_user_id }) => [action, actor_user_id])).toEqual([
      ['member.role_changed', null],
      ['member.role_changed', null],
    ])
    expect(changes.map(({ metadata }) => metadata)).toMatchObject([{ via: 'scim' }, { via: 'scim' }])
    const again = await withTrail(t.database, acme.orgId, () => acme.owner.ask('PUT', mapping, result.body))
    expect([again.result.status, again.result.body, again.trail]).toEqual([200, result.body, []])
  })

  it('A-341 AD-143 never gives the role of an owner', async () => {
    const { orgId, owner } = await newOrg()
    const { trail } = await withTrail(t.database, orgId, async () => {
      for (const body of [
        { groups: [{ display_name: 'engineering', role: 'owner' }] },
        { default_role: 'owner', groups: [] },
      ]) {
        const reply = await owner.ask('PUT', mapping, body)
        expect([reply.status, reply.body]).toEqual([
          422,
          { error: 'A directory group cannot grant the owner role', code: 'OWNER_NOT_MAPPABLE' },
        ])
      }
      for (const groups of [
        [{ display_name: ' Owners ', role: 'viewer' }],
        [
          { display_name: 'a', role: 'viewer' },
          { display_name: 'A ', role: 'member' },
        ],
        [{ display_name: 'a', role: 'emperor' }],
        [{ display_name: '', role: 'viewer' }],
        Array(201).fill({ display_name: 'a', role: 'viewer' }),
      ]) {
        const reply = await owner.ask('PUT', mapping, { groups })
        expect([reply.status, reply.body.code]).toEqual([422, 'VALIDATION_ERROR'])
      }
    })
    expect(trail).toEqual([])
    expect((await owner.ask('GET', mapping)).body).toEqual(initial)
    const insert = t.database.sql(`insert into scim_group_roles values ($1, 'x', 'x', 'owner', 1)`, [orgId])
    await expect(insert).rejects.toThrow(/check/)
  })
})

it('AD-139 A second token reaches the same directory, so that the first can be replaced', async () => {
  const acme = await directory(t)
  const { id } = (await acme.ask('POST', '/Users', userBody(freshAddress()))).body
  const second = await newScimToken(acme.owner, 'Second')
  expect((await t.ask('GET', `/scim/v2/Users/${id}`, { key: second })).status).toBe(200)
})
