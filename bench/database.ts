/**
 * The database server of a run: the one at a given URL, or an embedded one with the default settings. Each bench gets its
 * own databases on it, so existing data is neither read nor changed.
 */
import { join } from 'node:path'
import pg from 'pg'
import { silentLog } from '../src/platform/ground/log.ts'

export type BenchDatabase = { url: string; drop(): Promise<void> }

export type DatabaseServer = {
  /** Version and durability settings, shown in the results. */
  about: string
  create(name: string): Promise<BenchDatabase>
  stop(): Promise<void>
}

const onServer = async <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const describeServer = (url: string, kind: string): Promise<string> =>
  onServer(url, async (client) => {
    const { rows } = await client.query<{ name: string; setting: string }>(
      'select name, setting from pg_settings where name = any($1)',
      [['server_version', 'fsync', 'synchronous_commit', 'max_connections']],
    )
    const { server_version, ...rest } = Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))
    const [version] = server_version!.split(' ')
    const settings = Object.entries(rest).map(([name, setting]) => `${name} ${setting}`)
    return `PostgreSQL ${version}, ${kind}: ${settings.join(', ')}`
  })

const startEmbeddedIn = async (folder: string) => {
  const { startEmbedded } = await import('../src/platform/db/embedded/supervisor.ts')
  const embedded = await startEmbedded({
    dataDir: join(folder, 'database'),
    // The only changed setting, because pgbench opens a session for each of its clients.
    settings: { max_connections: '640' },
    sharedDir: join(folder, 'shared'),
    log: silentLog(),
  })
  await onServer(embedded.maintenanceUrl ?? '', async (client) => {
    await client.query('alter role tidings createdb')
    // A database with a running autovacuum cannot be dropped otherwise.
    await client.query('grant pg_signal_backend to tidings')
  })
  return embedded
}

export const startDatabaseServer = async (folder: string, givenUrl: string | undefined): Promise<DatabaseServer> => {
  const { url, stop } = givenUrl ? { url: givenUrl, stop: async () => {} } : await startEmbeddedIn(folder)
  return {
    about: await describeServer(url, givenUrl ? 'given by DATABASE_URL' : 'embedded'),
    async create(name) {
      const database = `tidings_bench_${name.replaceAll(/\W/g, '_')}_${process.pid}`
      await onServer(url, (client) => client.query(`create database ${database}`))
      const own = new URL(url)
      own.pathname = `/${database}`
      return {
        url: own.href,
        drop: async () => {
          await onServer(url, (client) => client.query(`drop database if exists ${database} with (force)`))
        },
      }
    },
    stop,
  }
}
