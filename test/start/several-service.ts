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

export type LoadResult = { answered: number; failed: Record<string, number> }

/** Sends GET requests with clients that keep their connections, and with clients that open one for each request. */
export const makeLoad = (url: string, key: string, clients = 8) => {
  const result: LoadResult = { answered: 0, failed: {} }
  let ended = false
  const count = (failure: string) => {
    result.failed[failure] = (result.failed[failure] ?? 0) + 1
  }
  const send = (agent: Agent | false) =>
    new Promise<void>((resolve) => {
      const sent = request(`${url}/api/v1/suppressions`, { agent, headers: { authorization: `Bearer ${key}` } })
      sent.on('response', (response) => {
        // An org may be over its rate limit. That is an answer too.
        if (response.statusCode === 200 || response.statusCode === 429) result.answered += 1
        else count(`status ${response.statusCode}`)
        response.resume().on('close', resolve)
      })
      sent.on('error', (error: NodeJS.ErrnoException) => {
        count(error.code ?? error.message)
        resolve()
      })
      sent.end()
    })
  const run = async (i: number): Promise<void> => {
    const agent = i % 2 === 0 ? new Agent({ keepAlive: true, maxSockets: 1 }) : false
    while (!ended) await send(agent)
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
