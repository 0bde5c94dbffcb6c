import { writeFile } from 'node:fs/promises'
import type { Config } from '../ground/config/config.ts'
import { makeVault, type Vault } from '../ground/crypto.ts'
import type { Log } from '../ground/log.ts'
import { type CreatedOrg, makeCreateOrg } from '../operator/create-org.ts'
import { resolveMasterKey } from '../operator/master-key.ts'
import { build, type Service } from '../wiring/build.ts'
import { Fault } from './command-fault.ts'
import { anyDatabase, migrateAll, ownDatabase } from './database.ts'
import { welcome } from './welcome.ts'

export type ServedParts = { api: boolean; worker: boolean }

/** Past this the process ends anyway: something hangs, and the supervisor above wants its answer. */
const longestStopMs = 60_000

const portFault = (config: Config, error: NodeJS.ErrnoException): unknown => {
  if (error.code === 'EADDRINUSE') {
    return new Fault(
      `Port ${config.port} on ${config.host} is taken. Set PORT to a free one, or stop what listens there.`,
    )
  }
  if (error.code === 'EACCES') {
    return new Fault(`Port ${config.port} needs privileges this user lacks. Set PORT to 1024 or above.`)
  }
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
    return new Fault(`HOST ${config.host} is not an address of this machine.`)
  }
  return error
}

const keepFirstRun = async (config: Config, founded: CreatedOrg): Promise<void> => {
  if (config.firstRunFile === undefined) return
  await writeFile(config.firstRunFile, `${JSON.stringify(founded)}\n`, { mode: 0o600 }).catch((error) => {
    throw new Fault(`FIRST_RUN_FILE ${config.firstRunFile} cannot be written: ${error.message}`)
  })
}

const greet = async (config: Config, service: Service, baseUrl: string, vault: Vault): Promise<void> => {
  const { db, clock } = service
  const { serviceDomain } = config
  const founded = config.production
    ? undefined
    : await makeCreateOrg({ db, clock, baseUrl, serviceDomain, vault }).foundFirst()
  if (founded) {
    process.stdout.write(welcome(founded))
    await keepFirstRun(config, founded)
  } else {
    process.stdout.write(`\n  Tidings is ready at ${baseUrl}      API reference: ${baseUrl}/docs\n\n`)
  }
}

/** Resolves with why the process should end. A second signal of a kind while stopping is ignored. */
const untilToldToStop = (lost: Promise<void>): Promise<string> =>
  new Promise((resolve) => {
    process.on('SIGINT', () => resolve('SIGINT'))
    process.on('SIGTERM', () => resolve('SIGTERM'))
    // The launcher holds the other end of this channel; when it dies without a word nobody is left to stop us.
    if (process.channel) process.once('disconnect', () => resolve('the launcher is gone'))
    void lost.then(() => resolve('the database is gone'))
  })

/** Runs the service in the foreground until it is told to stop; resolves with the exit code. */
export const serve = async (config: Config, log: Log, parts: ServedParts): Promise<number> => {
  let onLost: () => void = () => undefined
  const lost = new Promise<void>((resolve) => {
    onLost = resolve
  })
  const told = untilToldToStop(lost)
  // One process that is everything owns its folder; parts of a cluster may share a running server.
  const database = await (parts.api && parts.worker ? ownDatabase : anyDatabase)(config, log, onLost)
  let service: Service | undefined
  try {
    // Made once, at the first start, so that it is there to be backed up before anything is sealed under it.
    const masterKey = await resolveMasterKey(config)
    await migrateAll(database.url, log)
    service = await build({ ...config, masterKey }, database.url, log)
    if (parts.api) {
      const baseUrl = await service.startApi().catch((error) => {
        throw portFault(config, error)
      })
      await greet(config, service, baseUrl, makeVault(masterKey, config.masterKeyPrevious))
    }
    if (parts.worker) await service.startWorker()
    const why = await told
    log.info({ why }, 'stopping')
    return why === 'the database is gone' ? 1 : 0
  } finally {
    setTimeout(() => process.exit(1), longestStopMs).unref()
    await service?.stop()
    await database.close()
    log.info('stopped')
  }
}
