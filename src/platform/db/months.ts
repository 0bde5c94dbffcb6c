/** Creates the partitions of coming months, without making requests wait. */
import type pg from 'pg'
import type { Clock } from '../ground/clock.ts'
import type { Log } from '../ground/log.ts'
import { dayMs } from '../ground/units.ts'
import { isLocked, whenUnlocked, withBriefLocks } from './brief-locks.ts'
import { sqlState } from './faults.ts'
import { lockSchema } from './migrate.ts'
import type { Db } from './pool.ts'
import { largeBytes } from './split-migration.ts'
import { missingMonths } from './store.ts'

/** The tables that are divided by month. */
export const monthlyTables = ['messages', 'message_events', 'webhook_deliveries'] as const

/** The task runs every hour, so it can fail for weeks before a month is needed. */
export const monthsAhead = 2
const defaultPatienceMs = 10_000

/** A calendar month in UTC. */
export type Month = { from: Date; to: Date }

export const monthAt = (at: Date, ahead = 0): Month => ({
  from: new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + ahead)),
  to: new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + ahead + 1)),
})

/** The end of the partition's name, such as `2026_11`. */
const suffixOf = ({ from }: Month): string => from.toISOString().slice(0, 7).replace('-', '_')

export const partitionOf = (parent: string, month: Month): string => `${parent}_${suffixOf(month)}`

export const timeLiteral = (at: Date): string => `timestamptz '${at.toISOString()}'`

/** The month of a partition that this file has created; undefined for the default partition. */
export const monthOfPartition = (parent: string, partition: string): Month | undefined => {
  const [, year, month] = /^_(\d{4})_(\d{2})$/.exec(partition.slice(parent.length)) ?? []
  return year && month ? monthAt(new Date(Date.UTC(Number(year), Number(month) - 1))) : undefined
}

type Missing = { parent: string; month: Month }

const findMissing = async (db: Db, months: Month[]): Promise<Missing[]> => {
  const rows = await db.rows(missingMonths, { parents: [...monthlyTables], suffixes: months.map(suffixOf) })
  return rows.map(({ parent, place }) => ({ parent, month: months[place - 1]! }))
}

/** How many of the coming months have their partitions, counted from the next one. */
export const countMonthsAhead = async ({ db, clock }: { db: Db; clock: Clock }): Promise<number> => {
  const months = Array.from({ length: monthsAhead }, (_, i) => monthAt(clock.now(), i + 1))
  const missing = new Set((await findMissing(db, months)).map(({ month }) => month))
  const first = months.findIndex((month) => missing.has(month))
  return first < 0 ? months.length : first
}

/** The default partition has the rows for which no month was created in time. */
type DefaultPartition = { name: string; column: string; large: boolean; leftovers: string[] }

const checkOf = (partition: string, month: Month): string => `${partition}_without_${suffixOf(month)}`

const defaultOf = async (client: pg.ClientBase, parent: string): Promise<DefaultPartition> => {
  const { rows } = await client.query<DefaultPartition>(
    `select p.partdefid::regclass::text as name, a.attname as column, pg_relation_size(p.partdefid) >= $2 as large,
       array(select k.conname::text from pg_constraint k
         where k.conrelid = p.partdefid and k.conname like '%\\_without\\_%') as leftovers
     from pg_partitioned_table p
     join pg_attribute a on a.attrelid = p.partrelid and a.attnum = p.partattrs[0]
     where p.partrelid = $1::regclass`,
    [parent, largeBytes],
  )
  return rows[0]!
}

const isCheckViolation = (error: unknown): boolean => sqlState(error) === '23514'

type Attaching = Missing & { client: pg.ClientBase; rest: DefaultPartition; briefly: (sql: string[]) => Promise<void> }

