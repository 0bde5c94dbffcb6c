import { PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { silentLog } from '../ground/log.ts'
import { copyValues } from './copy-out.ts'
import { type Db, openDb } from './pool.ts'
import { statement } from './statement.ts'

const textOf = async (parts: AsyncIterable<Buffer>): Promise<string> => {
  const all: Buffer[] = []
  for await (const part of parts) all.push(part)
  return Buffer.concat(all).toString()
}

const message = (type: string, body: Buffer): Buffer => {
  const header = Buffer.alloc(5)
  header.write(type)
  header.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([header, body])
}

const row = (value: string | null): Buffer => {
  const bytes = Buffer.from(value ?? '')
  const header = Buffer.alloc(6)
  header.writeInt16BE(1)
  header.writeInt32BE(value === null ? -1 : bytes.length, 2)
  return Buffer.concat([header, bytes])
}

const begin = [
  message('H', Buffer.from([1, 0, 1, 0, 1])),
  message('d', Buffer.concat([Buffer.from('PGCOPY\n'), Buffer.alloc(12)])),
]
const end = message('d', Buffer.from([255, 255]))
const after = Buffer.concat([
  message('c', Buffer.alloc(0)),
  message('C', Buffer.from('COPY 3\0')),
  message('Z', Buffer.from('I')),
])

/** A driver whose server sends these chunks. `parsed` is what it reads itself. */
const fakeClient = (chunks: Buffer[]) => {
  const stream = new PassThrough()
  const parsed: Buffer[] = []
  stream.on('data', (chunk) => parsed.push(chunk))
  const client = {
    query: (query: pg.Submittable & { handleReadyForQuery(): void }) => {
      query.submit({ stream, query: () => undefined } as unknown as pg.Connection)
      for (const chunk of chunks) stream.emit('data', chunk)
      query.handleReadyForQuery()
      return query
    },
  }
  return { client: client as unknown as pg.Client, parsed: () => Buffer.concat(parsed) }
}

const anyRows = statement<object, { value: string }>('test.any_rows', 'select value from rows')

describe('the bytes of the server', () => {
  test('give the same values wherever a chunk ends, and the driver gets what comes after', async () => {
    const values = fc.array(fc.option(fc.string({ unit: 'grapheme' })), { maxLength: 8 })
    const cuts = fc.array(fc.nat({ max: 60 }), { maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(values, cuts, fc.boolean(), async (rows, sizes, notice) => {
        const between = notice ? [message('N', Buffer.from('SNOTICE\0\0'))] : []
        const bytes = Buffer.concat([
          ...begin,
          ...rows.flatMap((value) => [...between, message('d', row(value))]),
          end,
          after,
        ])
        const chunks: Buffer[] = []
        let at = 0
        // A chunk is changed in place, so each has memory of its own.
        for (const size of sizes) {
          chunks.push(Buffer.from(bytes.subarray(at, at + size)))
          at += size
        }
        chunks.push(Buffer.from(bytes.subarray(at)))
        const { client, parsed } = fakeClient(chunks)
        let read = 0
        const counted = (count: number) => {
          read += count
        }
        const text = await textOf(copyValues(client, anyRows, {}, { rowsRead: counted }))
        expect([text, read]).toEqual([rows.join(''), rows.length])
        expect(parsed()).toEqual(after)
      }),
    )
  })
})

describe('a statement', () => {
  let database: TestDatabase
  let db: Db
  beforeAll(async () => {
    database = await makeTestDatabase('empty')
    db = openDb({ url: database.url, log: silentLog(), name: 'copy test' })
  })
  afterAll(async () => {
    await db.close()
    await database.drop()
  })

  let named = 0
  const numbers = (expression: string) =>
    statement<{ last: string }, { value: string }>(
      `test.numbers_${named++}`,
      `select ${expression} as value from generate_series(1, :last::int) n`,
    )

  test('gives its values in order, with null and the empty text as nothing', async () => {
    const client = await db.connect()
    const some = numbers("case n % 3 when 0 then null when 1 then '' else n || 'é;' end")
    expect(await textOf(copyValues(client, some, { last: '9' }))).toBe('2é;5é;8é;')
    expect(await textOf(copyValues(client, some, { last: '0' }))).toBe('')
    expect(await textOf(copyValues(client, numbers("n || ';'"), { last: '200000' }))).toBe(
      Array.from({ length: 200_000 }, (_, i) => `${i + 1};`).join(''),
    )
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await client.end()
  })

  test('that fails on the way rejects, and the connection can be used afterwards', async () => {
    const client = await db.connect()
    for (const expression of ['(1 / (1000 - n))::text', '1 / 0']) {
      await expect(textOf(copyValues(client, numbers(expression), { last: '5000' }))).rejects.toThrow(
        'division by zero',
      )
    }
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await client.end()
  })

  test('is read only as fast as its values are taken, and can be left early', async () => {
    const client = await db.connect()
    let read = 0
    const counted = (count: number) => {
      read += count
    }
    const large = numbers("repeat('x', 1000)")
    const parts = copyValues(client, large, { last: '500000' }, { rowsRead: counted })
    for await (const part of parts) {
      expect(part.length).toBeGreaterThan(0)
      await pause(300)
      break
    }
    expect(read).toBeLessThan(5_000)
    await client.end()
  })

  test('rejects when the connection is cut', async () => {
    const client = await db.connect()
    client.on('error', () => undefined)
    const ended = new Promise<void>((resolve) => client.once('end', resolve))
    const { rows } = await client.query('select pg_backend_pid() as pid')
    const reading = textOf(copyValues(client, numbers('n || pg_sleep(0.01)::text'), { last: '5000' }))
    const rejected = expect(reading).rejects.toThrow(/terminat/i)
    await database.sql('select pg_terminate_backend($1)', [rows[0].pid])
    await rejected
    await ended
  })
})
