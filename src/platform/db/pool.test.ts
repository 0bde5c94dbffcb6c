import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startFreezingProxy } from '../../../test/servers/freezing-proxy.ts'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { silentLog } from '../ground/log.ts'
import { assertNotInTransaction, type Db, inTransaction, openDb, type Tx } from './pool.ts'
import { type NoParams, statement } from './statement.ts'

const insert = statement<{ note: string }>('test.insert', 'insert into notes (note) values (:note)')
const insertReturning = statement<{ note: string }, { id: number }>(
  'test.insert_returning',
  'insert into notes (note) values (:note) returning id',
)
const insertAs = statement<{ id: number; note: string }>(
  'test.insert_as',
  'insert into notes (id, note) overriding system value values (:id, :note)',
)
const all = statement<NoParams, { note: string }>('test.all', 'select note from notes order by id')
const find = statement<{ note: string }, { note: string }>(
  'test.find',
  'select note from notes where note = :note order by id',
)
const rename = statement<{ from: string; to: string }>('test.rename', 'update notes set note = :to where note = :from')
const backend = statement<NoParams, { pid: number }>('test.backend', 'select pg_backend_pid() as pid')
const asBigint = statement<{ text: string }, { value: number }>('test.int8', 'select :text::int8 as value')
/** What a connection to a former primary is like. */
const readOnly = statement<NoParams, { value: string }>(
  'test.read_only',
  "select set_config('default_transaction_read_only', 'on', false) as value",
)
const nap = statement<NoParams, { slept: string }>('test.nap', 'select pg_sleep(30)::text as slept')

let database: TestDatabase
let db: Db

const notes = async (): Promise<string[]> =>
  (await database.sql<{ note: string }>('select note from notes order by id')).map((row) => row.note)

const terminate = (pid: number) => database.sql('select pg_terminate_backend($1, 5000)', [pid])

/** Ends every session of the pool under test. */
const terminateAll = () =>
  database.sql(`select pg_terminate_backend(pid, 5000) from pg_stat_activity
    where datname = current_database() and application_name = 'pool test'`)

beforeAll(async () => {
  database = await makeTestDatabase('empty')
  await database.sql('create table notes (id int generated always as identity primary key, note text not null)')
  db = openDb({ url: database.url, log: silentLog(), poolSize: 3, name: 'pool test' })
})

beforeEach(() => database.sql('truncate notes restart identity'))

afterAll(async () => {
  await db.close()
  await database.drop()
})

describe('a statement', () => {
  test('returns all rows, the first row or undefined, or the number of changed rows', async () => {
    expect(await db.change(insert, { note: 'a' })).toBe(1)
    await db.change(insert, { note: 'a' })
    expect(await db.rows(find, { note: 'a' })).toEqual([{ note: 'a' }, { note: 'a' }])
    expect(await db.row(find, { note: 'a' })).toEqual({ note: 'a' })
    expect(await db.row(find, { note: 'b' })).toBeUndefined()
    expect(await db.change(rename, { from: 'a', to: 'b' })).toBe(2)
    expect(await db.change(rename, { from: 'a', to: 'b' })).toBe(0)
  })

  test('reads a bigint as a number and throws when it is not a safe integer', async () => {
    const { MAX_SAFE_INTEGER: most, MIN_SAFE_INTEGER: least } = Number
    for (const value of [0, -1, 2 ** 31, most, least]) {
      expect(await db.row(asBigint, { text: String(value) })).toEqual({ value })
    }
    for (const text of ['9007199254740992', '-9007199254740993', '9223372036854775807']) {
      await expect(db.row(asBigint, { text })).rejects.toThrow(
        `the bigint ${text} from the database is not a safe integer`,
      )
    }
    expect(await db.row(asBigint, { text: '7' })).toEqual({ value: 7 })
  })

  test('is prepared once per connection', async () => {
    await db.tx(async (tx) => {
      for (const note of ['a', 'b']) await tx.row(find, { note })
      const { pid } = (await tx.row(backend))!
      expect(pid).toBeGreaterThan(0)
      const prepared = await tx.rows(
        statement<NoParams, { name: string }>('test.prepared', `select name from pg_prepared_statements order by name`),
      )
      expect(prepared.filter(({ name }) => name === 'test.find')).toHaveLength(1)
    })
  })
})

