import type { IncomingMessage } from 'node:http'
import { isLoopback, parseIp } from '../ground/ip-address.ts'

/** An X-Forwarded-For entry may carry a port: `203.0.113.9:51234`, `[2001:db8::1]:443`. */
const withoutPort = (entry: string): string => {
  const bracketed = entry.match(/^\[([^\]]+)\](?::\d+)?$/)
  if (bracketed) return bracketed[1] as string
  const v4 = entry.match(/^(\d+\.\d+\.\d+\.\d+):\d+$/)
  return v4 ? (v4[1] as string) : entry
}

/**
 * The caller's address: so many entries from the right of X-Forwarded-For as there are proxies of ours, since
 * what stands further left is the client's own claim. Null when it cannot be read.
 */
export const callerAddress = (request: IncomingMessage, trustedHops: number): string | null => {
  const forwarded = trustedHops > 0 ? request.headers['x-forwarded-for'] : undefined
  if (forwarded === undefined) return parseIp(request.socket.remoteAddress ?? '')?.toString() ?? null
  const entries = (Array.isArray(forwarded) ? forwarded.join(',') : forwarded).split(',')
  const entry = entries[entries.length - trustedHops]?.trim()
  return entry ? (parseIp(withoutPort(entry))?.toString() ?? null) : null
}

/** A proxy on the same machine is a loopback peer too, but its clients are not: a forwarded request does not count. */
export const fromThisMachine = (request: IncomingMessage): boolean =>
  isLoopback(request.socket.remoteAddress) &&
  ['x-forwarded-for', 'forwarded', 'x-real-ip'].every((name) => request.headers[name] === undefined)
