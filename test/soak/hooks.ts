/** The receiver of the soak's webhook endpoints: one that always works, one with some failures, one that can be down. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export const hookPaths = ['/steady', '/flaky', '/switched'] as const

export type Hooks = {
  urls: string[]
  /** Messages whose `message.sent` arrived at the steady endpoint. */
  sent: Set<string>
  requests(): number
  fail(isDown: boolean): void
  close(): Promise<void>
}

type Delivery = { event: string; data: { message_id?: string } }

export const startHooks = async (): Promise<Hooks> => {
  const sent = new Set<string>()
  const sockets = new Set<Socket>()
  let requests = 0
  let isDown = false

  const answer = (path: string, body: string, response: ServerResponse): void => {
    requests++
    if (path === '/flaky' && requests % 5 === 0) response.writeHead(requests % 10 === 0 ? 500 : 429)
    if (path === '/switched' && isDown) response.writeHead(503)
    if (path === '/steady') {
      const { event, data } = JSON.parse(body) as Delivery
      if (event === 'message.sent' && data.message_id) sent.add(data.message_id)
    }
    response.end()
  }

  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (text: string) => {
      body += text
    })
    request.on('end', () => answer(request.url ?? '', body, response))
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    urls: hookPaths.map((path) => `http://127.0.0.1:${port}${path}`),
    sent,
    requests: () => requests,
    fail: (down) => {
      isDown = down
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
