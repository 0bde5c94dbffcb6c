/** What the database layer records about the effects of a request, and what a failed request is answered with. */
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { withoutDatabase } from '../../../test/service/lost-database.ts'
import { Failure } from '../ground/errors.ts'
import { silentLog } from '../ground/log.ts'
import { inRequest, markChanged, newRequestContext, withoutEffect, withRequestId } from '../ground/request-context.ts'
import { makeBatcher } from './batch.ts'
import { isOutage, markUnsent, mayHaveTakenEffect, RolledBackFault } from './faults.ts'
import { type Db, openDb } from './pool.ts'
import { refusalInOutage } from './refuse-in-outage.ts'
import { type NoParams, statement, unseen } from './statement.ts'

const read = statement<NoParams, { note: string }>('test.effects_read', 'select note from notes')
const insert = statement<{ note: string }>('test.effects_insert', 'insert into notes (note) values (:note)')
const claim = statement<{ note: string }>('test.effects_claim', 'insert into notes (note) values (:note)')
unseen(claim)
/** The server ends the connection in the middle of the statement. */
const cut = statement<NoParams, { cut: boolean }>(
  'test.effects_cut',
  'with cut as (select pg_terminate_backend(pg_backend_pid()) as cut) select cut from cut',
)
const insertCut = statement<NoParams>(
  'test.effects_insert_cut',
  'insert into notes (note) select pg_terminate_backend(pg_backend_pid())::text',
)

let database: TestDatabase
let db: Db

beforeAll(async () => {
  database = await makeTestDatabase('empty')
  await database.sql('create table notes (note text not null unique deferrable initially deferred)')
  db = openDb({ url: database.url, log: silentLog(), poolSize: 2 })
})
beforeEach(() => database.sql('truncate notes'))
afterAll(async () => {
  await db.close()
  await database.drop()
})

/** Runs work as a request. Returns its error, and whether it has or may have changed something. */
const asRequest = async (work: () => Promise<unknown>): Promise<{ error: unknown; changed: boolean }> => {
  const context = newRequestContext('req_1')
  const error = await inRequest(context, () => work().then(() => undefined)).catch((thrown: unknown) => thrown)
  return { error, changed: context.changed }
}

const changes = async (work: () => Promise<unknown>): Promise<boolean> => (await asRequest(work)).changed

describe('A request has changed something', () => {
  test('after a statement that writes, and not after one that reads or one that callers cannot see', async () => {
    expect(await changes(() => db.rows(read))).toBe(false)
    expect(await changes(() => db.change(claim, { note: 'a claim' }))).toBe(false)
    expect(await changes(() => db.change(insert, { note: 'a note' }))).toBe(true)
    await db.change(insert, { note: 'outside of any request' })
  })

  test('after the commit of a transaction that wrote, and not after a rollback or one that only read', async () => {
    expect(await changes(() => db.tx((tx) => tx.rows(read)))).toBe(false)
    expect(await changes(() => db.tx((tx) => tx.change(claim, { note: 'a claim' })))).toBe(false)
    expect(await changes(() => db.tx((tx) => tx.change(insert, { note: 'a note' })))).toBe(true)
    const thrown = () =>
      db.tx(async (tx) => {
        await tx.change(insert, { note: 'another' })
        throw new Failure('NOT_FOUND')
      })
    expect(await changes(thrown)).toBe(false)
    // The constraint is checked at the commit, which the server then refuses.
    expect(await changes(() => db.tx((tx) => tx.change(insert, { note: 'a note' })))).toBe(false)
  })

  test('possibly, when the connection is lost in a statement that writes, but not in a read or before a commit', async () => {
    expect(await asRequest(() => db.rows(cut))).toMatchObject({ error: { code: '57P01' }, changed: false })
    expect(await asRequest(() => db.change(insertCut))).toMatchObject({ error: { code: '57P01' }, changed: true })
    const inTransaction = await asRequest(() => db.tx((tx) => tx.change(insertCut)))
    expect(inTransaction).toMatchObject({ error: { code: '57P01' }, changed: false })
  })

  test('never, when there is no connection', async () => {
    await withoutDatabase(database, async () => {
      for (const work of [
        () => db.change(insert, { note: 'a note' }),
        () => db.tx((tx) => tx.change(insert, { note: 'a note' })),
        () => db.connect(),
      ]) {
        const { error, changed } = await asRequest(work)
        expect([changed, isOutage(error), mayHaveTakenEffect(error)]).toEqual([false, true, false])
      }
    })
  })

  test('if a later statement fails, what an earlier one changed counts', async () => {
    const work = async () => {
      await db.change(insert, { note: 'a note' })
      await db.rows(cut)
    }
    expect(await asRequest(work)).toMatchObject({ error: { code: '57P01' }, changed: true })
    expect(await changes(() => withoutEffect(work))).toBe(false)
  })

  test('and so have all requests that shared a statement, but no other', async () => {
    const batched = makeBatcher<string, void>({
      name: 'test.effects_batch',
      maxItems: 2,
      concurrency: 1,
      run: async (notes) => {
        for (const note of notes) {
          if (note === 'read') await db.rows(read)
          else if (note === 'cut') await db.change(insertCut)
          else await db.change(insert, { note })
        }
        return notes.map(() => undefined)
      },
    })
    const sent = ['read', 'read', 'one', 'read', 'read', 'read', 'cut', 'read'].map((note) =>
      changes(() => batched.submit(note)),
    )
    expect(await Promise.all(sent)).toEqual([false, false, true, true, false, false, true, true])
  })
})

