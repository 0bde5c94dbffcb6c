/**
 * Removes the rows of past months. A month from which every row goes is dropped. One of which few rows stay is emptied, and
 * gets these back. Neither locks for longer with more rows, and neither leaves dead rows. Only from a month of which many
 * rows stay, and from the default partition, rows are deleted.
 */
import type pg from 'pg'
import type { Log } from '../ground/log.ts'
import { isLocked, whenUnlocked, withBriefLocks } from './brief-locks.ts'
import { holdLock, withSchemaLock } from './migrate.ts'
import { type Month, monthOfPartition, timeLiteral } from './months.ts'
import type { Db } from './pool.ts'
import { largeBytes } from './split-migration.ts'
import { monthPartitions } from './store.ts'

/** Longer than most backups. A run removes up to three tables, and has to end within an hour. */
const defaultPatienceMs = 15 * 60_000
const pauseMs = 5_000

/** Any fixed number works: every process that removes months acquires the same lock. */
const removalLockId = 7_134_250_912

/** These are copied while readers of the month wait. */
const mostRestored = 5_000

/** Which rows of a table stay, as SQL about a row `r`. A change that makes a row stay must not be possible any more. */
export type RowRules = {
  table: string
  /** The key of a row besides its org and its id. It decides about the month. */
  timeColumn: string
  /** True or false, never null. */
  stays: string
  /** A part of `stays` that an index finds. It is looked for once more under the lock. */
  open: string
  /** Stores something about the rows that go, in the transaction that removes them. */
  record?: {
    /** Selects it from rows. Those that stay may be among them. */
    collect: (rows: string) => string
    store: (collected: string) => string
  }
}

export type Removed = { rows: number; months: number }

type Partition = { name: string; month: Month }
type Seen = { total: number; staying: number; stayingBytes: number; bytes: number }
type Change = { client: pg.ClientBase; partition: Partition; rules: RowRules }

/** A row that has to stay appeared after the month was read. The month is left to the next run. */
class MonthInUseFault extends Error {}

const collected = 'collected_of_month'
const keys = 'staying_keys_of_month'
const rows = 'staying_rows_of_month'

/** Reads the whole month, but locks nothing. */
const look = async ({ client, partition: { name }, rules: { stays } }: Change): Promise<Seen> => {
  const { rows: found } = await client.query<Seen>(
    `select count(*) as total, count(size) as staying, coalesce(sum(size), 0)::float8 as "stayingBytes",
       pg_table_size('${name}')::float8 as bytes
     from (select case when ${stays} then pg_column_size(r) end as size from ${name} r offset 0) as sizes`,
  )
  return found[0]!
}

const makeTemporary = async (client: pg.ClientBase, name: string, query: string): Promise<void> => {
  await client.query(`drop table if exists pg_temp.${name}`)
  await client.query(`create temp table ${name} as ${query}`)
}

/** What a change needs to know and takes long to read, so that it is read before the lock. */
const prepare = async ({ client, partition: { name }, rules }: Change, { staying }: Seen): Promise<void> => {
  const { timeColumn, stays, record } = rules
  if (record) await makeTemporary(client, collected, record.collect(name))
  const condition = staying === 0 ? 'false' : stays
  await makeTemporary(client, keys, `select org_id, id, ${timeColumn} as at from ${name} r where ${condition}`)
}

const assertNoneOpen = async ({ client, partition: { name }, rules: { open } }: Change): Promise<void> => {
  const { rows: found } = await client.query(
    `select from ${name} r
     where ${open} and not exists (select from ${keys} k where k.org_id = r.org_id and k.id = r.id)
     limit 1`,
  )
  if (found.length > 0) throw new MonthInUseFault('a row of the month has to stay')
}

const storeCollected = async ({ client, rules: { record } }: Change): Promise<void> => {
  if (record) await client.query(record.store(collected))
}

/**
 * Needs the strongest lock of the table, so nothing may hold its parts any more: statements on the table have finished by
 * then, but a vacuum may not have.
 */
const drop = (change: Change): Promise<void> =>
  withBriefLocks(change.client, async () => {
    const { client, partition, rules } = change
    await storeCollected(change)
    await client.query(`lock table only ${rules.table} in access exclusive mode`)
    await client.query(`lock table ${partition.name}, ${rules.table}_other in access exclusive mode nowait`)
    await assertNoneOpen(change)
    await client.query(`drop table ${partition.name}`)
  })

