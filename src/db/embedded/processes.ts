/** Which processes are alive, since when, and which of them belong to one PostgreSQL cluster. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { promisify } from 'node:util'
import { errnoOf } from './embedded-fault.ts'

/** A fixed zone and language, since two processes compare what ps told them. */
const ps = (args: string[]) =>
  promisify(execFile)('ps', args, { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } })
const linux = process.platform === 'linux'

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** True as soon as the condition holds, false when it did not within the time. */
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

/** What the kernel tells of processes comes from memory: reading it never waits, so it is read at once. */
const fromKernel = (read: () => string): string | null => {
  try {
    return read()
  } catch {
    return null
  }
}

const thisBoot = () => fromKernel(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'))?.slice(0, 8) ?? 'boot'

/**
 * Tells one life of a pid from the next: the pair (pid, birth) is never used twice, whereas a pid alone is.
 * Null when no such process lives; a zombie no longer holds anything and counts as gone.
 */
export const birthOf = async (pid: number): Promise<string | null> => {
  if (!linux) {
    const started = await psColumn(pid, 'lstart')
    return started ? started.replace(/\W+/g, '_') : null
  }
  return linuxBirthOf(pid)
}

const linuxBirthOf = (pid: number): string | null => {
  const stat = fromKernel(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  if (stat === null) return null
  // The command name, in brackets, may itself hold spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, startTicks] = [fields[0], fields[19]]
  if (state === 'Z' || state === 'X') return null
  return `${thisBoot()}_${startTicks}`
}

const psColumn = async (pid: number, column: string): Promise<string | null> => {
  const found = await ps(['-p', String(pid), '-o', 'stat=', '-o', `${column}=`]).catch(() => null)
  const [state = 'Z', ...rest] = found?.stdout.trim().split(/\s+/) ?? []
  return state.startsWith('Z') ? null : rest.join(' ')
}

export type ClusterMark = {
  /** The cluster's folder, as the kernel names it (no symbolic links). */
  folder: string
  /** What PostgreSQL puts into the title of each of the cluster's processes. */
  name: string
}

type Postgres = { pid: number; command: string; cwd: string | null }

/** A shell or an editor that merely stands in the cluster's folder must never be taken for the server. */
const postgresCommand = /^(?:postgres: |(?:.*\/)?postgres -D )/

const postgresOnLinux = (pid: number): Postgres | null => {
  const titled = fromKernel(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')) ?? ''
  const command = titled.replaceAll('\0', ' ')
  if (!postgresCommand.test(command) || linuxBirthOf(pid) === null) return null
  // Unreadable for root without CAP_SYS_PTRACE (most containers) when the process runs as another user.
  const cwd = fromKernel(() => readlinkSync(`/proc/${pid}/cwd`))
  return { pid, command, cwd }
}

const everyPostgres = async (): Promise<Postgres[]> => {
  if (linux) {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    return pids.map((pid) => postgresOnLinux(Number(pid))).filter((found) => found !== null)
  }
  const { stdout } = await ps(['-axww', '-o', 'pid=', '-o', 'stat=', '-o', 'command='])
  return stdout.split('\n').flatMap((line) => {
    const [, pid, state, command = ''] = /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? []
    const counts = !state?.startsWith('Z') && postgresCommand.test(command)
    return counts ? [{ pid: Number(pid), command: `${command} `, cwd: null }] : []
  })
}

/** Where the kernel tells the working directory it decides; titles are the next best proof. */
const belongs = ({ command, cwd }: Postgres, mark: ClusterMark): boolean => {
  if (cwd !== null) return cwd === mark.folder
  return command.startsWith(`postgres: ${mark.name}: `) || command.includes(`postgres -D ${mark.folder} `)
}

/** Every living process of the cluster: the postmaster, if there is one, and all its children. */
export const clusterProcesses = async (mark: ClusterMark): Promise<number[]> =>
  (await everyPostgres()).filter((found) => belongs(found, mark)).map(({ pid }) => pid)

export const isClusterProcess = async (pid: number, mark: ClusterMark): Promise<boolean> => {
  if (!linux) return (await clusterProcesses(mark)).includes(pid)
  const found = postgresOnLinux(pid)
  return found !== null && belongs(found, mark)
}

/** Sends the signal; a process that has gone meanwhile is no fault. */
export const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (errnoOf(error) !== 'ESRCH') throw error
  }
}