test('A request goes on in its own context when its id is set again', () => {
  const context = newRequestContext('req_1')
  inRequest(context, () => withRequestId('req_1', markChanged))
  expect(context.changed).toBe(true)
  const other = newRequestContext('req_1')
  inRequest(other, () => withRequestId('req_2', markChanged))
  expect(other.changed).toBe(false)
})

const coded = (code: string, severity?: string) => Object.assign(new Error(code), { code, severity })

describe('An error', () => {
  test('of the server says that the statement was rolled back, unless the connection ended', () => {
    for (const error of [coded('23505'), coded('25006'), coded('53100', 'ERROR'), coded('58030', 'ERROR')])
      expect(mayHaveTakenEffect(error)).toBe(false)
    for (const error of [coded('57P01', 'FATAL'), coded('53100', 'PANIC'), coded('XX000', 'ERROR'), coded('08006')])
      expect(mayHaveTakenEffect(error)).toBe(true)
    expect(mayHaveTakenEffect(new RolledBackFault())).toBe(false)
  })

  test('of the connection leaves the effect unknown, unless nothing was sent', () => {
    const message = 'Connection terminated unexpectedly'
    expect(mayHaveTakenEffect(new Error(message))).toBe(true)
    expect(mayHaveTakenEffect(coded('ECONNRESET'))).toBe(true)
    const unsent = new Error(message)
    markUnsent(unsent)
    expect(mayHaveTakenEffect(unsent)).toBe(false)
    for (const reason of ['Client has encountered a connection error', 'Client was closed'])
      expect(mayHaveTakenEffect(new Error(`${reason} and is not queryable`))).toBe(false)
  })

  test('while a result is read leaves the effect unknown', () => {
    expect(mayHaveTakenEffect(new RangeError('the bigint is not a safe integer'))).toBe(true)
  })

  test('of a full disk, of the server or of the connection is an outage; one of a single statement is none', () => {
    for (const code of ['53100', '53200', '53300', '58030', '57P03', '25006', '08006', 'ECONNREFUSED', 'EPIPE'])
      expect(isOutage(coded(code))).toBe(true)
    for (const code of ['23505', '40001', '57014', '42P01', 'XX000', 'ENOSPC'])
      expect(isOutage(coded(code))).toBe(false)
  })
})

test('A request without an effect is refused with UNAVAILABLE in an outage, and every other error stays what it is', () => {
  const away = coded('ECONNREFUSED')
  expect(refusalInOutage(away, { changed: false })).toMatchObject({
    code: 'UNAVAILABLE',
    status: 503,
    cause: away,
    detail: { retryAfter: 2 },
  })
  // Before its body is read, no request changes anything.
  expect(refusalInOutage(away, null)).toMatchObject({ code: 'UNAVAILABLE' })
  expect(refusalInOutage(away, { changed: true })).toBeUndefined()
  expect(refusalInOutage(coded('23505'), { changed: false })).toBeUndefined()
})

test('pg still says that a connection cannot be used in the words that we look for', async () => {
  const client = new pg.Client(database.url)
  await client.connect()
  await client.end()
  await expect(client.query('select 1')).rejects.toThrow(/and is not queryable$/)
})