describe('a transaction', () => {
  test('commits its work and returns its result', async () => {
    const result = await db.tx(async (tx) => {
      await tx.change(insert, { note: 'a' })
      expect(await notes()).toEqual([])
      await tx.change(insert, { note: 'b' })
      return 'done'
    })
    expect(result).toBe('done')
    expect(await notes()).toEqual(['a', 'b'])
  })

  test('is rolled back when its work throws, before its first await or later', async () => {
    const late = db.tx(async (tx) => {
      await tx.change(insert, { note: 'a' })
      throw new Error('late')
    })
    await expect(late).rejects.toThrow('late')
    const early = db.tx(() => {
      throw new Error('early')
    })
    await expect(early).rejects.toThrow('early')
    expect(await notes()).toEqual([])
    expect(inTransaction()).toBe(false)
  })

  test('is rolled back when one of its statements fails', async () => {
    const failing = db.tx(async (tx) => {
      await tx.change(insertAs, { id: 1, note: 'a' })
      await tx.change(insertAs, { id: 1, note: 'b' })
    })
    await expect(failing).rejects.toMatchObject({ code: '23505' })
    expect(await notes()).toEqual([])
  })

  test('throws when its work ignored the failure of a statement', async () => {
    const swallowing = db.tx(async (tx) => {
      await tx.change(insertAs, { id: 1, note: 'a' })
      await tx.change(insertAs, { id: 1, note: 'b' }).catch(() => undefined)
      return 'done'
    })
    await expect(swallowing).rejects.toThrow(
      'the transaction was rolled back at commit because one of its statements had failed',
    )
    expect(await notes()).toEqual([])
  })

  test('leaves its connection usable after it fails', async () => {
    const one = openDb({ url: database.url, log: silentLog(), poolSize: 1 })
    await expect(one.tx((tx) => tx.change(insertAs, { id: 1, note: null as unknown as string }))).rejects.toMatchObject(
      {
        code: '23502',
      },
    )
    expect(await one.change(insert, { note: 'after' })).toBe(1)
    await one.tx((tx) => tx.change(insert, { note: 'and again' }))
    await one.close()
    expect(await notes()).toEqual(['after', 'and again'])
  })

  test('rejects statements outside it, a second transaction and a separate connection', async () => {
    await db.tx(async (tx) => {
      await expect(db.rows(all)).rejects.toThrow('a statement on another connection inside a database transaction')
      await expect(db.tx(async () => undefined)).rejects.toThrow('a second transaction inside a database transaction')
      await expect(db.connect()).rejects.toThrow('a separate connection inside a database transaction')
      await tx.change(insert, { note: 'a' })
    })
    expect(await notes()).toEqual(['a'])
  })

  test('is visible to everything that its work calls, and to nothing concurrent or later', async () => {
    const deep = async () => {
      await sleep(1)
      assertNotInTransaction('a call')
    }
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>()
    const { promise: checked, resolve: check } = Promise.withResolvers<void>()
    const open = db.tx(async () => {
      await expect(deep()).rejects.toThrow('a call inside a database transaction')
      check()
      await finished
    })
    await checked
    await deep()
    finish()
    await open
    await deep()
  })

  test('allows work that outlives it to use the network and the pool, but not the transaction', async () => {
    const { promise: end, resolve: ended } = Promise.withResolvers<void>()
    const outliving = await db.tx(async (tx) => ({
      free: end.then(async () => {
        assertNotInTransaction('a call')
        return db.change(insert, { note: 'later' })
      }),
      late: end.then(() => tx.change(insert, { note: 'too late' })),
      lateSavepoint: end.then(() => tx.savepoint(async () => undefined)),
    }))
    const refused = Promise.all([
      expect(outliving.late).rejects.toThrow('test.insert was called after its transaction ended'),
      expect(outliving.lateSavepoint).rejects.toThrow('savepoint s1 was called after its transaction ended'),
    ])
    ended()
    await outliving.free
    await refused
    expect(await notes()).toEqual(['later'])
  })
})

describe('a savepoint', () => {
  test('rolls back only its own work when it fails', async () => {
    await db.tx(async (tx) => {
      await tx.change(insert, { note: 'before' })
      await expect(
        tx.savepoint(async () => {
          await tx.change(insert, { note: 'inside' })
          throw new Error('no')
        }),
      ).rejects.toThrow('no')
      await tx.change(insert, { note: 'after' })
    })
    expect(await notes()).toEqual(['before', 'after'])
  })

  test('makes the transaction usable again after a failed statement', async () => {
    await db.tx(async (tx) => {
      await tx.change(insertAs, { id: 7, note: 'first' })
      await expect(tx.savepoint(() => tx.change(insertAs, { id: 7, note: 'second' }))).rejects.toMatchObject({
        code: '23505',
      })
      await tx.change(insertAs, { id: 8, note: 'third' })
    })
    expect(await notes()).toEqual(['first', 'third'])
  })

  test('returns its result, can be nested, and is rolled back with its transaction', async () => {
    const nested = async (tx: Tx) => {
      const id = await tx.savepoint(async () => {
        await tx
          .savepoint(async () => {
            await tx.change(insert, { note: 'inner' })
            throw new Error('inner only')
          })
          .catch(() => undefined)
        return (await tx.row(insertReturning, { note: 'outer' }))!.id
      })
      expect(id).toBeGreaterThan(0)
    }
    await db.tx(nested)
    expect(await notes()).toEqual(['outer'])
    const rolledBack = db.tx(async (tx) => {
      await nested(tx)
      throw new Error('all of it')
    })
    await expect(rolledBack).rejects.toThrow('all of it')
    expect(await notes()).toEqual(['outer'])
  })

  test('reports the first error when the connection is lost inside it', async () => {
    const lost = db.tx((tx) =>
      tx.savepoint(async () => {
        const { pid } = (await tx.row(backend))!
        await terminate(pid)
        await tx.change(insert, { note: 'a' })
      }),
    )
    await expect(lost).rejects.toThrow(/terminat|connection/i)
  })
})

