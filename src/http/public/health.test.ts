import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeTestDatabase } from '../../../test/service/database.ts'
import { startTestService, type TestService } from '../../../test/service/service.ts'
import { silentLog } from '../../ground/log.ts'

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
  await expect.poll(async () => (await service.ask('GET', '/readyz')).status, { timeout: 10_000 }).toBe(200)
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
  await expect.poll(status, { timeout: 10_000 }).toBe(503)
  await setReadOnly('off')
  await expect.poll(status, { timeout: 10_000 }).toBe(200)
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
  await expect.poll(() => errors, { timeout: 10_000 }).toContain('worker start failed, retrying')
  expect(await status()).toBe(503)
  await t.database.sql(`alter database ${name} with allow_connections true`)
  await starting
  await expect.poll(status, { timeout: 10_000 }).toBe(200)
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
