/** Receivers of webhooks in a thread of their own, so that who sends is not measured with who receives. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parentPort } from 'node:worker_threads'

const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    if (request.url === '/hang') return
    response.writeHead(request.url === '/fail' ? 500 : 200).end()
  })
  request.on('error', () => undefined)
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => parentPort?.postMessage((server.address() as AddressInfo).port))
