import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import { dropDatabase } from '../setup/drop-database.ts'

export type TestDatabase = {
  url: string
  /** Queries the database directly, as an operator would, not through the code under test. */
  sql<R = Record<string, unknown>>(text: string, params?: unknown[]): Promise<R[]>
  /** Like `sql`, but each connection plans the statement once. For long statements that a test repeats. */
  prepared<R = Record<string, unknown>>(name: string, text: string): Promise<R[]>
  /** Waits for what the services on this database write in the background. */
  backgroundWrites: (() => Promise<void>)[]
  drop(): Promise<void>
}

/** Creates a database for one test file: a copy of the migrated template, or an empty one. The run drops a shared one. */
export const makeTestDatabase = async (from: 'migrated' | 'empty' | 'shared' = 'migrated'): Promise<TestDatabase> => {
  const { url: serverUrl, template, copying, sharedPrefix } = inject('database')
  const name = `${from === 'shared' ? sharedPrefix : 'tidings_test_'}${randomBytes(6).toString('hex')}`
  const admin = async (text: string): Promise<void> => {
    const client = new pg.Client(serverUrl)
    await client.connect()
    await client.query(text).finally(() => client.end())
  }
  await admin(`create database ${name}${from === 'empty' ? '' : ` template ${template} ${copying}`}`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  // Tables without statistics look large, and starting parallel workers takes longer than any query of a test.
  const options = '-c max_parallel_workers_per_gather=0'
  const pool = new pg.Pool({ connectionString: url.href, max: 2, options })
  pool.on('error', () => undefined)
  return {
    url: url.href,
    backgroundWrites: [],
    sql: async <R>(text: string, params?: unknown[]) => (await pool.query(text, params)).rows as R[],
    prepared: async <R>(name: string, text: string) => (await pool.query({ name, text })).rows as R[],
    drop: async () => {
      await pool.end()
      await dropDatabase(admin, name)
    },
  }
}