describe('work after the commit', () => {
  test('runs once the transaction has committed', async () => {
    const seen: string[] = []
    await db.tx(async (tx) => {
      tx.afterCommit(() => seen.push('first'))
      await tx.savepoint(async () => tx.afterCommit(() => seen.push('second')))
      expect(seen).toEqual([])
    })
    expect(seen).toEqual(['first', 'second'])
  })

  test('does not run when the transaction or its savepoint is rolled back', async () => {
    const seen: string[] = []
    const failing = async (tx: Tx) => {
      tx.afterCommit(() => seen.push('lost'))
      throw new Error('no')
    }
    await expect(db.tx(failing)).rejects.toThrow('no')
    await db.tx(async (tx) => {
      await expect(tx.savepoint(() => failing(tx))).rejects.toThrow('no')
      tx.afterCommit(() => seen.push('kept'))
    })
    expect(seen).toEqual(['kept'])
  })
})

describe('a lost connection', () => {
  test('during a statement fails the transaction and is not returned to the pool', async () => {
    const one = openDb({ url: database.url, log: silentLog(), poolSize: 1 })
    let lostPid = 0
    const lost = one.tx(async (tx) => {
      lostPid = (await tx.row(backend))!.pid
      await tx.change(insert, { note: 'a' })
      await Promise.all([tx.row(nap), terminate(lostPid)])
    })
    await expect(lost).rejects.toMatchObject({ code: '57P01' })
    expect((await one.row(backend))!.pid).not.toBe(lostPid)
    expect(await notes()).toEqual([])
    await one.close()
  })

  test('between two statements fails the transaction, is not reused and does not end the process', async () => {
    const one = openDb({ url: database.url, log: silentLog(), poolSize: 1 })
    let lostPid = 0
    const lost = one.tx(async (tx) => {
      lostPid = (await tx.row(backend))!.pid
      await tx.change(insert, { note: 'a' })
      await terminate(lostPid)
      // Time for the driver to notice while no statement is under way.
      await sleep(50)
    })
    await expect(lost).rejects.toThrow(/connection|terminat/i)
    expect((await one.row(backend))!.pid).not.toBe(lostPid)
    expect(await notes()).toEqual([])
    await one.close()
  })

  test('to a server that stopped replying is replaced, for single statements and for transactions', async () => {
    const proxy = await startFreezingProxy(database.url)
    const one = openDb({ url: proxy.url, log: silentLog(), poolSize: 1, replyTimeoutMs: 300 })
    const first = (await one.row(backend))!.pid
    proxy.freeze()
    await expect(one.change(insert, { note: 'unanswered' })).rejects.toThrow('Query read timeout')
    const second = (await one.row(backend))!.pid
    expect(second).not.toBe(first)
    const lost = one.tx(async (tx) => {
      await tx.change(insert, { note: 'rolled back' })
      proxy.freeze()
      await tx.change(insert, { note: 'unanswered' })
    })
    await expect(lost).rejects.toThrow('Query read timeout')
    expect((await one.row(backend))!.pid).not.toBe(second)
    await one.close()
    await proxy.close()
    expect(await notes()).toEqual([])
  })

  test('to a server that became read-only is replaced, for single statements and for transactions', async () => {
    const one = openDb({ url: database.url, log: silentLog(), poolSize: 1 })
    const makeReadOnly = () => one.row(readOnly)
    const first = (await one.row(backend))!.pid
    await makeReadOnly()
    await expect(one.change(insert, { note: 'a' })).rejects.toMatchObject({ code: '25006' })
    const second = (await one.row(backend))!.pid
    await makeReadOnly()
    await expect(one.tx((tx) => tx.change(insert, { note: 'b' }))).rejects.toMatchObject({ code: '25006' })
    await one.tx((tx) => tx.change(insert, { note: 'c' }))
    const third = (await one.row(backend))!.pid
    expect(new Set([first, second, third]).size).toBe(3)
    expect(await notes()).toEqual(['c'])
    await one.close()
  })

  test('outside the pool does not end the process', async () => {
    const client = await db.connect()
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    await terminate(rows[0]!.pid)
    await expect(client.query('select 1')).rejects.toThrow(/connection|terminat/i)
    await client.end().catch(() => undefined)
  })

  test('is replaced when every connection is lost at once', async () => {
    await Promise.all([1, 2, 3].map(() => db.tx((tx) => tx.row(backend))))
    await terminateAll()
    await expect.poll(() => db.row(asBigint, { text: '1' }).catch(() => 'still down')).toEqual({ value: 1 })
    const results = await Promise.all(Array.from({ length: 20 }, (_, i) => db.row(asBigint, { text: String(i) })))
    expect(results).toEqual(Array.from({ length: 20 }, (_, value) => ({ value })))
    await db.tx((tx) => tx.change(insert, { note: 'works again' }))
    expect(await notes()).toEqual(['works again'])
  })
})
