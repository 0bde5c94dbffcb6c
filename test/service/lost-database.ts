import pg from 'pg'
import { inject } from 'vitest'
import type { TestDatabase } from './database.ts'

/** While `work` runs, no process can reach the database. */
export const withoutDatabase = async <T>(database: TestDatabase, work: () => Promise<T>): Promise<T> => {
  const name = new URL(database.url).pathname.slice(1)
  const admin = new pg.Client(inject('database').url)
  await admin.connect()
  await admin.query(`alter database ${name} with allow_connections false`)
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  try {
    return await work()
  } finally {
    await admin.query(`alter database ${name} with allow_connections true`)
    await admin.end()
  }
}
