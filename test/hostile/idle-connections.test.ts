import { existsSync, readFileSync } from 'node:fs'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findBrowser, launchBrowser } from '../browser/find-browser.ts'
import { startTestService, type TestService } from '../service/service.ts'
import { type Connection, open } from './wire.ts'

let t: TestService
beforeAll(async () => {
  // Long enough for a browser on a busy machine to send its request after it has connected.
  t = await startTestService({ env: { REQUEST_TIMEOUT_SECONDS: '3', RATE_LIMITER: 'off' } })
})
afterAll(() => t.stop())

const idleConnections = 200
const health = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'
const receiveAll = (connection: Connection) => connection.receive({ untilClosed: true, waitMs: 20_000 })

/** Resolves when the service has ended two connections that were never used, one after the other. */
const idleTime = async (): Promise<void> => {
  await receiveAll(await open(t.url))
  await receiveAll(await open(t.url))
}

describe('A connection', () => {
  test('on which no byte arrives is closed without a word', async () => {
    const received = await receiveAll(await open(t.url))
    expect([received.end, received.answers, received.rest.length]).toEqual(['closed', [], 0])
  })

  test.each([
    ['that began its first request', 'GET /healthz HTT'],
    ['that began its second request', `${health}GET /healthz HTTP/1.1\r\nHost: loc`],
  ])('%s and did not finish it gets the error for that, and is closed', async (_, bytes) => {
    const connection = await open(t.url)
    connection.send(bytes)
    const received = await receiveAll(connection)
    expect([received.end, received.rest.length]).toEqual(['closed', 0])
    const last = received.answers.at(-1)
    expect([last?.status, JSON.parse(String(last?.body)).error.errors[0].message]).toEqual([
      422,
      'The request did not arrive in time.',
    ])
  })

  test('that waits for its next request stays open, and nothing is written on it', async () => {
    const connection = await open(t.url)
    const written: Buffer[] = []
    connection.socket.on('data', (chunk: Buffer) => written.push(chunk))
    const answers = () =>
      Buffer.concat(written)
        .toString('latin1')
        .match(/HTTP\/1\.1 \d{3}/g) ?? []
    connection.send(health)
    await expect.poll(answers).toEqual(['HTTP/1.1 200'])
    await idleTime()
    expect(answers()).toEqual(['HTTP/1.1 200'])
    connection.send(health)
    await expect.poll(answers).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200'])
    connection.close()
  })
})

test(`${idleConnections} idle connections of undici get the answers to their own requests`, async () => {
  const agent = new Agent({ connections: idleConnections, keepAliveTimeout: 60_000 })
  const askAll = () =>
    Promise.all(
      Array.from({ length: idleConnections }, async () => {
        const { statusCode, headers, body } = await request(`${t.url}/healthz`, { dispatcher: agent })
        return { statusCode, id: headers['x-request-id'], text: await body.text() }
      }),
    )
  const first = await askAll()
  await idleTime()
  const second = await askAll()
  const all = [...first, ...second]
  expect(all.filter(({ statusCode }) => statusCode !== 200)).toEqual([])
  expect(new Set(all.map(({ id }) => id)).size).toBe(2 * idleConnections)
  await agent.destroy()
})

const executablePath = await findBrowser()

/** How many connections to the port of the service are open on this machine, as the kernel sees it. */
const openConnections = (port: string): number => {
  const suffix = `:${Number(port).toString(16).toUpperCase().padStart(4, '0')}`
  const established = '01'
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(suffix) && state === established).length
}

test.runIf(executablePath && existsSync('/proc/net/tcp'))(
  `${idleConnections} idle connections of a browser answer only its own requests`,
  { timeout: 120_000 },
  async () => {
    const browser = await launchBrowser(executablePath as string)
    try {
      const page = await browser.newPage()
      const { port } = new URL(t.url)
      // A browser has few connections to one host, and names under localhost are this machine without a look-up.
      const hosts = Array.from({ length: idleConnections }, (_, n) => `http://host${n}.localhost:${port}`)
      await page.goto(`http://localhost:${port}/healthz`)
      const statuses: number[] = []
      page.on('response', (response) => statuses.push(response.status()))
      const loadAll = async (count: number) => {
        await page.evaluate(`document.body.replaceChildren(...${JSON.stringify(hosts)}.map((url) =>
          Object.assign(document.createElement('iframe'), { src: url + '/healthz' })))`)
        await expect.poll(() => statuses.length, { timeout: 60_000 }).toBe(count)
      }
      await loadAll(idleConnections)
      expect(openConnections(port)).toBeGreaterThanOrEqual(idleConnections)
      await idleTime()
      await loadAll(2 * idleConnections)
      expect(new Set(statuses)).toEqual(new Set([200]))
    } finally {
      await browser.close()
    }
  },
)
