/** Tables of customers can be distributed by org, because every statement names the org of the rows it reads. */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isStore } from '../../scripts/architecture.ts'
import { declaredStatements } from '../../src/platform/db/statement.ts'
import { makeTestDatabase, type TestDatabase } from '../service/database.ts'
import { acrossOrgs } from './across-orgs.ts'

const source = join(import.meta.dirname, '../../src')

type PlanNode = {
  'Node Type': string
  'Relation Name'?: string
  Alias?: string
  Output?: string[]
  'Parent Relationship'?: string
  Plans?: PlanNode[]
}

const conditions = ['Index Cond', 'Recheck Cond', 'Filter', 'Join Filter', 'Hash Cond', 'Merge Cond']

let database: TestDatabase
let client: pg.Client
/** Tables with an `org_id`, and their partitions. */
let customerTables: Set<string>

beforeAll(async () => {
  const stores = globSync('**/*.ts', { cwd: source }).filter((file) => isStore(file) && !file.endsWith('.test.ts'))
  for (const file of stores) await import(join(source, file))
  database = await makeTestDatabase()
  client = new pg.Client(database.url)
  await client.connect()
  // Plans with parameters, and with conditions at the table instead of in a join.
  await client.query(`set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_hashjoin = off;
    set enable_mergejoin = off; set enable_material = off`)
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'org_id'
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')`,
  )
  customerTables = new Set(rows.map(({ name }) => name))
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

const planOf = async (text: string): Promise<PlanNode> => {
  await client.query(`prepare read_statement as ${text}`)
  try {
    const { rows } = await client.query<{ params: number }>(
      "select cardinality(parameter_types) as params from pg_prepared_statements where name = 'read_statement'",
    )
    const nulls = new Array(rows[0]?.params ?? 0).fill('null').join(', ')
    const explained = await client.query(
      `explain (verbose, format json) execute read_statement${nulls && ` (${nulls})`}`,
    )
    return explained.rows[0]['QUERY PLAN'][0].Plan
  } finally {
    await client.query('deallocate read_statement')
  }
}

const conditionsOf = (node: PlanNode): string =>
  conditions.map((name) => (node as unknown as Record<string, string | undefined>)[name] ?? '').join(' ')

/** The conditions of a scan. Those of a bitmap are in the nodes below it. */
const ownConditions = (node: PlanNode): string =>
  [node, ...(node.Plans ?? []).filter((below) => below['Node Type'].startsWith('Bitmap'))]
    .map((part) => (part === node ? conditionsOf(part) : ownConditions(part)))
    .join(' ')

/** Tables of customers that a plan reads without a condition on the org. */
const withoutOrg = (node: PlanNode, above: PlanNode[] = []): string[] => {
  const below = (node.Plans ?? []).flatMap((child) => withoutOrg(child, [...above, node]))
  const { 'Relation Name': table, Alias: alias = table, Output: output = [] } = node
  if (table === undefined || !node['Node Type'].includes('Scan') || !customerTables.has(table)) return below
  const column = new RegExp(`\\b${alias}\\.org_id\\b`)
  const isBound =
    column.test(ownConditions(node)) ||
    above.some((parent) => column.test(conditionsOf(parent))) ||
    // A subplan that is read once into a hash table is compared by the columns that it returns.
    ([...above, node].some((part) => part['Parent Relationship'] === 'SubPlan') &&
      output.some((part) => column.test(part)))
  return isBound ? below : [table, ...below]
}

const ofStores = () =>
  declaredStatements().filter(({ name }) => !name.startsWith('test.') && !name.startsWith('exports.lines_of_'))

test('Every statement names the org of the rows that it reads, except those that are listed with a reason', async () => {
  const listed = new Set(Object.values(acrossOrgs).flat())
  const unlisted: string[] = []
  for (const { name, text } of ofStores()) {
    const tables = listed.has(name) ? [] : withoutOrg(await planOf(text))
    if (tables.length > 0) unlisted.push(`${name} reads ${tables.join(', ')} without org_id`)
  }
  expect(unlisted).toEqual([])
  const declared = new Set(ofStores().map(({ name }) => name))
  expect([...listed].filter((name) => !declared.has(name))).toEqual([])
})

test.each([
  ['a scan without the org', 'select id from messages where id = $1', true],
  [
    'a join without the org',
    'select m.id from messages m join tenants t on t.id = m.tenant_id where m.org_id = $1',
    true,
  ],
  [
    'a subquery without the org',
    'select 1 from tenants t where t.org_id = $1 and t.id in (select tenant_id from jobs)',
    true,
  ],
  ['an update without the org', 'update tenants set name = $1 where id = $2', true],
  ['a row of an org', 'select id from messages where org_id = $1 and id = $2', false],
  [
    'a join by org',
    'select 1 from messages m join tenants t on t.org_id = m.org_id and t.id = m.tenant_id where m.org_id = $1',
    false,
  ],
  [
    'rows of several orgs that are named',
    'select id from tenants where (org_id, id) in (select * from unnest($1::text[], $2::text[]))',
    false,
  ],
])('The check judges %s', async (_, text, isFault) => {
  expect(withoutOrg(await planOf(text)).length > 0).toBe(isFault)
})
