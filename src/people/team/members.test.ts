import { afterAll, describe, expect, test } from 'vitest'
import { trailOf, withTrail } from '../../../test/audit/trail.ts'
import { person, primaryOwner } from '../../../test/clients/team-client.ts'
import { iso as instant } from '../../../test/expect/instants.ts'
import { startTestService } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'

const t = await startTestService()
afterAll(() => t.stop())

const path = '/api/internal/team/members'

const setUp = async (...roles: string[]) => {
  const { org } = await t.org()
  const first = await primaryOwner(t, org.id)
  const others = []
  for (const role of roles) others.push(await person(t, { orgId: org.id, role }))
  return { orgId: org.id, first, others }
}

const rolesIn = async (orgId: string): Promise<Record<string, string>> => {
  const rows = await t.database.sql<{ user_id: string; role: string }>(
    'select user_id, role from memberships where org_id = $1',
    [orgId],
  )
  return Object.fromEntries(rows.map((row) => [row.user_id, row.role]))
}

/** Runs a refused request, and checks that it changed neither the members nor the audit log. */
const leavesAll = async <T>(orgId: string, work: () => Promise<T>): Promise<T> => {
  const before = await rolesIn(orgId)
  const { result, trail } = await withTrail(t.database, orgId, work)
  expect([await rolesIn(orgId), trail]).toEqual([before, []])
  return result
}

const primaryOwnerStays = (verb: string) => ({ error: `The primary owner cannot be ${verb}`, code: 'PRIMARY_OWNER' })

test('A-048 A viewer lists the members, newest first, with the primary owner marked', async () => {
  const { orgId, first, others } = await setUp('viewer')
  const [viewer] = others as [(typeof others)[0]]
  await t.database.sql('update users set totp_enabled_at = created_at where id = $1', [viewer?.userId])
  const reply = await viewer.ask('GET', `${path}?limit=1`)
  expect([reply.status, reply.body]).toEqual([
    200,
    {
      data: [
        {
          id: viewer.membershipId,
          user_id: viewer.userId,
          email: viewer.email,
          name: 'Ann Lee',
          role: 'viewer',
          primary_owner: false,
          two_factor_enabled: true,
          source: 'created',
          sso_exempt: false,
          sso_access: 'any',
          created_at: instant,
          last_active_at: instant,
        },
      ],
      has_more: true,
      next_cursor: expect.any(String),
    },
  ])
  const next = await viewer.ask('GET', `${path}?limit=1&cursor=${reply.body.next_cursor}`)
  expect(next.body).toMatchObject({
    data: [{ user_id: first.userId, role: 'owner', primary_owner: true, two_factor_enabled: false }],
    has_more: false,
    next_cursor: null,
  })
  const other = await setUp()
  expect((await other.first.ask('GET', path)).body.data).toHaveLength(1)
  expect((await other.first.ask('GET', `${path}?cursor=x`)).body).toEqual({ error: 'Invalid cursor' })
  expect(orgId).not.toBe(other.orgId)
})

test('A-074 A-194 An owner changes a role, which the log records and the next request obeys', async () => {
  const { orgId, first, others } = await setUp('viewer')
  const [viewer] = others as [(typeof others)[0]]
  const body = { id: viewer.membershipId, role: 'developer' }
  const { result, trail } = await withTrail(t.database, orgId, () => first.ask('PATCH', path, body))
  expect([result.status, result.body]).toMatchObject([200, { id: viewer.membershipId, role: 'developer' }])
  expect(trail).toMatchObject([
    {
      action: 'member.role_changed',
      actor_user_id: first.userId,
      resource_type: 'membership',
      resource_id: viewer.membershipId,
      metadata: { from: 'viewer', to: 'developer', user_id: viewer.userId },
      ip_address: '127.0.0.1',
    },
  ])
  expect((await viewer.ask('GET', '/api/internal/audit')).status).toBe(200)
  const again = await leavesAll(orgId, () => first.ask('PATCH', path, body))
  expect([again.status, again.body.role]).toEqual([200, 'developer'])
})

test('A-034 A role outside the four is refused, and so is a member of another org', async () => {
  const { orgId, first, others } = await setUp('viewer')
  const [viewer] = others as [(typeof others)[0]]
  const emperor = await leavesAll(orgId, () => first.ask('PATCH', path, { id: viewer.membershipId, role: 'emperor' }))
  expect([emperor.status, emperor.body]).toEqual([
    422,
    {
      error: 'Validation failed',
      code: 'VALIDATION_ERROR',
      errors: [{ path: ['role'], code: 'invalid_enum', message: 'Must be owner, developer, member or viewer.' }],
    },
  ])
  const other = await setUp('viewer')
  for (const id of [other.others[0]?.membershipId, newId('membership'), 'x', '']) {
    const patched = await leavesAll(other.orgId, () => first.ask('PATCH', path, { id, role: 'owner' }))
    expect([patched.status, patched.body], id).toEqual([404, { error: 'Not found' }])
    const removed = await leavesAll(other.orgId, () => first.ask('DELETE', `${path}?id=${id}`))
    expect([removed.status, removed.body], id).toEqual([404, { error: 'Not found' }])
  }
  expect((await first.ask('DELETE', path)).status).toBe(422)
})

