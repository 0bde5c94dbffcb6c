/** A webhook receiver in a separate thread, so that its work does not count as the sender's. */
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
