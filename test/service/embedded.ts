/** Test helpers: temporary data folders, services in separate processes, and the processes and files they leave. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, readFile, readlink, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { type Account, asRoot } from '../../src/platform/db/embedded/account.ts'
import { startEmbedded } from '../../src/platform/db/embedded/supervisor.ts'
import { silentLog } from '../../src/platform/ground/log.ts'

export const run = promisify(execFile)

export const fastSettings = { fsync: 'off', shared_buffers: '16MB', max_connections: '20' }

/** The fields of /proc/<pid>/stat after the command name: state, parent, group, session and so on. */
export const statOf = async (pid: number): Promise<string[] | null> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? null
}

export const isAlive = async (pid: number): Promise<boolean> => !/^[ZX]$/.test((await statOf(pid))?.[0] ?? 'X')

/** Live processes whose working directory is in the folder, as /proc reports them. */
export const processesIn = async (folder: string): Promise<number[]> => {
  const found: number[] = []
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)) {
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '')
    if ((cwd === folder || cwd.startsWith(`${folder}/`)) && (await isAlive(pid))) found.push(pid)
  }
  return found
}

const folders: string[] = []
let template: Promise<string> | undefined

/** A temporary folder that every account may enter, unlike those of mkdtemp. */
export const temporaryFolder = async (): Promise<string> => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'tidings-embedded-')))
  await chmod(folder, 0o755)
  folders.push(folder)
  return folder
}

/** Removes the folders of a test file. The next file of the same worker makes its own template. */
export const cleanUp = async (): Promise<void> => {
  template = undefined
  for (const folder of folders.splice(0)) {
    for (const pid of await processesIn(folder)) process.kill(pid, 'SIGKILL')
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  }
}

/** Starts an embedded database with settings that make it fast but not durable. */
export const start = (
  dataDir: string,
  { settings = {}, ...options }: Partial<Parameters<typeof startEmbedded>[0]> = {},
) => startEmbedded({ dataDir, log: silentLog(), settings: { ...fastSettings, ...settings }, ...options })

const makeTemplate = async () => {
  const dataDir = join(await temporaryFolder(), 'data')
  const embedded = await start(dataDir)
  await query(embedded.url, `create table kept as select 'kept' as word`)
  await embedded.stop()
  return dataDir
}

/** A data folder with a stopped database of one row. Copied from a template, because creating one takes a second. */
export const usedFolder = async (): Promise<string> => {
  template ??= makeTemplate()
  const dataDir = join(await temporaryFolder(), 'data')
  await run('cp', ['-a', await template, dataDir])
  return dataDir
}

/** An account without privileges that is not nobody. Undefined when the tests do not run as root. */
export const unprivileged: Account | undefined = asRoot() ? { uid: 1, gid: 1 } : undefined

const embeddedUrl = new URL('../../src/platform/db/embedded/supervisor.ts', import.meta.url).href

const serviceScript = `
  import { startEmbedded } from '${embeddedUrl}'
  const ignore = () => undefined
  const log = { info: ignore, warn: ignore, error: ignore, fatal: ignore }
  const print = (message) => process.stdout.write(JSON.stringify(message) + '\\n')
  try {
    const { url, adopted, stop } = await startEmbedded({ ...JSON.parse(process.argv[1]), log })
    process.on('SIGTERM', () => stop().then(() => process.exit(0)))
    setInterval(() => undefined, 1000)
    print({ url, adopted })
  } catch (error) {
    print({ fault: error.name, message: error.message })
    process.exit(1)
  }`

export type StartReport = { url?: string; adopted?: boolean; fault?: string; message?: string }

type ServiceOptions = {
  dataDir: string
  settings?: Record<string, string>
  sharedDir?: string
  as?: Account
  /** A command that runs the service, such as setpriv with its options. */
  under?: string[]
}

/** Starts a service in a separate process, so that a test can kill it. */
export const spawnService = ({ as, under = [], ...options }: ServiceOptions) => {
  const node = [process.execPath, '--input-type=module', '-e', serviceScript]
  const serviceOptions = JSON.stringify({ settings: fastSettings, ...options })
  const [command = '', ...args] = [...under, ...node, serviceOptions]
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: '/', ...as })
  const exited = once(child, 'exit')
  let output = ''
  let errors = ''
  child.stderr.on('data', (text) => {
    errors += text
  })
  const report = new Promise<StartReport>((resolve, reject) => {
    child.stdout.on('data', (text) => {
      output += text
      if (output.includes('\n')) resolve(JSON.parse(output))
    })
    child.on('close', () => reject(new Error(`the service ended without a report: ${errors}`)))
  })
  report.catch(() => undefined)
  return {
    pid: child.pid ?? 0,
    report,
    end: async (signal: NodeJS.Signals) => {
      child.kill(signal)
      await exited
    },
  }
}

export const query = async (url: string | undefined, sql: string): Promise<Record<string, unknown>[]> => {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

export const postmasterPid = async (cluster: string): Promise<number> =>
  Number((await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n')[0])

export const until = async (what: string, condition: () => Promise<boolean>, ms = 10_000): Promise<void> => {
  for (const end = performance.now() + ms; !(await condition()); ) {
    if (performance.now() > end) throw new Error(`timed out waiting until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