/** Locks only this month. Sends write to another one. */
const empty = (change: Change): Promise<void> =>
  withBriefLocks(change.client, async () => {
    const { client, partition, rules } = change
    await storeCollected(change)
    await client.query(`lock table ${partition.name} in access exclusive mode`)
    await assertNoneOpen(change)
    await makeTemporary(
      client,
      rows,
      `select r.* from ${keys} k
       join ${partition.name} r on r.org_id = k.org_id and r.id = k.id and r.${rules.timeColumn} = k.at`,
    )
    await client.query(`truncate ${partition.name}`)
    await client.query(`insert into ${partition.name} select * from ${rows}`)
    await client.query(`drop table ${rows}`)
  })

/** Undefined if rows have to be deleted: few go, or many stay. */
const changeFor = ({ staying, stayingBytes, bytes }: Seen): ((change: Change) => Promise<void>) | undefined => {
  if (staying === 0) return drop
  return staying <= mostRestored && bytes >= largeBytes && 2 * stayingBytes < bytes ? empty : undefined
}

/** A block has 8 KB, so this is a few thousand rows. */
const blocksAtOnce = 100

/**
 * Deletes what does not stay, some blocks of the table after the other. So each row is read once, whatever the planner
 * expects of the table. Returns how many rows it deleted.
 */
const deleteRows = async (client: pg.ClientBase, table: string, { stays, record }: RowRules): Promise<number> => {
  const { rows: size } = await client.query<{ blocks: number }>(
    "select pg_relation_size($1::regclass) / current_setting('block_size')::int as blocks",
    [table],
  )
  const stored = record ? `, ${collected} as (${record.collect('gone')}), stored as (${record.store(collected)})` : ''
  let deleted = 0
  for (let from = 0; from < size[0]!.blocks; from += blocksAtOnce) {
    const { rows: found } = await client.query<{ deleted: number }>(
      `with gone as (
         delete from ${table} r
         where r.ctid >= '(${from},0)' and r.ctid < '(${from + blocksAtOnce},0)' and not (${stays})
         returning r.*
       )${stored}
       select count(*) as deleted from gone`,
    )
    deleted += found[0]!.deleted
  }
  return deleted
}

type Needs = {
  db: Db
  log: Log
  /** How long to try to get the locks. */
  patienceMs?: number
}

/** Removes the rows of months that ended before `before`, except those that stay. */
export const removeMonths = async (
  { db, log, patienceMs = defaultPatienceMs }: Needs,
  rules: RowRules,
  before: Date,
): Promise<Removed> => {
  const { table } = rules
  const removed: Removed = { rows: 0, months: 0 }
  const findPast = async (): Promise<Partition[]> =>
    (await db.rows(monthPartitions, { parent: table })).flatMap(({ name }) => {
      const month = monthOfPartition(table, name)
      return month && month.to <= before ? [{ name, month }] : []
    })
  const client = await db.connect()
  const giveUpAt = performance.now() + patienceMs

  const remove = async (partition: Partition): Promise<void> => {
    const change = { client, partition, rules }
    const fields = { table, month: partition.month.from.toISOString().slice(0, 7) }
    const seen = await look(change)
    const { total, staying } = seen
    const make = changeFor(seen)
    if (!make) {
      if (total > staying) removed.rows += await deleteRows(client, partition.name, rules)
      return
    }
    await prepare(change, seen)
    try {
      // The lock only for one attempt, because a process that starts waits for it.
      await whenUnlocked(() => withSchemaLock(client, () => make(change)), {
        patienceMs: giveUpAt - performance.now(),
        pauseMs,
      })
    } catch (error) {
      if (!isLocked(error) && !(error instanceof MonthInUseFault)) throw error
      log.warn({ ...fields, reason: (error as Error).message }, 'month not removed')
      return
    }
    removed.rows += total - staying
    if (make === drop) removed.months++
    log.info({ ...fields, rows: total - staying, staying }, 'month removed')
  }

  try {
    // Reading a month takes longer than a request may, and should not take more than one core from requests.
    await client.query('set statement_timeout = 0; set max_parallel_workers_per_gather = 0')
    await holdLock(client, removalLockId)
    // Another process may have dropped some while this one waited for the lock.
    for (const partition of await findPast()) await remove(partition)
    const isRecent = `r.${rules.timeColumn} >= ${timeLiteral(before)}`
    const ofAnyMonth = { ...rules, stays: `${isRecent} or ${rules.stays}` }
    removed.rows += await deleteRows(client, `${table}_other`, ofAnyMonth)
    return removed
  } finally {
    await client.end()
  }
}
