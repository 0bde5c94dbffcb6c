/** Closes client connections while the server shuts down. */
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { responseOn } from './broken-request.ts'

/** True while the service works on a complete request. Other connections wait for their client to send or to read. */
const isWorking = (socket: Socket): boolean => {
  const response = responseOn(socket)
  return response?.req.complete === true && !response.writableEnded
}

/** How long a client may take, once the service stops, to send the rest of a request or to read a response. */
const lingerMs = 2_000

const tickMs = 50

/**
 * Node no longer enforces its timeouts once the server starts to close. A connection with a request in progress stays
 * open until its response is sent. An idle one closes at once, and one that waits for its client after `lingerMs`.
 */
export const closeConnectionsOnStop = (app: FastifyInstance): void => {
  const waitedMsOf = new Map<Socket, number>()
  app.server.on('connection', (socket: Socket) => {
    waitedMsOf.set(socket, 0)
    socket.once('close', () => waitedMsOf.delete(socket))
  })
  let ticks: NodeJS.Timeout | undefined
  app.addHook('preClose', async () => {
    ticks = setInterval(() => {
      app.server.closeIdleConnections()
      for (const [socket, waitedMs] of waitedMsOf) {
        if (isWorking(socket)) waitedMsOf.set(socket, 0)
        else if (waitedMs < lingerMs) waitedMsOf.set(socket, waitedMs + tickMs)
        else socket.destroy()
      }
    }, tickMs)
  })
  app.addHook('onClose', async () => clearInterval(ticks))
}
