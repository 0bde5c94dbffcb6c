import type { Config } from '../ground/config/config.ts'
import { productionWarnings } from '../ground/config/production-warnings.ts'
import { makeVault, type Vault } from '../ground/crypto.ts'
import type { Log } from '../ground/log.ts'
import { type CreatedOrg, makeCreateOrg } from '../operator/create-org.ts'
import { resolveMasterKey } from '../operator/master-key.ts'
import { build, type Service } from '../wiring/build.ts'
import { Fault } from './command-fault.ts'
import { anyDatabase, migrateAll, ownDatabase } from './database.ts'
import { writeFirstRunFile } from './first-run-file.ts'
import { welcome } from './welcome.ts'

export type ServedParts = { api: boolean; worker: boolean }

type StopReason = 'SIGINT' | 'SIGTERM' | 'launcher exited' | 'database lost'

/** If stopping takes longer than this, something hangs and the process exits anyway. */
const stopTimeoutMs = 60_000

type Listen = { host: string; port: number; variable: 'PORT' | 'WORKER_PORT' }

const portFault = ({ host, port, variable }: Listen, error: NodeJS.ErrnoException): unknown => {
  if (error.code === 'EADDRINUSE') {
    return new Fault(
      `Port ${port} on ${host} is in use. Set ${variable} to a free port, or stop the program that uses it.`,
    )
  }
  if (error.code === 'EACCES') {
    return new Fault(`This user is not allowed to open port ${port}. Set ${variable} to 1024 or higher.`)
  }
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
    return new Fault(`HOST ${host} is not an address of this machine.`)
  }
  return error
}

const saveCredentials = async (config: Config, created: CreatedOrg): Promise<void> => {
  if (config.firstRunFile === undefined) return
  await writeFirstRunFile(config.firstRunFile, `${JSON.stringify(created)}\n`).catch((error) => {
    throw new Fault(`FIRST_RUN_FILE ${config.firstRunFile} cannot be written: ${error.message}`)
  })
}

/** Prints where the service listens. The first start outside production also creates an org and prints its keys. */
const printWelcome = async (config: Config, service: Service, baseUrl: string, vault: Vault): Promise<void> => {
  const { db, clock } = service
  const { serviceDomain } = config
  const created = config.production
    ? undefined
    : await makeCreateOrg({ db, clock, baseUrl, serviceDomain, vault }).createFirst()
  if (created) {
    const link = await service.people.firstSignIn.makeLink(created.owner.email)
    process.stdout.write(welcome(created, `${baseUrl}${link}`))
    await saveCredentials(config, created)
  } else {
    process.stdout.write(`\n  Tidings is ready at ${baseUrl}      API reference: ${baseUrl}/docs\n\n`)
  }
}

/** Resolves with the first of these reasons to stop. Other signals are ignored. */
const untilStopped = (reasons: readonly StopReason[], databaseLost: Promise<void>): Promise<StopReason> =>
  new Promise((resolve) => {
    const stop = (why: StopReason): void => {
      if (reasons.includes(why)) resolve(why)
    }
    process.on('SIGINT', () => stop('SIGINT'))
    process.on('SIGTERM', () => stop('SIGTERM'))
    // The launcher has the other end of this channel. If it is killed, nothing else would stop this process.
    if (process.channel) process.once('disconnect', () => stop('launcher exited'))
    void databaseLost.then(() => stop('database lost'))
  })

/** Reasons for which the service does not wait until a load balancer has noticed. */
const urgentReasons: readonly StopReason[] = ['SIGINT', 'launcher exited', 'database lost']

/** Opened before the worker starts, so that `/readyz` shows when it runs. */
const openWorkerPort = async ({ host, workerPort: port }: Config, service: Service, log: Log): Promise<void> => {
  if (port === undefined) return
  const bound = await service.startWorkerHttp(port).catch((error) => {
    throw portFault({ host, port, variable: 'WORKER_PORT' }, error)
  })
  log.info({ host, port: bound }, 'worker port open')
}

/** Runs the service in the foreground until it is stopped. Resolves with the exit code. */
export const serve = async (config: Config, log: Log, parts: ServedParts): Promise<number> => {
  const { host, port } = config
  for (const variable of config.ignoredVariables) log.warn({ variable }, 'value ignored, default in force')
  for (const warning of productionWarnings(config)) log.warn(warning, 'unsafe setting in production')
  const databaseLost = Promise.withResolvers<void>()
  const stopped = untilStopped([...urgentReasons, 'SIGTERM'], databaseLost.promise)
  const urgent = untilStopped(urgentReasons, databaseLost.promise)
  // A process that runs both parts needs its own embedded server. Separate parts may share one.
  const openDatabase = parts.api && parts.worker ? ownDatabase : anyDatabase
  const database = await openDatabase(config, log, databaseLost.resolve)
  let service: Service | undefined
  try {
    // Generated at the first start, so that it can be backed up before anything is encrypted with it.
    const masterKey = await resolveMasterKey(config)
    await migrateAll(database.url, log)
    service = await build({ ...config, masterKey }, database.url, log)
    if (parts.api) {
      const baseUrl = await service.startApi(parts).catch((error) => {
        throw portFault({ host, port, variable: 'PORT' }, error)
      })
      await printWelcome(config, service, baseUrl, makeVault(masterKey, config.masterKeyPrevious))
    } else await openWorkerPort(config, service, log)
    if (parts.worker) await Promise.race([service.startWorker(), stopped])
    const why = await stopped
    log.info({ why }, 'stopping')
    const last = await Promise.race([service.leave().then(() => why), urgent])
    return last === 'database lost' ? 1 : 0
  } finally {
    setTimeout(() => process.exit(1), stopTimeoutMs).unref()
    await service?.stop()
    await database.close()
    log.info('stopped')
  }
}
