import type { Config } from '../../platform/ground/config/config.ts'
import { productionWarnings } from '../../platform/ground/config/production-warnings.ts'
import { makeVault } from '../../platform/ground/crypto.ts'
import type { Log } from '../../platform/ground/log.ts'
import { resolveMasterKey } from '../operator/master-key.ts'
import { build, type Service } from '../wiring/build.ts'
import { anyDatabase, migrateAll, ownDatabase } from './database.ts'
import { openWorkerPort, portFault, printWelcome } from './greeting.ts'
import { stopTimeoutMs, untilStopped, urgentReasons } from './stop-reasons.ts'

export type ServedParts = { api: boolean; worker: boolean }

export const reportSettings = (config: Config, log: Log): void => {
  for (const variable of config.ignoredVariables) log.warn({ variable }, 'value ignored, default in force')
  for (const warning of productionWarnings(config)) log.warn(warning, 'unsafe setting in production')
}

/** Runs the service in the foreground until it is stopped. Resolves with the exit code. */
export const serve = async (config: Config, log: Log, parts: ServedParts): Promise<number> => {
  const { host, port } = config
  reportSettings(config, log)
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
      const vault = makeVault(masterKey, config.masterKeyPrevious)
      await printWelcome({ config, service, baseUrl, vault, log })
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
