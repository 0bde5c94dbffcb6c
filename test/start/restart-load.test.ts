/** The load of `npm run restarts`: reads and sends, and counts what was answered, limited and failed. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { makeLoad } from './several-service.ts'

const serve = async (answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> => {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const reply = (response: ServerResponse, status: number, body: object = {}) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

test('It sends mail as well as it reads, and remembers the id of every message that was acknowledged', async () => {
  const bodies: string[] = []
  let messages = 0
  const url = await serve(async (request, response) => {
    if (request.method === 'GET') return reply(response, 200)
    bodies.push((await request.toArray()).join(''))
    return reply(response, 200, { id: `msg_${++messages}` })
  })
  const load = makeLoad(url, 'key')
  await expect.poll(() => load.result.answered).toBeGreaterThan(40)
  const { answered, limited, failed, sent } = await load.stop()
  expect([limited, failed]).toEqual([0, {}])
  expect(sent.toSorted()).toEqual(Array.from({ length: messages }, (_, i) => `msg_${i + 1}`).toSorted())
  expect(messages).toBeGreaterThan(answered / 4)
  expect(messages).toBeLessThan(answered)
  expect(JSON.parse(bodies[0] ?? '')).toMatchObject({
    from: expect.stringContaining('@example.test'),
    to: [expect.any(String)],
  })
})

test('A limited request is counted apart, and neither as answered nor as failed', async () => {
  const load = makeLoad(await serve((request, response) => reply(request.resume() && response, 429)), 'key')
  await expect.poll(() => load.result.limited).toBeGreaterThan(20)
  expect(await load.stop()).toMatchObject({ answered: 0, failed: {}, sent: [] })
})

test('Other statuses, broken connections and acknowledgements without an id are failures', async () => {
  const url = await serve((request, response) => {
    if (request.method === 'POST') return reply(request.resume() && response, 202)
    if (request.headers.connection === 'close') return request.socket.destroy()
    return reply(response, 503)
  })
  const load = makeLoad(url, 'key')
  await expect.poll(() => Object.keys(load.result.failed).sort()).toEqual(['ECONNRESET', 'no message id', 'status 503'])
  expect((await load.stop()).answered).toBe(0)
})
