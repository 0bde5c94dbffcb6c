import { afterAll, describe, expect, test } from 'vitest'
import { type TrailEntry, trailOf } from '../../../test/audit/trail.ts'
import { addMember, askWith } from '../../../test/clients/people.ts'
import { type Member, person } from '../../../test/clients/team-client.ts'
import { type Reply, startTestService } from '../../../test/service/service.ts'
import { hashPassword } from '../../customers/accounts/passwords.ts'
import { sha256 } from '../../platform/ground/crypto.ts'
import { newId } from '../../platform/ground/ids.ts'

const secret = 'audit-test-secret'
const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: secret } })
afterAll(() => t.stop())

const path = '/api/internal/user'
const remove = (asking: Member, body: object = {}) => asking.ask('DELETE', path, { email: asking.email, ...body })

/** An org whose only member so far is its owner. */
const ownedOrg = async (owner: Member, name = 'Acme'): Promise<string> =>
  (await owner.ask('POST', '/api/internal/org', { name })).body.id

/** Adds a member who joined at that second. */
const join = async (orgId: string, role: string, second: number, id = newId('membership')): Promise<Member> => {
  const member = await person(t)
  const at = new Date(Date.parse('2026-01-01T00:00:00Z') + second * 1_000)
  await t.database.sql('insert into memberships (org_id, id, user_id, role, created_at) values ($1, $2, $3, $4, $5)', [
    orgId,
    id,
    member.userId,
    role,
    at,
  ])
  return member
}

const pointerOf = async (orgId: string): Promise<string | null | undefined> =>
  (await t.database.sql<{ owner_user_id: string | null }>('select owner_user_id from orgs where id = $1', [orgId]))[0]
    ?.owner_user_id

const roleIn = async (orgId: string, userId: string): Promise<string | undefined> =>
  (
    await t.database.sql<{ role: string }>('select role from memberships where org_id = $1 and user_id = $2', [
      orgId,
      userId,
    ])
  )[0]?.role

const transfers = async (orgId: string): Promise<TrailEntry[]> =>
  (await trailOf(t.database, orgId)).filter(({ action }) => action === 'org.ownership_transferred')

describe('the heir of an org', () => {
  test('A-083 A-084 A-085 is the longest-standing other owner, although older members have lower roles', async () => {
    const ann = await person(t)
    const orgId = await ownedOrg(ann)
    const [first, second] = [newId('membership'), newId('membership')].sort()
    await join(orgId, 'developer', 1)
    const later = await join(orgId, 'owner', 2, second)
    const heir = await join(orgId, 'owner', 2, first)
    await join(orgId, 'owner', 3)
    const reply = await remove(ann)
    expect([reply.status, reply.body]).toEqual([
      200,
      {
        deleted: true,
        transferred: [{ org_id: orgId, to_user_id: heir.userId, promoted_to_owner: false }],
        deleted_orgs: [],
      },
    ])
    expect(await pointerOf(orgId)).toBe(heir.userId)
    expect(await roleIn(orgId, later.userId)).toBe('owner')
    expect(await transfers(orgId)).toMatchObject([
      {
        actor_user_id: null,
        resource_type: 'user',
        resource_id: heir.userId,
        metadata: { promoted_to_owner: false, reason: 'account_deleted' },
      },
    ])
  })

  test('A-086 A-087 is the longest-standing member of any role if there is no other owner, and becomes owner', async () => {
    const ann = await person(t)
    const orgId = await ownedOrg(ann)
    await join(orgId, 'developer', 2)
    const viewer = await join(orgId, 'viewer', 1)
    // The flag deletes only orgs without an heir.
    const reply = await remove(ann, { delete_owned_orgs: true })
    expect(reply.body).toMatchObject({
      transferred: [{ org_id: orgId, to_user_id: viewer.userId, promoted_to_owner: true }],
      deleted_orgs: [],
    })
    expect([await pointerOf(orgId), await roleIn(orgId, viewer.userId)]).toEqual([viewer.userId, 'owner'])
    expect(await transfers(orgId)).toMatchObject([{ metadata: { promoted_to_owner: true, reason: 'account_deleted' } }])
    expect((await askWith(t, viewer.cookie, 'GET', '/api/internal/org')).body.role).toBe('owner')
  })

  test('A-090 is recorded once for each org, and an org that the user only owned along with others has no transfer', async () => {
    const ann = await person(t)
    const orgs = [await ownedOrg(ann, 'One'), await ownedOrg(ann, 'Two')]
    for (const orgId of orgs) await join(orgId, 'viewer', 1)
    const other = (await t.org()).org.id
    await addMember(t, other, ann.userId, 'owner')
    const before = await pointerOf(other)
    const reply = await remove(ann)
    expect(reply.body.transferred).toHaveLength(2)
    for (const orgId of orgs) expect(await transfers(orgId)).toHaveLength(1)
    expect([await transfers(other), await pointerOf(other)]).toEqual([[], before])
    expect(await roleIn(other, ann.userId)).toBeUndefined()
  })
})

