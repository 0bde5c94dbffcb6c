import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { tamper } from '../../../test/audit/tamper.ts'
import { trailOf } from '../../../test/audit/trail.ts'
import { type Member, person, primaryOwner } from '../../../test/clients/team-client.ts'
import { openLogFile } from '../../../test/service/log-file.ts'
import { startTestService, testService } from '../../../test/service/service.ts'
import { sign } from '../../audit/sign-entry.ts'
import { encodeCursor } from '../../ground/cursor.ts'
import { newId } from '../../ground/ids.ts'

const secret = 'audit-test-secret'
const log = await openLogFile()
const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: secret }, log: log.log })
afterAll(async () => {
  await t.stop()
  await log.remove()
})

const path = '/api/internal/audit'
const cutover = Date.parse('2026-08-10T00:00:00Z')
const before = new Date(cutover - 1)
const after = new Date(cutover)

let orgId: string
let owner: Member

beforeEach(async () => {
  orgId = (await t.org()).org.id
  owner = await primaryOwner(t, orgId)
})

type Draft = {
  id?: string
  action?: string
  actor?: string | null
  resourceType?: string | null
  resourceId?: string | null
  metadata?: Record<string, unknown> | null
  at?: Date
  signature?: string | null
  org?: string
}

/** Inserts an entry as an earlier version could have written it, signed unless the draft says otherwise. */
const insert = async (draft: Draft = {}): Promise<string> => {
  const { action = 'org.updated', actor = null, resourceType = 'org', resourceId = 'x', metadata = null } = draft
  const { id = newId('auditEntry'), at = after, org = orgId } = draft
  const fields = { id, orgId: org, action, actorUserId: actor, resourceType, resourceId, metadata, createdAt: at }
  const signature = draft.signature === undefined ? sign(secret, fields) : draft.signature
  await t.database.sql(
    `insert into audit_entries (org_id, id, actor_user_id, action, resource_type, resource_id, metadata, ip_address,
       user_agent, created_at, signature)
     values ($1, $2, $3, $4, $5, $6, $7, '203.0.113.9', 'Firefox', $8, $9)`,
    [org, id, actor, action, resourceType, resourceId, metadata, at, signature],
  )
  return id
}

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
    await insert({ org: other.org.id })
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

