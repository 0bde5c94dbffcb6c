import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { fieldsOfRows, packed, packedColumns } from './packed-rows.ts'
import { queryOf, statement } from './statement.ts'

type Row = {
  id: string
  at?: string
  words?: string[]
  numbers?: number[]
  json?: unknown
  yes?: boolean
  more?: string
}

const { selected, pack } = packedColumns<Row>({
  id: packed.text(({ id }) => id),
  at: packed.time(({ at }) => at),
  words: packed.texts(({ words }) => words),
  numbers: packed.numbers(({ numbers }) => numbers),
  json: packed.json(({ json }) => json),
  yes: packed.flag(({ yes }) => yes),
  more: packed.text(({ more }) => more),
})
const unpack = statement<ReturnType<typeof pack>, Row>('test.unpack', `select ${selected} from ${fieldsOfRows}`)

let database: TestDatabase
let client: pg.Client
beforeAll(async () => {
  database = await makeTestDatabase()
  client = new pg.Client(database.url)
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

const roundTrip = async (rows: Row[]): Promise<unknown[]> => (await client.query(queryOf(unpack, pack(rows)))).rows
const nulls = { at: null, words: null, numbers: null, json: null, yes: null, more: null }

test('rows arrive with their types, and absent values are null wherever they are', async () => {
  const at = '2026-11-18T03:37:47.067Z'
  const rows: Row[] = [
    { id: 'a', at, words: ['b', 'c'], numbers: [-1, 2], json: { d: ['e', null] }, yes: false, more: 'f' },
    { id: 'g' },
    { id: 'h', more: 'i' },
    { id: 'j', words: [], json: 'k', yes: true },
  ]
  expect(await roundTrip(rows)).toEqual([
    { ...rows[0], at: new Date(at) },
    { ...nulls, id: 'g' },
    { ...nulls, id: 'h', more: 'i' },
    { ...nulls, id: 'j', words: [], json: 'k', yes: true },
  ])
})

test.each([
  ['an empty text', ''],
  ['quotes and backslashes', `"\\"'{},NULL`],
  ['the word null', 'null'],
  ['line ends and tabs', 'a\r\n\tb'],
  ['letters of other scripts', 'ação 日本 😀'],
  ['the mark of fields', 'a\u001fb'],
  ['the mark of rows', '\u001e'],
])('%s stays the same in every type', async (_, value) => {
  const row = { id: value, words: [value, 'NULL'], json: { [`a${value}`]: value }, more: value }
  expect(await roundTrip([row, { id: 'next' }, row])).toEqual([
    { ...nulls, ...row },
    { ...nulls, id: 'next' },
    { ...nulls, ...row },
  ])
})

test('marks that a value contains are replaced by marks that nobody can know', () => {
  const marksOf = (id: string) => {
    const { rows: _, ...marks } = pack([{ id }])
    return Object.values(marks)
  }
  expect(marksOf('a')).toEqual(marksOf('b'))
  expect(marksOf('a\u001f')).not.toEqual(marksOf('a\u001f'))
  expect(marksOf('a\u001f')[0]).toMatch(/^[0-9a-f]{32}r$/)
})
