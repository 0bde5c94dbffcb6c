/** What a client still writes of a body that is too large. */
import type { IncomingMessage } from 'node:http'

/** Whoever goes on past either is cut off. */
const mostBytes = 64 * 1_048_576
const longestMs = 10_000

/** By the request: says that no more of its body is waited for. */
const underWay = new WeakMap<IncomingMessage, () => void>()

/**
 * Reads the rest and throws it away. Most clients write all of a body before they look for an answer, and one that is
 * answered half way and cut off finds a broken connection in place of the refusal.
 */
export const letRestPass = (request: IncomingMessage): Promise<void> => {
  const announced = Number(request.headers['content-length'])
  if (request.complete || request.destroyed || announced > mostBytes) return Promise.resolve()
  return new Promise((resolve) => {
    let bytes = 0
    const count = (chunk: Buffer): void => {
      bytes += chunk.length
      if (bytes > mostBytes) done()
    }
    const done = (): void => {
      clearTimeout(late)
      underWay.delete(request)
      request.off('data', count).off('end', done).off('close', done)
      resolve()
    }
    const late = setTimeout(done, longestMs)
    underWay.set(request, done)
    request.on('data', count).once('end', done).once('close', done)
  })
}

/** Whether the rest of this body was being thrown away; if so the refusal it waited for is given now. */
export const endRest = (request: IncomingMessage): boolean => {
  const done = underWay.get(request)
  done?.()
  return done !== undefined
}
