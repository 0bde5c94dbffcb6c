import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fillDisk, mountDisk, unmountDisk } from '../../../../test/drill/disks.ts'
import { makeTestDatabase, type TestDatabase } from '../../../../test/service/database.ts'
import { startTestService, type TestService } from '../../../../test/service/service.ts'
import { makeStoppableDatabase } from '../../../../test/service/stoppable-database.ts'
import { silentLog } from '../../../platform/ground/log.ts'

/** A small disk, where this user can mount one. */
const folder = await realpath(await mkdtemp(join(tmpdir(), 'tidings-disk-')))
await chmod(folder, 0o755)
const disk = (await mountDisk(folder, 300 * 1_048_576)) ? folder : undefined
afterAll(async () => {
  if (disk) await unmountDisk(disk)
  await rm(folder, { recursive: true, force: true })
})

let t: TestService
beforeAll(async () => {
  t = await startTestService()
})
afterAll(() => t.stop())

test('healthz and readyz need no key', async () => {
  expect((await t.ask('GET', '/healthz')).body).toEqual({ status: 'ok' })
  expect((await t.ask('GET', '/readyz')).body).toEqual({ status: 'ready' })
})

test('while the database is down readyz returns 503 and healthz 200, and readyz recovers afterwards', async () => {
  const database = await makeTestDatabase()
  const service = await startTestService({ database })
  const name = new URL(database.url).pathname.slice(1)
  const { keys } = await service.org()
  const read = () => service.ask('GET', '/api/v1/suppressions', { key: keys.live })
  expect((await read()).status).toBe(200)
  await t.database.sql(`alter database ${name} with allow_connections false`)
  await t.database.sql('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  await expect.poll(async () => (await service.ask('GET', '/readyz')).status).toBe(503)
  expect((await service.ask('GET', '/healthz')).status).toBe(200)
  const refused = await read()
  expect([refused.status, refused.body.error.code]).toEqual([503, 'UNAVAILABLE'])
  expect(refused.text).not.toMatch(/connection|postgres|datname/i)
  await t.database.sql(`alter database ${name} with allow_connections true`)
  await expect.poll(async () => (await service.ask('GET', '/readyz')).status).toBe(200)
  expect((await read()).status).toBe(200)
  await service.stop()
  await database.drop()
})

test('readyz returns 503 while the database refuses writes', async () => {
  const database = await makeTestDatabase()
  const service = await startTestService({ database })
  const name = new URL(database.url).pathname.slice(1)
  const status = async () => (await service.ask('GET', '/readyz')).status
  const setReadOnly = async (value: 'on' | 'off') => {
    await t.database.sql(`alter database ${name} set default_transaction_read_only = ${value}`)
    await t.database.sql('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  }
  expect(await status()).toBe(200)
  await setReadOnly('on')
  await expect.poll(status).toBe(503)
  await setReadOnly('off')
  await expect.poll(status).toBe(200)
  await service.stop()
  await database.drop()
})

test('a worker that starts while the database is down waits for it, and readyz returns 503 until it runs', async () => {
  const database = await makeTestDatabase()
  const log = silentLog()
  const errors: string[] = []
  log.error = ((_: unknown, message: string) => void errors.push(message)) as typeof log.error
  const service = await startTestService({ database, worker: true, log })
  const name = new URL(database.url).pathname.slice(1)
  const status = async () => (await service.ask('GET', '/readyz')).status
  expect(await status()).toBe(503)
  await t.database.sql(`alter database ${name} with allow_connections false`)
  await t.database.sql('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  const starting = service.service.startWorker()
  await expect.poll(() => errors).toContain('worker start failed, retrying')
  expect(await status()).toBe(503)
  await t.database.sql(`alter database ${name} with allow_connections true`)
  await starting
  await expect.poll(status).toBe(200)
  await service.stop()
  await database.drop()
})

test('a worker that waits for the database can be stopped', async () => {
  const database = await makeTestDatabase()
  const service = await startTestService({ database, worker: true })
  const name = new URL(database.url).pathname.slice(1)
  await t.database.sql(`alter database ${name} with allow_connections false`)
  await t.database.sql('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  const starting = service.service.startWorker()
  await service.stop()
  await starting
  await t.database.sql(`alter database ${name} with allow_connections true`)
  await database.drop()
})

test('metrics count requests by route and status, not by id', async () => {
  const { keys } = await t.org()
  await t.ask('GET', '/api/v1/suppressions/sup_01m7ekszz4e8brbwp01pb7h1dp', { key: keys.live })
  const { status, text, headers } = await t.ask('GET', '/metrics')
  expect([status, headers['content-type']]).toEqual([200, expect.stringContaining('text/plain')])
  expect(text).toContain(
    'http_request_duration_seconds_count{method="GET",route="/api/v1/suppressions/:id",status="404"} 1',
  )
  expect(text).not.toContain('sup_01m7')
  expect(text).toContain('process_resident_memory_bytes')
})

test('metrics show the pauses of the event loop since the previous scrape, and count the long ones', async () => {
  const read = async () => {
    const { text } = await t.ask('GET', '/metrics')
    const value = (name: string) => Number(text.match(new RegExp(`^${name} (\\S+)$`, 'm'))?.[1])
    return {
      max: value('event_loop_pause_max_seconds'),
      p99: value('event_loop_pause_p99_seconds'),
      long: value('event_loop_long_pauses_total'),
    }
  }
  const before = await read()
  const end = performance.now() + 400
  while (performance.now() < end);
  const paused = await read()
  expect(paused.max).toBeGreaterThan(0.35)
  expect(paused.p99).toBeGreaterThan(0)
  expect(paused.long).toBeGreaterThan(before.long)
})

test('metrics leave out the pauses of a process that is still starting', async () => {
  const busyMs = 600
  const own = await startTestService({
    database: t.database,
    routes: () => {
      const { user } = process.threadCpuUsage()
      while ((process.threadCpuUsage().user - user) / 1_000 < busyMs);
      return []
    },
  })
  const { text } = await own.ask('GET', '/metrics')
  expect(Number(text.match(/^event_loop_pause_max_cpu_seconds (\S+)$/m)?.[1])).toBeLessThan(busyMs / 1_000)
  await own.stop()
})

test('metrics are available on this machine, or only with the token if one is set', async () => {
  const forwarded = await t.ask('GET', '/metrics', { headers: { 'x-forwarded-for': '203.0.113.9' } })
  expect(forwarded.status).toBe(404)
  const guarded = await startTestService({
    database: t.database,
    env: { METRICS_TOKEN: 'a-long-enough-token' },
  })
  const ask = (authorization?: string) =>
    guarded.ask('GET', '/metrics', authorization ? { headers: { authorization } } : {})
  expect((await ask()).status).toBe(404)
  expect((await ask('Bearer a-long-enough-tokem')).status).toBe(404)
  expect((await ask('Bearer a-long-enough-token')).status).toBe(200)
  await guarded.stop()
})

describe('On a full disk', () => {
  const later = (subject: string) => ({
    from: 'hello@example.test',
    to: ['ada@example.com'],
    subject,
    text: 'Hi',
    scheduled_at: new Date(Date.now() + 86_400_000).toISOString(),
  })

  const serviceOn = async (database: TestDatabase) => {
    const service = await startTestService({ database })
    const { keys } = await service.org()
    return {
      service,
      send: (subject = 'Hello') => service.ask('POST', '/api/v1/emails', { key: keys.live, body: later(subject) }),
      status: async () => (await service.ask('GET', '/readyz')).status,
    }
  }

  test('readyz returns 503 from the first write that is refused until there is room, and never because of one statement', async () => {
    const database = await makeStoppableDatabase()
    const { service, send, status } = await serviceOn(database)
    const refusal = "begin raise exception using errcode = 'disk_full', message = 'No space left on device'; end"
    await database.asSuperuser(`
      create function refuse_rows() returns trigger language plpgsql as $$ ${refusal} $$;
      create function refuse_tables() returns event_trigger language plpgsql as $$ ${refusal} $$;
      create trigger refuse before insert on messages execute function refuse_rows();
      create event trigger refuse on ddl_command_start when tag in ('CREATE TABLE AS') execute function refuse_tables()`)
    expect(await status()).toBe(200)
    const refused = await send()
    expect([refused.status, refused.body.error.code, refused.headers['retry-after']]).toEqual([503, 'UNAVAILABLE', '2'])
    await expect.poll(status).toBe(503)
    expect(await status()).toBe(503)
    await database.asSuperuser('drop event trigger refuse')
    await expect.poll(status).toBe(200)
    // A single statement that fails for want of room does not prove that there is none.
    const statuses = new Set<number>()
    for (let n = 0; n < 20; n++) {
      expect((await send()).status).toBe(503)
      statuses.add(await status())
    }
    expect(statuses).toEqual(new Set([200]))
    await database.asSuperuser('drop trigger refuse on messages')
    expect((await send()).status).toBe(200)
    await service.stop()
    await database.drop()
  })

  test.runIf(disk !== undefined)('of its own, the embedded database refuses sends, and readyz shows it', async () => {
    const folder = disk as string
    const database = await makeStoppableDatabase(folder)
    const { service, send, status } = await serviceOn(database)
    expect([(await send('before')).status, await status()]).toEqual([200, 200])
    const full = await fillDisk(folder)
    const answers = new Set<string>()
    await expect
      .poll(
        async () => {
          const { status, body } = await send('x'.repeat(900))
          answers.add(status === 200 ? '200' : `${status} ${body.error.code}`)
          return status
        },
        { timeout: 60_000, interval: 1 },
      )
      .not.toBe(200)
    await expect.poll(status).toBe(503)
    expect(await status()).toBe(503)
    await full.empty()
    await expect.poll(status, { timeout: 60_000 }).toBe(200)
    await expect.poll(async () => (await send('after')).status, { timeout: 60_000 }).toBe(200)
    expect([...answers].filter((answer) => answer !== '200' && answer !== '503 UNAVAILABLE')).toEqual([])
    await service.stop()
    await database.drop()
  })
})
