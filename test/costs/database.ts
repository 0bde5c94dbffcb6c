/** The PostgreSQL server of a measurement, and what it spent on each subject: processor time, statements, rows and log. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbedded } from '../../src/platform/db/embedded/supervisor.ts'
import { silentLog } from '../../src/platform/ground/log.ts'
import { until } from '../start/launched.ts'

export type StatementUse = { text: string; calls: number; ms: number; walBytes: number }

export type DatabaseUse = {
  cpuMs: number
  walBytes: number
  /** Of tables and indexes. */
  storedBytes: number
  commits: number
  /** Rows by table and kind of change, such as `messages inserted`. */
  rows: Record<string, number>
  statements: StatementUse[]
}

export type MeasuredDatabase = {
  url: string
  /** Removes the limits of the org. */
  lift(): Promise<void>
  /** Begins to count. */
  begin(): Promise<void>
  /** Waits until the worker is done, and returns what was used since `begin`. */
  end(): Promise<DatabaseUse>
}

export type MeasuredServer = { create(name: string): Promise<MeasuredDatabase>; stop(): Promise<void> }

/** Linux reports processor time in ticks of 10 ms. */
const tickMs = 10

const statOf = async (pid: string): Promise<string[]> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Processor time of the server: of its running processes, and of those that have ended. */
const cpuMsOf = async (postmaster: number): Promise<number> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  let ticks = 0
  for (const pid of pids) {
    const fields = await statOf(pid)
    const isServer = Number(pid) === postmaster
    if (!isServer && Number(fields[1]) !== postmaster) continue
    // utime and stime, and for the postmaster those of its children that have ended.
    for (const i of isServer ? [11, 12, 13, 14] : [11, 12]) ticks += Number(fields[i] ?? 0)
  }
  return ticks * tickMs
}

/** Partitions count for their table. */
const tableOf = (name: string): string => name.replace(/_\d{4}_?\d{2}$|_p\d+$|_other$/, '')

/** Queues that the worker empties. Not every release has all of them. */
const queues = ['events', 'audit_unlinked', 'analytics_queue', 'analytics_counts']

const isSettled = async (client: pg.Client): Promise<boolean> => {
  const { rows } = await client.query<{ name: string }>(
    'select name from unnest($1::text[]) as q (name) where to_regclass(name) is not null',
    [queues],
  )
  for (const { name } of rows) {
    const { rows: waiting } = await client.query(`select from ${name} limit 1`)
    if (waiting.length > 0) return false
  }
  return true
}

const difference = (after: Record<string, number>, before: Record<string, number>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(after)
      .map(([name, n]) => [name, n - (before[name] ?? 0)] as const)
      .filter(([, n]) => n !== 0),
  )

/** An idle session reports its statistics after ten seconds. */
const statisticsMs = 11_000

export const startMeasuredServer = async (folder: string): Promise<MeasuredServer> => {
  const dataDir = join(folder, 'database')
  const server = await startEmbedded({
    dataDir,
    log: silentLog(),
    settings: { shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.max': '2000' },
  })
  const admin = new pg.Client(server.maintenanceUrl ?? '')
  await admin.connect()
  await admin.query('create extension if not exists pg_stat_statements')
  await admin.query('alter role tidings createdb')
  const postmaster = Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0])

  const statementsOf = async (database: string): Promise<StatementUse[]> => {
    const { rows } = await admin.query<{ query: string; calls: string; ms: number; wal: string }>(
      `select s.query, s.calls, s.total_exec_time as ms, s.wal_bytes as wal
       from pg_stat_statements s join pg_database d on d.oid = s.dbid
       where d.datname = $1`,
      [database],
    )
    return rows.map(({ query, calls, ms, wal }) => ({
      text: query.replace(/\s+/g, ' ').trim(),
      calls: Number(calls),
      ms,
      walBytes: Number(wal),
    }))
  }

  return {
    create: async (name) => {
      const database = `costs_${name.replaceAll(/\W/g, '_')}`
      await admin.query(`create database ${pg.escapeIdentifier(database)} owner tidings`)
      const url = new URL(server.url)
      url.pathname = `/${database}`
      const client = new pg.Client(url.href)
      client.on('error', () => undefined)
      await client.connect()
      let before: Omit<DatabaseUse, 'statements'> = { cpuMs: 0, walBytes: 0, storedBytes: 0, commits: 0, rows: {} }
      const read = async () => {
        await client.query('select pg_stat_clear_snapshot()')
        const { rows: tables } = await client.query<{ name: string; i: string; u: string; d: string; size: string }>(
          `select relname as name, n_tup_ins as i, n_tup_upd as u, n_tup_del as d, pg_total_relation_size(relid) as size
           from pg_stat_user_tables where schemaname = 'public'`,
        )
        const rows: Record<string, number> = {}
        const storedBytes = tables.reduce((total, { size }) => total + Number(size), 0)
        for (const { name: table, i, u, d } of tables) {
          for (const [kind, n] of [
            ['inserted', i],
            ['updated', u],
            ['deleted', d],
          ] as const) {
            const key = `${tableOf(table)} ${kind}`
            rows[key] = (rows[key] ?? 0) + Number(n)
          }
        }
        const { rows: counters } = await client.query<{ wal: string; commits: string }>(
          `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as wal, xact_commit as commits
           from pg_stat_database where datname = current_database()`,
        )
        const [{ wal, commits } = { wal: '0', commits: '0' }] = counters
        return { cpuMs: await cpuMsOf(postmaster), walBytes: Number(wal), storedBytes, commits: Number(commits), rows }
      }
      const settled = async () => {
        await until('the worker is done', () => isSettled(client), 300_000)
        await new Promise((resolve) => setTimeout(resolve, statisticsMs))
      }
      return {
        url: url.href,
        lift: async () => {
          const unlimited = 'update orgs set email_monthly = 1000000000000, rate_limit_per_minute = 1000000000'
          await until('the org exists', async () => (await client.query(unlimited)).rowCount)
        },
        begin: async () => {
          await settled()
          await admin.query('select pg_stat_statements_reset(0, (select oid from pg_database where datname = $1), 0)', [
            database,
          ])
          before = await read()
        },
        end: async () => {
          await settled()
          const now = await read()
          const used = {
            cpuMs: now.cpuMs - before.cpuMs,
            walBytes: now.walBytes - before.walBytes,
            storedBytes: now.storedBytes - before.storedBytes,
            commits: now.commits - before.commits,
            rows: difference(now.rows, before.rows),
          }
          return { ...used, statements: await statementsOf(database) }
        },
      }
    },
    stop: async () => {
      await admin.end()
      await server.stop()
    },
  }
}
