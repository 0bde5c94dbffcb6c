/** Closes client connections while the server shuts down. */
import { Server, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { responseOn } from './broken-request.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Accepts no more connections, without closing any. Resolves when all of them are closed. */
    stopListening(): Promise<void>
  }
}

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

/**
 * Lets the port go before the server closes. The HTTP server's own `close` would also close idle connections, while
 * their clients may be sending the next request.
 */
export const addStopListening = (app: FastifyInstance): void => {
  let closed: Promise<void> | undefined
  app.decorate('stopListening', () => {
    closed ??= new Promise((resolve) => Server.prototype.close.call(app.server, () => resolve()))
    return closed
  })
  // Node does not wait for connections when it closes a server that no longer listens.
  app.addHook('preClose', async () => closed)
}