describe('an org without another member', () => {
  test('A-088 A-091 A-352 refuses the deletion before anything changes', async () => {
    const ann = await person(t)
    const shared = await ownedOrg(ann, 'Shared')
    await join(shared, 'viewer', 1)
    const alone = await ownedOrg(ann, 'Alone')
    const state = () =>
      t.database.sql(
        `select (select count(*)::int from users where id = $1) as users,
           (select count(*)::int from sessions where user_id = $1) as sessions,
           (select array_agg(org_id || role order by org_id) from memberships where user_id = $1) as memberships,
           (select count(*)::int from audit_entries where actor_user_id = $1) as entries,
           (select array_agg(id order by id) from orgs where owner_user_id = $1 and deleted_at is null) as orgs`,
        [ann.userId],
      )
    const before = await state()
    for (const body of [{}, { delete_owned_orgs: false }]) {
      const reply = await remove(ann, body)
      expect([reply.status, reply.body]).toEqual([
        409,
        {
          error: 'You are the only member of an organisation you own',
          code: 'SOLE_OWNER',
          orgs: [{ id: alone, name: 'Alone' }],
        },
      ])
      expect(reply.headers['set-cookie']).toBeUndefined()
    }
    expect(await state()).toEqual(before)
    expect(await transfers(shared)).toEqual([])
  })

  test('A-089 is deleted when the user agrees, and its deletion is recorded where the user still owns an org', async () => {
    const ann = await person(t)
    const shared = await ownedOrg(ann, 'Shared')
    const heir = await join(shared, 'developer', 1)
    const alone = await ownedOrg(ann, 'Alone')
    const reply = await remove(ann, { delete_owned_orgs: true })
    expect(reply.body).toEqual({
      deleted: true,
      transferred: [{ org_id: shared, to_user_id: heir.userId, promoted_to_owner: true }],
      deleted_orgs: [alone],
    })
    expect(await t.database.sql('select deleted_at is not null as gone from orgs where id = $1', [alone])).toEqual([
      { gone: true },
    ])
    expect(await trailOf(t.database, shared)).toMatchObject([
      { action: 'org.created' },
      { action: 'org.ownership_transferred' },
      { action: 'org.deleted', resource_id: alone, actor_user_id: null },
      { action: 'user.account_deleted', resource_type: 'user', resource_id: ann.userId, actor_user_id: null },
    ])
  })
})

