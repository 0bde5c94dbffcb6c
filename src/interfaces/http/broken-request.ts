/** Responds to bytes that never became a request: broken HTTP, oversized headers, or a request that is too slow. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Failure } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import { stopDraining } from './drain-body.ts'
import { envelope, malformed } from './envelope.ts'

export const jsonType = 'application/json; charset=utf-8'

export const notHttp = (): Failure => malformed('This is not a valid HTTP request.')

/** The response in progress on a socket. Node stores it in this private property and has no public one for it. */
export const responseOn = (socket: Socket): ServerResponse | undefined =>
  (socket as { _httpMessage?: ServerResponse })._httpMessage ?? undefined

const failureOf = (error: NodeJS.ErrnoException): Failure => {
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    return new Failure('PAYLOAD_TOO_LARGE', {
      message: 'The request headers exceed 16 KB. Send fewer or shorter headers.',
    })
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return malformed('The request did not arrive in time.')
  return notHttp()
}

/**
 * Browsers open connections before they need them. A client would take anything that is written on such a connection for
 * the answer to its next request. After its first request, Node closes a connection that waits without a word.
 */
const isUnused = (error: NodeJS.ErrnoException, socket: Socket): boolean =>
  error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0

/** Writes the error straight to the socket, since Fastify has no reply for it. */
export const makeAnswerBrokenRequest =
  (log: Log) =>
  (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (!socket.writable || error.code === 'ECONNRESET' || isUnused(error, socket)) {
      socket.destroy()
      return
    }
    const response = responseOn(socket)
    if (response && (response.req.complete || response.headersSent)) {
      // The broken bytes follow a complete request, or one that was refused before its body arrived. That request gets its
      // own response, then the connection closes.
      if (response.headersSent) response.once('finish', () => socket.destroySoon())
      else response.setHeader('connection', 'close')
      return
    }
    // The request was already rejected as too large. Send that error, not one about how its body ended.
    if (response && stopDraining(response.req)) return
    const failure = failureOf(error)
    const id = newId('request')
    log.info({ request_id: id, route: 'unknown', status: failure.status }, 'request')
    const body = envelope(failure, id)
    socket.end(
      `HTTP/1.1 ${failure.status} ${failure.status === 413 ? 'Content Too Large' : 'Unprocessable Content'}\r\n` +
        `Content-Type: ${jsonType}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${id}\r\n` +
        `Connection: close\r\n\r\n${body}`,
    )
  }
