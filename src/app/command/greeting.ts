/** What the service prints once it serves, and what prevents it from listening. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../platform/ground/config/config.ts'
import type { Vault } from '../../platform/ground/crypto.ts'
import type { Log } from '../../platform/ground/log.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { type CreatedOrg, makeCreateOrg } from '../operator/create-org.ts'
import type { Service } from '../wiring/build.ts'
import { printed } from './closed-output.ts'
import { writeFirstRunFile } from './first-run-file.ts'
import { welcome } from './welcome.ts'

type Listen = { host: string; port: number; variable: 'PORT' | 'WORKER_PORT' }

export const portFault = ({ host, port, variable }: Listen, error: NodeJS.ErrnoException): unknown => {
  if (error.code === 'EADDRINUSE') {
    return new OperatorFault(
      `Port ${port} on ${host} is in use. Set ${variable} to a free port, or stop the program that uses it.`,
    )
  }
  if (error.code === 'EACCES') {
    return new OperatorFault(`This user is not allowed to open port ${port}. Set ${variable} to 1024 or higher.`)
  }
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
    return new OperatorFault(`HOST ${host} is not an address of this machine.`)
  }
  return error
}

const saveCredentials = async ({ firstRunFile }: Config, created: CreatedOrg): Promise<void> => {
  if (firstRunFile === undefined) return
  await writeFirstRunFile(firstRunFile, `${JSON.stringify(created)}\n`).catch((error) => {
    throw new OperatorFault(`FIRST_RUN_FILE ${firstRunFile} cannot be written: ${error.message}`)
  })
}

/** They are shown only once, so they are saved if nobody could see them. */
const saveUnprinted = async ({ dataDir, firstRunFile }: Config, created: CreatedOrg, log: Log): Promise<void> => {
  if (firstRunFile !== undefined) return
  const file = join(dataDir, 'first-run.json')
  await mkdir(dataDir, { recursive: true })
    .then(() => writeFirstRunFile(file, `${JSON.stringify(created)}\n`))
    .then(
      () => log.warn({ file }, 'credentials not printed, saved to a file'),
      (err) => log.error({ err, file }, 'credentials neither printed nor saved'),
    )
}

type Greeting = { config: Config; service: Service; baseUrl: string; vault: Vault; log: Log }

/** Prints where the service listens. The first start outside production also creates an org and prints its keys. */
export const printWelcome = async ({ config, service, baseUrl, vault, log }: Greeting): Promise<void> => {
  const { db, clock } = service
  const { serviceDomain } = config
  const created = config.production
    ? undefined
    : await makeCreateOrg({ db, clock, baseUrl, serviceDomain, vault }).createFirst((org) =>
        saveCredentials(config, org),
      )
  if (created) {
    const link = await service.people.firstSignIn.makeLink(created.owner.email)
    if (!(await printed(welcome(created, `${baseUrl}${link}`)))) await saveUnprinted(config, created, log)
  } else {
    await printed(`\n  Tidings is ready at ${baseUrl}      API reference: ${baseUrl}/docs\n\n`)
  }
}

/** Opened before the worker starts, so that `/readyz` shows when it runs. */
export const openWorkerPort = async ({ host, workerPort: port }: Config, service: Service, log: Log): Promise<void> => {
  if (port === undefined) return
  const bound = await service.startWorkerHttp(port).catch((error) => {
    throw portFault({ host, port, variable: 'WORKER_PORT' }, error)
  })
  log.info({ host, port: bound }, 'worker port open')
}
