/** The address of a caller, directly or through trusted proxies. Nothing else reads the socket or the header for it. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { contains, type IpRange, parseIp } from '../../platform/ground/ip-address.ts'

/** The proxies in front of the service: the addresses they connect from, and how many of them a request passes. */
export type ProxyTrust = { trustedProxies: readonly IpRange[]; trustedProxyHops: number }

/** An X-Forwarded-For entry may carry a port: `203.0.113.9:51234`, `[2001:db8::1]:443`. */
const withoutPort = (entry: string): string => {
  const bracketed = entry.match(/^\[([^\]]+)\](?::\d+)?$/)
  if (bracketed) return bracketed[1] as string
  const v4 = entry.match(/^(\d+\.\d+\.\d+\.\d+):\d+$/)
  return v4 ? (v4[1] as string) : entry
}

/** Node appends the network interface to a link-local peer: `fe80::1%eth0`. */
const withoutZone = (peer: string): string => peer.replace(/%.*$/, '')

/**
 * The caller's IP address. X-Forwarded-For counts only if the peer is a trusted proxy, because anyone can send it. With
 * N proxies the address is the Nth entry from the right: entries further left come from the client and cannot be
 * trusted. Null when the address cannot be parsed.
 */
export const addressBehindProxies = (
  peer: string | undefined,
  forwarded: string | undefined,
  { trustedProxies, trustedProxyHops }: ProxyTrust,
): string | null => {
  const direct = parseIp(withoutZone(peer ?? ''))
  if (!direct) return null
  const isProxy = trustedProxyHops > 0 && trustedProxies.some((range) => contains(range, direct))
  if (!isProxy || forwarded === undefined) return direct.toString()
  const entries = forwarded.split(',')
  const entry = entries[entries.length - trustedProxyHops]?.trim()
  return entry ? (parseIp(withoutPort(entry))?.toString() ?? null) : null
}

/** What the last request on a connection was from. Most connections carry many requests of one caller. */
const known = new WeakMap<Socket, { forwarded: string | undefined; address: string | null }>()

export const callerAddress = ({ socket, headers }: IncomingMessage, trust: ProxyTrust): string | null => {
  const header = headers['x-forwarded-for']
  const forwarded = Array.isArray(header) ? header.join(',') : header
  const last = known.get(socket)
  if (last && last.forwarded === forwarded) return last.address
  const address = addressBehindProxies(socket.remoteAddress, forwarded, trust)
  // A connection that has closed has no address any more, and is not reused.
  if (address !== null) known.set(socket, { forwarded, address })
  return address
}
