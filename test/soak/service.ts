/** `npm start` as a child process on a database of its own. */
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { findEmbedded } from '../../src/platform/db/embedded/supervisor.ts'
import { lives, type Run, run, until } from '../start/launched.ts'

const root = join(import.meta.dirname, '..', '..')

export type FirstRun = { org: { id: string }; keys: { live: string; test: string } }

export type SoakService = {
  url: string
  database: 'embedded PostgreSQL' | 'PostgreSQL at DATABASE_URL'
  start(): Promise<void>
  /** Stops the service with SIGTERM and returns its exit code. */
  stop(): Promise<number | string>
  /** The process that serves, not npm. */
  pid(): number
  errors(): string
  firstRun(): Promise<FirstRun>
  sql<R>(text: string): Promise<R[]>
  startProbe(): Promise<{ url: string; stop(): void }>
  close(): Promise<void>
}

const freePort = async (): Promise<number> => {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const address = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}

const parentOf = async (pid: string): Promise<number> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return Number(/\) \S (\d+)/.exec(stat)?.[1])
}

/** The last process in the line of those below `pid` that run our launcher or bundle. PostgreSQL is below it. */
const findServing = async (pid: number): Promise<number> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  for (const child of pids) {
    if ((await parentOf(child)) !== pid) continue
    const command = await readFile(`/proc/${child}/cmdline`, 'utf8').catch(() => '')
    if (/(^|\/)(sh|node)\0/.test(command) && command.includes('tidings')) return findServing(Number(child))
  }
  return pid
}

/** A new database on the server of `DATABASE_URL`, dropped at the end. */
const makeDatabase = async (serverUrl: string): Promise<{ url: string; drop(): Promise<void> }> => {
  const name = `tidings_soak_${randomBytes(6).toString('hex')}`
  const admin = async (text: string): Promise<void> => {
    const client = new pg.Client(serverUrl)
    await client.connect()
    await client.query(text).finally(() => client.end())
  }
  await admin(`create database ${name}`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => admin(`drop database ${name} with (force)`) }
}

export const openSoakService = async (env: Record<string, string>): Promise<SoakService> => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'tidings-soak-')))
  // The embedded database may run as another user, who must be able to enter the folder.
  await chmod(folder, 0o755)
  const [dataDir, firstRunFile] = [join(folder, 'data'), join(folder, 'first.json')]
  const url = `http://127.0.0.1:${await freePort()}`
  const own = process.env.DATABASE_URL ? await makeDatabase(process.env.DATABASE_URL) : undefined
  let service: Run | undefined
  let serving = 0

  const databaseUrl = async (): Promise<string> =>
    own?.url ?? until('the database responds', () => findEmbedded(dataDir))

  const isReady = (): Promise<boolean> =>
    fetch(`${url}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    )

  const stop = async (): Promise<number | string> => {
    if (!service || !(await lives(service.pid))) return 'not running'
    process.kill(serving, 'SIGTERM')
    return service.ended()
  }

  return {
    url,
    database: own ? 'PostgreSQL at DATABASE_URL' : 'embedded PostgreSQL',
    start: async () => {
      const started = run('npm', ['start', '--silent'], {
        cwd: root,
        env: {
          PATH: process.env.PATH,
          HOME: process.env.HOME,
          LOG_LEVEL: 'error',
          DATA_DIR: dataDir,
          PORT: new URL(url).port,
          FIRST_RUN_FILE: firstRunFile,
          ...(own && { DATABASE_URL: own.url }),
          ...env,
        },
      })
      service = started
      // The first start may build the dashboard.
      await until(
        'the service is ready',
        async () => {
          if (!(await lives(started.pid))) throw new Error(`it exited: ${started.errors()}`)
          return isReady()
        },
        300_000,
      )
      serving = await findServing(started.pid)
    },
    stop,
    pid: () => serving,
    errors: () => service?.errors() ?? '',
    firstRun: async () => JSON.parse(await readFile(firstRunFile, 'utf8')),
    sql: async <R>(text: string) => {
      const client = new pg.Client(await databaseUrl())
      client.on('error', () => undefined)
      await client.connect()
      try {
        return (await client.query(text)).rows as R[]
      } finally {
        await client.end()
      }
    },
    startProbe: async () => {
      const child = fork(join(import.meta.dirname, 'probe-server.ts'), {
        env: { ...process.env, PROBE_DATABASE_URL: await databaseUrl() },
        stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      })
      const [port] = await once(child.stdout as NodeJS.ReadableStream, 'data')
      return { url: `http://127.0.0.1:${String(port).trim()}/`, stop: () => child.kill() }
    },
    close: async () => {
      await stop()
      await own?.drop()
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
    },
  }
}
