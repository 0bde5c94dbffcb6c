/** The embedded PostgreSQL: made on first use, started or taken over, kept running, stopped with the service. */
import { join } from 'node:path'
import pg from 'pg'
import type { Log } from '../../ground/log.ts'
import { nativeFolder, usableBinaries } from './binaries.ts'
import { clusterState, database, makeCluster, markOf, readPassword, resetPassword, role } from './cluster.ts'
import { EmbeddedFault, errnoOf } from './embedded-fault.ts'
import { findLayout, type Layout, prepareFolder } from './folder.ts'
import { keepRunning } from './keep-running.ts'
import { claimFolder, type FolderClaim } from './ownership.ts'
import {
  adopt,
  clearRemains,
  endLeftovers,
  endPostmaster,
  findPostmaster,
  freePort,
  launch,
  type Postmaster,
  type Server,
} from './postmaster.ts'
import { boundLog, lastLogLines } from './server-log.ts'

export { EmbeddedFault }

export type Embedded = {
  /** postgres://tidings:<password>@127.0.0.1:<port>/tidings */
  url: string
  /** An already running server, left by a killed service, was taken over. */
  adopted: boolean
  /** Fast shutdown; waits until the server is gone. May be called any number of times. */
  stop(): Promise<void>
}

export type EmbeddedOptions = {
  dataDir: string
  log: Log
  /** PostgreSQL settings over our defaults. */
  settings?: Record<string, string>
  /** The server died and could not be brought back. */
  onLost?: () => void
  /** For a service run by root from a private folder: where PostgreSQL's account can get at programs and data. */
  sharedDir?: string
}

const addressOf = (password: string, port: number, name = database) =>
  `postgres://${role}:${password}@127.0.0.1:${port}/${name}`

const codes = { noSuchDatabase: '3D000', wrongPassword: '28P01' }

const ask = async (url: string, sql: string): Promise<void> => {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 3000,
    query_timeout: 30_000,
  })
  // Without a listener a connection that drops between two steps would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query(sql)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Proves that the server answers and that the database is there. */
const ensureDatabase = async (password: string, port: number, layout: Layout): Promise<void> => {
  try {
    await ask(addressOf(password, port), 'select 1')
  } catch (error) {
    const code = errnoOf(error)
    if (code === codes.noSuchDatabase) {
      await ask(addressOf(password, port, 'postgres'), `create database ${database}`)
    } else if (code === codes.wrongPassword) {
      throw new EmbeddedFault(
        `The password in ${layout.passwordFile} is not the one of the database in ${layout.cluster}. ` +
          'Remove that file: the next start sets a new one.',
      )
    } else {
      throw new EmbeddedFault(
        `The embedded database in ${layout.cluster} (DATA_DIR ${layout.dataDir}) runs, but does not answer on ` +
          `127.0.0.1:${port}: ${error instanceof Error ? error.message : error}. Its log is ${layout.logFile}.`,
        { cause: error },
      )
    }
  }
}

const launchTries = 5

/** A given port is kept (clients know it); otherwise a free one is picked, again when it is lost in a race. */
const launchClean = async (server: Server, kept?: number): Promise<Postmaster> => {
  for (let tries = 1; ; tries++) {
    await clearRemains(server.layout.cluster, server.mark)
    const port = kept ?? (await freePort())
    const started = await launch(server, port)
    if (typeof started === 'object') return started
    if (started === 'leftovers') await endLeftovers(server.mark)
    if (tries < launchTries && (started === 'leftovers' || kept === undefined)) continue
    throw new EmbeddedFault(
      `The embedded database in ${server.layout.cluster} (DATA_DIR ${server.layout.dataDir}) cannot start: ` +
        (started === 'leftovers' ? 'an earlier one still runs there.' : `port ${port} on 127.0.0.1 is taken.`),
    )
  }
}

const passwordOf = async (server: Server): Promise<string> => {
  const kept = await readPassword(server.layout.passwordFile)
  if (kept !== null) return kept
  server.log.warn('the embedded database has lost its password and gets a new one')
  const left = await findPostmaster(server.layout.cluster, server.mark)
  if (left) await endPostmaster(left, server.mark)
  await clearRemains(server.layout.cluster, server.mark)
  return resetPassword(server)
}

