import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isStore } from '../../../scripts/architecture.ts'
import { declaredParams } from '../../../scripts/statement-params.ts'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { declaredStatements, type NoParams, queryOf, statement } from './statement.ts'

const source = join(import.meta.dirname, '../..')
const files = globSync('**/*.ts', { cwd: source }).filter((file) => !file.endsWith('.test.ts'))
const stores = files.filter(isStore)

const withoutComments = (text: string): string =>
  text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '')

const declares = (text: string): boolean => /\bstatement\s*[<(]/.test(withoutComments(text))

let database: TestDatabase
let client: pg.Client

/** The plan of PostgreSQL for the statement on the migrated schema, without running it. */
const planOf = async (text: string): Promise<string> => {
  await client.query(`prepare checked_statement as ${text}`)
  try {
    // Some errors, such as a conflict target without an index, appear only in planning.
    const { rows } = await client.query<{ params: number }>(
      "select cardinality(parameter_types) as params from pg_prepared_statements where name = 'checked_statement'",
    )
    const nulls = new Array(rows[0]!.params).fill('null').join(', ')
    const plan = await client.query(`explain (format json) execute checked_statement${nulls && ` (${nulls})`}`)
    return JSON.stringify(plan.rows)
  } finally {
    await client.query('deallocate checked_statement')
  }
}

/** The error of PostgreSQL when it parses and plans the statement. */
const errorOf = (text: string): Promise<string | undefined> =>
  planOf(text).then(
    () => undefined,
    (error: Error) => error.message,
  )

/** What these write is no effect of a request. */
const unseenStatements = new Set([
  'accounts.touch_sessions',
  'idempotency.claim',
  'idempotency.free',
  'idempotency.free_interrupted',
  'idempotency.free_unused',
  'idempotency.record',
  'idempotency.record_provisional',
  'keys.touch',
  'oauth.touch_grants',
  'oauth.use_client',
  'scim.mark_token_used',
  'signin.claim_unlock_mail',
  'signin.count_guess',
  'signin.drop_old_attempts',
  'signin.insert_attempt',
  'signin.release_unlock_mail',
  'signin.take_back_guess',
  'usage.lease',
  'usage.release',
  'usage.reserve',
  'usage.return_lease',
  'usage.settle',
])

beforeAll(async () => {
  for (const file of stores) await import(join(source, file))
  database = await makeTestDatabase()
  client = new pg.Client(database.url)
  await client.connect()
  await client.query('set plan_cache_mode = force_generic_plan')
})

afterAll(async () => {
  await client.end()
  await database.drop()
})

/** Statements of tests are declared in the same worker and start with `test.`. */
/** One call makes the statements of every exported type, when an export needs them. */
const isOfExport = (name: string): boolean => name.startsWith('exports.lines_of_')

const ofStores = () => declaredStatements().filter(({ name }) => !name.startsWith('test.') && !isOfExport(name))

describe('the statements of the service', () => {
  test('are declared in stores only', () => {
    const elsewhere = files.filter(
      (file) =>
        !stores.includes(file) &&
        file !== join('db', 'statement.ts') &&
        declares(readFileSync(join(source, file), 'utf8')),
    )
    expect(elsewhere).toEqual([])
  })

  test('are all registered once the stores are loaded', () => {
    const written = stores.flatMap((file) => [
      ...withoutComments(readFileSync(join(source, file), 'utf8')).matchAll(/\bstatement\s*[<(]/g),
    ])
    expect(written.length).toBeGreaterThan(20)
    const forExports = 1
    expect(ofStores()).toHaveLength(written.length - forExports)
  })

  test('are valid on the migrated schema', async () => {
    const faults: string[] = []
    for (const { name, text } of ofStores()) {
      const error = await errorOf(text)
      if (error !== undefined) faults.push(`${name}: ${error}`)
    }
    expect(faults).toEqual([])
  })

  test('that are said to change nothing write no table and call none of our functions that do', async () => {
    const { rows: functions } = await client.query<{ name: string }>(
      `select p.proname as name from pg_proc p
       where p.pronamespace = 'public'::regnamespace and p.provolatile = 'v' and p.prorettype <> 'trigger'::regtype`,
    )
    const writers = new RegExp(`\\b(?:${functions.map(({ name }) => name).join('|')})\\(`)
    const faults: string[] = []
    for (const { name, text, changes } of ofStores()) {
      const writes = writers.test(text) || (await planOf(text)).includes('"ModifyTable"')
      if (writes && !changes && !unseenStatements.has(name)) faults.push(name)
      if (!writes && unseenStatements.has(name)) faults.push(`${name} only reads`)
    }
    expect(functions.length).toBeGreaterThan(3)
    expect(faults).toEqual([])
  })

  test('use exactly the parameters that their type declares', () => {
    const declared = new Map(stores.flatMap((file) => [...declaredParams(join(source, file))]))
    const faults = ofStores().flatMap(({ name, params }) => {
      const expected = declared.get(name)
      if (!expected) return [`${name} is not declared in a store`]
      const unknown = params.filter((param) => !expected.includes(param)).map((param) => `${name} uses :${param}`)
      const unused = expected.filter((param) => !params.includes(param)).map((param) => `${name} never uses ${param}`)
      return [...unknown, ...unused]
    })
    expect(faults).toEqual([])
  })

  test('have names that start with their module', () => {
    for (const { name } of ofStores()) expect(name).toMatch(/^[a-z_]+\.[a-z0-9_]+$/)
  })
})

describe('these checks find', () => {
  test.each([
    ['an unknown column', 'select nothing from orgs', 'column "nothing" does not exist'],
    ['an unknown table', 'select 1 from nowhere', 'relation "nowhere" does not exist'],
    ['a type mismatch', 'select 1 from orgs where created_at = 5', 'operator does not exist'],
    [
      'a conflict target without an index',
      'insert into orgs (id) values ($1) on conflict (plan) do nothing',
      'no unique or exclusion constraint',
    ],
    ['a parameter without a type', 'select $1 is null', 'could not determine data type of parameter $1'],
    ['a syntax error', 'selct 1', 'syntax error'],
  ])('%s', async (_, text, error) => {
    expect(await errorOf(text)).toContain(error)
    expect(await errorOf('select id from orgs where id = $1')).toBeUndefined()
  })

  test('a statement declared outside a store', () => {
    expect(declares("const a = statement<[id: string]>('a', 'select 1')")).toBe(true)
    expect(declares("const a = statement('a', 'select 1')")).toBe(true)
    expect(declares('const a = statement<\n  [id: string]\n>(')).toBe(true)
    expect(declares('/** A statement (or two). */\n// a statement (no)\nimport type { Statement } from')).toBe(false)
  })
})

describe('named parameters', () => {
  test('become placeholders in the order of first use, one for each name', () => {
    const made = statement<{ orgId: string; id: string }>(
      'test.named',
      'select 1 from orgs where id = :orgId and slug = :id and name = :orgId',
    )
    expect(made.text).toBe('select 1 from orgs where id = $1 and slug = $2 and name = $1')
    expect(queryOf(made, { id: 'b', orgId: 'a' })).toEqual({ name: 'test.named', text: made.text, values: ['a', 'b'] })
  })

  test('are not recognised in casts, quoted text and comments', () => {
    const made = statement<{ at: Date }>(
      'test.colons',
      "select ':no', 'it''s :no', 1::int -- :no\n where :at::timestamptz is null",
    )
    expect(made.text).toBe("select ':no', 'it''s :no', 1::int -- :no\n where $1::timestamptz is null")
    expect(made.params).toEqual(['at'])
  })

  test('are optional', () => {
    expect(queryOf(statement<NoParams>('test.none', 'select 1'))).toEqual({
      name: 'test.none',
      text: 'select 1',
      values: [],
    })
  })
})

describe('a declaration', () => {
  test('is rejected when its name already has another text, and can be repeated', () => {
    const made = statement('test.twice', 'select 1')
    expect(statement('test.twice', 'select 1')).toEqual(made)
    expect(() => statement('test.twice', 'select 2')).toThrow('two statements are named test.twice')
  })

  test('is rejected when PostgreSQL would truncate its name', () => {
    expect(() => statement(`test.${'n'.repeat(59)}`, 'select 1')).toThrow('longer than 63 bytes')
    expect(() => statement(`test.${'é'.repeat(30)}`, 'select 1')).toThrow('longer than 63 bytes')
    expect(statement(`test.${'n'.repeat(58)}`, 'select 1').name).toHaveLength(63)
  })
})
