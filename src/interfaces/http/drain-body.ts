/** Reads and discards the rest of a request body that is too large. */
import type { IncomingMessage } from 'node:http'

/** A client that exceeds either limit is disconnected. */
const maxBytes = 64 * 1_048_576
const maxMs = 10_000

/** For each request that is being drained, the function that stops it. */
const draining = new WeakMap<IncomingMessage, () => void>()

/**
 * Resolves when the client has sent the rest of the body or exceeds a limit. Most clients write the whole body before
 * they read the response. If the service closed the connection earlier, they would see a broken connection instead of
 * the error.
 */
export const drainBody = (request: IncomingMessage): Promise<void> => {
  const announced = Number(request.headers['content-length'])
  if (request.complete || request.destroyed || announced > maxBytes) return Promise.resolve()
  return new Promise((resolve) => {
    let bytes = 0
    const count = (chunk: Buffer): void => {
      bytes += chunk.length
      if (bytes > maxBytes) done()
    }
    const done = (): void => {
      clearTimeout(timeout)
      draining.delete(request)
      request.off('data', count).off('end', done).off('close', done)
      resolve()
    }
    const timeout = setTimeout(done, maxMs)
    draining.set(request, done)
    request.on('data', count).once('end', done).once('close', done)
  })
}

/** Stops draining a request, so that its error is sent now. Returns false if the request was not being drained. */
export const stopDraining = (request: IncomingMessage): boolean => {
  const done = draining.get(request)
  done?.()
  return done !== undefined
}
