/** For the tests beside: temporary data folders, services as processes of their own, and a look at what they leave. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, readFile, readlink, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { silentLog } from '../../ground/log.ts'
import { type Account, asRoot } from './account.ts'
import { startEmbedded } from './supervisor.ts'

export const run = promisify(execFile)

export const fastSettings = { fsync: 'off', shared_buffers: '16MB', max_connections: '20' }

/** The fields after the command name: state, parent, group, session and so on. */
export const statOf = async (pid: number): Promise<string[] | null> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? null
}

export const lives = async (pid: number): Promise<boolean> => !/^[ZX]$/.test((await statOf(pid))?.[0] ?? 'X')

/** Living processes whose working directory is in the folder: the kernel's word, not the supervisor's. */
export const processesIn = async (folder: string): Promise<number[]> => {
  const found: number[] = []
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)) {
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '')
    if ((cwd === folder || cwd.startsWith(`${folder}/`)) && (await lives(pid))) found.push(pid)
  }
  return found
}

const made: string[] = []

/** Passable for every account, unlike what mkdtemp makes. */
export const temporaryFolder = async (): Promise<string> => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'tidings-embedded-')))
  await chmod(folder, 0o755)
  made.push(folder)
  return folder
}

export const cleanUp = async (): Promise<void> => {
  for (const folder of made.splice(0)) {
    for (const pid of await processesIn(folder)) process.kill(pid, 'SIGKILL')
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  }
}

/** `options` over settings that make a throwaway database fast. */
export const start = (
  dataDir: string,
  { settings = {}, ...options }: Partial<Parameters<typeof startEmbedded>[0]> = {},
) => startEmbedded({ dataDir, log: silentLog(), settings: { ...fastSettings, ...settings }, ...options })

let pattern: Promise<string> | undefined

const makePattern = async () => {
  const dataDir = join(await temporaryFolder(), 'data')
  const embedded = await start(dataDir)
  await query(embedded.url, `create table kept as select 'kept' as word`)
  await embedded.stop()
  return dataDir
}

/** A data folder with a stopped database that holds one row; copied, since making one anew takes a second. */
export const usedFolder = async (): Promise<string> => {
  pattern ??= makePattern()
  const dataDir = join(await temporaryFolder(), 'data')
  await run('cp', ['-a', await pattern, dataDir])
  return dataDir
}

/** A named account without rights, other than nobody; a suite that does not run as root is one itself. */
export const ordinary: Account | undefined = asRoot() ? { uid: 1, gid: 1 } : undefined

const embeddedUrl = new URL('./supervisor.ts', import.meta.url).href

const serviceScript = `
  import { startEmbedded } from '${embeddedUrl}'
  const ignore = () => undefined
  const log = { info: ignore, warn: ignore, error: ignore, fatal: ignore }
  const say = (message) => process.stdout.write(JSON.stringify(message) + '\\n')
  try {
    const { url, adopted, stop } = await startEmbedded({ ...JSON.parse(process.argv[1]), log })
    process.on('SIGTERM', () => stop().then(() => process.exit(0)))
    setInterval(() => undefined, 1000)
    say({ url, adopted })
  } catch (error) {
    say({ fault: error.name, message: error.message })
    process.exit(1)
  }`

export type Said = { url?: string; adopted?: boolean; fault?: string; message?: string }

type Given = {
  dataDir: string
  settings?: Record<string, string>
  sharedDir?: string
  as?: Account
  /** A command that runs the service, such as setpriv with its options. */
  under?: string[]
}

/** A service in a process of its own, which can therefore be killed. */
export const spawnService = ({ as, under = [], ...options }: Given) => {
  const node = [process.execPath, '--input-type=module', '-e', serviceScript]
  const given = JSON.stringify({ settings: fastSettings, ...options })
  const [command = '', ...args] = [...under, ...node, given]
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: '/', ...as })
  const exited = once(child, 'exit')
  let [output, errors] = ['', '']
  child.stderr.on('data', (text) => {
    errors += text
  })
  const said = new Promise<Said>((resolve, reject) => {
    child.stdout.on('data', (text) => {
      output += text
      if (output.includes('\n')) resolve(JSON.parse(output))
    })
    child.on('close', () => reject(new Error(`the service said nothing: ${errors}`)))
  })
  said.catch(() => undefined)
  return {
    pid: child.pid ?? 0,
    said,
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

export const until = async (what: string, holds: () => Promise<boolean>, ms = 10_000): Promise<void> => {
  for (const end = performance.now() + ms; !(await holds()); ) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
