/** One service as two API processes and a worker process, from its first start to its stop. The tests depend on their order. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { serviceFlags } from '../../bin/flags.js'
import { tidings } from '../service/command-line.ts'
import { processesIn } from '../service/embedded.ts'
import { lives } from './launched.ts'
import { makeLoad, type SeveralService, startSeveral } from './several-service.ts'

/** The processes start within a second or two on an idle machine. */
const patiently = { timeout: 250_000 }
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

let service: SeveralService
let keys: { live: string }

beforeAll(async () => {
  service = await startSeveral({ API_PROCESSES: '2' })
  keys = JSON.parse(await readFile(join(service.folder, 'first.json'), 'utf8')).keys
})
afterAll(() => service?.close())

/** Each request opens a connection of its own, so the requests are spread over all API processes. */
const get = (path: string, key?: string, signal: AbortSignal | null = null) =>
  fetch(`${service.url()}${path}`, {
    headers: { connection: 'close', ...(key && { authorization: `Bearer ${key}` }) },
    signal,
  })

const counted = async (route: string, status: number): Promise<number> => {
  const text = await (await get('/metrics')).text()
  const line = `http_request_duration_seconds_count{method="GET",route="${route}",status="${status}"} `
  return Number(
    text
      .split('\n')
      .find((found) => found.startsWith(line))
      ?.slice(line.length) ?? 0,
  )
}

/** 0 without an answer: a connection that a process was given when it crashed gets none. */
const isReady = () =>
  get('/readyz', undefined, AbortSignal.timeout(5_000)).then(
    ({ status }) => status,
    () => 0,
  )

const servedBy = (route: string) =>
  new Set(service.log().flatMap((line) => (line.route === route ? [line.process] : [])))

test('Two API processes and a worker start with the flags of the service, and the first start is greeted once', async () => {
  const output = service.output()
  expect(output.match(/Tidings is ready at/g)).toHaveLength(1)
  expect(output.match(/live key/g)).toHaveLength(1)
  const processes = await service.processes()
  expect(Object.keys(processes).sort()).toEqual(['api-1', 'api-2', 'worker-1'])
  for (const pid of Object.values(processes)) {
    const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0')
    expect(command).toEqual(expect.arrayContaining(serviceFlags))
  }
  await expect.poll(isReady, patiently).toBe(200)
})

test('A rate limit is exact over two processes without Redis, and metrics are the sum of both', async () => {
  const { stdout } = await tidings(['ops', 'org', 'create', '--name', 'Limited', '--plan', 'free', '--json'], {
    DATA_DIR: join(service.folder, 'data'),
  })
  const key = JSON.parse(stdout).keys.live
  const statuses = await Promise.all(
    Array.from({ length: 100 }, async () => (await get('/api/v1/tenants', key)).status),
  )
  expect(statuses.filter((status) => status === 200)).toHaveLength(60)
  expect(statuses.filter((status) => status === 429)).toHaveLength(40)
  await expect.poll(() => servedBy('/api/v1/tenants')).toEqual(new Set(['api-1', 'api-2']))
  expect([await counted('/api/v1/tenants', 200), await counted('/api/v1/tenants', 429)]).toEqual([60, 40])
})

test('The development clock moves in every process, and the outbox has the codes of every process', async () => {
  const body = JSON.stringify({ advance_seconds: 86_400 })
  const post = (path: string, text: string, headers = {}) =>
    fetch(`${service.url()}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close', ...headers },
      body: text,
    })
  const { now } = (await (await post('/api/dev/clock', body)).json()) as { now: string }
  const authorization = `Bearer ${keys.live}`
  const started = await Promise.all(
    ['+447700900001', '+447700900002', '+447700900003', '+447700900004'].map(async (to) => {
      const answer = await post('/api/v1/verifications', JSON.stringify({ channel: 'sms', to, from: 'TIDINGS' }), {
        authorization,
      })
      return (await answer.json()) as { id: string; expires_at: string }
    }),
  )
  for (const { expires_at } of started) expect(Date.parse(expires_at)).toBeGreaterThan(Date.parse(now))
  await expect.poll(() => servedBy('/api/v1/verifications')).toEqual(new Set(['api-1', 'api-2']))
  const outbox = (await (await get('/api/dev/outbox')).json()) as { data: { verification_id: string }[] }
  expect(outbox.data.map(({ verification_id }) => verification_id).sort()).toEqual(started.map(({ id }) => id).sort())
})

test('A process that crashes is logged and replaced, and the sums of its metrics stay', async () => {
  const before = await service.processes()
  expect(await counted('/api/v1/tenants', 200)).toBe(60)
  process.kill(before['api-1'] ?? 0, 'SIGKILL')
  process.kill(before['worker-1'] ?? 0, 'SIGKILL')
  // The processes are replaced soon, so no request waits for the answer to the one before.
  const statuses = new Set<number>()
  const asking = setInterval(() => isReady().then((status) => statuses.add(status)), 50)
  onTestFinished(() => clearInterval(asking))
  await expect.poll(() => statuses, patiently).toContain(503)
  clearInterval(asking)
  await expect.poll(async () => Object.keys(await service.processes()).length, patiently).toBe(3)
  await expect.poll(isReady, patiently).toBe(200)
  const after = await service.processes()
  expect(after['api-2']).toBe(before['api-2'])
  expect(after['api-1']).not.toBe(before['api-1'])
  const reported = service.log().filter(({ msg }) => msg === 'process ended, starting another')
  expect(reported.map(({ name, pid, code, signal }) => [name, pid, code, signal]).sort()).toEqual([
    ['api-1', before['api-1'], null, 'SIGKILL'],
    ['worker-1', before['worker-1'], null, 'SIGKILL'],
  ])
  expect(await counted('/api/v1/tenants', 200)).toBe(60)
})

test('SIGHUP replaces every process under load without a refused connection or a failed request', async () => {
  const before = await service.processes()
  const load = makeLoad(service.url(), keys.live)
  service.child.kill('SIGHUP')
  const done = () => service.log().some(({ msg }) => msg === 'restart done')
  await expect.poll(done, patiently).toBe(true)
  const { answered, limited, failed } = await load.stop()
  expect(failed).toEqual({})
  expect(answered + limited).toBeGreaterThan(100)
  const after = await service.processes()
  expect(Object.keys(after).sort()).toEqual(['api-1', 'api-2', 'worker-1'])
  for (const [name, pid] of Object.entries(after)) expect(pid).not.toBe(before[name])
  expect(await isReady()).toBe(200)
})

test('SIGTERM stops every process and the database, and the service exits with 0', async () => {
  const processes = Object.values(await service.processes())
  expect((await processesIn(service.folder)).length).toBeGreaterThan(0)
  service.child.kill('SIGTERM')
  expect(await service.exited).toBe(0)
  expect(await Promise.all(processes.map(lives))).toEqual([false, false, false])
  expect(await processesIn(service.folder)).toEqual([])
  expect(service.log().filter(({ msg }) => msg === 'process ended, starting another')).toHaveLength(2)
  expect(service.log().at(-1)).toMatchObject({ msg: 'stopped' })
})