const attachment = ({ parent, month }: Missing): string[] => {
  const name = partitionOf(parent, month)
  return [
    // `create table … partition of` would need the strongest lock of the parent, which every send would wait behind while
    // a backup reads. Attaching needs that of the default partition only. The new table has the indexes already.
    `create table ${name} (like ${parent} including all)`,
    `alter table ${parent} attach partition ${name} for values from (${timeLiteral(month.from)}) to (${timeLiteral(month.to)})`,
  ]
}

/**
 * Attaching reads the whole default partition while nobody can use it, unless a check proves that it has no row of the
 * month. The check is validated while others read and write. Until the month is attached, the check refuses its rows, so
 * the month must not begin before.
 */
const attachBesideLarge = async ({ client, rest, briefly, ...missing }: Attaching): Promise<void> => {
  const { from, to } = missing.month
  const check = checkOf(rest.name, missing.month)
  const condition = `${rest.column} < ${timeLiteral(from)} or ${rest.column} >= ${timeLiteral(to)}`
  const drop = `alter table ${rest.name} drop constraint ${check}`
  await briefly([`alter table ${rest.name} add constraint ${check} check (${condition}) not valid`])
  try {
    await client.query(`alter table ${rest.name} validate constraint ${check}`)
    await briefly([...attachment(missing), drop])
  } catch (error) {
    await briefly([drop])
    throw error
  }
}

type Needs = {
  db: Db
  clock: Clock
  log: Log
  /** How long one run tries to get its locks. */
  patienceMs?: number
}

const hasRows = 'the default partition has rows of this month'
const tooLate = 'the month begins within a day, and the default partition is too large to be read under a lock'

/**
 * Creates the partitions of this month and the next two. A month that cannot be created is logged: the default partition
 * takes its rows. Returns how many were created.
 */
export const makeEnsureMonths = ({
  db,
  clock,
  log,
  patienceMs = defaultPatienceMs,
}: Needs): (() => Promise<number>) => {
  const reported = new Set<string>()
  const report = ({ parent, month }: Missing, reason: string): void => {
    log.warn({ table: parent, month: suffixOf(month).replace('_', '-'), reason }, 'month partition not created')
  }
  /** The rows stay where they are, so one line is enough. */
  const reportOnce = (missing: Missing, reason: string): void => {
    const name = partitionOf(missing.parent, missing.month)
    if (!reported.has(name)) report(missing, reason)
    reported.add(name)
  }

  const attach = async (client: pg.ClientBase, missing: Missing, giveUpAt: number): Promise<boolean> => {
    const briefly = (sql: string[]): Promise<void> =>
      whenUnlocked(
        () =>
          withBriefLocks(client, async () => {
            for (const statement of sql) await client.query(statement)
          }),
        { patienceMs: giveUpAt - performance.now() },
      )
    try {
      const rest = await defaultOf(client, missing.parent)
      // Of a process that died while it attached a month.
      for (const check of rest.leftovers) await briefly([`alter table ${rest.name} drop constraint ${check}`])
      if (!rest.large) await briefly(attachment(missing))
      else if (missing.month.from.getTime() - clock.millis() > dayMs) {
        await attachBesideLarge({ client, rest, briefly, ...missing })
      } else {
        reportOnce(missing, tooLate)
        return false
      }
      return true
    } catch (error) {
      if (isCheckViolation(error)) reportOnce(missing, hasRows)
      else if (isLocked(error)) report(missing, (error as Error).message)
      else throw error
      return false
    }
  }

  return async () => {
    const months = Array.from({ length: monthsAhead + 1 }, (_, i) => monthAt(clock.now(), i))
    if ((await findMissing(db, months)).length === 0) return 0
    const client = await db.connect()
    try {
      await lockSchema(client)
      const giveUpAt = performance.now() + patienceMs
      let created = 0
      // Another process may have created them while this one waited for the lock.
      for (const missing of await findMissing(db, months)) {
        if (await attach(client, missing, giveUpAt)) created++
      }
      return created
    } finally {
      await client.end()
    }
  }
}
