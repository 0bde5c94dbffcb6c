/** Starts one database server for the whole run, with a migrated template that every test file copies. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { startEmbedded } from '../../src/db/embedded/supervisor.ts'
import { migrate } from '../../src/db/migrate.ts'
import { systemClock } from '../../src/ground/clock.ts'
import { silentLog } from '../../src/ground/log.ts'
import { makeDataFolder } from './data-folder.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A server on which tests create databases. `template` is the name of a migrated database. */
    database: { url: string; template: string }
  }
}

const run = async (url: string | null, sql: string): Promise<void> => {
  const client = new pg.Client(url ?? undefined)
  await client.connect()
  await client.query(sql).finally(() => client.end())
}

const startServer = async (): Promise<{ url: string; stop: () => Promise<void> }> => {
  const given = process.env.DATABASE_URL
  if (given) return { url: given, stop: async () => undefined }
  const dataDir = await makeDataFolder()
  // Tests of durability start their own servers.
  const settings = {
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    max_connections: '200',
  }
  const server = await startEmbedded({ dataDir, log: silentLog(), settings })
  // Otherwise tests run with the rights that the service has.
  await run(server.maintenanceUrl, 'alter role tidings createdb')
  return {
    url: server.url,
    stop: async () => {
      await server.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

export default async (project: TestProject) => {
  const server = await startServer()
  const template = `tidings_template_${process.pid}`
  const admin = (sql: string) => run(server.url, sql)
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
  project.provide('database', { url: server.url, template })
  // Where the processes that tests start keep compiled code, because compiling takes a quarter of their start.
  process.env.TEST_COMPILE_CACHE = compileCache
  return async () => {
    await admin(`drop database ${template} with (force)`)
    await server.stop()
    await rm(compileCache, { recursive: true, force: true })
  }
}
