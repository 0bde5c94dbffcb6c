/** A tree of sources whose service is measured: its API and its worker as processes of their own, on their own database. */
import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { flagsOf } from '../../bench/tree.ts'
import { until } from '../start/launched.ts'
import type { CpuProfile, HeapNode } from './parts.ts'

export type Subject = {
  name: string
  url: string
  key: string
  databaseUrl: string
  startCpu(): Promise<void>
  stopCpu(): Promise<CpuProfile>
  startHeap(): Promise<void>
  stopHeap(): Promise<{ head: HeapNode }>
  /** Processor time of all threads of each process so far. */
  cpuMs(): Promise<{ api: number; worker: number }>
  stop(): Promise<void>
}

/** `profiled` is the process whose main thread is profiled. */
type Needs = { name: string; folder: string; databaseUrl: string; workFolder: string; profiled: 'api' | 'worker' }

const hook = join(import.meta.dirname, 'profile-hook.mjs')

const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}

const stopProcess = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

export const startSubject = async ({ name, folder, databaseUrl, workFolder, profiled }: Needs): Promise<Subject> => {
  const own = join(workFolder, name.replaceAll(/\W/g, '_'))
  await mkdir(own, { recursive: true })
  const firstRunFile = join(own, 'first.json')
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    LOG_LEVEL: 'warn',
    DATABASE_URL: databaseUrl,
    DATA_DIR: join(own, 'data'),
    MASTER_KEY: randomBytes(32).toString('base64'),
    AUDIT_SIGNING_SECRET: 'a secret of the costs, long enough for it',
    FIRST_RUN_FILE: firstRunFile,
    PORT: String(port),
  }
  const serviceFlags = await flagsOf(folder)
  let errors = ''
  const launch = (part: 'api' | 'worker'): ChildProcess => {
    const child = fork(join(folder, 'src', 'main.ts'), [part], {
      cwd: own,
      env,
      execArgv: [...serviceFlags, '--import', hook],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    child.stderr?.on('data', (text) => {
      errors += text
    })
    return child
  }

  const api = launch('api')
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    )
  const isServing = async () => {
    if (api.exitCode !== null) throw new Error(`the service of ${name} exited: ${errors}`)
    return isReady()
  }
  await until(`the service of ${name} is ready`, isServing, 300_000)
  const firstRun = await until('the first-run file exists', () => readFile(firstRunFile, 'utf8').catch(() => ''))
  const worker = launch('worker')

  // biome-ignore lint/suspicious/noExplicitAny: each action has its own result
  const ask = async (child: ChildProcess, action: string): Promise<any> => {
    const answer = new Promise((resolve) => {
      const onMessage = (message: { costs?: string; result?: unknown }) => {
        if (message?.costs !== action) return
        child.off('message', onMessage)
        resolve(message.result)
      }
      child.on('message', onMessage)
    })
    child.send({ costs: action })
    return answer
  }
  const subject = profiled === 'api' ? api : worker

  return {
    name,
    url,
    key: JSON.parse(firstRun).keys.live,
    databaseUrl,
    startCpu: () => ask(subject, 'startCpu'),
    stopCpu: () => ask(subject, 'stopCpu'),
    startHeap: () => ask(subject, 'startHeap'),
    stopHeap: () => ask(subject, 'stopHeap'),
    cpuMs: async () => ({ api: await ask(api, 'cpuMs'), worker: await ask(worker, 'cpuMs') }),
    stop: async () => {
      await Promise.all([stopProcess(api), stopProcess(worker)])
    },
  }
}
