/** Launches, finds and ends a PostgreSQL server. */
import { spawn } from 'node:child_process'
import { readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Log } from '../../ground/log.ts'
import { OperatorFault } from '../../ground/operator-fault.ts'
import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import { readPidFile, serverSpawn } from './cluster.ts'
import { absentAsNull, lastLines } from './errno.ts'
import type { Layout } from './folder.ts'
import {
  type ClusterMark,
  clusterProcesses,
  isClusterProcess,
  pause,
  signal,
  startTimeOf,
  within,
} from './processes.ts'
import { openLog, readLog } from './server-log.ts'

export type Postmaster = { pid: number; port: number; alive(): boolean | Promise<boolean> }

export type Server = {
  layout: Layout
  binaries: Binaries
  account: Account | null
  mark: ClusterMark
  settings: Record<string, string>
  log: Log
}

const defaults: Record<string, string> = {
  shared_buffers: '128MB',
  max_connections: '100',
  fsync: 'on',
  synchronous_commit: 'on',
  jit: 'off',
  timezone: 'UTC',
  // Statement errors are returned to the client. In a log file they would leak email addresses.
  log_min_messages: 'log',
  log_checkpoints: 'off',
  log_timezone: 'UTC',
}

/** All arguments except the port, which differs between starts. */
const fixedArguments = ({ layout, binaries, mark, settings }: Server): string[] => {
  const fixed = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    cluster_name: mark.name,
    // PostgreSQL accepts unknown names that contain a dot. This one records the release that started the server.
    'tidings.binaries': binaries.version,
  }
  const all = Object.entries({ ...defaults, ...settings, ...fixed })
  return ['-D', layout.cluster, ...all.flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}

/** Whether the running server was started with exactly the arguments that we would use. */
const hasSameArguments = async (server: Server): Promise<boolean> => {
  const started = await readFile(join(server.layout.cluster, 'postmaster.opts'), 'utf8').catch(absentAsNull)
  const quoted = fixedArguments(server).map((argument) => `"${argument}"`)
  return started?.trim().replace(/ "-c" "port=\d+"$/, '') === [server.binaries.postgres, ...quoted].join(' ')
}

