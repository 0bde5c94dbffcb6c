import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import {
  cleanUp,
  postmasterPid,
  processesIn,
  query,
  start,
  statOf,
  temporaryFolder,
  usedFolder,
} from './harness.ts'
import { EmbeddedFault, findEmbedded } from './supervisor.ts'

afterAll(cleanUp)

describe.concurrent('the embedded database', { timeout: 30_000 }, () => {
  test('an empty folder gets a database with deterministic text order, checksums and a secret password', async () => {
    const dataDir = join(await temporaryFolder(), 'not', 'yet', 'there')
    const embedded = await start(dataDir, { settings: { work_mem: '5MB' } })
    const setting = async (name: string) =>
      Object.values((await query(embedded.url, `show ${name}`))[0] ?? {})[0]
    const [facts] = await query(
      embedded.url,
      `select datlocprovider, datlocale, pg_encoding_to_char(encoding) as encoding,
         (select string_agg(word, '' order by word) from unnest('{b,B,a,Z,é}'::text[]) word) as sorted,
         upper('é') as upper, current_user as role,
         (select rolpassword like 'SCRAM-SHA-256%' from pg_authid where rolname = current_user) as scram
       from pg_database where datname = current_database()`,
    )
    expect(embedded.url).toMatch(/^postgres:\/\/tidings:[\w-]{32}@127\.0\.0\.1:\d+\/tidings$/)
    expect(embedded.adopted).toBe(false)
    expect(facts).toEqual({
      datlocprovider: 'b',
      datlocale: 'C.UTF-8',
      encoding: 'UTF8',
      sorted: 'BZabé',
      upper: 'É',
      role: 'tidings',
      scram: true,
    })
    expect(await setting('data_checksums')).toBe('on')
    expect(await setting('listen_addresses')).toBe('127.0.0.1')
    expect(await setting('unix_socket_directories')).toBe('')
    expect(await setting('synchronous_commit')).toBe('on')
    expect(await setting('work_mem')).toBe('5MB')
    expect((await stat(join(dataDir, 'postgres.password'))).mode & 0o777).toBe(0o600)
    await embedded.stop()
  })

  test('a wrong password is refused', async () => {
    const embedded = await start(await usedFolder())
    await expect(query(embedded.url.replace(/:[\w-]+@/, ':wrong@'), 'select 1')).rejects.toThrow(/password/)
    await embedded.stop()
  })

  test('what was written is there after a stop and a start, and stopping twice leaves no process behind', async () => {
    const dataDir = await usedFolder()
    const embedded = await start(dataDir)
    expect(await query(embedded.url, 'select word from kept')).toEqual([{ word: 'kept' }])
    expect(await processesIn(dataDir)).not.toEqual([])
    await Promise.all([embedded.stop(), embedded.stop()])
    await embedded.stop()
    expect(await processesIn(dataDir)).toEqual([])
  })

  test('the server is in a session of its own, out of reach of a terminal', async () => {
    const dataDir = await usedFolder()
    const embedded = await start(dataDir)
    const pid = await postmasterPid(join(dataDir, 'postgres'))
    const [, , group, session] = (await statOf(pid)) ?? []
    expect([group, session]).toEqual([String(pid), String(pid)])
    await embedded.stop()
  })

  test('a making that was interrupted is cleaned up and done again', async () => {
    const dataDir = await temporaryFolder()
    await mkdir(join(dataDir, 'postgres.init-1234', 'cluster', 'base'), { recursive: true })
    await writeFile(join(dataDir, 'postgres.init-1234', 'cluster', 'PG_VERSION'), '18\n')
    const embedded = await start(dataDir)
    expect(await query(embedded.url, 'select 1 as one')).toEqual([{ one: 1 }])
    await expect(stat(join(dataDir, 'postgres.init-1234'))).rejects.toThrow(/ENOENT/)
    await embedded.stop()
  })

  test('a lost password is replaced and the data stays', async () => {
    const dataDir = await usedFolder()
    await rm(join(dataDir, 'postgres.password'))
    const embedded = await start(dataDir)
    expect(await query(embedded.url, 'select word from kept')).toEqual([{ word: 'kept' }])
    await embedded.stop()
  })

  test('a password that does not fit is named, with what to do', async () => {
    const dataDir = await usedFolder()
    await writeFile(join(dataDir, 'postgres.password'), 'another\n')
    await expect(start(dataDir)).rejects.toThrow(/postgres\.password is not the one .* Remove that file/)
    expect(await processesIn(dataDir)).toEqual([])
  })

  test('a database that has vanished is not silently replaced by an empty one', async () => {
    const dataDir = await usedFolder()
    await rename(join(dataDir, 'postgres'), join(dataDir, 'away'))
    await expect(start(dataDir)).rejects.toThrow(/is gone\. Restore it from a backup/)
  })

  test('a folder that is no cluster, or one of another version, is left alone and named', async () => {
    const dataDir = await temporaryFolder()
    await mkdir(join(dataDir, 'postgres'))
    await writeFile(join(dataDir, 'postgres', 'precious'), 'x')
    const fault = await start(dataDir).catch((error) => error)
    expect(fault).toBeInstanceOf(EmbeddedFault)
    expect(fault.message).toContain(dataDir)
    await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '17\n')
    await expect(start(dataDir)).rejects.toThrow(/made by PostgreSQL 17, but this release brings 18/)
    expect(await readFile(join(dataDir, 'postgres', 'precious'), 'utf8')).toBe('x')
  })

  test('a server that does not start is quoted', async () => {
    const dataDir = await usedFolder()
    const fault = await start(dataDir, { settings: { shared_buffers: 'plenty' } }).catch((error) => error)
    expect(fault).toBeInstanceOf(EmbeddedFault)
    expect(fault.message).toMatch(
      /did not start .*\n.*invalid value for parameter "shared_buffers": "plenty"/s,
    )
  })

  test('the running database is found by another process of the operator, and only while it runs', async () => {
    const dataDir = await usedFolder()
    expect(await findEmbedded(dataDir)).toBeNull()
    const embedded = await start(dataDir)
    expect(await findEmbedded(dataDir)).toBe(embedded.url)
    await embedded.stop()
    expect(await findEmbedded(dataDir)).toBeNull()
    expect(await findEmbedded(join(dataDir, 'nothing'))).toBeNull()
  })

  test('its log stays in a file that starts anew when it has grown', async () => {
    const dataDir = await usedFolder()
    await writeFile(join(dataDir, 'postgres.log'), 'old\n'.repeat(300_000))
    const embedded = await start(dataDir)
    await query(embedded.url, `select 'a@b.test'::int`).catch(() => undefined)
    const text = await readFile(join(dataDir, 'postgres.log'), 'utf8')
    expect(text).toContain('ready to accept connections')
    expect(text).not.toContain('old')
    expect(text).not.toContain('a@b.test')
    expect((await stat(join(dataDir, 'postgres.log.1'))).size).toBe(1_200_000)
    await embedded.stop()
  })
})
