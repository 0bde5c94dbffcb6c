/** Hands in the audit tables that the service never sees: what somebody with the database could do. */
import pg from 'pg'
import type { TestDatabase } from '../service/database.ts'

const tables = ['audit_entries', 'audit_links']

/** Runs statements as one transaction with the guards of the audit tables off; answers the rows of the last. */
export const tamper = async (database: TestDatabase, ...statements: [sql: string, params?: unknown[]][]) => {
  const client = new pg.Client(database.url)
  await client.connect()
  try {
    await client.query('begin')
    for (const table of tables) await client.query(`alter table ${table} disable trigger user`)
    let rows: Record<string, unknown>[] = []
    for (const [sql, params] of statements) rows = (await client.query(sql, params)).rows
    for (const table of tables) await client.query(`alter table ${table} enable trigger user`)
    await client.query('commit')
    return rows
  } finally {
    await client.end()
  }
}
