/** Starts one database server for the whole run, with a migrated template that every test file copies. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { startEmbedded } from '../../src/platform/db/embedded/supervisor.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { silentLog } from '../../src/platform/ground/log.ts'
import { makeDataFolder } from './data-folder.ts'
import { dropDatabase } from './drop-database.ts'
import { serverSeconds } from './processor-time.ts'
import { reportTime } from './report-time.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * A server on which tests create databases. `template` is the name of a migrated database, `copying` how to copy it.
     * The names of databases that are dropped at the end of the run begin with `sharedPrefix`.
     */
    database: { url: string; template: string; copying: string; sharedPrefix: string }
  }
}

const query = async <R>(url: string | null, sql: string, params?: unknown[]): Promise<R[]> => {
  const client = new pg.Client(url ?? undefined)
  await client.connect()
  const { rows } = await client.query(sql, params).finally(() => client.end())
  return rows as R[]
}

type Server = {
  url: string
  copying: string
  /** The processor seconds that it has used, if this run started it. */
  seconds?: () => Promise<number>
  stop: () => Promise<void>
}

const startServer = async (): Promise<Server> => {
  const given = process.env.DATABASE_URL
  if (given) return { url: given, copying: '', stop: async () => undefined }
  const dataDir = await makeDataFolder()
  // Tests of durability start their own servers.
  const settings = {
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    max_connections: '200',
    // Databases are removed before their tables need it.
    autovacuum: 'off',
  }
  const server = await startEmbedded({ dataDir, log: silentLog(), settings })
  // Otherwise tests run with the rights that the service has.
  await query(server.maintenanceUrl, 'alter role tidings createdb')
  // Deriving a key from the password in 4,096 rounds takes as long as everything else that a client does to connect.
  const { password } = new URL(server.url)
  await query(server.maintenanceUrl, `set scram_iterations = 1; alter role tidings password '${password}'`)
  return {
    url: server.url,
    // Takes less than half the processor time of logging each page. A server that writes to a disk would wait for it.
    copying: 'strategy file_copy',
    seconds: async () => {
      const client = new pg.Client(server.url)
      await client.connect()
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
      // Before the connection ends, because its process leads to the server.
      const seconds = serverSeconds(rows[0]?.pid ?? 0)
      await client.end()
      return seconds
    },
    stop: async () => {
      await server.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

export default async (project: TestProject) => {
  const startedAt = performance.now()
  const server = await startServer()
  const template = `tidings_template_${process.pid}`
  const sharedPrefix = `tidings_shared_${process.pid}_`
  const admin = (sql: string, params?: unknown[]) => query<{ name: string }>(server.url, sql, params)
  await admin(`create database ${template}`)
  const url = new URL(server.url)
  url.pathname = `/${template}`
  const connect = async () => {
    const client = new pg.Client(url.href)
    await client.connect()
    return client
  }
  await migrate({ connect, clock: systemClock, log: silentLog() })
  const compileCache = await mkdtemp(join(tmpdir(), 'tidings-compiled-'))
  project.provide('database', { url: server.url, template, copying: server.copying, sharedPrefix })
  // Where the processes that tests start keep compiled code, because compiling takes a quarter of their start.
  process.env.TEST_COMPILE_CACHE = compileCache
  return async () => {
    reportTime(project, await server.seconds?.(), (performance.now() - startedAt) / 1_000)
    const shared = 'select datname as name from pg_database where starts_with(datname, $1)'
    for (const { name } of await admin(shared, [sharedPrefix])) await dropDatabase(admin, name)
    await admin(`drop database ${template} with (force)`)
    await server.stop()
    await rm(compileCache, { recursive: true, force: true })
  }
}
