/** What clients of a real process see between SIGTERM and its exit. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Answer, open } from '../hostile/wire.ts'
import { startTidings, tidings } from '../service/command-line.ts'
import { makeTestDatabase, type TestDatabase } from '../service/database.ts'

let database: TestDatabase
let folder: string
let key: string
const running = new Set<ChildProcess>()

beforeAll(async () => {
  database = await makeTestDatabase()
  folder = await mkdtemp(join(tmpdir(), 'tidings-stopping-'))
  const { stdout } = await tidings(['ops', 'org', 'create', '--name', 'Stop', '--json'], { DATABASE_URL: database.url })
  key = JSON.parse(stdout).keys.live
})
afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
  running.clear()
})
afterAll(async () => {
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

const start = async (env: Record<string, string>) => {
  const child = startTidings(['api'], { DATABASE_URL: database.url, DATA_DIR: folder, PORT: '0', ...env })
  running.add(child)
  let [output, errors] = ['', '']
  child.stdout?.on('data', (chunk) => {
    output += chunk
  })
  child.stderr?.on('data', (chunk) => {
    errors += chunk
  })
  const address = () => output.match(/ready at (http:\S+)/)?.[1]
  await expect.poll(address).toBeDefined()
  const log = (): Record<string, unknown>[] =>
    errors
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line))
  return { child, url: address() as string, log, exited: once(child, 'exit') }
}

const requestHead = (method: string, path: string) =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n`

const errorOf = ({ body }: Answer) => JSON.parse(body.toString('utf8')).error

const isOpen = (url: string) =>
  open(url).then(
    (connection) => {
      connection.close()
      return true
    },
    () => false,
  )

test('A request that arrives on an open connection after the service stopped listening is 503 with the usual error body', async () => {
  const { child, url, log, exited } = await start({ DRAIN_DELAY_SECONDS: '0' })
  const body = '{"channel":"email","value":"late@example.com"}'
  const late = await open(url)
  const health = await open(url)
  // Connections whose next request has begun stay open for a moment.
  late.send(`${requestHead('POST', '/api/v1/suppressions')}Content-Type: application/json\r\n`)
  health.send('GET /healthz HTTP/1.1\r\n')
  // The service has read those bytes once it has answered a later request.
  await fetch(`${url}/healthz`)
  child.kill('SIGTERM')
  await expect.poll(() => isOpen(url), { interval: 20 }).toBe(false)
  late.send(`Content-Length: ${body.length}\r\n\r\n${body}`)
  health.send('Host: localhost\r\n\r\n')
  const [refused] = (await late.receive({ untilClosed: true })).answers as [Answer]
  const [healthy] = (await health.receive({ untilClosed: true })).answers as [Answer]
  const id = refused.headers['x-request-id']
  expect(refused.status).toBe(503)
  expect(refused.headers).toMatchObject({
    'retry-after': '1',
    connection: 'close',
    'content-type': 'application/json; charset=utf-8',
    'x-request-id': expect.stringMatching(/^req_/),
  })
  expect(errorOf(refused)).toEqual({
    type: 'validation_error',
    message: 'The service is stopping. Retry the request.',
    code: 'UNAVAILABLE',
    request_id: id,
  })
  expect([healthy.status, healthy.headers.connection]).toEqual([200, 'close'])
  expect((await exited)[0]).toBe(0)
  const lines = log().filter(({ request_id }) => request_id === id)
  expect(lines).toEqual([expect.objectContaining({ method: 'POST', route: '/api/v1/suppressions', status: 503 })])
  expect(await database.sql("select 1 from suppressions where value = 'late@example.com'")).toEqual([])
})

test('During the drain delay readyz is 503, requests are served and close their connections, and Ctrl-C ends the delay', async () => {
  const { child, url, exited } = await start({ DRAIN_DELAY_SECONDS: '300' })
  const kept = await open(url)
  const list = `${requestHead('GET', '/api/v1/suppressions')}\r\n`
  kept.send(list)
  const [before] = (await kept.receive()).answers as [Answer]
  expect([before.status, before.headers.connection]).toEqual([200, 'keep-alive'])
  child.kill('SIGTERM')
  const readiness = async () => {
    const response = await fetch(`${url}/readyz`)
    return [response.status, await response.json()]
  }
  await expect.poll(readiness).toEqual([503, { status: 'not_ready' }])
  kept.send(list)
  const after = await kept.receive({ untilClosed: true })
  expect([after.end, after.answers.map(({ status, headers }) => [status, headers.connection])]).toEqual([
    'closed',
    [[200, 'close']],
  ])
  const fresh = await fetch(`${url}/api/v1/suppressions`, { headers: { authorization: `Bearer ${key}` } })
  expect([fresh.status, fresh.headers.get('connection')]).toEqual([200, 'close'])
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
  expect(child.exitCode).toBe(null)
  child.kill('SIGINT')
  expect((await exited)[0]).toBe(0)
})

test('After the drain delay the service exits with 0, and Ctrl-C does not wait for the delay', async () => {
  const short = await start({ DRAIN_DELAY_SECONDS: '1' })
  short.child.kill('SIGTERM')
  expect((await short.exited)[0]).toBe(0)
  const long = await start({ DRAIN_DELAY_SECONDS: '300' })
  long.child.kill('SIGINT')
  expect((await long.exited)[0]).toBe(0)
})
