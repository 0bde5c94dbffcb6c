import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { startLoad } from './load.ts'
import { counterSlot } from './wire.ts'

const load = startLoad()
afterAll(load.stop)

const underLoad = async (answer: RequestListener) => {
  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  try {
    const request = { method: 'POST', path: '/', body: counterSlot }
    return await load.run({ port, request, clients: 4, warmMs: 50, measureMs: 1_000 })
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

test('Every request of a run carries a different counter, and every response is counted', async () => {
  const seen: string[] = []
  const result = await underLoad(async (request, response) => {
    seen.push(Buffer.concat(await request.toArray()).toString())
    response.writeHead(201, { 'content-length': 2 }).end('ok')
  })
  expect(new Set(seen).size).toBe(seen.length)
  expect(result.requests).toBeGreaterThan(0)
  expect(result.requests).toBeLessThanOrEqual(seen.length)
  expect(result.perSecond).toBe(result.requests)
  expect(result.p99Ms).toBeGreaterThanOrEqual(result.p50Ms)
})

test('A response that is not 2xx fails the run and is included in the error', async () => {
  // The first one arrives on a machine of any speed.
  let served = 0
  const run = underLoad((_, response) => {
    const text = ++served === 1 ? 'out of quota' : 'ok'
    response.writeHead(served === 1 ? 429 : 200, { 'content-length': text.length }).end(text)
  })
  await expect(run).rejects.toThrow(/^1 responses were not 2xx.*out of quota/s)
})

test('A chunked response fails the run', async () => {
  await expect(underLoad((_, response) => void response.write('part'))).rejects.toThrow(/chunked/)
})

test('A server that closes connections fails the run', async () => {
  await expect(underLoad((request) => request.socket.destroy())).rejects.toThrow(/closed a connection|ECONNRESET/)
})
