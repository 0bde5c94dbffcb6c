import { findEmbedded, startEmbedded } from '../../platform/db/embedded/supervisor.ts'
import { migrate } from '../../platform/db/migrate.ts'
import { makeEnsureMonths } from '../../platform/db/months.ts'
import { type Db, openDb } from '../../platform/db/pool.ts'
import { systemClock } from '../../platform/ground/clock.ts'
import type { Config } from '../../platform/ground/config/config.ts'
import type { Log } from '../../platform/ground/log.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'

export type Database = { url: string; close(): Promise<void> }

/** A database server that another process runs, so closing it does nothing. */
const external = (url: string): Database => ({ url, close: async () => undefined })

const oldestVersion = 150_000

/** Returns the configured database after checking that it is reachable and recent enough. */
const configured = async (url: string, log: Log): Promise<Database> => {
  const db = openDb({ url, log, poolSize: 1 })
  const client = await db.connect().catch((error: Error) => {
    // Never print the credentials in the URL.
    const { host, pathname } = new URL(url)
    throw new OperatorFault(
      `Cannot connect to the database ${pathname.slice(1)} at ${host}: ${error.message}. Check DATABASE_URL.`,
    )
  })
  try {
    const { rows } = await client.query<{ version: number }>(
      "select current_setting('server_version_num')::int as version",
    )
    const version = rows[0]?.version ?? 0
    if (version < oldestVersion) {
      throw new OperatorFault(
        `DATABASE_URL must be a PostgreSQL server of version 15 or newer. This one is version ${Math.floor(version / 10_000)}.`,
      )
    }
  } finally {
    await client.end()
  }
  return external(url)
}

/** Uses the configured database, or starts the embedded server in the data folder for this process alone. */
export const ownDatabase = async (config: Config, log: Log, onLost: () => void, connections = 0): Promise<Database> => {
  if (config.databaseUrl !== undefined) return configured(config.databaseUrl, log)
  // The embedded server allows 100 connections unless more are needed.
  const settings: Record<string, string> = connections > 100 ? { max_connections: String(connections) } : {}
  const server = await startEmbedded({ dataDir: config.dataDir, log, onLost, settings })
  if (server.adopted) log.warn('adopted the embedded database server of a killed process')
  return { url: server.url, close: server.stop }
}

/** Like `ownDatabase`, but shares an embedded server that another process runs in the same data folder. */
export const anyDatabase = async (config: Config, log: Log, onLost: () => void, connections = 0): Promise<Database> => {
  if (config.databaseUrl !== undefined) return configured(config.databaseUrl, log)
  const running = await findEmbedded(config.dataDir)
  return running === null ? ownDatabase(config, log, onLost, connections) : external(running)
}

/** How many connections the server allows. */
export const connectionsOf = async (url: string, log: Log): Promise<number> => {
  const db = openDb({ url, log, poolSize: 1 })
  const client = await db.connect()
  try {
    const { rows } = await client.query<{ allowed: number }>(
      "select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as allowed",
    )
    return rows[0]?.allowed ?? 0
  } finally {
    await client.end()
    await db.close()
  }
}

export const migrateAll = async (url: string, log: Log): Promise<string[]> => {
  const db = openDb({ url, log, poolSize: 1 })
  try {
    const ran = await migrate({ connect: db.connect, clock: systemClock, log })
    // Before the first request: a month of which the default partition has rows stays there.
    await makeEnsureMonths({ db, clock: systemClock, log })()
    return ran
  } finally {
    await db.close()
  }
}

/** Opens the database for the duration of a command, without migrating it. */
export const withUnmigratedDatabase = async <T>(
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

/** Migrates and opens the database for the duration of a command. */
export const withDatabase = <T>(config: Config, log: Log, work: (db: Db, url: string) => Promise<T>): Promise<T> =>
  withUnmigratedDatabase(config, log, async (db, url) => {
    await migrateAll(url, log)
    return work(db, url)
  })