export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.on('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })

/** Reasons to try again: another port may be free, and leftover processes can be ended. */
type Obstacle = 'port taken' | 'leftovers'

const obstacleIn = (output: string): Obstacle | null => {
  if (/could not (bind|create any TCP)/.test(output)) return 'port taken'
  return /pre-existing shared memory block|lock file "postmaster.pid" already exists/.test(output) ? 'leftovers' : null
}

const startFault = (output: string, ended: string, { layout }: Server) =>
  new OperatorFault(
    `The embedded database in ${layout.cluster} (DATA_DIR ${layout.dataDir}) did not start (${ended}). ` +
      `The last lines of ${layout.logFile}:\n${lastLines(output)}`,
  )

const reportSlowStart = (log: Log) => {
  let next = performance.now() + 10_000
  return () => {
    if (performance.now() < next) return
    next += 10_000
    log.info('embedded database is recovering from an unclean stop')
  }
}

/** Starts the server and waits until it accepts connections. There is no time limit, because recovery may take long. */
export const launch = async (server: Server, port: number): Promise<Postmaster | Obstacle> => {
  const { layout, binaries, account, log } = server
  const { handle, from } = await openLog(layout.logFile)
  const child = spawn(binaries.postgres, [...fixedArguments(server), '-c', `port=${port}`], {
    ...serverSpawn(account),
    stdio: ['ignore', handle.fd, handle.fd],
  })
  let ended: string | null = null
  child.on('error', (error) => {
    ended = error.message
  })
  child.on('exit', (code, bySignal) => {
    ended = bySignal ?? `exit code ${code}`
  })
  child.unref()
  await handle.close()
  for (const stillStarting = reportSlowStart(log); ; stillStarting()) {
    if (ended !== null) {
      const output = await readLog(layout.logFile, from)
      const obstacle = obstacleIn(output)
      if (obstacle) return obstacle
      throw startFault(output, ended, server)
    }
    const pidFile = await readPidFile(layout.cluster)
    if (child.pid !== undefined && pidFile?.pid === child.pid && pidFile.status === 'ready') {
      return { pid: child.pid, port, alive: () => ended === null }
    }
    await pause(10)
  }
}

const aliveCheckOf = async (pid: number): Promise<Postmaster['alive']> => {
  const startTime = await startTimeOf(pid)
  if (process.platform === 'linux') return async () => startTime !== null && (await startTimeOf(pid)) === startTime
  return () => {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  }
}

/** The server that runs on this cluster, if any. Checks more than the pid, because pids are reused. */
export const findPostmaster = async (cluster: string, mark: ClusterMark) => {
  const pidFile = await readPidFile(cluster)
  if (pidFile === null || !(await isClusterProcess(pidFile.pid, mark))) return null
  return { pid: pidFile.pid, port: pidFile.port, status: pidFile.status, alive: await aliveCheckOf(pidFile.pid) }
}

const defaultWaits = { fastMs: 20_000, hardMs: 5_000 }
/** For a server that is known not to respond. */
const shortWaits = { fastMs: 2_000, hardMs: 1_000 }

/** Fast shutdown. If the server does not end, stronger signals follow; its write-ahead log keeps the data safe. */
export const endPostmaster = async (postmaster: Postmaster, mark: ClusterMark, { fastMs, hardMs } = defaultWaits) => {
  const isGone = async () => !(await postmaster.alive())
  if (await isGone()) return
  signal(postmaster.pid, 'SIGINT')
  if (await within(fastMs, isGone)) return
  signal(postmaster.pid, 'SIGQUIT')
  if (await within(hardMs, isGone)) return
  signal(postmaster.pid, 'SIGKILL')
  await within(defaultWaits.hardMs, isGone)
  await endLeftovers(mark)
}

/** Ends processes whose postmaster is gone. They hold the shared memory, which a new server needs to start. */
export const endLeftovers = async (mark: ClusterMark): Promise<void> => {
  let leftovers = await clusterProcesses(mark)
  const allGone = async () => {
    const alive = await Promise.all(leftovers.map((pid) => isClusterProcess(pid, mark)))
    leftovers = leftovers.filter((_, index) => alive[index])
    return leftovers.length === 0
  }
  // Idle processes notice the missing postmaster at once and exit by themselves.
  if (await within(300, allGone, 20)) return
  // A gentler signal gains nothing: without its postmaster, the cluster needs recovery anyway.
  for (const pid of leftovers) signal(pid, 'SIGKILL')
  if (await within(defaultWaits.hardMs, allGone, 20)) return
  throw new OperatorFault(
    `Processes ${leftovers.join(', ')} of an earlier embedded database in ${mark.folder} could not be ended. ` +
      'Kill them, or restart the machine.',
  )
}

/**
 * Cleans up after an unclean stop: ends the processes of the old server, and removes its pid file, because PostgreSQL
 * does not start when another process now has that pid.
 */
export const cleanUpAfterCrash = async (cluster: string, mark: ClusterMark): Promise<void> => {
  const file = join(cluster, 'postmaster.pid')
  if ((await stat(file).catch(absentAsNull)) === null) return
  await endLeftovers(mark)
  await rm(file, { force: true })
}

/** The status is empty at first, until the server has written the last line of the pid file. */
const startingStates = ['', 'starting']

/** Waits while a server is starting, which recovery can make long, or stopping. */
const settledPostmaster = async ({ layout, mark, log }: Server) => {
  const stopDeadline = performance.now() + defaultWaits.fastMs
  for (const stillStarting = reportSlowStart(log); ; stillStarting()) {
    const found = await findPostmaster(layout.cluster, mark)
    const stopping = found?.status === 'stopping' && performance.now() < stopDeadline
    if (found === null || !(stopping || startingStates.includes(found.status))) return found
    await pause(20)
  }
}

/** Returns the running server if it can be used as it is. Ends it otherwise. */
export const adopt = async (
  server: Server,
  answers: (port: number) => Promise<boolean>,
): Promise<Postmaster | null> => {
  const running = await settledPostmaster(server)
  if (running === null) return null
  const usable = running.status === 'ready' && (await hasSameArguments(server))
  if (usable && (await answers(running.port))) return running
  server.log.warn({ pid: running.pid }, 'restarting the embedded database that an earlier service left running')
  await endPostmaster(running, server.mark, usable ? shortWaits : defaultWaits)
  return null
}
