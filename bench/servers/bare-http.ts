/** The upper bound: `node:http` with the same request and response, storing nothing. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serveBench } from './serve.ts'

serveBench(async () => {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { channel, value } = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, string>
      const answer = JSON.stringify({
        id: randomUUID(),
        org_id: 'org_bench',
        channel,
        value,
        reason: 'manual',
        created_at: new Date(),
      })
      response.writeHead(201, {
        'content-type': 'application/json; charset=utf-8',
        'content-length': Buffer.byteLength(answer),
      })
      response.end(answer)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    ready: { port: (server.address() as AddressInfo).port },
    close: async () => {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
})