test('A-075 A-193 A removed member loses the org at once, and the log records the removal', async () => {
  const { orgId, first, others } = await setUp('developer')
  const [developer] = others as [(typeof others)[0]]
  expect((await developer.ask('GET', '/api/internal/org')).status).toBe(200)
  const { result, trail } = await withTrail(t.database, orgId, () =>
    first.ask('DELETE', `${path}?id=${developer.membershipId}`),
  )
  expect([result.status, result.body]).toEqual([200, { deleted: true, id: developer.membershipId }])
  expect(trail).toMatchObject([
    {
      action: 'member.removed',
      actor_user_id: first.userId,
      resource_type: 'membership',
      resource_id: developer.membershipId,
      metadata: { role: 'developer', user_id: developer.userId },
    },
  ])
  expect((await developer.ask('GET', '/api/internal/org')).body).toEqual({ error: 'Unauthorized' })
  expect((await developer.ask('GET', '/api/internal/orgs')).body.data).toEqual([])
  const rows = await t.database.sql('select default_org_id from users where id = $1', [developer.userId])
  expect(rows).toEqual([{ default_org_id: null }])
  expect((await first.ask('DELETE', `${path}?id=${developer.membershipId}`)).status).toBe(404)
})

describe('the primary owner', () => {
  test('A-078 A-079 A-082 cannot be demoted or removed, also when another owner asks', async () => {
    const { orgId, first, others } = await setUp('owner')
    const [second] = others as [(typeof others)[0]]
    for (const asking of [first, second]) {
      for (const role of ['developer', 'member', 'viewer']) {
        const demoted = await leavesAll(orgId, () => asking.ask('PATCH', path, { id: first.membershipId, role }))
        expect([demoted.status, demoted.body]).toEqual([409, primaryOwnerStays('demoted')])
      }
      const removed = await leavesAll(orgId, () => asking.ask('DELETE', `${path}?id=${first.membershipId}`))
      expect([removed.status, removed.body]).toEqual([409, primaryOwnerStays('removed')])
    }
  })

  test('A-081 stays owner through any sequence of changes by other owners', async () => {
    const { orgId, first, others } = await setUp('owner', 'owner', 'owner')
    for (const [i, asking] of others.entries()) {
      const targets = [first, ...others.slice(i + 1), asking]
      for (const target of targets) {
        await asking.ask('PATCH', path, { id: target.membershipId, role: 'viewer' })
        await asking.ask('DELETE', `${path}?id=${target.membershipId}`)
      }
    }
    expect((await rolesIn(orgId))[first.userId]).toBe('owner')
    expect((await first.ask('GET', '/api/internal/org')).body.owner_user_id).toBe(first.userId)
  })
})

test('A-080 Nobody can remove themselves, but another owner can demote themselves', async () => {
  const { orgId, others } = await setUp('owner')
  const [second] = others as [(typeof others)[0]]
  const removed = await leavesAll(orgId, () => second.ask('DELETE', `${path}?id=${second.membershipId}`))
  expect([removed.status, removed.body]).toEqual([409, { error: 'You cannot remove yourself', code: 'SELF_REMOVE' }])
  expect((await second.ask('PATCH', path, { id: second.membershipId, role: 'member' })).status).toBe(200)
  expect((await second.ask('PATCH', path, { id: second.membershipId, role: 'owner' })).body).toEqual({
    error: 'Owner role required',
  })
})

test('of two owners who demote each other at once, one stays owner', async () => {
  for (let round = 0; round < 10; round++) {
    const { orgId, others } = await setUp('owner', 'owner')
    const [ann, bob] = others as [(typeof others)[0], (typeof others)[0]]
    const replies = await Promise.all([
      ann.ask('PATCH', path, { id: bob.membershipId, role: 'viewer' }),
      bob.ask('PATCH', path, { id: ann.membershipId, role: 'viewer' }),
    ])
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 403])
    const roles = await rolesIn(orgId)
    expect([roles[ann.userId], roles[bob.userId]].sort()).toEqual(['owner', 'viewer'])
    expect((await trailOf(t.database, orgId)).map(({ action }) => action)).toEqual(['member.role_changed'])
  }
})

