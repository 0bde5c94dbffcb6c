/** Arranges a migration so that it locks large tables only for a moment. Small tables, as in a new database, need nothing. */
import type pg from 'pg'
import { wantedIndex } from './run-apart.ts'
import { splitStatements } from './split-statements.ts'

/** A table of this size is read and indexed in a few milliseconds. */
export const largeBytes = 1_048_576

type SplitMigration = {
  /** The text that runs in a transaction. */
  sql: string
  /** Statements that create indexes of large tables or check all rows of them, to be run after it. */
  apart: string[]
}

type LargeTable = { table: string; indexes: string[] }

const largeTables = async (client: pg.ClientBase): Promise<LargeTable[]> => {
  const { rows } = await client.query<LargeTable>(
    `select c.relname as table, array(
       select i.indexrelid::regclass::text from pg_index i where i.indrelid = c.oid) as indexes
     from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and (select sum(pg_relation_size(part)) from (
         select c.oid as part union select relid from pg_partition_tree(c.oid)) as parts) >= $1`,
    [largeBytes],
  )
  return rows
}

const mentions = (statement: string, name: string): boolean => new RegExp(`\\b${name}\\b`, 'i').test(statement)

const createdIndex = ({ table }: LargeTable, statement: string): string | undefined =>
  new RegExp(`^create\\s+(?:unique\\s+)?index\\s+(\\w+)\\s+on\\s+${table}\\b`, 'i').exec(statement)?.[1]

/** A statement that changes only this table, and creates nothing that a statement without its name could use. */
const changesOnly = ({ table, indexes }: LargeTable, statement: string): boolean =>
  new RegExp(`^alter\\s+table\\s+(only\\s+)?${table}\\b`, 'i').test(statement) ||
  createdIndex({ table, indexes }, statement) !== undefined ||
  new RegExp(`^(create|drop)\\s+trigger\\s[^;]*\\son\\s+${table}\\b`, 'i').test(statement) ||
  indexes.some((index) => new RegExp(`^drop\\s+index\\s+${index}$`, 'i').test(statement))

/**
 * The statements that can run at the end of the transaction, because no other statement names their table. Locks are kept
 * until the transaction ends, so a table that is changed last is locked for the shortest time.
 */
const movable = (statements: string[], large: LargeTable[]): Set<string> => {
  const alone = large.filter((one) => {
    const created = statements.flatMap((statement) => createdIndex(one, statement) ?? [])
    const uses = (statement: string) => [one.table, ...created].some((name) => mentions(statement, name))
    return statements.every((statement) => changesOnly(one, statement) || !uses(statement))
  })
  return new Set(statements.filter((statement) => alone.some((one) => changesOnly(one, statement))))
}

/**
 * A new column with a check makes PostgreSQL read every row under the strongest lock. The check can be added without
 * that, and validated while others write. It gets the name that PostgreSQL would choose.
 */
const withCheckApart = (statement: string, large: LargeTable[]): { sql: string; check?: string } => {
  const [, table, column, definition, check] =
    /^alter\s+table\s+(\w+)\s+add\s+column\s+(\w+)\s+([^,()]+?)\s+check\s+(\([^,]*\))$/i.exec(statement) ?? []
  if (!table || !large.some((one) => one.table === table)) return { sql: statement }
  const name = `${table}_${column}_check`
  return {
    sql: `alter table ${table} add column ${column} ${definition}, add constraint ${name} check ${check} not valid`,
    check: `alter table ${table} validate constraint ${name}`,
  }
}

export const splitMigration = async (client: pg.ClientBase, text: string): Promise<SplitMigration> => {
  const large = await largeTables(client)
  if (large.length === 0) return { sql: text, apart: [] }
  const statements = splitStatements(text)
  const indexes = statements.filter((statement, i) => {
    const index = wantedIndex(statement)
    if (!index || !large.some(({ table }) => table === index.table)) return false
    return !statements.slice(i + 1).some((later) => mentions(later, index.name))
  })
  const last = movable(statements, large)
  const rest = statements.filter((statement) => !indexes.includes(statement))
  const ordered = [
    ...rest.filter((statement) => !last.has(statement)),
    ...rest.filter((statement) => last.has(statement)),
  ].map((statement) => withCheckApart(statement, large))
  const checks = ordered.flatMap(({ check }) => check ?? [])
  return { sql: ordered.map(({ sql }) => sql).join(';\n'), apart: [...checks, ...indexes] }
}
