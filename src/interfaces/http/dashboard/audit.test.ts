import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import {
  cutoverMs as cutover,
  type Draft,
  insertDraft,
  draftSecret as secret,
} from '../../../../test/audit/entry-drafts.ts'
import { trailOf } from '../../../../test/audit/trail.ts'
import { type Member, person, primaryOwner } from '../../../../test/clients/team-client.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { encodeCursor } from '../../../platform/ground/cursor.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: secret } })
afterAll(() => t.stop())

const path = '/api/internal/audit'

let orgId: string
let owner: Member

beforeEach(async () => {
  orgId = (await t.org()).org.id
  owner = await primaryOwner(t, orgId)
})

const insert = (draft: Draft = {}, org = orgId): Promise<string> => insertDraft(t.database, org, draft)

const idsOf = (reply: { body: { data: { id: string }[] } }): string[] => reply.body.data.map(({ id }) => id)
const list = async (query = '', asking = owner) => {
  const reply = await asking.ask('GET', `${path}${query}`)
  expect(reply.status, reply.text).toBe(200)
  return reply
}

describe('the audit list', () => {
  test('A-097 A-099 A-104 A-109 shows entries newest first, without their signatures', async () => {
    const actor = owner.userId
    const older = await insert({ actor, metadata: { name: 'CI' } })
    const newer = await insert({ at: new Date(cutover + 1), resourceType: null, resourceId: null })
    expect((await list()).body).toEqual({
      data: [
        {
          id: newer,
          orgId,
          actorUserId: null,
          action: 'org.updated',
          resourceType: null,
          resourceId: null,
          metadata: null,
          ipAddress: '203.0.113.9',
          userAgent: 'Firefox',
          createdAt: '2026-08-10T00:00:00.001Z',
        },
        {
          id: older,
          orgId,
          actorUserId: actor,
          action: 'org.updated',
          resourceType: 'org',
          resourceId: 'x',
          metadata: { name: 'CI' },
          ipAddress: '203.0.113.9',
          userAgent: 'Firefox',
          createdAt: '2026-08-10T00:00:00.000Z',
        },
      ],
      has_more: false,
      next_cursor: null,
    })
  })

  test('A-105 does not show a column that is added to the table later', async () => {
    await insert()
    const names = Object.keys((await list()).body.data[0])
    await t.database.sql("alter table audit_entries add column internal_note text default 'secret'")
    const reply = await list()
    expect(Object.keys(reply.body.data[0])).toEqual(names)
    expect(reply.text).not.toContain('secret')
    await t.database.sql('alter table audit_entries drop column internal_note')
  })

  test('A-043 A-106 A-348 is for developers and owners, and has the entries of the active org only', async () => {
    const own = await insert()
    const other = await t.org()
    await insert({}, other.org.id)
    const developer = await person(t, { orgId, role: 'developer' })
    expect(idsOf(await list('', developer))).toEqual([own])
    for (const role of ['member', 'viewer']) {
      const reply = await (await person(t, { orgId, role })).ask('GET', path)
      expect([reply.status, reply.body]).toEqual([403, { error: 'Developer or owner role required' }])
    }
  })

  test('A-107 A-108 pages by time and id, and skips and repeats none of equal times', async () => {
    const ids: string[] = []
    for (let i = 0; i < 120; i++) ids.push(await insert({ at: new Date(cutover + Math.floor(i / 40)) }))
    ids.sort().reverse()
    const byTime = await t.database.sql<{ id: string }>(
      'select id from audit_entries where org_id = $1 order by created_at desc, id desc',
      [orgId],
    )
    const expected = byTime.map(({ id }) => id)
    expect((await list()).body.data).toHaveLength(50)
    expect((await list('?limit=0')).body.data).toHaveLength(50)
    expect((await list('?limit=1000')).body.data).toHaveLength(100)
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await list(`?limit=7&cursor=${cursor}`)
      seen.push(...body.data.map(({ id }: { id: string }) => id))
      if (!body.has_more) break
      cursor = body.next_cursor
    }
    expect(seen).toEqual(expected)
  })

  test('A-356 A-357 refuses an invalid cursor, and takes an empty one for the first page', async () => {
    for (const cursor of ['x', '%00', encodeCursor({ createdAt: 'now', id: newId('auditEntry') })]) {
      const reply = await owner.ask('GET', `${path}?cursor=${cursor}`)
      expect([reply.status, reply.body], cursor).toEqual([400, { error: 'Invalid cursor' }])
    }
    expect((await owner.ask('GET', `${path}?cursor=`)).status).toBe(200)
  })

  test('A-098 A-110 withholds the address of invitations, and tokens at every depth', async () => {
    const token = 'T0K3N'
    const metadata = {
      email: 'bob@reader.test',
      token,
      nested: [{ invite_token: token, kept: { invite_url: `https://x/${token}`, n: 1 } }],
    }
    const drafts = [
      { action: 'member.invited', resourceType: 'invitation', resourceId: 'bob@reader.test', metadata },
      { action: 'member.invited', resourceType: null, resourceId: 'bob@reader.test', metadata },
      { action: 'member.invitation_revoked', resourceType: 'invitation', resourceId: newId('invitation'), metadata },
    ]
    for (const draft of drafts) await insert(draft)
    const reply = await list()
    expect(reply.text).not.toContain(token)
    for (const entry of reply.body.data) {
      expect(entry).toMatchObject({
        resourceId: null,
        metadata: { email: 'bob@reader.test', nested: [{ kept: { n: 1 } }] },
      })
    }
    for (const { resourceId } of drafts) {
      expect((await list(`?resource_id=${encodeURIComponent(resourceId)}`)).body.data).toEqual([])
    }
    // The stored entries keep what they have, so their signatures stay valid.
    expect((await owner.ask('GET', `${path}/verify`)).body).toMatchObject({ checked: 3, ok: 3 })
  })

  test('filters by action, group, actor, resource and time, alone and together', async () => {
    const actor = owner.userId
    const resourceId = newId('tenant')
    const messageId = newId('message', cutover)
    const created = await insert({ action: 'tenant.created', resourceType: 'tenant', resourceId, actor })
    const updated = await insert({
      action: 'tenant.updated',
      resourceType: 'tenant',
      resourceId,
      at: new Date(cutover + 1),
    })
    const restored = await insert({ action: 'tenantish.updated', resourceType: 'tenantish', at: new Date(cutover + 2) })
    const sent = await insert({
      action: 'message.sent',
      resourceType: 'message',
      resourceId: messageId,
      at: new Date(cutover + 5_000),
    })
    const canceled = await insert({
      action: 'message.canceled',
      resourceType: 'message',
      resourceId: messageId,
      at: new Date(cutover + 6_000_000),
    })
    const cases: [string, string[]][] = [
      ['action=tenant.updated', [updated]],
      ['action=message.sent', [sent]],
      ['action=tenant.*', [updated, created]],
      ['action=message.*', [canceled, sent]],
      ['action=tenant', []],
      ['action=nobody.*', []],
      ['action=', [canceled, sent, restored, updated, created]],
      [`actor_user_id=${actor}`, [created]],
      [`actor_user_id=${newId('user')}`, []],
      ['resource_type=tenant', [updated, created]],
      ['resource_type=message', [canceled, sent]],
      [`resource_id=${resourceId}`, [updated, created]],
      [`resource_id=${messageId}`, [canceled, sent]],
      [`resource_id=${messageId}&action=message.sent`, [sent]],
      [`resource_id=${resourceId}&actor_user_id=${actor}`, [created]],
      [`resource_id=${resourceId}&action=message.*`, []],
      ['action=tenant.*&resource_type=tenant&created_after=2026-08-10T00:00:00.001Z', [updated]],
      ['created_before=2026-08-10T00:00:00.001Z', [updated, created]],
      ['created_after=2026-08-10T02:00:00.001%2B02:00&created_before=2026-08-10T00:00:05Z', [sent, restored, updated]],
      [`created_before=2026-08-10T00:00:00.001Z&actor_user_id=${actor}`, [created]],
    ]
    for (const [query, expected] of cases) expect(idsOf(await list(`?${query}`)), query).toEqual(expected)
    const page = await list('?action=tenant.*&limit=1')
    expect([idsOf(page), page.body.has_more]).toEqual([[updated], true])
    expect(idsOf(await list(`?action=tenant.*&limit=1&cursor=${page.body.next_cursor}`))).toEqual([created])
    const oneOfTwo = await list(`?resource_id=${messageId}&limit=1`)
    expect(idsOf(await list(`?resource_id=${messageId}&limit=1&cursor=${oneOfTwo.body.next_cursor}`))).toEqual([sent])
    expect((await owner.ask('GET', `${path}?action=${'x'.repeat(201)}`)).status).toBe(422)
    expect((await owner.ask('GET', `${path}?actorUserId=x`)).status).toBe(422)
  })

  test.each(['', '/verify'])('A-350 refuses a range that is not a timestamp with a zone on %s', async (route) => {
    for (const name of ['created_after', 'created_before']) {
      for (const value of ['yesterday', '2026-08-10', '2026-08-10T00:00:00', '2026-02-31T00:00:00Z', '1']) {
        const reply = await owner.ask('GET', `${path}${route}?${name}=${value}`)
        expect([reply.status, reply.body], value).toEqual([422, { error: `${name} must be an ISO 8601 timestamp` }])
      }
    }
    expect(await trailOf(t.database, orgId)).toEqual([])
  })
})