describe('a deleted account', () => {
  test('A-138 A-115 is recorded under the active org, or under another one if that is deleted too', async () => {
    const ann = await person(t)
    const [home, active] = [await ownedOrg(ann, 'Home'), await ownedOrg(ann, 'Active')]
    for (const orgId of [home, active]) await join(orgId, 'viewer', 1)
    const cookie = `${ann.cookie}; service_active_org=${active}`
    expect((await askWith(t, cookie, 'DELETE', path, { body: { email: ann.email } })).status).toBe(200)
    const last = async (orgId: string) => (await trailOf(t.database, orgId)).at(-1)?.action
    expect([await last(home), await last(active)]).toEqual(['org.ownership_transferred', 'user.account_deleted'])
    const bob = await person(t)
    const [kept, gone] = [await ownedOrg(bob, 'Kept'), await ownedOrg(bob, 'Gone')]
    await join(kept, 'viewer', 1)
    const body = { email: bob.email, delete_owned_orgs: true }
    const inGone = `${bob.cookie}; service_active_org=${gone}`
    expect((await askWith(t, inGone, 'DELETE', path, { body })).status).toBe(200)
    expect([await last(kept), await last(gone)]).toEqual(['user.account_deleted', 'org.created'])
  })

  test('A-095 A-221 A-326 stays in no audit entry, and the entries keep their valid signatures', async () => {
    const ann = await person(t)
    const orgId = await ownedOrg(ann)
    const heir = await join(orgId, 'owner', 1)
    await remove(ann)
    expect(await t.database.sql('select 1 from audit_entries where actor_user_id = $1', [ann.userId])).toEqual([])
    const verified = await askWith(t, heir.cookie, 'GET', '/api/internal/audit/verify')
    expect(verified.body).toMatchObject({ checked: 3, ok: 3, invalid: [], stripped: [] })
    const list = await askWith(t, heir.cookie, 'GET', '/api/internal/audit?action=org.created')
    expect(list.body.data).toMatchObject([{ action: 'org.created', actorUserId: null, resourceId: orgId }])
  })

  test('A-116 A-316 of a user without an org leaves no audit entry', async () => {
    const ann = await person(t)
    const before = await t.database.sql('select count(*) from audit_entries')
    expect((await remove(ann)).body).toEqual({ deleted: true, transferred: [], deleted_orgs: [] })
    expect(await t.database.sql('select count(*) from audit_entries')).toEqual(before)
  })

  test('loses its sessions, cookies and invitations, and its address is free again', async () => {
    const ann = await person(t)
    const { org } = await t.org()
    await t.database.sql(
      `insert into invitations (org_id, id, email, role, token_hash, created_at, expires_at)
       values ($1, $2, $3, 'viewer', $4, $5, $5)`,
      [org.id, newId('invitation'), ann.email, sha256(ann.email), new Date()],
    )
    const reply = await remove(ann)
    expect(reply.headers['set-cookie']).toEqual([
      'service_session=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
      'service_active_org=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
    ])
    expect((await ann.ask('GET', '/api/internal/orgs')).status).toBe(401)
    const left = await t.database.sql(
      `select id from users where id = $1 union all select id from sessions where user_id = $1
       union all select id from invitations where email = $2`,
      [ann.userId, ann.email],
    )
    expect(left).toEqual([])
    await person(t, { email: ann.email })
  })

  test('AD-130 wrong confirmations and failed sign-ins share one count', async () => {
    const password = 'correct horse battery'
    const ann = await person(t, { passwordHash: await hashPassword(password) })
    const limited = [429, 'RATE_LIMITED']
    const outcome = ({ status, body }: Reply) => [status, body.code]
    const logIn = (given: string) => t.ask('POST', '/api/auth/login', { body: { email: ann.email, password: given } })
    for (let i = 0; i < 10; i++) {
      expect(outcome(await ann.ask('DELETE', path, { password: 'wrong' }))).toEqual([403, 'CONFIRMATION_FAILED'])
      expect((await logIn('wrong')).status).toBe(401)
    }
    expect(outcome(await logIn(password))).toEqual(limited)
    expect(outcome(await ann.ask('DELETE', path, { password }))).toEqual(limited)
    expect(outcome(await ann.ask('DELETE', path, { email: ann.email }))).toEqual(limited)
    expect(await t.database.sql('select 1 from users where id = $1', [ann.userId])).toHaveLength(1)
    await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 900 } })
    expect((await ann.ask('DELETE', path, { password })).status).toBe(200)
  })

  test('AD-131 leaves the id of the user in no table, except as the subject of audit entries', async () => {
    const ann = await person(t)
    const orgId = await ownedOrg(ann)
    const heir = await join(orgId, 'owner', 1)
    const keys = '/api/internal/api-keys'
    const create = async (creator: Member) =>
      (await creator.ask('POST', keys, { name: 'k', environment: 'live', scopes: ['read:usage'] })).body
    const [own, other] = [await create(ann), await create(heir)]
    await ann.ask('POST', '/api/internal/team/invite', { email: 'guest@example.com', role: 'viewer' })
    await ann.ask('PATCH', '/api/internal/org/sms-geo', { countries: ['GB'] })
    expect((await ann.ask('POST', '/api/internal/org/export/async')).status).toBe(202)
    const invitations = async () =>
      (await trailOf(t.database, orgId))
        .filter(({ action }) => action === 'member.invited')
        .map(({ action, resource_id, metadata }) => ({ action, resource_id, metadata }))
    const before = await invitations()
    expect(before).toMatchObject([{ resource_id: 'guest@example.com' }])
    expect((await remove(ann)).status).toBe(200)
    const columns = await t.database.sql<{ place: string; table_name: string; column_name: string }>(
      `select c.table_name || '.' || c.column_name as place, c.table_name, c.column_name
       from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
       where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.data_type = 'text'`,
    )
    const search = columns.map(
      ({ place, table_name, column_name }) =>
        `select '${place}' as place where exists (select 1 from "${table_name}" where "${column_name}" = $1)`,
    )
    const found = await t.database.sql(search.join(' union all '), [ann.userId])
    expect(found).toEqual([{ place: 'audit_entries.resource_id' }])
    expect(await invitations()).toEqual(before)
    const shown = (await heir.ask('GET', keys)).body.data
    const creators = Object.fromEntries(
      shown.map((key: { id: string; created_by: string | null }) => [key.id, key.created_by]),
    )
    expect([creators[own.id], creators[other.id]]).toEqual([null, heir.userId])
    expect((await t.ask('GET', '/api/v1/usage', { key: own.key })).status).toBe(200)
  })

  test('A-323 A-324 A-325 needs the password or the email address', async () => {
    const passwordHash = await hashPassword('correct horse battery')
    const ann = await person(t, { passwordHash })
    const refused = [403, { error: 'Confirmation does not match', code: 'CONFIRMATION_FAILED' }]
    for (const body of [{ password: 'wrong' }, { email: 'bob@example.test' }, { password: '', email: '' }]) {
      const reply = await ann.ask('DELETE', path, body)
      expect([reply.status, reply.body]).toEqual(refused)
    }
    const none = await ann.ask('DELETE', path, { delete_owned_orgs: true })
    expect([none.status, none.body.code]).toEqual([422, 'VALIDATION_ERROR'])
    expect((await ann.ask('GET', '/api/internal/orgs')).status).toBe(200)
    expect((await ann.ask('DELETE', path, { password: 'correct horse battery' })).status).toBe(200)
    const withoutPassword = await person(t)
    for (let i = 1; i < 20; i++) await withoutPassword.ask('DELETE', path, { password: `guess ${i}` })
    const guess = await withoutPassword.ask('DELETE', path, { password: '' })
    expect([guess.status, guess.body]).toEqual(refused)
    const limited = await withoutPassword.ask('DELETE', path, { password: 'one more' })
    expect([limited.status, limited.body, Number(limited.headers['retry-after']) > 0]).toEqual([
      429,
      { error: 'Too many attempts. Try again later.', code: 'RATE_LIMITED' },
      true,
    ])
    await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 900 } })
    const email = ` ${withoutPassword.email.toUpperCase()} `
    expect((await withoutPassword.ask('DELETE', path, { email })).status).toBe(200)
  })
})