const bringUp = async (server: Server) => {
  const { layout, mark } = server
  const password = await passwordOf(server)
  const answers = (port: number) =>
    ensureDatabase(password, port, layout).then(
      () => true,
      () => false,
    )
  const left = await adopt(server, answers)
  if (left) return { postmaster: left, adopted: true, password }
  const postmaster = await launchClean(server)
  try {
    await ensureDatabase(password, postmaster.port, layout)
  } catch (error) {
    await endPostmaster(postmaster, mark)
    throw error
  }
  return { postmaster, adopted: false, password }
}

const logLookMs = 60_000

const embeddedOn = async (server: Server, claim: FolderClaim, onLost: () => void): Promise<Embedded> => {
  const { layout, mark, log } = server
  const { postmaster, adopted, password } = await bringUp(server)
  const watch = keepRunning({
    first: postmaster,
    relaunch: (port) => launchClean(server, port),
    lastWords: () => lastLogLines(layout.logFile),
    log,
    onLost,
  })
  const logLook = setInterval(() => boundLog(layout.logFile).catch(() => undefined), logLookMs).unref()
  const stop = async () => {
    clearInterval(logLook)
    try {
      await endPostmaster(await watch.end(), mark)
    } finally {
      await claim.release()
    }
  }
  let stopped: Promise<void> | undefined
  return {
    url: addressOf(password, postmaster.port),
    adopted,
    stop: () => {
      stopped ??= stop()
      return stopped
    },
  }
}

const asFault = (error: unknown, dataDir: string): unknown => {
  if (error instanceof EmbeddedFault || !(error instanceof Error)) return error
  if (!/^(ENOSPC|EDQUOT|EACCES|EPERM|EROFS|EIO)$/.test(errnoOf(error) ?? '')) return error
  return new EmbeddedFault(`The embedded database cannot be kept in DATA_DIR ${dataDir}: ${error.message}`, {
    cause: error,
  })
}

const tellOfMove = ({ dataDir, home }: Layout, abandoned: string[], log: Log) => {
  log.warn(
    { data_dir: dataDir, kept_in: home },
    'DATA_DIR lies under a folder private to root: the database is kept elsewhere',
  )
  if (abandoned.length === 0) return
  log.warn({ folders: abandoned }, 'databases of data folders that are gone take up space: delete them if they may go')
}

export const startEmbedded = async ({
  dataDir,
  log,
  settings = {},
  onLost = () => undefined,
  sharedDir = '/var/lib/tidings',
}: EmbeddedOptions): Promise<Embedded> => {
  let claim: FolderClaim | undefined
  try {
    const native = nativeFolder()
    const { layout, account, movedOut } = await prepareFolder(dataDir, sharedDir)
    if (movedOut) tellOfMove(layout, movedOut.abandoned, log)
    claim = await claimFolder(layout.home, layout.dataDir)
    const binaries = await usableBinaries(native, account, join(account ? sharedDir : layout.dataDir, 'binaries'))
    if ((await clusterState(layout, binaries)) === 'absent') {
      log.info({ folder: layout.cluster }, 'making the embedded database')
      await makeCluster({ layout, binaries, account, durable: settings.fsync !== 'off' })
    }
    const server = { layout, binaries, account, settings, log, mark: await markOf(layout.cluster) }
    return await embeddedOn(server, claim, onLost)
  } catch (error) {
    await claim?.release()
    throw asFault(error, dataDir)
  }
}

/** Address of the embedded server another process runs on that data folder, or null. */
export const findEmbedded = async (dataDir: string): Promise<string | null> => {
  try {
    const layout = await findLayout(dataDir)
    const password = layout && (await readPassword(layout.passwordFile))
    if (!layout || !password) return null
    const running = await findPostmaster(layout.cluster, await markOf(layout.cluster))
    return running?.status === 'ready' ? addressOf(password, running.port) : null
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'ENOENT') return null
    if (code !== 'EACCES' && code !== 'EPERM') throw error
    throw new EmbeddedFault(
      `The embedded database in DATA_DIR ${dataDir} belongs to another user. ` +
        'Run this command as the user who runs the service, or as root.',
      { cause: error },
    )
  }
}
