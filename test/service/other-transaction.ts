/** A second transaction that a test keeps open to control the outcome of a race. */
import pg from 'pg'
import { expect } from 'vitest'
import type { TestDatabase } from './database.ts'

export type OtherTransaction = {
  sql(text: string, params?: unknown[]): Promise<void>
  /** Resolves when a statement of the service waits for a lock of this transaction. */
  untilWaitedFor(): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
}

export const beginOtherTransaction = async (database: TestDatabase): Promise<OtherTransaction> => {
  const client = new pg.Client(database.url)
  await client.connect()
  await client.query('begin')
  const { rows } = await client.query('select pg_backend_pid() as pid')
  const end = async (how: 'commit' | 'rollback') => {
    await client.query(how)
    await client.end()
  }
  return {
    sql: async (text, params) => {
      await client.query(text, params)
    },
    untilWaitedFor: async () => {
      const waiting = () =>
        database.sql('select 1 from pg_stat_activity where $1 = any(pg_blocking_pids(pid))', [rows[0].pid])
      await expect.poll(waiting).not.toEqual([])
    },
    commit: () => end('commit'),
    rollback: () => end('rollback'),
  }
}
