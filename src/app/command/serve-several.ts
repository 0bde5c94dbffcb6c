/** The service as several processes: the primary owns the database and the port, its children serve. */
import type { Config } from '../../platform/ground/config/config.ts'
import { makeVault } from '../../platform/ground/crypto.ts'
import type { Log } from '../../platform/ground/log.ts'
import { connectionsFor, fitToConnections } from '../../platform/processes/choose-processes.ts'
import { type JoinedProcess, joinPrimary, type StopOrder } from '../../platform/processes/peers.ts'
import { makeSupervisor, type ProcessPlan } from '../../platform/processes/supervise.ts'
import { resolveMasterKey } from '../operator/master-key.ts'
import { build, type Service } from '../wiring/build.ts'
import { anyDatabase, connectionsOf, migrateAll, ownDatabase } from './database.ts'
import { openWorkerPort, portFault, printWelcome } from './greeting.ts'
import { reportSettings, type ServedParts } from './serve.ts'
import { stopTimeoutMs, untilStopped, urgentReasons } from './stop-reasons.ts'

/** Runs the service as several processes until it is stopped. Resolves with the exit code. */
export const serveSeveral = async (
  config: Config,
  log: Log,
  parts: ServedParts,
  { plan: wanted, automatic }: { plan: ProcessPlan; automatic: boolean },
): Promise<number> => {
  reportSettings(config, log)
  let restart = (): void => undefined
  process.on('SIGHUP', () => restart())
  // If the launcher is another process, it has to know that SIGHUP does not stop this one.
  process.send?.({ takes: 'SIGHUP' }, undefined, {}, () => undefined)
  const databaseLost = Promise.withResolvers<void>()
  const stopped = untilStopped([...urgentReasons, 'SIGTERM'], databaseLost.promise)
  const urgent = untilStopped(urgentReasons, databaseLost.promise)
  // The watch of a replica needs a connection to the primary too.
  const watching = config.databaseReadUrl === undefined ? 0 : 1
  const poolSize = config.databasePoolSize + watching
  const connections = connectionsFor(wanted, poolSize)
  const openDatabase = parts.api && parts.worker ? ownDatabase : anyDatabase
  const database = await openDatabase(config, log, databaseLost.resolve, connections)
  try {
    await resolveMasterKey(config)
    await migrateAll(database.url, log)
    const allowed = await connectionsOf(database.url, log)
    // Nobody asked for this number of processes, so nobody has prepared the database for it.
    const plan = automatic ? fitToConnections(wanted, allowed, poolSize) : wanted
    if (allowed < connections) log.warn({ allowed, connections, ...plan }, 'the database allows too few connections')
    const supervisor = makeSupervisor({ plan, databaseUrl: database.url, drainDelayMs: config.drainDelayMs, log })
    const starting = supervisor.start()
    const early = await Promise.race([starting, stopped])
    if (early === true) {
      log.info({ ...plan, pid: process.pid }, 'all processes serve')
      restart = () => {
        log.info('restarting all processes')
        void supervisor.restart()
      }
    }
    const why = early === false ? undefined : await stopped
    log.info({ why: why ?? 'a process could not start' }, 'stopping')
    supervisor.stop(why === undefined || urgentReasons.includes(why) ? 'stop now' : 'stop')
    void urgent.then(() => supervisor.stop('stop now'))
    await supervisor.ended()
    return why === undefined || why === 'database lost' ? 1 : 0
  } finally {
    await database.close()
    log.info('stopped')
  }
}

const stopOrders: readonly StopOrder[] = ['stop', 'stop now', 'retire']

/** A signal to this process alone makes it leave. The primary then starts another. */
const untilOrdered = (joined: JoinedProcess): Promise<StopOrder> => {
  // A terminal sends these to the whole group. The primary decides what they mean.
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
  const signalled = new Promise<StopOrder>((resolve) => process.on('SIGTERM', () => resolve('retire')))
  return Promise.race([signalled, joined.ordered(stopOrders)])
}

type Part = { config: Config; joined: JoinedProcess; service: Service; name: string; log: Log }

const startPart = async ({ config, joined, service, name, log }: Part): Promise<void> => {
  const { host, port } = config
  if (!name.startsWith('api')) {
    await service.startWorker()
    return joined.running()
  }
  const baseUrl = await service.startApi().catch((error) => {
    throw portFault({ host, port, variable: 'PORT' }, error)
  })
  joined.onGreet(async () => {
    const vault = makeVault(await resolveMasterKey(config), config.masterKeyPrevious)
    await printWelcome({ config, service, baseUrl, vault, log })
    return true
  })
  joined.running(service.httpPort())
}

/** Runs in a child process, until the primary or a signal stops it. Resolves with the exit code. */
export const serveAsChild = async (config: Config, log: Log, parts: ServedParts, name: string): Promise<number> => {
  const joined = await joinPrimary()
  const { databaseUrl, port = config.port } = joined.assignment
  const ordered = untilOrdered(joined)
  const isApi = name.startsWith('api')
  let service: Service | undefined
  try {
    const masterKey = await resolveMasterKey(config)
    // Links in mail need the bound port. An API process asks for the same port as the others.
    const own = { ...config, masterKey, port: isApi ? config.port : port }
    service = await build(own, databaseUrl, log, { peers: joined.peers })
    if (!isApi && !parts.api) await openWorkerPort(config, service, log)
    await Promise.race([startPart({ config, joined, service, name, log }), ordered])
    const order = await ordered
    log.info({ order }, 'stopping')
    const leaving = order === 'retire' ? service.retire() : service.leave()
    if (order !== 'stop now') await Promise.race([leaving, joined.ordered(['stop now'])])
    return 0
  } finally {
    setTimeout(() => process.exit(1), stopTimeoutMs).unref()
    await service?.stop()
    await joined.leave()
    log.info('stopped')
  }
}
