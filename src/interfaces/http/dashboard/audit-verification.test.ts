import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import {
  atCutover as after,
  beforeCutover as before,
  cutoverMs as cutover,
  type Draft,
  insertDraft,
  draftSecret as secret,
} from '../../../../test/audit/entry-drafts.ts'
import { tamper } from '../../../../test/audit/tamper.ts'
import { trailOf } from '../../../../test/audit/trail.ts'
import { ofDashboard } from '../../../../test/clients/people.ts'
import { type Member, person, primaryOwner } from '../../../../test/clients/team-client.ts'
import { openLogFile } from '../../../../test/service/log-file.ts'
import { startTestService, testService } from '../../../../test/service/service.ts'

const log = await openLogFile()
const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: secret }, log: log.log })
afterAll(async () => {
  await t.stop()
  await log.remove()
})

const path = '/api/internal/audit'

let orgId: string
let owner: Member

beforeEach(async () => {
  orgId = (await t.org()).org.id
  owner = await primaryOwner(t, orgId)
})

const insert = (draft: Draft = {}, org = orgId): Promise<string> => insertDraft(t.database, org, draft)

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
    await insert({ signature: null }, other.org.id)
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
    const ask = (query = '') =>
      rotated.ask('GET', `${path}/verify${query}`, { headers: { cookie: owner.cookie, ...ofDashboard } })
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
      headers: { cookie: owner.cookie, ...ofDashboard },
    })
    await t.database.sql(`alter database ${database} reset timezone`)
    expect(reply.body.stripped).toEqual(utc.stripped)
  })

  test('A-255 A-351 without a secret says that the log cannot be verified, and writes nothing', async () => {
    const inert = await testService({ database: t.database })
    const headers = { cookie: owner.cookie, ...ofDashboard }
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
    const gated = await inert.ask('GET', `${path}/verify`, { headers: { cookie: developer.cookie, ...ofDashboard } })
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
    const list = await owner.ask('GET', path)
    const listed = list.body.data.map(({ id }: { id: string }) => id)
    expect(listed).toEqual([endless, expect.any(String), deep])
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

  test('is for owners, and refuses an invalid cursor', async () => {
    const developer = await person(t, { orgId, role: 'developer' })
    expect((await developer.ask('GET', `${path}/chain`)).body).toEqual({ error: 'Owner role required' })
    const wrong = ['x', Buffer.from('{"s":-1,"b":"2026-08-10T00:00:00Z"}').toString('base64url')]
    for (const cursor of wrong) {
      const reply = await owner.ask('GET', `${path}/chain?cursor=${cursor}`)
      expect([reply.status, reply.body]).toEqual([400, { error: 'Invalid cursor' }])
    }
  })
})
