/** The real service as a separate process, on an embedded database that survives it. */
import { chmod, mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { Agent, request } from 'undici'
import { findEmbedded } from '../../src/platform/db/embedded/supervisor.ts'
import { processesIn } from '../service/embedded.ts'
import { lives, type Run, run, until } from '../start/launched.ts'

const launcher = join(import.meta.dirname, '..', '..', 'bin', 'tidings.js')

export type Answer = { status: number; body: unknown }

export type Service = {
  url: string
  /** The live key of the first org. */
  key(): string
  start(): Promise<void>
  /** Kills the service with SIGKILL. The database keeps running. */
  kill(): Promise<void>
  /** Returns undefined if there was no response. */
  ask(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Answer | undefined>
  /** Queries the database directly, as an operator would. */
  sql<R>(text: string, params?: unknown[]): Promise<R[]>
  /** The pid of the database server. */
  postmaster(): Promise<number>
  /** Stops all processes and deletes all files. */
  close(): Promise<void>
}

const freePort = async (): Promise<number> => {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const address = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}

export const openService = async (): Promise<Service> => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'tidings-crash-')))
  await chmod(folder, 0o755)
  const [dataDir, firstRun] = [join(folder, 'data'), join(folder, 'first.json')]
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const agent = new Agent({ keepAliveTimeout: 1_000, connections: 64 })
  let service: Run | undefined
  let key = ''

  const isReady = (): Promise<boolean> =>
    fetch(`${url}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    )

  const client = async (): Promise<pg.Client> => {
    const found = await until('the database responds', () => findEmbedded(dataDir))
    const connected = new pg.Client(found)
    connected.on('error', () => undefined)
    await connected.connect()
    return connected
  }

  return {
    url,
    key: () => key,
    start: async () => {
      const env = {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        LOG_LEVEL: 'error',
        RATE_LIMITER: 'off',
        DATA_DIR: dataDir,
        PORT: String(port),
        FIRST_RUN_FILE: firstRun,
        // Allows the endpoint on this machine that receives a delivery for every event.
        WEBHOOK_ALLOW_INSECURE: 'true',
      }
      const started = run(process.execPath, [launcher, 'start'], { env, cwd: tmpdir() })
      service = started
      await until(
        'the service is ready',
        async () => {
          if (!(await lives(started.pid))) throw new Error(`it exited: ${started.errors()}`)
          return isReady()
        },
        60_000,
      )
      const credentials = () => readFile(firstRun, 'utf8').catch(() => '')
      if (key) return
      key = JSON.parse(await until('the first-run file exists', credentials)).keys.live
      // Nothing listens there, so all deliveries stay pending and can be counted.
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const body = JSON.stringify({ url: 'http://127.0.0.1:59999/hook', events: ['message.sent'] })
      const made = await fetch(`${url}/api/v1/webhooks`, { method: 'POST', headers, body })
      if (made.status !== 201) throw new Error(`creating the endpoint failed: ${await made.text()}`)
    },
    kill: async () => {
      service?.signal('SIGKILL')
      await service?.ended()
    },
    ask: async (method, path, body) => {
      try {
        const response = await request(`${url}${path}`, {
          method,
          dispatcher: agent,
          headersTimeout: 40_000,
          bodyTimeout: 40_000,
          headers: {
            authorization: `Bearer ${key}`,
            ...(body !== undefined && { 'content-type': 'application/json' }),
          },
          body: body === undefined ? null : JSON.stringify(body),
        })
        return { status: response.statusCode, body: await response.body.json() }
      } catch {
        return undefined
      }
    },
    sql: async <R>(text: string, params?: unknown[]) => {
      const connected = await client()
      try {
        return (await connected.query(text, params)).rows as R[]
      } finally {
        await connected.end()
      }
    },
    postmaster: async () =>
      Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]),
    close: async () => {
      if (service && (await lives(service.pid))) {
        service.signal('SIGTERM')
        await service.ended()
      }
      await agent.destroy()
      for (const pid of await processesIn(folder)) process.kill(pid, 'SIGKILL')
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
    },
  }
}
