/** Changes the audit tables without the service, as someone with database access could. */
import pg from 'pg'
import type { TestDatabase } from '../service/database.ts'

const tables = ['audit_entries', 'audit_links', 'audit_register']

/** Runs statements in one transaction with the triggers of the audit tables disabled. Returns the rows of the last one. */
export const tamper = async (database: TestDatabase, ...statements: [sql: string, params?: unknown[]][]) => {
  const client = new pg.Client(database.url)
  await client.connect()
  try {
    await client.query('begin')
    await client.query(tables.map((table) => `alter table ${table} disable trigger user;`).join(' '))
    let rows: Record<string, unknown>[] = []
    for (const [sql, params] of statements) rows = (await client.query(sql, params)).rows
    await client.query(tables.map((table) => `alter table ${table} enable trigger user;`).join(' '))
    await client.query('commit')
    return rows
  } finally {
    await client.end()
  }
}
