import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startTidings, tidings } from '../../test/service/command-line.ts'
import { makeTestDatabase, type TestDatabase } from '../../test/service/database.ts'
import { readConfig } from '../ground/config/config.ts'
import { silentLog } from '../ground/log.ts'
import { backupCommand, restoreCommand } from './backup-commands.ts'
import { Fault } from './command-fault.ts'

let folder: string
let source: TestDatabase
let files = 0

const fileName = () => join(folder, `${++files}.backup`)

const target = async (): Promise<TestDatabase> => {
  const database = await makeTestDatabase('empty')
  onTestFinished(database.drop)
  return database
}

const envOf = (database: TestDatabase) => ({ DATABASE_URL: database.url, DATA_DIR: folder })

const configOf = (database: TestDatabase) => readConfig({ ...envOf(database) })

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

test('a backup goes to a file and comes back from it, and both say what to do about the master key', async () => {
  const file = fileName()
  const backedUp = await tidings(['backup', file], envOf(source))
  expect(backedUp).toMatchObject({ code: 0, stdout: '' })
  expect(backedUp.stderr).toMatch(/^Wrote 1,234 rows of \d+ tables to /)
  expect(backedUp.stderr).toContain(file)
  expect(backedUp.stderr).toContain(`The master key is not in it. Keep ${join(folder, 'master.key')} too`)
  expect((await stat(file)).mode & 0o777).toBe(0o600)

  const database = await target()
  const restored = await tidings(['restore', file], { ...envOf(database), MASTER_KEY: 'A'.repeat(43) })
  expect(restored).toMatchObject({ code: 0, stdout: '' })
  expect(restored.stderr).toMatch(/^Restored 1,234 rows of \d+ tables, taken at 20\S+Z by version \d/)
  expect(restored.stderr).toContain('put the one of that time into MASTER_KEY')
  expect(await settingsIn(database)).toBe(1_234)

  await expect(restoreCommand(configOf(database), silentLog(), [file])).rejects.toThrow(
    new Fault('The database is not empty: table settings has rows. A backup is restored only into an empty one.'),
  )
})

test('a backup flows through a pipe from one database into another', async () => {
  const database = await target()
  const launcher = join(import.meta.dirname, '../../bin/tidings.js')
  const command = `DATABASE_URL="$FROM" "$NODE" "$BIN" backup - | DATABASE_URL="$TO" "$NODE" "$BIN" restore -`
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    DATA_DIR: folder,
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

test('a file must be named, and be there to restore from', async () => {
  const config = configOf(source)
  const log = silentLog()
  for (const args of [[], ['a', 'b'], ['--all'], ['']]) {
    await expect(backupCommand(config, log, args)).rejects.toThrow(
      new Fault('tidings backup <file>: name one file, or - for standard output.'),
    )
    await expect(restoreCommand(config, log, args)).rejects.toThrow(
      new Fault('tidings restore <file>: name one file, or - for standard input.'),
    )
  }
  const nowhere = join(folder, 'nowhere', 'file')
  await expect(restoreCommand(config, log, [nowhere])).rejects.toThrow(/^ENOENT: .*nowhere/)
  await expect(backupCommand(config, log, [nowhere])).rejects.toThrow(/^ENOENT: .*nowhere/)
})

describe('a backup ended in the middle', () => {
  /** Starts a backup that waits for a table somebody holds, and ends it there. */
  const endedBy = async (signal: NodeJS.Signals) => {
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
    await expect.poll(waiting, { timeout: 20_000 }).not.toEqual([])
    expect(existsSync(`${file}.partial`)).toBe(true)
    child.kill(signal)
    const [code] = await closed
    await holder.query('rollback')
    return { file, code, stderr }
  }

  test('by kill -9 leaves no file under its name, and the next one succeeds', async () => {
    const { file } = await endedBy('SIGKILL')
    expect(existsSync(file)).toBe(false)
    await backupCommand(configOf(source), silentLog(), [file], () => undefined)
    expect([existsSync(file), existsSync(`${file}.partial`)]).toEqual([true, false])
  })

  test('by Ctrl-C leaves no file at all and says so', async () => {
    const { file, code, stderr } = await endedBy('SIGINT')
    expect([existsSync(file), existsSync(`${file}.partial`)]).toEqual([false, false])
    expect([code, stderr]).toEqual([1, 'Interrupted: nothing was kept.\n'])
  })
})

test('the embedded database is backed up while the service runs on it', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'tidings-backup-service-'))
  const service = startTidings(['start'], { DATA_DIR: dataDir, PORT: '0' })
  const closed = once(service, 'close')
  onTestFinished(async () => {
    service.kill('SIGTERM')
    await closed
    await rm(dataDir, { recursive: true, force: true })
  })
  await new Promise<void>((resolve, reject) => {
    let said = ''
    service.stdout?.on('data', (text) => {
      said += text
      if (said.includes('Tidings is ready')) resolve()
    })
    service.on('close', () => reject(new Error('the service ended')))
  })
  const file = fileName()
  expect(await tidings(['backup', file], { DATA_DIR: dataDir })).toMatchObject({ code: 0 })
  const database = await target()
  await restoreCommand(configOf(database), silentLog(), [file], () => undefined)
  expect(await database.sql('select slug from orgs')).toEqual([{ slug: 'first-organisation' }])
})
