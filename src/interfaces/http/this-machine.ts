/** Recognises requests of programs on this machine, for routes that need no key because only they can use them. */
import type { IncomingMessage } from 'node:http'
import { isLoopback } from '../../platform/ground/ip-address.ts'

/** A proxy on this machine connects over loopback too, but its clients are elsewhere. */
const signsOfForwarding = [
  'via',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-real-ip',
  'cf-connecting-ip',
  'true-client-ip',
  'x-client-ip',
]

/** The port of a Host header that names this machine, `''` without one. Undefined for any other host. */
const loopbackPort = (host: string): string | undefined => {
  const [, name, bracketed, port = ''] = host.match(/^(?:([^:[\]]+)|\[([^[\]]+)\])(?::(\d{1,5}))?$/) ?? []
  if (bracketed !== undefined) return isLoopback(bracketed) ? port : undefined
  if (name === undefined) return undefined
  return /^(?:[a-z0-9-]+\.)*localhost$/i.test(name) || isLoopback(name) ? port : undefined
}

/** The service itself uses plain HTTP, so an origin of another scheme is another origin. */
const isSameOrigin = (origin: string, hostPort: string): boolean => {
  const authority = origin.match(/^http:\/\/(.+)$/i)?.[1]
  const port = authority === undefined ? undefined : loopbackPort(authority)
  return port !== undefined && (port || '80') === (hostPort || '80')
}

/**
 * Whether a request comes from a program on this machine. The address is not enough: a web page that the user visits
 * can send requests too, and with DNS rebinding it can read the responses under its own host name.
 */
export const fromThisMachine = ({ socket, headers }: IncomingMessage): boolean => {
  if (!isLoopback(socket.remoteAddress)) return false
  if (signsOfForwarding.some((name) => headers[name] !== undefined)) return false
  const hostPort = headers.host === undefined ? undefined : loopbackPort(headers.host)
  if (hostPort === undefined) return false
  if (headers.origin !== undefined && !isSameOrigin(headers.origin, hostPort)) return false
  const site = headers['sec-fetch-site']
  return site === undefined || site === 'none' || site === 'same-origin'
}
