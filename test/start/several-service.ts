/** The service as several processes on its own embedded database, and load that reports every refused connection. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startTidings } from '../service/command-line.ts'
import { until } from './launched.ts'

export type LogLine = Record<string, unknown> & { msg: string; process?: string }

export type SeveralService = {
  child: ChildProcess
  folder: string
  url(): string
  output(): string
  log(): LogLine[]
  /** The pids of the processes of the service, by name such as `api-1`. */
  processes(): Promise<Record<string, number>>
  exited: Promise<number | null>
  close(): Promise<void>
}

const nameOf = async (pid: string): Promise<string | undefined> => {
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
  return environment
    .split('\0')
    .find((entry) => entry.startsWith('TIDINGS_PROCESS='))
    ?.split('=')[1]
}

const childrenOf = async (parent: number): Promise<string[]> => {
  const children: string[] = []
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
    const [, state, ppid] = /\) (\S) (\d+)/.exec(stat) ?? []
    if (Number(ppid) === parent && state !== 'Z') children.push(pid)
  }
  return children
}

type Serves = (output: string, errors: string) => boolean

const start = async (env: Record<string, string>, isServing: Serves): Promise<SeveralService> => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'tidings-several-')))
  // The embedded database may run as another user, who must be able to enter the folder.
  await chmod(folder, 0o755)
  const child = startTidings(['start'], {
    DATA_DIR: join(folder, 'data'),
    FIRST_RUN_FILE: join(folder, 'first.json'),
    PORT: '0',
    ...env,
  })
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  let [output, errors] = ['', '']
  child.stdout?.on('data', (chunk) => {
    output += chunk
  })
  child.stderr?.on('data', (chunk) => {
    errors += chunk
  })
  const url = () => output.match(/ready at (http:\S+)/)?.[1] ?? ''
  const serves = () => isServing(output, errors)
  await until('the service is ready', () => serves() || child.exitCode !== null, 280_000)
  if (!serves()) throw new Error(`the service did not start: ${errors}`)
  return {
    child,
    folder,
    url,
    output: () => output,
    log: () =>
      errors
        .split('\n')
        .filter((line) => line.startsWith('{') && line.endsWith('}'))
        .map((line) => JSON.parse(line)),
    processes: async () => {
      const named = await Promise.all(
        (await childrenOf(child.pid ?? 0)).map(async (pid) => [await nameOf(pid), Number(pid)] as const),
      )
      return Object.fromEntries(named.filter(([name]) => name !== undefined))
    },
    exited,
    close: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM')
        await exited
      }
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Resolves when every process serves. Needs the log level `info`. */
export const startSeveral = (env: Record<string, string>): Promise<SeveralService> =>
  start(env, (_, errors) => errors.includes('"all processes serve"'))

/** The same service in one process. */
export const startAlone = async (env: Record<string, string>): Promise<SeveralService> => {
  const service = await start(env, (output) => output.includes('API reference'))
  const isReady = () =>
    fetch(`${service.url()}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    )
  await until('the worker runs', isReady, 60_000)
  return service
}

export type LoadResult = {
  /** Requests that succeeded. */
  answered: number
  /** Requests over a rate limit. They are answered, but do nothing. */
  limited: number
  /** Other requests, by status or error. */
  failed: Record<string, number>
  /** The ids of the messages that were acknowledged. */
  sent: string[]
}

const mail = JSON.stringify({
  from: 'Restarts <hello@example.test>',
  to: ['reader@example.com'],
  subject: 'A receipt',
  text: 'Thank you, Ada.',
})

/** Reads and sends mail in turn, with clients that keep their connections and clients that open one for each request. */
export const makeLoad = (url: string, key: string, clients = 8) => {
  const result: LoadResult = { answered: 0, limited: 0, failed: {}, sent: [] }
  let ended = false
  const fail = (failure: string) => {
    result.failed[failure] = (result.failed[failure] ?? 0) + 1
  }
  const count = (status: number, body: string | undefined) => {
    if (status === 429) {
      result.limited += 1
      return
    }
    if (status < 200 || status > 299) return fail(`status ${status}`)
    if (body !== undefined) {
      const { id } = JSON.parse(body) as { id?: string }
      if (id === undefined) return fail('no message id')
      result.sent.push(id)
    }
    result.answered += 1
  }
  const ask = (agent: Agent | false, body: string | undefined) =>
    new Promise<void>((resolve) => {
      const headers = {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      }
      const path = body === undefined ? '/api/v1/suppressions' : '/api/v1/emails'
      const asked = request(`${url}${path}`, { method: body === undefined ? 'GET' : 'POST', agent, headers })
      const broken = (error: NodeJS.ErrnoException) => {
        fail(error.code ?? error.message)
        resolve()
      }
      asked.on('response', (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('error', broken)
        response.on('end', () => {
          count(response.statusCode ?? 0, body === undefined ? undefined : text)
          resolve()
        })
      })
      asked.on('error', broken)
      asked.end(body)
    })
  const run = async (i: number): Promise<void> => {
    const agent = i % 2 === 0 ? new Agent({ keepAlive: true, maxSockets: 1 }) : false
    for (let n = 0; !ended; n++) await ask(agent, n % 2 === 0 ? undefined : mail)
    if (agent) agent.destroy()
  }
  const running = Array.from({ length: clients }, (_, i) => run(i))
  return {
    result,
    stop: async (): Promise<LoadResult> => {
      ended = true
      await Promise.all(running)
      return result
    },
  }
}
