import { findEmbedded, startEmbedded } from '../db/embedded/supervisor.ts'
import { migrate } from '../db/migrate.ts'
import { type Db, openDb } from '../db/pool.ts'
import { systemClock } from '../ground/clock.ts'
import type { Config } from '../ground/config/config.ts'
import type { Log } from '../ground/log.ts'
import { Fault } from './command-fault.ts'

export type Database = { url: string; close(): Promise<void> }

const borrowed = (url: string): Database => ({ url, close: async () => undefined })

const oldestVersion = 150_000

/** The configured database, once it has proven to be one this service can work with. */
const configured = async (url: string, log: Log): Promise<Database> => {
  const db = openDb({ url, log, poolSize: 1 })
  const client = await db.connect().catch((error: Error) => {
    // The address without its credentials.
    const { host, pathname } = new URL(url)
    throw new Fault(
      `The database ${pathname.slice(1)} at ${host} cannot be used: ${error.message}. Check DATABASE_URL.`,
    )
  })
  try {
    const { rows } = await client.query<{ version: number }>(
      "select current_setting('server_version_num')::int as version",
    )
    const version = rows[0]?.version ?? 0
    if (version < oldestVersion) {
      throw new Fault(`DATABASE_URL takes a PostgreSQL 15 or newer; this is ${Math.floor(version / 10_000)}.`)
    }
  } finally {
    await client.end()
  }
  return borrowed(url)
}

/** The database this process owns for its life: the configured one, or the embedded one on the data folder. */
export const ownDatabase = async (config: Config, log: Log, onLost: () => void): Promise<Database> => {
  if (config.databaseUrl !== undefined) return configured(config.databaseUrl, log)
  const server = await startEmbedded({ dataDir: config.dataDir, log, onLost })
  if (server.adopted) log.warn('took over the database server that a killed service left running')
  return { url: server.url, close: server.stop }
}

/** As above, but a server another process runs on the same folder is shared. */
export const anyDatabase = async (config: Config, log: Log, onLost: () => void): Promise<Database> => {
  if (config.databaseUrl !== undefined) return configured(config.databaseUrl, log)
  const running = await findEmbedded(config.dataDir)
  return running === null ? ownDatabase(config, log, onLost) : borrowed(running)
}

export const migrateAll = async (url: string, log: Log): Promise<string[]> => {
  const db = openDb({ url, log, poolSize: 1 })
  try {
    return await migrate({ connect: db.connect, clock: systemClock, log })
  } finally {
    await db.close()
  }
}

/** For a command that runs and ends: the database with whatever schema it has, given back afterwards. */
export const withDatabaseAsItIs = async <T>(
  config: Config,
  log: Log,
  work: (db: Db, url: string) => Promise<T>,
): Promise<T> => {
  const database = await anyDatabase(config, log, () => undefined)
  try {
    const db = openDb({ url: database.url, log, poolSize: 4, name: 'tidings command' })
    try {
      return await work(db, database.url)
    } finally {
      await db.close()
    }
  } finally {
    await database.close()
  }
}

/** As above, migrated first. */
export const withDatabase = <T>(config: Config, log: Log, work: (db: Db, url: string) => Promise<T>): Promise<T> =>
  withDatabaseAsItIs(config, log, async (db, url) => {
    await migrateAll(url, log)
    return work(db, url)
  })
