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
 * The caller's IP address. With N trusted proxies it is the Nth entry from the right of X-Forwarded-For: entries
 * further left come from the client and cannot be trusted. Null when the address cannot be parsed.
 */
export const callerAddress = (request: IncomingMessage, trustedHops: number): string | null => {
  const forwarded = trustedHops > 0 ? request.headers['x-forwarded-for'] : undefined
  if (forwarded === undefined) return parseIp(request.socket.remoteAddress ?? '')?.toString() ?? null
  const entries = (Array.isArray(forwarded) ? forwarded.join(',') : forwarded).split(',')
  const entry = entries[entries.length - trustedHops]?.trim()
  return entry ? (parseIp(withoutPort(entry))?.toString() ?? null) : null
}

/** A proxy on this machine connects over loopback too, but its clients are elsewhere: forwarded requests do not count. */
export const fromThisMachine = (request: IncomingMessage): boolean =>
  isLoopback(request.socket.remoteAddress) &&
  ['x-forwarded-for', 'forwarded', 'x-real-ip'].every((name) => request.headers[name] === undefined)