describe('verification', () => {
  const verify = async (query = '') => {
    const reply = await owner.ask('GET', `${path}/verify${query}`)
    expect(reply.status, reply.text).toBe(200)
    return reply.body
  }
  const two = { a: 1, b: 2 }

  /** One entry of each kind, and the bucket that it belongs to. */
  const kinds: [row: string, bucket: string, draft: Draft][] = [
    ['A-238', 'ok', {}],
    ['A-238', 'ok', { at: before, metadata: { b: [two], a: 1 } }],
    ['A-239', 'unsigned', { at: before, signature: null }],
    ['A-239', 'unsigned', { at: before, signature: '' }],
    ['A-240', 'legacy', { at: before, metadata: two, signature: '0'.repeat(64) }],
    ['A-240', 'legacy', { at: before, metadata: { a: [{ b: two }] }, signature: '0'.repeat(64) }],
    ['A-243', 'invalid', { at: before, metadata: { a: { b: 1 } }, signature: '0'.repeat(64) }],
    ['A-243', 'invalid', { metadata: two, signature: '0'.repeat(64) }],
    ['A-243', 'invalid', { signature: 'F'.repeat(64) }],
    ['A-244', 'stripped', { signature: null }],
    ['A-244', 'stripped', { signature: '' }],
  ]

  test('A-233 A-234 A-235 A-236 answers with counts and with the entries that do not verify', async () => {
    const ids: Record<string, string[]> = { ok: [], unsigned: [], legacy: [], invalid: [], stripped: [] }
    for (const [, bucket, draft] of kinds) ids[bucket]?.unshift(await insert({ ...draft, actor: owner.userId }))
    const item = (id: string) => ({
      id,
      action: 'org.updated',
      actorUserId: owner.userId,
      resourceType: 'org',
      resourceId: 'x',
      createdAt: expect.stringMatching(/^2026-08-(10T00:00:00.000|09T23:59:59.999)Z$/),
    })
    const body = await verify()
    expect(body).toEqual({
      checked: 11,
      ok: 2,
      unsigned: 2,
      legacy: 2,
      invalid: expect.arrayContaining((ids.invalid ?? []).map(item)),
      stripped: expect.arrayContaining((ids.stripped ?? []).map(item)),
      cutover: '2026-08-10T00:00:00Z',
      has_more: false,
      next_cursor: null,
    })
    expect([body.invalid.length, body.stripped.length]).toEqual([3, 2])
    expect(body.checked).toBe(body.ok + body.unsigned + body.legacy + body.invalid.length + body.stripped.length)
  })

  test.each(kinds)('%s an entry that is %s is in that bucket alone', async (_, bucket, draft) => {
    const id = await insert(draft)
    const body = await verify()
    const sizes = Object.fromEntries(
      ['ok', 'unsigned', 'legacy', 'invalid', 'stripped'].map((name) => [name, body[name].length ?? body[name]]),
    )
    expect(sizes).toEqual({ ok: 0, unsigned: 0, legacy: 0, invalid: 0, stripped: 0, [bucket]: 1 })
    if (Array.isArray(body[bucket])) expect(body[bucket][0].id).toBe(id)
  })

  test('A-239 A-241 A-242 A-245 the cutover itself counts as after it, and the order of keys excuses nothing there', async () => {
    await insert({ at: after, metadata: two, signature: '0'.repeat(64) })
    await insert({ at: after, signature: '' })
    const body = await verify()
    expect([body.legacy, body.unsigned, body.invalid.length, body.stripped.length]).toEqual([0, 0, 1, 1])
  })

  test('A-240 A-246 buckets are derived on each run and stored nowhere', async () => {
    const id = await insert()
    expect(await verify()).toMatchObject({ checked: 1, ok: 1 })
    await tamper(t.database, ["update audit_entries set resource_id = 'y' where id = $1", [id]])
    expect(await verify('?created_before=2026-08-10T00:00:00Z')).toMatchObject({ ok: 0, invalid: [{ id }] })
    await tamper(t.database, ["update audit_entries set resource_id = 'x' where id = $1", [id]])
    expect(await verify('?created_before=2026-08-10T00:00:00Z')).toMatchObject({ ok: 1, invalid: [] })
  })

  test('A-227 A-228 is for owners only, and judges the active org only', async () => {
    const other = await t.org()
    await insert({ org: other.org.id, signature: null })
    const developer = await person(t, { orgId, role: 'developer' })
    const reply = await developer.ask('GET', `${path}/verify`)
    expect([reply.status, reply.body]).toEqual([403, { error: 'Owner role required' }])
    expect(await verify()).toMatchObject({ checked: 0, stripped: [] })
  })

  test('A-229 A-230 A-231 A-248 reads 100 entries at a time, at most 500, and a walk of the pages reads each once', async () => {
    await t.database.sql(
      `insert into audit_entries (org_id, id, action, created_at)
       select $1, 'aud_' || lpad(g::text, 26, '0'), 'org.updated', $2 from generate_series(1, 620) g`,
      [orgId, before],
    )
    expect(await verify()).toMatchObject({ checked: 100, unsigned: 100, has_more: true })
    expect(await verify('?limit=501')).toMatchObject({ checked: 500, has_more: true })
    expect(await verify('?limit=x')).toMatchObject({ checked: 100 })
    let checked = 0
    const range = `created_before=${before.toISOString()}`
    for (let cursor = ''; ; ) {
      const body = await verify(`?limit=250&${range}&cursor=${cursor}`)
      checked += body.checked
      if (!body.has_more) break
      cursor = body.next_cursor
    }
    expect(checked).toBe(620)
    const bad = await owner.ask('GET', `${path}/verify?cursor=x`)
    expect([bad.status, bad.body]).toEqual([400, { error: 'Invalid cursor' }])
  })

  test('A-232 A-349 judges only entries in the range, whose ends are included', async () => {
    for (const ms of [-2, -1, 0, 1]) await insert({ at: new Date(cutover + ms) })
    const within = await verify('?created_after=2026-08-09T23:59:59.999Z&created_before=2026-08-10T00:00:00.000Z')
    expect(within.checked).toBe(2)
    expect(
      (await verify('?created_after=2026-08-10T02:00:00%2B02:00&created_before=2026-08-10T00:00:00.001Z')).checked,
    ).toBe(2)
  })

  test('A-205 A-249 A-250 A-251 each run writes one entry of its own, after the page was read', async () => {
    const bad = await insert({ signature: null })
    const first = await verify(`?created_after=${after.toISOString()}`)
    expect(first.checked).toBe(1)
    const [, entry] = await trailOf(t.database, orgId)
    expect(entry).toMatchObject({
      action: 'audit.verified',
      actor_user_id: owner.userId,
      resource_type: 'audit',
      resource_id: null,
      metadata: {
        checked: 1,
        ok: 0,
        unsigned: 0,
        legacy: 0,
        invalidCount: 0,
        invalidIds: [],
        strippedCount: 1,
        strippedIds: [bad],
        cutover: '2026-08-10T00:00:00Z',
        createdAfter: '2026-08-10T00:00:00.000Z',
        createdBefore: null,
      },
    })
    expect(await verify()).toMatchObject({ checked: 2, ok: 1 })
    expect(await trailOf(t.database, orgId)).toHaveLength(3)
  })

  test('A-252 the entry of a run names at most twenty ids of each kind', async () => {
    for (let i = 0; i < 25; i++) await insert({ signature: i % 2 ? null : '0'.repeat(64) })
    for (let i = 0; i < 20; i++) await insert({ signature: null })
    await verify()
    const entry = (await trailOf(t.database, orgId)).find(({ action }) => action === 'audit.verified')
    expect(entry?.metadata).toMatchObject({ invalidCount: 13, strippedCount: 32 })
    expect(entry?.metadata?.strippedIds).toHaveLength(20)
    expect(entry?.metadata?.invalidIds).toHaveLength(13)
  })

  test('A-253 A-254 logs an error for a mismatch or a missing signature, and none for a clean page', async () => {
    await insert()
    await verify()
    const [stripped, invalid] = [await insert({ signature: null }), await insert({ signature: '0'.repeat(64) })]
    await verify()
    const lines = async () => {
      const all = await log.lines('audit verification found invalid entries')
      return all.filter(({ org_id }) => org_id === orgId)
    }
    // Only the second run logs one.
    await expect
      .poll(lines)
      .toMatchObject([{ level: 50, invalidCount: 1, invalidIds: [invalid], strippedCount: 1, strippedIds: [stripped] }])
  })

  test('A-237 A-220 A-218 echoes the cutover in force, and after a rotation judges the new entries alone by a range', async () => {
    const id = await insert()
    const rotated = await testService({
      env: { AUDIT_SIGNING_SECRET: 'another', AUDIT_SIGNING_CUTOVER: '2026-08-01T00:00:00+02:00' },
      database: t.database,
    })
    const ask = (query = '') => rotated.ask('GET', `${path}/verify${query}`, { headers: { cookie: owner.cookie } })
    const all = (await ask()).body
    expect([all.cutover, all.ok, all.invalid[0]?.id]).toEqual(['2026-08-01T00:00:00+02:00', 0, id])
    expect((await ask('?created_after=2026-08-10T00:00:00.001Z')).body).toMatchObject({
      checked: 1,
      ok: 1,
      invalid: [],
    })
  })

  test('A-247 gives the same answer whatever the zone of the database', async () => {
    await insert({ signature: null })
    const utc = await verify('?limit=1')
    const database = new URL(t.database.url).pathname.slice(1)
    await t.database.sql(`alter database ${database} set timezone = 'Asia/Kolkata'`)
    const elsewhere = await testService({ env: { AUDIT_SIGNING_SECRET: secret }, database: t.database })
    const reply = await elsewhere.ask('GET', `${path}/verify?limit=1&created_before=${after.toISOString()}`, {
      headers: { cookie: owner.cookie },
    })
    await t.database.sql(`alter database ${database} reset timezone`)
    expect(reply.body.stripped).toEqual(utc.stripped)
  })

  test('A-255 A-351 without a secret says that the log cannot be verified, and writes nothing', async () => {
    const inert = await testService({ database: t.database })
    const headers = { cookie: owner.cookie }
    for (const route of ['verify', 'chain']) {
      const reply = await inert.ask('GET', `${path}/${route}`, { headers })
      expect([reply.status, reply.body]).toEqual([
        503,
        {
          error: 'Audit signing is not configured, so the log cannot be verified. This does not mean the log is clean.',
          code: 'AUDIT_SIGNING_DISABLED',
        },
      ])
    }
    const developer = await person(t, { orgId, role: 'developer' })
    const gated = await inert.ask('GET', `${path}/verify`, { headers: { cookie: developer.cookie } })
    expect(gated.body).toEqual({ error: 'Owner role required' })
    expect(await trailOf(t.database, orgId)).toEqual([])
  })

  test('values that the service never writes are invalid, and shown without failing', async () => {
    let nested: Record<string, unknown> = {}
    for (let i = 0; i < 300; i++) nested = { a: nested }
    const deep = await insert({ metadata: nested, signature: '0'.repeat(64) })
    const endless = await insert({ signature: '0'.repeat(64) })
    await tamper(t.database, ["update audit_entries set created_at = 'infinity' where id = $1", [endless]])
    expect((await verify()).invalid.map(({ id }: { id: string }) => id)).toEqual([endless, deep])
    expect(idsOf(await list()).slice(0, 3)).toEqual([endless, expect.any(String), deep])
    const first = await verify('?limit=1')
    expect([first.invalid[0].id, first.has_more]).toEqual([endless, true])
    const rest = await verify(`?cursor=${first.next_cursor}`)
    expect(rest.invalid.map(({ id }: { id: string }) => id)).toEqual([deep])
  })
})

