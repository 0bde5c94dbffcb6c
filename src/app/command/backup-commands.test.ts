import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startTidings, tidings } from '../../../test/service/command-line.ts'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { readConfig } from '../../platform/ground/config/config.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { backupCommand, restoreCommand } from './backup-commands.ts'

let folder: string
let source: TestDatabase
let files = 0

const fileName = () => join(folder, `${++files}.backup`)

const target = async (): Promise<TestDatabase> => {
  const database = await makeTestDatabase('empty')
  onTestFinished(database.drop)
  return database
}

const masterKey = randomBytes(32).toString('base64')

const envOf = (database: TestDatabase) => ({ DATABASE_URL: database.url, DATA_DIR: folder, MASTER_KEY: masterKey })

const configOf = (database: TestDatabase, env: Record<string, string> = {}) =>
  readConfig({ ...envOf(database), ...env })

const settingsIn = async (database: TestDatabase): Promise<number> =>
  (await database.sql<{ count: number }>('select count(*)::int as count from settings'))[0]!.count

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidings-backup-command-'))
  source = await makeTestDatabase()
  await source.sql(`insert into settings select 's' || i, to_jsonb(i), '2026-01-01' from generate_series(1, 1234) i`)
})

afterAll(async () => {
  await source.drop()
  await rm(folder, { recursive: true, force: true })
})

test('a backup is written to a file and restored from it with the same master key', async () => {
  const file = fileName()
  const backedUp = await tidings(['backup', file], envOf(source))
  expect(backedUp).toMatchObject({ code: 0, stdout: '' })
  expect(backedUp.stderr).toMatch(/^Wrote 1,234 rows from \d+ tables to /)
  expect(backedUp.stderr).toContain(file)
  expect(backedUp.stderr).toContain(
    'The backup does not contain the master key. Store MASTER_KEY separately: without it, the backup cannot be authenticated and the secrets in it cannot be decrypted.',
  )
  expect((await stat(file)).mode & 0o777).toBe(0o600)

  const database = await target()
  const restored = await tidings(['restore', file], envOf(database))
  expect(restored).toMatchObject({ code: 0, stdout: '' })
  expect(restored.stderr).toMatch(
    /^Restored 1,234 rows from \d+ tables. The backup was taken at 20\S+Z by version \d\S+\.\n$/,
  )
  expect(await settingsIn(database)).toBe(1_234)

  await expect(restoreCommand(configOf(database), silentLog(), [file])).rejects.toThrow(
    new OperatorFault(
      'The database is not empty: table settings has rows. A backup can be restored only into an empty database.',
    ),
  )
})

test('a backup can be piped from one database into another', async () => {
  const database = await target()
  const launcher = join(import.meta.dirname, '../../../bin/tidings.js')
  const command = `DATABASE_URL="$FROM" "$NODE" "$BIN" backup - | DATABASE_URL="$TO" "$NODE" "$BIN" restore -`
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    DATA_DIR: folder,
    MASTER_KEY: masterKey,
    FROM: source.url,
    TO: database.url,
    NODE: process.execPath,
    BIN: launcher,
  }
  const child = spawn('sh', ['-c', command], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  const [code] = await once(child, 'close')
  expect(code).toBe(0)
  expect(await settingsIn(database)).toBe(1_234)
})

test('both commands require one file, and report a file that cannot be opened', async () => {
  const config = configOf(source)
  const log = silentLog()
  for (const args of [[], ['a', 'b'], ['--all'], [''], ['a', '--passphrase', 'secret']]) {
    await expect(backupCommand(config, log, args)).rejects.toThrow(
      new OperatorFault(
        'Usage: tidings backup <file> [--encrypt-to <age recipient>] [--passphrase-file <file>]. Use - as the file for standard output.',
      ),
    )
    await expect(restoreCommand(config, log, args)).rejects.toThrow(
      new OperatorFault(
        'Usage: tidings restore <file> [--identity <file>] [--passphrase-file <file>] [--allow-unauthenticated]. Use - as the file for standard input.',
      ),
    )
  }
  const nowhere = join(folder, 'nowhere', 'file')
  await expect(restoreCommand(config, log, [nowhere])).rejects.toThrow(/^ENOENT: .*nowhere/)
  await expect(backupCommand(config, log, [nowhere])).rejects.toThrow(/^ENOENT: .*nowhere/)
})

describe('an interrupted backup', () => {
  /** Starts a backup that waits for a locked table, and interrupts it there. */
  const interruptedBy = async (signal: NodeJS.Signals) => {
    const file = fileName()
    const holder = new pg.Client(source.url)
    holder.on('error', () => undefined)
    await holder.connect()
    onTestFinished(() => holder.end())
    await holder.query('begin; lock table settings in access exclusive mode')
    const child = startTidings(['backup', file], envOf(source))
    let stderr = ''
    child.stderr?.on('data', (text) => {
      stderr += text
    })
    const closed = once(child, 'close')
    const waiting = () =>
      source.sql(
        `select 1 from pg_locks join pg_database d on d.oid = database
         where not granted and datname = current_database()`,
      )
    await expect.poll(waiting).not.toEqual([])
    expect(existsSync(`${file}.partial`)).toBe(true)
    child.kill(signal)
    const [code] = await closed
    await holder.query('rollback')
    return { file, code, stderr }
  }

  test('leaves no file with the final name after kill -9, and the next backup succeeds', async () => {
    const { file } = await interruptedBy('SIGKILL')
    expect(existsSync(file)).toBe(false)
    await backupCommand(configOf(source), silentLog(), [file], () => undefined)
    expect([existsSync(file), existsSync(`${file}.partial`)]).toEqual([true, false])
  })

  test('leaves no file after Ctrl-C and reports the interruption', async () => {
    const { file, code, stderr } = await interruptedBy('SIGINT')
    expect([existsSync(file), existsSync(`${file}.partial`)]).toEqual([false, false])
    expect([code, stderr]).toEqual([1, 'Interrupted. Nothing was saved.\n'])
  })
})

test('the embedded database can be backed up while the service is running', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'tidings-backup-service-'))
  const service = startTidings(['start'], { DATA_DIR: dataDir, PORT: '0' })
  const closed = once(service, 'close')
  onTestFinished(async () => {
    service.kill('SIGTERM')
    await closed
    await rm(dataDir, { recursive: true, force: true })
  })
  await new Promise<void>((resolve, reject) => {
    let output = ''
    service.stdout?.on('data', (text) => {
      output += text
      if (output.includes('Tidings is ready')) resolve()
    })
    service.on('close', () => reject(new Error('the service exited')))
  })
  const file = fileName()
  expect(await tidings(['backup', file], { DATA_DIR: dataDir })).toMatchObject({ code: 0 })
  const database = await target()
  const key = await readFile(join(dataDir, 'master.key'), 'utf8')
  await restoreCommand(configOf(database, { MASTER_KEY: key.trim() }), silentLog(), [file], () => undefined)
  expect(await database.sql('select slug from orgs')).toEqual([{ slug: 'first-organisation' }])
})