test('without an owner pointer, the last owner cannot be demoted', async () => {
  const { orgId, first, others } = await setUp('owner')
  const [second] = others as [(typeof others)[0]]
  await t.database.sql('update orgs set owner_user_id = null where id = $1', [orgId])
  const demote = (id: string) => first.ask('PATCH', path, { id, role: 'viewer' })
  expect((await demote(second.membershipId)).status).toBe(200)
  const last = await leavesAll(orgId, () => demote(first.membershipId))
  expect([last.status, last.body]).toEqual([409, primaryOwnerStays('demoted')])
})

describe('a transfer of ownership', () => {
  const transfer = '/api/internal/org/transfer-ownership'

  test('A-082 A-204 moves the pointer, promotes its new holder, and leaves the owner role to the former one', async () => {
    const { orgId, first, others } = await setUp('viewer')
    const [viewer] = others as [(typeof others)[0]]
    const { result, trail } = await withTrail(t.database, orgId, () =>
      first.ask('POST', transfer, { user_id: viewer.userId }),
    )
    expect([result.status, result.body]).toMatchObject([
      200,
      { id: orgId, owner_user_id: viewer.userId, role: 'owner' },
    ])
    expect(await rolesIn(orgId)).toEqual({ [first.userId]: 'owner', [viewer.userId]: 'owner' })
    expect(trail).toMatchObject([
      {
        action: 'org.ownership_transferred',
        actor_user_id: first.userId,
        resource_type: 'user',
        resource_id: viewer.userId,
        metadata: { promoted_to_owner: true, reason: 'transfer' },
      },
    ])
    // The former holder is an owner like any other now.
    expect((await viewer.ask('PATCH', path, { id: first.membershipId, role: 'member' })).status).toBe(200)
    expect((await viewer.ask('DELETE', `${path}?id=${first.membershipId}`)).status).toBe(200)
  })

  test('is refused to other owners, to strangers and to those who are not members', async () => {
    const { orgId, first, others } = await setUp('owner', 'developer')
    const [second, developer] = others as [(typeof others)[0], (typeof others)[0]]
    const stranger = await person(t)
    const ask = (asking: typeof first, userId: string) =>
      leavesAll(orgId, () => asking.ask('POST', transfer, { user_id: userId }))
    const byOther = await ask(second, second.userId)
    expect([byOther.status, byOther.body]).toEqual([403, { error: 'Only the primary owner can transfer ownership' }])
    expect((await ask(developer, developer.userId)).body).toEqual({ error: 'Owner role required' })
    expect((await ask(first, stranger.userId)).body).toEqual({ error: 'Not found' })
    expect((await ask(first, first.userId)).status).toBe(200)
  })

  test('to an owner does not promote, and a demotion at the same time never leaves the pointer at a lower role', async () => {
    for (let round = 0; round < 10; round++) {
      const { orgId, first, others } = await setUp('owner', 'owner')
      const [heir, other] = others as [(typeof others)[0], (typeof others)[0]]
      const [transferred, demoted] = await Promise.all([
        first.ask('POST', transfer, { user_id: heir.userId }),
        other.ask('PATCH', path, { id: heir.membershipId, role: 'viewer' }),
      ])
      expect(transferred.status).toBe(200)
      expect([200, 409]).toContain(demoted.status)
      expect((await rolesIn(orgId))[heir.userId]).toBe('owner')
      const entry = (await trailOf(t.database, orgId)).find(({ action }) => action === 'org.ownership_transferred')
      expect(entry?.metadata).toEqual({ promoted_to_owner: demoted.status === 200, reason: 'transfer' })
    }
  })
})

test('A-052 A-072 Developers, members and viewers are refused every change of the team and of the org', async () => {
  const { orgId, first, others } = await setUp('developer', 'member', 'viewer')
  const invite = '/api/internal/team/invite'
  const changes: [method: string, path: string, body?: object][] = [
    ['POST', invite, { email: 'bob@reader.test', role: 'viewer' }],
    ['PATCH', invite, { id: newId('invitation') }],
    ['DELETE', `${invite}?id=${newId('invitation')}`],
    ['PATCH', path, { id: first.membershipId, role: 'viewer' }],
    ['DELETE', `${path}?id=${first.membershipId}`],
    ['POST', '/api/internal/org/transfer-ownership', { user_id: first.userId }],
    ['PATCH', '/api/internal/org', { name: 'X' }],
    ['DELETE', '/api/internal/org', { confirm: 'acme' }],
  ]
  for (const asking of others) {
    for (const [method, route, body] of changes) {
      const reply = await leavesAll(orgId, () => asking.ask(method, route, body))
      expect([reply.status, reply.body], `${method} ${route}`).toEqual([403, { error: 'Owner role required' }])
    }
  }
})
