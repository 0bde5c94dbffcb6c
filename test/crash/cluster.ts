/** The service as two API processes and two workers on an embedded PostgreSQL, each of which can be killed. */
import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { startEmbedded } from '../../src/platform/db/embedded/supervisor.ts'
import { silentLog } from '../../src/platform/ground/log.ts'
import { processesIn } from '../service/embedded.ts'
import { lives, type Run, run, until } from '../start/launched.ts'

const launcher = join(import.meta.dirname, '..', '..', 'bin', 'tidings.js')

export const serviceParts = ['api-1', 'api-2', 'worker-1', 'worker-2'] as const
export type ServicePart = (typeof serviceParts)[number]
export type Part = ServicePart | 'postgres'

export type FirstRun = { org: { id: string }; keys: { live: string } }

export type Cluster = {
  /** The addresses of both API processes. */
  urls: string[]
  firstRun: FirstRun
  /** Kills with SIGKILL, all at the same moment, and starts them again. PostgreSQL is started again by its supervisor. */
  kill(parts: readonly Part[]): Promise<void>
  /** Resolves when every part serves. */
  whole(): Promise<void>
  /** Ends all processes in order and starts the service as one process, whose clock can be moved. */
  asOneProcess(): Promise<void>
  /** Runs a command of the service and returns its exit code and output. */
  command(args: string[]): Promise<{ code: number | string; output: string }>
  sql<R>(text: string, params?: unknown[]): Promise<R[]>
  close(): Promise<void>
}

const freePort = async (): Promise<number> => {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const address = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}

const restartPauseMs = 500

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  )

export const startCluster = async (env: Record<string, string>): Promise<Cluster> => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'tidings-crash-')))
  // The embedded database may run as another user, who must be able to enter the folder.
  await chmod(folder, 0o755)
  const firstRunFile = join(folder, 'first.json')
  const dataDir = join(folder, 'database')
  const database = await startEmbedded({ dataDir, log: silentLog() })
  const ports = new Map<ServicePart, number>()
  for (const part of serviceParts) ports.set(part, await freePort())
  const urlOf = (part: ServicePart) => `http://127.0.0.1:${ports.get(part)}`
  const masterKey = randomBytes(32).toString('base64')
  const running = new Map<ServicePart, Run>()

  const environmentOf = (port: number) => ({
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    LOG_LEVEL: 'error',
    RATE_LIMITER: 'off',
    DATABASE_URL: database.url,
    DATA_DIR: join(folder, 'data'),
    MASTER_KEY: masterKey,
    AUDIT_SIGNING_SECRET: 'a secret of the crash run, long enough for it',
    FIRST_RUN_FILE: firstRunFile,
    PORT: String(port),
    WORKER_PORT: String(port),
    // Allows the webhook receiver on this machine.
    WEBHOOK_ALLOW_INSECURE: 'true',
    ...env,
  })

  const launch = (part: ServicePart, command: string): Run =>
    run(process.execPath, [launcher, command], { env: environmentOf(ports.get(part) as number), cwd: tmpdir() })

  const start = (part: ServicePart): void => {
    running.set(part, launch(part, part.startsWith('api') ? 'api' : 'worker'))
  }

  /** A process that starts while the database is away ends, and is started again, as by systemd or an orchestrator. */
  const serves = async (part: ServicePart): Promise<void> => {
    await until(
      `${part} is ready`,
      async () => {
        const started = running.get(part) as Run
        if (await lives(started.pid)) return isReady(urlOf(part))
        if (!/database/.test(started.errors())) throw new Error(`${part} exited: ${started.errors()}`)
        await wait(restartPauseMs)
        start(part)
        return false
      },
      120_000,
    )
  }

  const end = async (part: ServicePart, signal: NodeJS.Signals): Promise<void> => {
    const process = running.get(part)
    if (!process) return
    running.delete(part)
    if (!(await lives(process.pid))) return
    process.signal(signal)
    await process.ended()
  }

  const killPostgres = async (): Promise<void> => {
    const file = join(dataDir, 'postgres', 'postmaster.pid')
    process.kill(Number((await readFile(file, 'utf8')).split('\n')[0]), 'SIGKILL')
  }

  const sql = async <R>(text: string, params?: unknown[]): Promise<R[]> => {
    const client = new pg.Client(database.url)
    client.on('error', () => undefined)
    await client.connect()
    try {
      return (await client.query(text, params)).rows as R[]
    } finally {
      await client.end()
    }
  }

  const whole = async (): Promise<void> => {
    await Promise.all(serviceParts.map(serves))
  }

  // The first process makes the schema and the first org.
  start('api-1')
  await serves('api-1')
  const credentials = () => readFile(firstRunFile, 'utf8').catch(() => '')
  const firstRun: FirstRun = JSON.parse(await until('the first-run file exists', credentials))
  for (const part of serviceParts.slice(1)) start(part)
  await whole()

  return {
    urls: [urlOf('api-1'), urlOf('api-2')],
    firstRun,
    kill: async (parts) => {
      const services = parts.filter((part) => part !== 'postgres')
      await Promise.all([
        ...services.map((part) => end(part, 'SIGKILL')),
        ...(parts.includes('postgres') ? [killPostgres()] : []),
      ])
      for (const part of services) start(part)
    },
    whole,
    asOneProcess: async () => {
      await Promise.all(serviceParts.map((part) => end(part, 'SIGTERM')))
      running.set('api-1', launch('api-1', 'start'))
      await serves('api-1')
    },
    command: async (args) => {
      const done = run(process.execPath, [launcher, ...args], { env: environmentOf(0), cwd: tmpdir() })
      return { code: await done.ended(), output: done.output() + done.errors() }
    },
    sql,
    close: async () => {
      await Promise.all(serviceParts.map((part) => end(part, 'SIGTERM')))
      await database.stop()
      for (const pid of await processesIn(folder)) process.kill(pid, 'SIGKILL')
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
    },
  }
}
