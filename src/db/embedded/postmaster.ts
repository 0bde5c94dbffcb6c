/** One running PostgreSQL server: launched, found again, ended. */
import { spawn } from 'node:child_process'
import { readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Log } from '../../ground/log.ts'
import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import { readPidFile, serverSpawn } from './cluster.ts'
import { absentAsNull, EmbeddedFault, lastLines } from './embedded-fault.ts'
import type { Layout } from './folder.ts'
import { birthOf, type ClusterMark, clusterProcesses, isClusterProcess, pause, signal, within } from './processes.ts'
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
  // Statement errors go back to whoever caused them; in a file they would only leak addresses.
  log_min_messages: 'log',
  log_checkpoints: 'off',
  log_timezone: 'UTC',
}

/** All but the port, which differs from start to start. */
const lastingArguments = ({ layout, binaries, mark, settings }: Server): string[] => {
  const fixed = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    cluster_name: mark.name,
    // PostgreSQL keeps unknown names with a dot as they are: this tells which release a running server is from.
    'tidings.binaries': binaries.version,
  }
  const all = Object.entries({ ...defaults, ...settings, ...fixed })
  return ['-D', layout.cluster, ...all.flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}

/** Whether the server now on this cluster was started with exactly what we would start it with. */
const startedAlike = async (server: Server): Promise<boolean> => {
  const started = await readFile(join(server.layout.cluster, 'postmaster.opts'), 'utf8').catch(absentAsNull)
  const quoted = lastingArguments(server).map((argument) => `"${argument}"`)
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

/** Both pass: another port may be free, and leftovers can be ended. */
export type Obstacle = 'port taken' | 'leftovers'

const obstacleIn = (output: string): Obstacle | null => {
  if (/could not (bind|create any TCP)/.test(output)) return 'port taken'
  return /pre-existing shared memory block|lock file "postmaster.pid" already exists/.test(output) ? 'leftovers' : null
}

const startFault = (output: string, ended: string, { layout }: Server) =>
  new EmbeddedFault(
    `The embedded database in ${layout.cluster} (DATA_DIR ${layout.dataDir}) did not start (${ended}). ` +
      `Its last words, from ${layout.logFile}:\n${lastLines(output)}`,
  )

const slowStartReport = (log: Log) => {
  let next = performance.now() + 10_000
  return () => {
    if (performance.now() < next) return
    next += 10_000
    log.info('the embedded database is still starting: it recovers from an unclean stop')
  }
}

/** Starts the server and waits until it takes connections, for as long as it lives: recovery may take its time. */
export const launch = async (server: Server, port: number): Promise<Postmaster | Obstacle> => {
  const { layout, binaries, account, log } = server
  const { handle, from } = await openLog(layout.logFile)
  const child = spawn(binaries.postgres, [...lastingArguments(server), '-c', `port=${port}`], {
    ...serverSpawn(account),
    stdio: ['ignore', handle.fd, handle.fd],
  })
  let ended: string | null = null
  child.on('error', (error) => {
    ended = error.message
  })
  child.on('exit', (code, by) => {
    ended = by ?? `exit code ${code}`
  })
  child.unref()
  await handle.close()
  for (const stillStarting = slowStartReport(log); ; stillStarting()) {
    if (ended !== null) {
      const output = await readLog(layout.logFile, from)
      const obstacle = obstacleIn(output)
      if (obstacle) return obstacle
      throw startFault(output, ended, server)
    }
    const said = await readPidFile(layout.cluster)
    if (child.pid !== undefined && said?.pid === child.pid && said.status === 'ready') {
      return { pid: child.pid, port, alive: () => ended === null }
    }
    await pause(10)
  }
}

const pulseOf = async (pid: number): Promise<Postmaster['alive']> => {
  const birth = await birthOf(pid)
  if (process.platform === 'linux') return async () => birth !== null && (await birthOf(pid)) === birth
  return () => {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  }
}

/** A server that an earlier service left running on this cluster, proven by more than its pid. */
export const findPostmaster = async (cluster: string, mark: ClusterMark) => {
  const said = await readPidFile(cluster)
  if (said === null || !(await isClusterProcess(said.pid, mark))) return null
  return { pid: said.pid, port: said.port, status: said.status, alive: await pulseOf(said.pid) }
}

const patient = { fastMs: 20_000, hardMs: 5_000 }
/** For a server that has already shown that it does not react. */
const impatient = { fastMs: 2_000, hardMs: 1_000 }

/** Fast shutdown; a server that does not heed it is ended ever harder, which its write-ahead log survives. */
export const endPostmaster = async (postmaster: Postmaster, mark: ClusterMark, { fastMs, hardMs } = patient) => {
  const gone = async () => !(await postmaster.alive())
  if (await gone()) return
  signal(postmaster.pid, 'SIGINT')
  if (await within(fastMs, gone)) return
  signal(postmaster.pid, 'SIGQUIT')
  if (await within(hardMs, gone)) return
  signal(postmaster.pid, 'SIGKILL')
  await within(patient.hardMs, gone)
  await endLeftovers(mark)
}

/** Ends processes whose postmaster is gone: they hold the shared memory without which no new server may start. */
export const endLeftovers = async (mark: ClusterMark): Promise<void> => {
  let left = await clusterProcesses(mark)
  const nothingLeft = async () => {
    const living = await Promise.all(left.map((pid) => isClusterProcess(pid, mark)))
    left = left.filter((_, index) => living[index])
    return left.length === 0
  }
  // Those that are not busy notice by themselves, at once.
  if (await within(300, nothingLeft, 20)) return
  // Nothing gentler is worth its wait: without a postmaster recovery is due anyhow.
  for (const pid of left) signal(pid, 'SIGKILL')
  if (await within(patient.hardMs, nothingLeft, 20)) return
  throw new EmbeddedFault(
    `Processes ${left.join(', ')} of an earlier embedded database in ${mark.folder} cannot be ended. ` +
      'End them by hand, or restart the machine.',
  )
}

/** After an unclean stop: nothing of the old server may run on, and a pid file naming a recycled pid misleads PostgreSQL. */
export const clearRemains = async (cluster: string, mark: ClusterMark): Promise<void> => {
  const file = join(cluster, 'postmaster.pid')
  if ((await stat(file).catch(absentAsNull)) === null) return
  await endLeftovers(mark)
  await rm(file, { force: true })
}

/** The first moments of a start come before the pid file's last line. */
const startingStates = ['', 'starting']

/** Waits out a server that is just recovering (however long that takes) or stopping. */
const settledPostmaster = async ({ layout, mark, log }: Server) => {
  const stoppedBy = performance.now() + patient.fastMs
  for (const stillStarting = slowStartReport(log); ; stillStarting()) {
    const found = await findPostmaster(layout.cluster, mark)
    const stopping = found?.status === 'stopping' && performance.now() < stoppedBy
    if (found === null || !(stopping || startingStates.includes(found.status))) return found
    await pause(20)
  }
}

/** The running server when it can be taken over as it is; otherwise it is ended. */
export const adopt = async (
  server: Server,
  answers: (port: number) => Promise<boolean>,
): Promise<Postmaster | null> => {
  const left = await settledPostmaster(server)
  if (left === null) return null
  const alike = left.status === 'ready' && (await startedAlike(server))
  if (alike && (await answers(left.port))) return left
  server.log.warn({ pid: left.pid }, 'the embedded database left running by an earlier service is restarted')
  await endPostmaster(left, server.mark, alike ? impatient : patient)
  return null
}
