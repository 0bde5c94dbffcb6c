/** The erasure of a person from the log: who goes, what is signed anew and what must never be. */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { openLogFile } from '../../test/service/log-file.ts'
import { startTestService } from '../../test/service/service.ts'
import { readConfig } from '../ground/config.ts'
import { newId } from '../ground/ids.ts'
import { silentLog } from '../ground/log.ts'
import { fieldsOf, makeEraseActor } from './erase-actor.ts'
import { type SignedFields, sign } from './sign-entry.ts'
import { type SignatureStatus, signatureStatus } from './signature-status.ts'
import type { EntryRow } from './store.ts'

const secret = 'audit-test-secret'
const cutover = readConfig({}).auditCutover.at
const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: secret } })
afterAll(() => t.stop())
const { db } = t.service.modules
const erase = makeEraseActor({ db, log: silentLog(), secret, cutover })

const [before, after] = [new Date('2026-08-09T23:59:59.999Z'), new Date('2026-09-01T12:00:00.000Z')]
const [oneKey, twoKeys] = [{ name: 'CI' }, { name: 'CI', environment: 'live' }]
const forged = 'f'.repeat(64)

type Draft = Partial<SignedFields> & { signature?: string | null }

/** Puts an entry into the log as it might have been written, forged or stripped. */
const put = async (draft: Draft & { actorUserId: string | null }): Promise<string> => {
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
  (await t.database.sql<Stored>('select * from audit_entries where id = $1', [id]))[0] as Stored
const verdict = async (id: string, under = secret): Promise<SignatureStatus> =>
  signatureStatus(fieldsOf(await stored(id)), { secret: under, cutover })

const kinds: [rows: string, verdict: SignatureStatus, resigned: boolean, draft: Draft][] = [
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

test.each(kinds)(
  'A-221 %s an entry that was %s is still so after its actor was erased',
  async (_, was, resigned, draft) => {
    const userId = newId('user')
    const id = await put({ ...draft, actorUserId: userId })
    expect(await verdict(id)).toBe(was)
    const row = await stored(id)
    expect(await erase(userId)).toBe(1)
    const now = await stored(id)
    expect(now).toEqual({
      ...row,
      actor_user_id: null,
      signature: resigned ? expect.any(String) : row.signature,
    })
    expect(now.signature === row.signature).toBe(!resigned)
    expect(await verdict(id)).toBe(was)
    expect(await erase(userId)).toBe(0)
    expect(await stored(id)).toEqual(now)
  },
)

test('A-221 the person goes from every org, in any number; entries of others and of nobody stay as they are', async () => {
  const [ann, bob] = [newId('user'), newId('user')]
  const others = [await put({ actorUserId: bob }), await put({ actorUserId: null })]
  const kept = await Promise.all(others.map(stored))
  const ids: string[] = []
  for (let i = 0; i < 20; i++) ids.push(await put({ actorUserId: ann, orgId: `org_${i % 3}` }))
  await t.database.sql(
    `insert into audit_entries (org_id, id, actor_user_id, action, created_at)
     select 'org_many', 'aud_many' || g, $1, 'user.login', $2 from generate_series(1, 1200) g`,
    [ann, after],
  )
  expect(await erase(ann)).toBe(1_220)
  expect(await t.database.sql('select 1 from audit_entries where actor_user_id = $1', [ann])).toEqual([])
  for (const id of ids) expect(await verdict(id)).toBe('ok')
  expect(await Promise.all(others.map(stored))).toEqual(kept)
})

test('A-223 an entry that was forged by naming a person on it is not made good by taking the person off', async () => {
  for (const createdAt of [before, after]) {
    const userId = newId('user')
    const fields = { orgId: 'org_a', id: newId('auditEntry'), createdAt, actorUserId: null }
    const id = await put(fields)
    const { signature } = await stored(id)
    await t.database.sql('alter table audit_entries disable trigger user')
    await t.database.sql('update audit_entries set actor_user_id = $2 where id = $1', [id, userId])
    await t.database.sql('alter table audit_entries enable trigger user')
    expect(await verdict(id)).toBe('invalid')
    await erase(userId)
    expect(await verdict(id)).toBe('invalid')
    expect((await stored(id)).signature?.toLowerCase()).toBe(signature)
  }
})

test('A-222 A-223 A-224 A-225 A-226 whatever is in the log, erasing a person changes no verdict', async () => {
  const somebody = fc.constantFrom('usr_ann', 'usr_bob', null)
  const drafts = fc.array(
    fc.record({
      actorUserId: somebody,
      /** Whose name stood there when it was signed. */
      signedFor: somebody,
      createdAt: fc.constantFrom(before, cutover, after),
      metadata: fc.constantFrom(null, oneKey, twoKeys),
      how: fc.constantFrom('signed', 'upper', 'forged', 'none', 'empty'),
    }),
    { minLength: 1, maxLength: 12 },
  )
  await fc.assert(
    fc.asyncProperty(drafts, async (entries) => {
      const ids: string[] = []
      for (const { actorUserId, signedFor, createdAt, metadata, how } of entries) {
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
        const signature = { signed, upper: signed.toUpperCase(), forged, none: null, empty: '' }[how] as string | null
        ids.push(await put({ id, actorUserId, createdAt, metadata, signature }))
      }
      const were = await Promise.all(ids.map((id) => verdict(id)))
      await erase('usr_ann')
      await erase('usr_bob')
      expect(await Promise.all(ids.map((id) => verdict(id)))).toEqual(were)
    }),
    { numRuns: 60 },
  )
})

test('AD-91 without the secret the person still goes, nothing is signed anew and a warning says what it means', async () => {
  const logFile = await openLogFile()
  const [userId, nobody] = [newId('user'), newId('user')]
  const signed = await put({ actorUserId: userId })
  const row = await stored(signed)
  const blind = makeEraseActor({ db, log: logFile.log, secret: undefined, cutover })
  expect([await blind(userId), await blind(nobody)]).toEqual([1, 0])
  expect(await stored(signed)).toEqual({ ...row, actor_user_id: null })
  expect(await verdict(signed)).toBe('invalid')
  const message = 'no signing secret: signed audit entries of an erased user will read as invalid'
  await expect
    .poll(async () => (await logFile.lines(message)).map(({ level, user_id }) => [level, user_id]))
    .toEqual([
      [40, userId],
      [40, nobody],
    ])
  await logFile.remove()
})

test('AD-91 entries that arrive while a person is erased are not half changed: each is whole, before or after', async () => {
  const userId = newId('user')
  const writing = (async () => {
    const ids: string[] = []
    for (let i = 0; i < 60; i++) ids.push(await put({ actorUserId: userId }))
    return ids
  })()
  const erased = await Promise.all([erase(userId), erase(userId)])
  const ids = await writing
  const rest = await erase(userId)
  expect(erased.reduce((sum, n) => sum + n, rest)).toBe(60)
  for (const id of ids) {
    expect([(await stored(id)).actor_user_id, await verdict(id)]).toEqual([null, 'ok'])
  }
})
