/**
 * The tripwire behind "no network call inside a transaction". Node announces every socket it opens and every
 * request it sends; one announced while a transaction is open holds row locks for as long as a stranger likes.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Log } from '../ground/log.ts'
import { inTransaction } from './pool.ts'

export type Violation = {
  what: string
  /** The line of ours that led there. */
  place: string
  stack: string
}

/** A request on a connection that stands already opens no socket, hence one for each kind of client. */
const announced = {
  'net.client.socket': 'a connection',
  'udp.socket': 'a datagram socket',
  'undici:request:create': 'an HTTP request',
  'http.client.request.created': 'an HTTP request',
  'http2.client.stream.created': 'an HTTP/2 request',
}

const framesHere = (): string[] => {
  const { stackTraceLimit } = Error
  // Clients stand a dozen frames deep between the caller and the socket.
  Error.stackTraceLimit = 100
  const { stack = '' } = new Error()
  Error.stackTraceLimit = stackTraceLimit
  const frames = stack.split('\n').map((line) => line.trim())
  return frames.slice(1 + frames.findIndex((frame) => frame.includes('diagnostics_channel')))
}

const isOurs = (frame: string): boolean => !/node:|node_modules|<anonymous>/.test(frame)

/** Calls `report` for each violation from now on; returns what ends the watch. */
export const guardNetwork = (report: (violation: Violation) => void): (() => void) => {
  const watches = Object.entries(announced).map(([channel, what]) => {
    const onAnnounced = (): void => {
      if (!inTransaction()) return
      const frames = framesHere()
      report({ what, place: frames.find(isOurs) ?? frames[0] ?? 'unknown', stack: frames.join('\n') })
    }
    subscribe(channel, onAnnounced)
    return () => unsubscribe(channel, onAnnounced)
  })
  return () => {
    for (const end of watches) end()
  }
}

/** For production, where the request is better served late than refused: each place is told of once. */
export const logOncePerPlace = (log: Log): ((violation: Violation) => void) => {
  const told = new Set<string>()
  return ({ what, place, stack }) => {
    if (told.has(place)) return
    told.add(place)
    log.error({ place, stack }, `${what} inside a database transaction`)
  }
}