describe('the chain', () => {
  const chain = async (query = '') => {
    const reply = await owner.ask('GET', `${path}/chain${query}`)
    expect(reply.status, reply.text).toBe(200)
    return reply.body
  }
  const write = async (n: number): Promise<string[]> => {
    for (let i = 0; i < n; i++) await owner.ask('PATCH', '/api/internal/org', { name: `Name ${i}` })
    await t.service.chain.link()
    return (await trailOf(t.database, orgId)).map(({ id }) => id)
  }
  const clean = {
    missing: [],
    broken: [],
    invalid: [],
    stripped: [],
    misdated: [],
    stray: [],
    head: 'ok',
    pruned: 'none',
    waiting: 0,
  }

  test('of an untouched log has no findings on any page, and reading it writes nothing', async () => {
    const ids = await write(5)
    expect(await chain()).toEqual({ checked: 5, ...clean, has_more: false, next_cursor: null })
    const first = await chain('?limit=3')
    expect(first).toEqual({ checked: 3, ...clean, has_more: true, next_cursor: expect.any(String) })
    const second = await chain(`?limit=3&cursor=${first.next_cursor}`)
    expect(second).toEqual({ checked: 2, ...clean, has_more: false, next_cursor: null })
    expect((await trailOf(t.database, orgId)).map(({ id }) => id)).toEqual(ids)
  })

  test('shows a deleted and a reordered entry, and logs an error', async () => {
    const ids = await write(5)
    await tamper(t.database, ['delete from audit_entries where id = $1', [ids[1]]])
    expect(await chain()).toMatchObject({ checked: 5, missing: [ids[1]], broken: [], head: 'ok' })
    await tamper(
      t.database,
      ["update audit_links set entry_id = 'aud_x' where entry_id = $1", [ids[3]]],
      ['update audit_links set entry_id = $2 where entry_id = $1', [ids[4], ids[3]]],
      ["update audit_links set entry_id = $1 where entry_id = 'aud_x'", [ids[4]]],
    )
    const body = await chain()
    expect([body.missing, body.broken.toSorted()]).toEqual([[ids[1]], [ids[3], ids[4]]])
    const lines = async () => {
      const all = await log.lines('audit chain is not intact')
      return all.filter(({ org_id }) => org_id === orgId)
    }
    await expect.poll(lines).toMatchObject([
      { level: 50, missing: [ids[1]], broken: [] },
      { level: 50, missing: [ids[1]] },
    ])
  })

  test('is for owners, and refuses a cursor that is none', async () => {
    const developer = await person(t, { orgId, role: 'developer' })
    expect((await developer.ask('GET', `${path}/chain`)).body).toEqual({ error: 'Owner role required' })
    const wrong = ['x', Buffer.from('{"s":-1,"b":"2026-08-10T00:00:00Z"}').toString('base64url')]
    for (const cursor of wrong) {
      const reply = await owner.ask('GET', `${path}/chain?cursor=${cursor}`)
      expect([reply.status, reply.body]).toEqual([400, { error: 'Invalid cursor' }])
    }
  })
})
