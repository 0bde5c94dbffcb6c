/** Erasing a user from the audit log: which entries change, which are signed again and which must not be. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openLogFile } from '../../../test/service/log-file.ts'
import { startTestService } from '../../../test/service/service.ts'
import { readConfig } from '../../platform/ground/config/config.ts'
import { newId } from '../../platform/ground/ids.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { makeEraseActor } from './erase-actor.ts'
import { type SignedFields, sign } from './sign-entry.ts'
import { fieldsOf, type SignatureStatus, signatureStatus } from './signature-status.ts'
import type { EntryRow } from './store/entry-rows.ts'

const secret = 'audit-test-secret'
const cutover = readConfig({}).auditCutover.at
const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: secret } })
afterAll(() => t.stop())
const { db } = t.service.modules
const eraseWithin = makeEraseActor({ log: silentLog(), secrets: [secret], cutover })
const erase = (userId: string) => db.tx((tx) => eraseWithin(tx, userId))

const before = new Date('2026-08-09T23:59:59.999Z')
const after = new Date('2026-09-01T12:00:00.000Z')
const oneKey = { name: 'CI' }
const twoKeys = { name: 'CI', environment: 'live' }
const forged = 'f'.repeat(64)

type Draft = Partial<SignedFields> & { signature?: string | null }

/** Inserts an entry: signed, with another signature, or with none. */
const insertEntry = async (draft: Draft & { actorUserId: string | null }): Promise<string> => {
  const fields: SignedFields = {
    id: newId('auditEntry'),
    orgId: 'org_a',
    action: 'user.login',
    resourceType: 'user',
    resourceId: 'x',
    metadata: oneKey,
    createdAt: after,
    ...draft,
  }
  const signature = draft.signature === undefined ? sign(secret, fields) : draft.signature
  await t.database.sql('insert into audit_entries values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)', [
    fields.orgId,
    fields.id,
    fields.actorUserId,
    fields.action,
    fields.resourceType,
    fields.resourceId,
    JSON.stringify(fields.metadata),
    '203.0.113.9',
    'Firefox',
    fields.createdAt,
    signature,
  ])
  return fields.id
}

type Stored = EntryRow & { ip_address: string; user_agent: string }
const stored = async (id: string): Promise<Stored> =>
  (
    await t.database.sql<Stored>(
      `select org_id, id, actor_user_id, action, resource_type, resource_id, metadata, ip_address, user_agent,
         created_at, signature
       from audit_entries where id = $1`,
      [id],
    )
  )[0] as Stored
const statusOf = async (id: string): Promise<SignatureStatus> =>
  signatureStatus(fieldsOf(await stored(id)), { secret, cutover })

const kinds: [requirement: string, status: SignatureStatus, resigned: boolean, draft: Draft][] = [
  ['A-222', 'ok', true, {}],
  ['A-222', 'ok', true, { createdAt: before, metadata: twoKeys }],
  ['A-223', 'invalid', false, { signature: forged }],
  ['A-223', 'invalid', false, { signature: forged, metadata: twoKeys }],
  ['A-223', 'invalid', false, { signature: forged, createdAt: before }],
  ['A-224', 'stripped', false, { signature: null }],
  ['A-224', 'stripped', false, { signature: '' }],
  ['A-225', 'legacy', false, { signature: forged, createdAt: before, metadata: twoKeys }],
  ['A-226', 'unsigned', false, { signature: null, createdAt: before }],
  ['A-226', 'unsigned', false, { signature: '', createdAt: before, metadata: null }],
]

test.each(kinds)('A-221 %s an entry that is %s stays so when its actor is erased', async (_, was, resigned, draft) => {
  const userId = newId('user')
  const id = await insertEntry({ ...draft, actorUserId: userId })
  expect(await statusOf(id)).toBe(was)
  const row = await stored(id)
  expect(await erase(userId)).toBe(1)
  const now = await stored(id)
  expect(now).toEqual({
    ...row,
    actor_user_id: null,
    signature: resigned ? expect.any(String) : row.signature,
  })
  expect(now.signature === row.signature).toBe(!resigned)
  expect(await statusOf(id)).toBe(was)
  expect(await erase(userId)).toBe(0)
  expect(await stored(id)).toEqual(now)
})

test('A-221 the user is erased from all entries in all orgs, and other entries do not change', async () => {
  const [ann, bob] = [newId('user'), newId('user')]
  const others = [await insertEntry({ actorUserId: bob }), await insertEntry({ actorUserId: null })]
  const kept = await Promise.all(others.map(stored))
  const ids: string[] = []
  for (let i = 0; i < 20; i++) ids.push(await insertEntry({ actorUserId: ann, orgId: `org_${i % 3}` }))
  await t.database.sql(
    `insert into audit_entries (org_id, id, actor_user_id, action, created_at)
     select 'org_many', 'aud_many' || g, $1, 'user.login', $2 from generate_series(1, 1200) g`,
    [ann, after],
  )
  expect(await erase(ann)).toBe(1_220)
  expect(await t.database.sql('select 1 from audit_entries where actor_user_id = $1', [ann])).toEqual([])
  for (const id of ids) expect(await statusOf(id)).toBe('ok')
  expect(await Promise.all(others.map(stored))).toEqual(kept)
})

