/**
 * Builds indexes and validates checks of large tables after the transaction of their migration. In it, they would block
 * every write to their table until they are done.
 */
import type pg from 'pg'

/** An index that a migration creates: `create index <name> on <table> <definition>`. */
type WantedIndex = { name: string; table: string; definition: string }

const maxNameLength = 63

/** A unique index is not built apart: until it is there, nothing would refuse duplicates. */
export const wantedIndex = (statement: string): WantedIndex | undefined => {
  const [, name, table, definition] = /^create\s+index\s+(\w+)\s+on\s+(\w+)\s+(.+)$/is.exec(statement) ?? []
  return name && table && definition ? { name, table, definition } : undefined
}

type Leaf = { table: string; attached: boolean }

/** The partitions of a table, and whether each has its part of the index. Null if it has no partitions. */
const leavesOf = async (client: pg.ClientBase, { table, name }: WantedIndex): Promise<Leaf[] | null> => {
  const { rows: parents } = await client.query("select from pg_class where oid = $1::regclass and relkind = 'p'", [
    table,
  ])
  if (parents.length === 0) return null
  const { rows } = await client.query<Leaf>(
    `select t.relid::regclass::text as table, exists (
       select from pg_index x join pg_inherits i on i.inhrelid = x.indexrelid
       where x.indrelid = t.relid and i.inhparent = to_regclass($2)) as attached
     from pg_partition_tree($1) t where t.isleaf order by 1`,
    [table, name],
  )
  return rows
}

/** A build that was interrupted leaves an index that is not valid. */
const buildConcurrently = async (client: pg.ClientBase, { name, table, definition }: WantedIndex): Promise<void> => {
  const { rows } = await client.query<{ valid: boolean }>(
    'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)',
    [name],
  )
  if (rows[0]?.valid) return
  await client.query(`drop index concurrently if exists ${name}`)
  await client.query(`create index concurrently ${name} on ${table} ${definition}`)
}

/** Runs statements that need a lock for a moment, and does not wait for it long. */
type Briefly = (statement: string) => Promise<void>

/** Can be repeated after a failure, and continues where it stopped. No transaction is open. */
export const runApart = async (client: pg.ClientBase, statement: string, briefly: Briefly): Promise<void> => {
  const index = wantedIndex(statement)
  if (!index) {
    // The validation of a check: it lets others read and write.
    await client.query(statement)
    return
  }
  const { name, table, definition } = index
  const leaves = await leavesOf(client, index)
  if (!leaves) return buildConcurrently(client, index)
  // PostgreSQL cannot build the index of a partitioned table concurrently, but each of its parts. Partitions that are
  // created from here on have the index from the start.
  await briefly(`create index if not exists ${name} on only ${table} ${definition}`)
  for (const leaf of (await leavesOf(client, index)) ?? []) {
    if (leaf.attached) continue
    const part = `${leaf.table}_${name.replace(`${table}_`, '')}`.slice(0, maxNameLength)
    await buildConcurrently(client, { name: part, table: leaf.table, definition })
    await briefly(`alter index ${name} attach partition ${part}`)
  }
}
