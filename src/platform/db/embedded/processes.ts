/** Finds out which processes are alive, when they started, and which belong to a PostgreSQL cluster. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { promisify } from 'node:util'
import { errnoOf } from './errno.ts'

/** Fixed time zone and language, because two processes compare the output of ps. */
const ps = (args: string[]) =>
  promisify(execFile)('ps', args, { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } })
const linux = process.platform === 'linux'

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** True as soon as the condition is true, false when the time is over. */
export const within = async (
  ms: number,
  condition: () => boolean | Promise<boolean>,
  everyMs = 10,
): Promise<boolean> => {
  const end = performance.now() + ms
  while (!(await condition())) {
    if (performance.now() >= end) return false
    await pause(everyMs)
  }
  return true
}

/** Files in /proc come from memory and never block, so they are read synchronously. */
const readProc = (read: () => string): string | null => {
  try {
    return read()
  } catch {
    return null
  }
}

const bootId = () => readProc(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'))?.slice(0, 8) ?? 'boot'

/**
 * Identifies a process together with its pid: the system reuses pids, but never the pair of pid and start time. Null
 * when no such process is alive. A zombie holds no resources and counts as dead.
 */
export const startTimeOf = async (pid: number): Promise<string | null> => {
  if (!linux) {
    const started = await psColumn(pid, 'lstart')
    return started ? started.replace(/\W+/g, '_') : null
  }
  return linuxStartTimeOf(pid)
}

const linuxStartTimeOf = (pid: number): string | null => {
  const stat = readProc(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  if (stat === null) return null
  // The command name, in parentheses, may itself contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const state = fields[0]
  const startTicks = fields[19]
  if (state === 'Z' || state === 'X') return null
  return `${bootId()}_${startTicks}`
}

const psColumn = async (pid: number, column: string): Promise<string | null> => {
  const found = await ps(['-p', String(pid), '-o', 'stat=', '-o', `${column}=`]).catch(() => null)
  const [state = 'Z', ...rest] = found?.stdout.trim().split(/\s+/) ?? []
  return state.startsWith('Z') ? null : rest.join(' ')
}

export type ClusterMark = {
  /** The folder of the cluster, without symbolic links. */
  folder: string
  /** The cluster name, which PostgreSQL includes in the title of each process. */
  name: string
}

type PostgresProcess = { pid: number; command: string; cwd: string | null }

/** A shell or an editor whose working directory is the cluster's folder must not be mistaken for the server. */
const postgresCommand = /^(?:postgres: |(?:.*\/)?postgres -D )/

const postgresOnLinux = (pid: number): PostgresProcess | null => {
  const commandLine = readProc(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')) ?? ''
  const command = commandLine.replaceAll('\0', ' ')
  if (!postgresCommand.test(command) || linuxStartTimeOf(pid) === null) return null
  // In most containers root lacks CAP_SYS_PTRACE and cannot read this for processes of other users.
  const cwd = readProc(() => readlinkSync(`/proc/${pid}/cwd`))
  return { pid, command, cwd }
}

const everyPostgres = async (): Promise<PostgresProcess[]> => {
  if (linux) {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    return pids.map((pid) => postgresOnLinux(Number(pid))).filter((found) => found !== null)
  }
  const { stdout } = await ps(['-axww', '-o', 'pid=', '-o', 'stat=', '-o', 'command='])
  return stdout.split('\n').flatMap((line) => {
    const [, pid, state, command = ''] = /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? []
    const isLivePostgres = !state?.startsWith('Z') && postgresCommand.test(command)
    return isLivePostgres ? [{ pid: Number(pid), command: `${command} `, cwd: null }] : []
  })
}

/** Decides by the working directory if it is known, and by the process title otherwise. */
const belongs = ({ command, cwd }: PostgresProcess, mark: ClusterMark): boolean => {
  if (cwd !== null) return cwd === mark.folder
  return command.startsWith(`postgres: ${mark.name}: `) || command.includes(`postgres -D ${mark.folder} `)
}

/** Every live process of the cluster: the postmaster, if there is one, and all its children. */
export const clusterProcesses = async (mark: ClusterMark): Promise<number[]> =>
  (await everyPostgres()).filter((found) => belongs(found, mark)).map(({ pid }) => pid)

export const isClusterProcess = async (pid: number, mark: ClusterMark): Promise<boolean> => {
  if (!linux) return (await clusterProcesses(mark)).includes(pid)
  const found = postgresOnLinux(pid)
  return found !== null && belongs(found, mark)
}

/** Sends the signal. Ignores a process that no longer exists. */
export const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (errnoOf(error) !== 'ESRCH') throw error
  }
}
