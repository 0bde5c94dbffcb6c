/**
 * Detects network calls inside a transaction, which would hold row locks for as long as the remote server takes. Node
 * publishes an event for every socket it opens and every request it sends.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Log } from '../ground/log.ts'
import { inTransaction } from './pool.ts'

export type Violation = {
  what: string
  /** The line of our code that made the call. */
  place: string
  stack: string
}

/** A request on an open connection opens no socket, so each kind of client has its own channel. */
const channels = {
  'net.client.socket': 'a connection',
  'udp.socket': 'a datagram socket',
  'undici:request:create': 'an HTTP request',
  'http.client.request.created': 'an HTTP request',
  'http2.client.stream.created': 'an HTTP/2 request',
}

const currentFrames = (): string[] => {
  const { stackTraceLimit } = Error
  // HTTP clients add a dozen frames between the caller and the socket.
  Error.stackTraceLimit = 100
  const { stack = '' } = new Error()
  Error.stackTraceLimit = stackTraceLimit
  const frames = stack.split('\n').map((line) => line.trim())
  return frames.slice(1 + frames.findIndex((frame) => frame.includes('diagnostics_channel')))
}

const isOurs = (frame: string): boolean => !/node:|node_modules|<anonymous>/.test(frame)

/** Calls `report` for each violation from now on, until the returned function is called. */
export const guardNetwork = (report: (violation: Violation) => void): (() => void) => {
  const unsubscribers = Object.entries(channels).map(([channel, what]) => {
    const onEvent = (): void => {
      if (!inTransaction()) return
      const frames = currentFrames()
      report({ what, place: frames.find(isOurs) ?? frames[0] ?? 'unknown', stack: frames.join('\n') })
    }
    subscribe(channel, onEvent)
    return () => unsubscribe(channel, onEvent)
  })
  return () => {
    for (const end of unsubscribers) end()
  }
}

/** For production, where a slow request is better than a failed one. Logs each place once. */
export const logOncePerPlace = (log: Log): ((violation: Violation) => void) => {
  const logged = new Set<string>()
  return ({ what, place, stack }) => {
    if (logged.has(place)) return
    logged.add(place)
    log.error({ place, stack }, `${what} inside a database transaction`)
  }
}
