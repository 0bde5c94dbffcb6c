/** Adds a column to every table, as a migration of the next release would. */
import { setTimeout as wait } from 'node:timers/promises'
import type pg from 'pg'

let added = 0

/** Gives up a lock that is not free soon, as our migrations do, because all requests to the table wait behind it. */
const addColumn = async (db: pg.Pool, table: string, column: string): Promise<void> => {
  const client = await db.connect()
  try {
    for (;;) {
      try {
        await client.query('begin')
        await client.query("set local lock_timeout = '200ms'")
        await client.query(`alter table ${table} add column ${column} text`)
        await client.query('commit')
        return
      } catch (error) {
        await client.query('rollback')
        if ((error as { code?: string }).code !== '55P03') throw error
        await wait(100)
      }
    }
  } finally {
    client.release()
  }
}

/** Returns the number of tables. Partitions get the column of their table. */
export const addColumns = async (db: pg.Pool): Promise<number> => {
  const { rows } = await db.query<{ name: string }>(
    `select format('%I', relname) as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by relname`,
  )
  const column = `upgrade_probe_${++added}`
  for (const { name } of rows) await addColumn(db, name, column)
  return rows.length
}
