/** Reads what the service and its database have used so far: rows, bytes, log and processor time. */
import { readFile } from 'node:fs/promises'
import type pg from 'pg'
import { processesIn } from '../../src/db/embedded/harness.ts'

export type Usage = {
  /** Rows by table and kind of change, such as `messages inserted`. */
  rows: Record<string, number>
  /** Bytes by table, with its indexes. */
  bytes: Record<string, number>
  walBytes: number
  commits: number
  serviceMs: number
  databaseMs: number
}

/** Linux reports processor time in ticks of 10 ms. */
const tickMs = 10

const cpuMsOf = async (pid: number): Promise<number> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // utime and stime of the process, then of its children that have ended.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return [11, 12, 13, 14].reduce((sum, i) => sum + Number(fields[i] ?? 0), 0) * tickMs
}

/** Partitions count for their table. */
const tableOf = (name: string): string => name.replace(/_\d{4}_?\d{2}$|_p\d+$/, '')

const add = (sums: Record<string, number>, name: string, n: number): void => {
  if (n !== 0) sums[name] = (sums[name] ?? 0) + n
}

const tableUsage = async (client: pg.Client): Promise<Pick<Usage, 'rows' | 'bytes'>> => {
  const { rows: found } = await client.query<{ name: string; i: string; u: string; d: string; size: string }>(
    `select relname as name, n_tup_ins as i, n_tup_upd as u, n_tup_del as d, pg_total_relation_size(relid) as size
       from pg_stat_user_tables where schemaname = 'public'`,
  )
  const usage: Pick<Usage, 'rows' | 'bytes'> = { rows: {}, bytes: {} }
  for (const { name, i, u, d, size } of found) {
    const table = tableOf(name)
    add(usage.rows, `${table} inserted`, Number(i))
    add(usage.rows, `${table} updated`, Number(u))
    add(usage.rows, `${table} deleted`, Number(d))
    add(usage.bytes, table, Number(size))
  }
  return usage
}

export const readUsage = async (client: pg.Client, servicePid: number, folder: string): Promise<Usage> => {
  const { rows } = await client.query<{ wal: string; commits: string }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as wal, xact_commit as commits
       from pg_stat_database where datname = current_database()`,
  )
  const database = await Promise.all((await processesIn(folder)).map(cpuMsOf))
  return {
    ...(await tableUsage(client)),
    walBytes: Number(rows[0]?.wal ?? 0),
    commits: Number(rows[0]?.commits ?? 0),
    serviceMs: await cpuMsOf(servicePid),
    databaseMs: database.reduce((sum, ms) => sum + ms, 0),
  }
}

const difference = (after: Record<string, number>, before: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(after).map(([name, n]) => [name, n - (before[name] ?? 0)]))

export const usedBetween = (before: Usage, after: Usage): Usage => ({
  rows: difference(after.rows, before.rows),
  bytes: difference(after.bytes, before.bytes),
  walBytes: after.walBytes - before.walBytes,
  commits: after.commits - before.commits,
  serviceMs: after.serviceMs - before.serviceMs,
  databaseMs: after.databaseMs - before.databaseMs,
})

const round = (n: number): string => (n >= 10 ? n.toFixed(0) : n.toFixed(2))

/** The lines of the table in docs/scaling.md, per send. Changes of less than one row in a hundred sends are left out. */
export const costLines = (used: Usage, sends: number): string[] => {
  const per = (n: number) => n / sends
  const list = (counts: Record<string, number>, least: number) =>
    Object.entries(counts)
      .filter(([, n]) => per(n) >= least)
      .sort(([, a], [, b]) => b - a)
      .map(([name, n]) => `${name} ${round(per(n))}`)
      .join(', ')
  const sum = (counts: Record<string, number>) => Object.values(counts).reduce((total, n) => total + n, 0)
  return [
    `rows changed          ${round(per(sum(used.rows)))}  (${list(used.rows, 0.01)})`,
    `bytes of tables       ${round(per(sum(used.bytes)))}  (${list(used.bytes, 10)})`,
    `bytes of WAL          ${round(per(used.walBytes))}`,
    `commits               ${round(per(used.commits))}`,
    `µs of the service     ${round(per(used.serviceMs * 1_000))}`,
    `µs of the database    ${round(per(used.databaseMs * 1_000))}`,
  ]
}
