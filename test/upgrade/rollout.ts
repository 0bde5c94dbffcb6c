/**
 * Replaces the previous release under load, as an operator does: the new release migrates the database while the old
 * processes serve, both releases run together, then the old processes stop.
 */
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { startDatabaseServer } from '../../bench/database.ts'
import { startReceiver } from '../servers/receiver.ts'
import { until } from '../start/launched.ts'
import { addColumns } from './add-columns.ts'
import { type Customers, makeCustomers } from './journey.ts'
import { outcomeFaults } from './outcomes.ts'
import { extractRelease, presentRelease } from './previous-release.ts'
import { makeRelease, type Release } from './release.ts'

export type Rollout =
  | { skipped: string }
  | { started: string }
  | { faults: string[]; messages: number; completed: Record<string, number> }

type Options = {
  /** The commit of the previous release. */
  from: string
  phaseMs: number
  /** Ends before the first process starts. */
  startOnly: boolean
  report: (line: string) => void
}

const environment = (folder: string, databaseUrl: string): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  DATABASE_URL: databaseUrl,
  DATA_DIR: join(folder, 'data'),
  FIRST_RUN_FILE: join(folder, 'first.json'),
  PORT: '0',
  LOG_LEVEL: 'error',
  LOG_FORMAT: 'json',
  RATE_LIMITER: 'off',
  AUDIT_SIGNING_SECRET: randomBytes(16).toString('hex'),
  WEBHOOK_ALLOW_INSECURE: 'true',
  // No domain is verified here, and nothing leaves this machine.
  DNS_SERVERS: '127.0.0.1:9',
})

const makeEndpoint = async (api: string, key: string, url: string): Promise<string> => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ url, events: ['message.sent'] })
  const made = await fetch(`${api}/api/v1/webhooks`, { method: 'POST', headers, body })
  if (made.status !== 201) throw new Error(`creating the endpoint failed: ${await made.text()}`)
  return ((await made.json()) as { id: string }).id
}

type Stage = Options & { before: Release; after: Release; customers: Customers; oldApi: string; db: pg.Pool }

/** Returns the URL of the new API, which serves alone at the end. */
const replace = async ({ before, after, customers, oldApi, db, phaseMs, report }: Stage): Promise<string> => {
  const onOld = customers.visit('previous', oldApi, 4)
  await wait(phaseMs)
  report(`migrating under load: ${(await after.command('migrate')).trim()}`)
  await wait(phaseMs)
  report(`${await addColumns(db)} tables got a column under load`)
  await wait(phaseMs)
  const newApi = await after.startApi()
  await after.startWorker()
  report('both releases run')
  const onNew = customers.visit('present', newApi, 4)
  await wait(phaseMs * 2)
  report(`${await addColumns(db)} tables got another column under load`)
  await wait(phaseMs)
  await onOld.stop()
  customers.faults.push(...(await before.stop()))
  report('the previous release has stopped')
  await wait(phaseMs)
  await onNew.stop()
  return newApi
}

export const rollOut = async (options: Options): Promise<Rollout> => {
  await using undo = new AsyncDisposableStack()
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'tidings-upgrade-')))
  undo.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }))
  // The embedded database may run as another user, who must be able to enter the folder.
  await chmod(folder, 0o755)
  const extracted = await extractRelease(options.from, join(folder, 'previous'))
  if ('skipped' in extracted) return extracted
  await mkdir(join(folder, 'data'))
  const server = await startDatabaseServer(folder, process.env.DATABASE_URL || undefined)
  undo.defer(server.stop)
  const database = await server.create('upgrade')
  undo.defer(database.drop)
  const receiver = await startReceiver()
  undo.defer(receiver.stop)
  if (options.startOnly) return { started: `the sources of ${options.from}, ${server.about} and a receiver` }

  const env = environment(folder, database.url)
  const before = makeRelease({ name: 'previous', folder: extracted.folder, env })
  const after = makeRelease({ name: 'present', folder: presentRelease, env })
  undo.defer(async () => {
    await Promise.all([before.stop(), after.stop()])
  })
  const oldApi = await before.startApi()
  await before.startWorker()
  options.report(`previous release ${extracted.commit} runs`)

  const first = JSON.parse(await until('the first-run file exists', () => readFile(join(folder, 'first.json'), 'utf8')))
  const key: string = first.keys.live
  const endpoint = await makeEndpoint(oldApi, key, receiver.url)
  const db = new pg.Pool({ connectionString: database.url, max: 2 })
  db.on('error', () => undefined)
  undo.defer(() => db.end())
  const customers = makeCustomers(key, () => endpoint)
  undo.defer(customers.close)

  await replace({ ...options, before, after, customers, oldApi, db })
  const { promised, faults, completed } = customers
  faults.push(...(await outcomeFaults({ db, promised, received: receiver.got })))
  await after.command('ops', 'audit', 'verify', '--all').catch((error: Error) => faults.push(error.message))
  faults.push(...[...before.logged(), ...after.logged()].map((line) => `logged: ${line.slice(0, 1_000)}`))
  return { faults, completed, messages: promised.length }
}
