/** The embedded PostgreSQL: created on first use, started or adopted, kept running, and stopped with the service. */
import { join } from 'node:path'
import type { Log } from '../../ground/log.ts'
import { OperatorFault } from '../../ground/operator-fault.ts'
import { nativeFolder, usableBinaries } from './binaries.ts'
import { clusterState, makeCluster, markOf, readPassword, resetPassword } from './cluster.ts'
import { errnoOf } from './errno.ts'
import { findLayout, type Layout, prepareFolder } from './folder.ts'
import { keepRunning } from './keep-running.ts'
import { claimFolder, type FolderClaim } from './ownership.ts'
import {
  adopt,
  cleanUpAfterCrash,
  endLeftovers,
  endPostmaster,
  findPostmaster,
  freePort,
  launch,
  type Postmaster,
  type Server,
} from './postmaster.ts'
import { ensureDatabase, maintenanceUrlOf, urlOf } from './roles.ts'
import { lastLogLines, truncateLargeLog } from './server-log.ts'

type EmbeddedOptions = {
  dataDir: string
  log: Log
  /** PostgreSQL settings that override our defaults. */
  settings?: Record<string, string>
  /** Called when the server died and could not be restarted. */
  onLost?: () => void
  /** For programs and data that PostgreSQL's account must reach when root runs the service in a private folder. */
  sharedDir?: string
}

const maxLaunches = 5

/**
 * Uses `fixedPort` if set, because clients already know it. Picks a free port otherwise, and another one if a different
 * process takes the port first.
 */
const launchClean = async (server: Server, fixedPort?: number): Promise<Postmaster> => {
  for (let launches = 1; ; launches++) {
    await cleanUpAfterCrash(server.layout.cluster, server.mark)
    const port = fixedPort ?? (await freePort())
    const started = await launch(server, port)
    if (typeof started === 'object') return started
    if (started === 'leftovers') await endLeftovers(server.mark)
    if (launches < maxLaunches && (started === 'leftovers' || fixedPort === undefined)) continue
    throw new OperatorFault(
      `The embedded database in ${server.layout.cluster} (DATA_DIR ${server.layout.dataDir}) cannot start: ` +
        (started === 'leftovers' ? 'an earlier server still runs there.' : `port ${port} on 127.0.0.1 is in use.`),
    )
  }
}

const passwordOf = async (server: Server): Promise<string> => {
  const stored = await readPassword(server.layout.passwordFile)
  if (stored !== null) return stored
  server.log.warn('embedded database password file is missing, setting a new password')
  const running = await findPostmaster(server.layout.cluster, server.mark)
  if (running) await endPostmaster(running, server.mark)
  await cleanUpAfterCrash(server.layout.cluster, server.mark)
  return resetPassword(server)
}

const adoptOrLaunch = async (server: Server) => {
  const { layout, mark, log } = server
  const password = await passwordOf(server)
  const answers = (port: number) =>
    ensureDatabase(password, port, layout, log).then(
      () => true,
      () => false,
    )
  const running = await adopt(server, answers)
  if (running) return { postmaster: running, adopted: true, password }
  const postmaster = await launchClean(server)
  try {
    await ensureDatabase(password, postmaster.port, layout, log)
  } catch (error) {
    await endPostmaster(postmaster, mark)
    throw error
  }
  return { postmaster, adopted: false, password }
}

const logCheckMs = 60_000

const embeddedOn = async (server: Server, claim: FolderClaim, onLost: () => void) => {
  const { layout, mark, log } = server
  const { postmaster, adopted, password } = await adoptOrLaunch(server)
  const watch = keepRunning({
    first: postmaster,
    relaunch: (port) => launchClean(server, port),
    lastLogLines: () => lastLogLines(layout.logFile),
    log,
    onLost,
  })
  const logCheck = setInterval(() => truncateLargeLog(layout.logFile).catch(() => undefined), logCheckMs).unref()
  const stop = async () => {
    clearInterval(logCheck)
    try {
      await endPostmaster(await watch.end(), mark)
    } finally {
      await claim.release()
    }
  }
  let stopped: Promise<void> | undefined
  return {
    /** postgres://tidings:<password>@127.0.0.1:<port>/tidings */
    url: urlOf({ password, port: postmaster.port }),
    /** The same with the superuser, for tests. Null if its password file was removed. */
    maintenanceUrl: await maintenanceUrlOf(layout, postmaster.port),
    /** Whether a server that a killed service left running was adopted. */
    adopted,
    /** Fast shutdown. Waits until the server is gone. Can be called more than once. */
    stop: (): Promise<void> => {
      stopped ??= stop()
      return stopped
    },
  }
}

const asFault = (error: unknown, dataDir: string): unknown => {
  if (error instanceof OperatorFault || !(error instanceof Error)) return error
  if (!/^(ENOSPC|EDQUOT|EACCES|EPERM|EROFS|EIO)$/.test(errnoOf(error) ?? '')) return error
  return new OperatorFault(`The embedded database cannot use DATA_DIR ${dataDir}: ${error.message}`, {
    cause: error,
  })
}

const warnAboutMove = ({ dataDir, home }: Layout, abandoned: string[], log: Log) => {
  log.warn({ data_dir: dataDir, kept_in: home }, 'DATA_DIR is private to root: the database is kept elsewhere')
  if (abandoned.length === 0) return
  log.warn(
    { folders: abandoned },
    'found databases whose DATA_DIR no longer exists: delete them if you do not need them',
  )
}

export const startEmbedded = async ({
  dataDir,
  log,
  settings = {},
  onLost = () => undefined,
  sharedDir = '/var/lib/tidings',
}: EmbeddedOptions) => {
  let claim: FolderClaim | undefined
  try {
    const native = nativeFolder()
    const { layout, account, movedOut } = await prepareFolder(dataDir, sharedDir)
    if (movedOut) warnAboutMove(layout, movedOut.abandoned, log)
    claim = await claimFolder(layout.home, layout.dataDir)
    const binaries = await usableBinaries(native, account, join(account ? sharedDir : layout.dataDir, 'binaries'))
    if ((await clusterState(layout, binaries)) === 'absent') {
      log.info({ folder: layout.cluster }, 'creating the embedded database')
      await makeCluster({ layout, binaries, account, durable: settings.fsync !== 'off' })
    }
    const server = { layout, binaries, account, settings, log, mark: await markOf(layout.cluster) }
    return await embeddedOn(server, claim, onLost)
  } catch (error) {
    await claim?.release()
    throw asFault(error, dataDir)
  }
}

export type Embedded = Awaited<ReturnType<typeof startEmbedded>>

/** The URL of the embedded server that another process runs on the data folder, or null. */
export const findEmbedded = async (dataDir: string): Promise<string | null> => {
  try {
    const layout = await findLayout(dataDir)
    const password = layout && (await readPassword(layout.passwordFile))
    if (!layout || !password) return null
    const running = await findPostmaster(layout.cluster, await markOf(layout.cluster))
    return running?.status === 'ready' ? urlOf({ password, port: running.port }) : null
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'ENOENT') return null
    if (code !== 'EACCES' && code !== 'EPERM') throw error
    throw new OperatorFault(
      `The embedded database in DATA_DIR ${dataDir} belongs to another user. ` +
        'Run this command as the user who runs the service, or as root.',
      { cause: error },
    )
  }
}