test('A-223 an entry that was forged by adding a user does not become valid when that user is erased', async () => {
  for (const createdAt of [before, after]) {
    const userId = newId('user')
    const fields = { orgId: 'org_a', id: newId('auditEntry'), createdAt, actorUserId: null }
    const id = await insertEntry(fields)
    const { signature } = await stored(id)
    await t.database.sql('alter table audit_entries disable trigger user')
    await t.database.sql('update audit_entries set actor_user_id = $2 where id = $1', [id, userId])
    await t.database.sql('alter table audit_entries enable trigger user')
    expect(await statusOf(id)).toBe('invalid')
    await erase(userId)
    expect(await statusOf(id)).toBe('invalid')
    expect((await stored(id)).signature?.toLowerCase()).toBe(signature)
  }
})

describe('erasing users from generated entries', () => {
  const statuses: { before: SignatureStatus; after: SignatureStatus }[] = []
  const actors = fc.constantFrom('usr_ann', 'usr_bob', null)
  const drafts = fc.array(
    fc.record({
      actorUserId: actors,
      /** The actor at the time of signing. */
      signedFor: actors,
      createdAt: fc.constantFrom(before, cutover, after),
      metadata: fc.constantFrom(null, oneKey, twoKeys),
      kind: fc.constantFrom('signed', 'upper', 'forged', 'none', 'empty'),
    }),
    { minLength: 1, maxLength: 12 },
  )

  beforeAll(async () => {
    await fc.assert(
      fc.asyncProperty(drafts, async (entries) => {
        const ids: string[] = []
        for (const { actorUserId, signedFor, createdAt, metadata, kind } of entries) {
          const id = newId('auditEntry')
          const signed = sign(secret, {
            id,
            orgId: 'org_a',
            action: 'user.login',
            resourceType: 'user',
            resourceId: 'x',
            metadata,
            createdAt,
            actorUserId: signedFor,
          })
          const signatures = { signed, upper: signed.toUpperCase(), forged, none: null, empty: '' }
          ids.push(await insertEntry({ id, actorUserId, createdAt, metadata, signature: signatures[kind] }))
        }
        const statusesBefore = await Promise.all(ids.map((id) => statusOf(id)))
        await erase('usr_ann')
        await erase('usr_bob')
        const statusesAfter = await Promise.all(ids.map((id) => statusOf(id)))
        statusesBefore.forEach((status, i) => {
          statuses.push({ before: status, after: statusesAfter[i] as SignatureStatus })
        })
      }),
      { numRuns: 60 },
    )
  })

  test.each([
    ['A-222', 'ok'],
    ['A-223', 'invalid'],
    ['A-224', 'stripped'],
    ['A-225', 'legacy'],
    ['A-226', 'unsigned'],
  ])('%s keeps every entry that is %s', (_, status) => {
    const concerned = statuses.filter((pair) => pair.before === status || pair.after === status)
    expect(concerned.length).toBeGreaterThan(0)
    for (const pair of concerned) expect(pair.after).toBe(pair.before)
  })
})

test('AD-91 without a secret the user is erased, no entry is signed again, and a warning is logged', async () => {
  const logFile = await openLogFile()
  const [userId, unknownUser] = [newId('user'), newId('user')]
  const signed = await insertEntry({ actorUserId: userId })
  const row = await stored(signed)
  const eraseUnsignedWithin = makeEraseActor({ log: logFile.log, secrets: [], cutover })
  const eraseUnsigned = (userId: string) => db.tx((tx) => eraseUnsignedWithin(tx, userId))
  expect([await eraseUnsigned(userId), await eraseUnsigned(unknownUser)]).toEqual([1, 0])
  expect(await stored(signed)).toEqual({ ...row, actor_user_id: null })
  expect(await statusOf(signed)).toBe('invalid')
  const message = 'erasing audit actor without signing secret: signed entries become invalid'
  await expect
    .poll(async () => (await logFile.lines(message)).map(({ level, user_id }) => [level, user_id]))
    .toEqual([
      [40, userId],
      [40, unknownUser],
    ])
  await logFile.remove()
})

test('AD-91 entries written during an erasure are changed completely or not at all', async () => {
  const userId = newId('user')
  const writing = (async () => {
    const ids: string[] = []
    for (let i = 0; i < 60; i++) ids.push(await insertEntry({ actorUserId: userId }))
    return ids
  })()
  const erased = await Promise.all([erase(userId), erase(userId)])
  const ids = await writing
  const rest = await erase(userId)
  expect(erased.reduce((sum, n) => sum + n, rest)).toBe(60)
  for (const id of ids) {
    expect([(await stored(id)).actor_user_id, await statusOf(id)]).toEqual([null, 'ok'])
  }
})
