/** Two API processes and two workers on the cluster, and a mail relay that notes what they hand over. */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { SMTPServer } from 'smtp-server'
import type { Cluster } from './cluster.ts'
import { freePorts, loopback } from './ports.ts'
import { lastLines, makeProgram, type Program } from './programs.ts'
import { waitUntil } from './progress.ts'
import type { HandedOver } from './tally.ts'

const launcher = join(import.meta.dirname, '..', '..', 'bin', 'tidings.js')

/** The relay runs outside of the cluster, so no fault of the cluster changes what it has noted. */
const startRelay = async () => {
  const handedOver: HandedOver[] = []
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    onData: (stream, { envelope }, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const id = /^Message-ID: <([^@>]+)@/im.exec(Buffer.concat(chunks).toString('utf8'))?.[1] ?? ''
        for (const { address } of envelope.rcptTo) {
          handedOver.push({ reference: address.split('@')[0] as string, id, at: Date.now() })
        }
        done()
      })
    },
  })
  server.on('error', () => undefined)
  await new Promise<void>((ready) => server.listen(0, loopback, ready))
  const { port } = server.server.address() as AddressInfo
  return { handedOver, url: `smtp://${loopback}:${port}`, close: () => server.close(() => undefined) }
}

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
    ({ status }) => status === 200,
    () => false,
  )

export type DrillServices = {
  urls: string[]
  key: string
  handedOver: readonly HandedOver[]
  closeRelay(): void
}

type Needs = { cluster: Cluster; folder: string }

export const startServices = async ({ cluster, folder }: Needs): Promise<DrillServices> => {
  const relay = await startRelay()
  const firstRun = join(folder, 'first-run.json')
  const env = {
    LOG_LEVEL: 'info',
    HOST: loopback,
    MASTER_KEY: randomBytes(32).toString('base64'),
    DATABASE_URL: cluster.databaseUrl,
    REDIS_URL: cluster.redisUrl,
    EMAIL_PROVIDER: 'smtp',
    SMTP_URL: relay.url,
    FIRST_RUN_FILE: firstRun,
  }
  const make = async (name: string, more: NodeJS.ProcessEnv): Promise<Program> => {
    const home = join(folder, name)
    await mkdir(home)
    const part = name.split('-')[0] as string
    const log = join(folder, `${name}.log`)
    return makeProgram({
      command: process.execPath,
      args: [launcher, part],
      env: { ...env, DATA_DIR: home, ...more },
      folder: home,
      log,
    })
  }
  const ports = await freePorts(4)
  const urls = ports.map((port) => `http://${loopback}:${port}`)
  for (const [i, name] of ['api-1', 'api-2', 'worker-1', 'worker-2'].entries()) {
    const variable = name.startsWith('api') ? 'PORT' : 'WORKER_PORT'
    const program = await make(name, { [variable]: String(ports[i]) })
    await program.start()
    // One after the other: the first bundles the sources, migrates the database and creates the first org.
    await waitUntil(`${name} is ready`, () => isReady(urls[i] as string)).catch(async (error) => {
      throw new Error(`${error.message}\n${await lastLines(join(folder, `${name}.log`))}`)
    })
  }
  const { keys } = JSON.parse(await readFile(firstRun, 'utf8')) as { keys: { live: string } }
  return { urls: urls.slice(0, 2), key: keys.live, handedOver: relay.handedOver, closeRelay: relay.close }
}
