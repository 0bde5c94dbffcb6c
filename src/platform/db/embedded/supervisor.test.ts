import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  cleanUp,
  postmasterPid,
  processesIn,
  query,
  start,
  statOf,
  temporaryFolder,
  usedFolder,
} from '../../../../test/service/embedded.ts'
import { OperatorFault } from '../../ground/operator-fault.ts'
import { type Embedded, findEmbedded } from './supervisor.ts'

afterAll(cleanUp)

describe('a database created in an empty folder', { timeout: 30_000 }, () => {
  let dataDir: string
  let embedded: Embedded

  const setting = async (name: string) =>
    Object.values((await query(embedded.maintenanceUrl ?? '', `show ${name}`))[0] ?? {})[0]

  beforeAll(async () => {
    dataDir = join(await temporaryFolder(), 'not', 'yet', 'there')
    embedded = await start(dataDir, { settings: { work_mem: '5MB' } })
  }, 30_000)

  test('has a deterministic text order, supports Unicode and has checksums', async () => {
    const [facts] = await query(
      embedded.url,
      `select datlocprovider, datlocale, pg_encoding_to_char(encoding) as encoding, upper('é') as upper,
         (select string_agg(word, '' order by word) from unnest('{b,B,a,Z,é}'::text[]) word) as sorted
       from pg_database where datname = current_database()`,
    )
    expect(facts).toEqual({
      datlocprovider: 'b',
      datlocale: 'C.UTF-8',
      encoding: 'UTF8',
      upper: 'É',
      sorted: 'BZabé',
    })
    expect(await setting('data_checksums')).toBe('on')
  })

  test('listens on the loopback address only and requires its password', async () => {
    expect(embedded.url).toMatch(/^postgres:\/\/tidings:[\w-]{32}@127\.0\.0\.1:\d+\/tidings$/)
    expect(await setting('listen_addresses')).toBe('127.0.0.1')
    expect(await setting('unix_socket_directories')).toBe('')
    expect((await stat(join(dataDir, 'postgres.password'))).mode & 0o777).toBe(0o600)
    const [stored] = await query(
      embedded.maintenanceUrl ?? '',
      `select array_agg(distinct left(rolpassword, 14)) as kinds from pg_authid where rolcanlogin`,
    )
    expect(stored).toEqual({ kinds: ['SCRAM-SHA-256$'] })
    const guessed = embedded.url.replace(/:[\w-]+@/, ':guessed@')
    await expect(query(guessed, 'select 1')).rejects.toThrow(/password/)
  })

  test('has our default settings, overridden by the requested ones', async () => {
    expect(await setting('synchronous_commit')).toBe('on')
    expect(await setting('timezone')).toBe('UTC')
    expect(await setting('work_mem')).toBe('5MB')
    expect(await setting('fsync')).toBe('off')
  })

  test('runs in a separate session, which a terminal cannot interrupt', async () => {
    const pid = await postmasterPid(join(dataDir, 'postgres'))
    const [, , group, session] = (await statOf(pid)) ?? []
    expect([group, session]).toEqual([String(pid), String(pid)])
  })

  test('logs to its own file, without the content of statements', async () => {
    await query(embedded.url, `select 'a@b.test'::int`).catch(() => undefined)
    const text = await readFile(join(dataDir, 'postgres.log'), 'utf8')
    expect(text).toContain('ready to accept connections')
    expect(text).not.toContain('a@b.test')
  })

  test('is found while it runs, and leaves no process when it is stopped more than once', async () => {
    expect(await findEmbedded(dataDir)).toBe(embedded.url)
    expect(await processesIn(dataDir)).not.toEqual([])
    await Promise.all([embedded.stop(), embedded.stop()])
    await embedded.stop()
    expect(await processesIn(dataDir)).toEqual([])
    expect(await findEmbedded(dataDir)).toBeNull()
    expect(await findEmbedded(join(dataDir, 'nothing'))).toBeNull()
  })
})

describe.concurrent('an existing database', { timeout: 30_000 }, () => {
  test('keeps its data, and its log is rotated when it is large', async () => {
    const dataDir = await usedFolder()
    await writeFile(join(dataDir, 'postgres.log'), 'old\n'.repeat(300_000))
    const embedded = await start(dataDir)
    expect(embedded.adopted).toBe(false)
    expect(await query(embedded.url, 'select word from kept')).toEqual([{ word: 'kept' }])
    expect(await readFile(join(dataDir, 'postgres.log'), 'utf8')).not.toContain('old')
    expect((await stat(join(dataDir, 'postgres.log.1'))).size).toBe(1_200_000)
    await embedded.stop()
  })

  test('gets a new password when the password file is missing, and keeps its data', async () => {
    const dataDir = await usedFolder()
    await rm(join(dataDir, 'postgres.password'))
    const embedded = await start(dataDir)
    expect(await query(embedded.url, 'select word from kept')).toEqual([{ word: 'kept' }])
    await embedded.stop()
  })

  test('does not start with a wrong password file, and the error says what to do', async () => {
    const dataDir = await usedFolder()
    await writeFile(join(dataDir, 'postgres.password'), 'another\n')
    await expect(start(dataDir)).rejects.toThrow(/postgres\.password is not the password .* Remove that file/)
    expect(await processesIn(dataDir)).toEqual([])
  })

  test('is not replaced with an empty one when its folder is missing', async () => {
    const dataDir = await usedFolder()
    await rename(join(dataDir, 'postgres'), join(dataDir, 'away'))
    await expect(start(dataDir)).rejects.toThrow(/is gone\. Restore it from a backup/)
  })

  test('is rejected and not changed when it has another version or is not a database', async () => {
    const dataDir = await temporaryFolder()
    await mkdir(join(dataDir, 'postgres'))
    await writeFile(join(dataDir, 'postgres', 'precious'), 'x')
    const fault = await start(dataDir).catch((error) => error)
    expect(fault).toBeInstanceOf(OperatorFault)
    expect(fault.message).toContain(dataDir)
    await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '17\n')
    await expect(start(dataDir)).rejects.toThrow(/created by PostgreSQL 17, but this release includes 18/)
    expect(await readFile(join(dataDir, 'postgres', 'precious'), 'utf8')).toBe('x')
  })

  test('that does not start is reported with the last lines of its log', async () => {
    const dataDir = await usedFolder()
    const fault = await start(dataDir, { settings: { shared_buffers: 'plenty' } }).catch((error) => error)
    expect(fault).toBeInstanceOf(OperatorFault)
    expect(fault.message).toMatch(/did not start .*\n.*invalid value for parameter "shared_buffers": "plenty"/s)
  })

  test('is created again when its creation was interrupted', async () => {
    const dataDir = await temporaryFolder()
    await mkdir(join(dataDir, 'postgres.init-1234', 'cluster', 'base'), { recursive: true })
    await writeFile(join(dataDir, 'postgres.init-1234', 'cluster', 'PG_VERSION'), '18\n')
    const embedded = await start(dataDir)
    expect(await query(embedded.url, 'select 1 as one')).toEqual([{ one: 1 }])
    await expect(stat(join(dataDir, 'postgres.init-1234'))).rejects.toThrow(/ENOENT/)
    await embedded.stop()
  })
})
