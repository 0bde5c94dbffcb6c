import ipaddr from 'ipaddr.js'

/** An IP range. IPv4-mapped IPv6 addresses are converted to IPv4. */
export type IpRange = { address: ipaddr.IPv4 | ipaddr.IPv6; bits: number }

const strict = (text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined => {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  // A zone index names a network interface of one machine, so it has no meaning in a rule or a header.
  if (!text.includes(':') || text.includes('%') || !ipaddr.IPv6.isValid(text)) return undefined
  const v6 = ipaddr.IPv6.parse(text)
  return v6.isIPv4MappedAddress() ? v6.toIPv4Address() : v6
}

export const parseIp = strict

/** Reads `203.0.113.0/24`, `2001:db8::/32` or a single address. Bits after the prefix are set to zero. */
export const parseRange = (text: string): IpRange | undefined => {
  const [base, bits, ...rest] = text.split('/')
  if (rest.length > 0 || base === undefined) return undefined
  const address = strict(base)
  if (!address) return undefined
  const width = address.kind() === 'ipv4' ? 32 : 128
  if (bits === undefined) return { address, bits: width }
  if (!/^\d{1,3}$/.test(bits)) return undefined
  // The prefix length in ::ffff:a.b.c.d/n is counted over 128 bits.
  const mapped = address.kind() === 'ipv4' && base.includes(':')
  const n = mapped ? Number(bits) - 96 : Number(bits)
  if (n < 0 || n > width) return undefined
  return { address: maskTo(address, n), bits: n }
}

const maskTo = (address: ipaddr.IPv4 | ipaddr.IPv6, bits: number): ipaddr.IPv4 | ipaddr.IPv6 => {
  const bytes = address.toByteArray()
  for (let i = 0; i < bytes.length; i++) {
    const kept = Math.min(8, Math.max(0, bits - i * 8))
    bytes[i] = bytes[i]! & (0xff << (8 - kept)) & 0xff
  }
  return ipaddr.fromByteArray(bytes)
}

export const formatRange = ({ address, bits }: IpRange): string => `${address.toString()}/${bits}`

export const contains = (range: IpRange, address: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
  range.address.kind() === address.kind() && address.match(range.address as ipaddr.IPv4, range.bits)

/** Whether the outer range contains all of the inner one. */
export const covers = (outer: IpRange, inner: IpRange): boolean =>
  outer.bits <= inner.bits && contains(outer, inner.address)

export const isLoopback = (text: string | undefined): boolean =>
  text !== undefined && parseIp(text)?.range() === 'loopback'

/** A network that limits per address count. Its limit is `times` the limit of one address. */
export type CountedNetwork = { name: string; times: number }

/**
 * What limits per address count a caller by. One IPv6 client has a whole /64, so counting single addresses would limit
 * nothing. A site has up to a /48, which is counted as well, at ten times the limit. Callers without a readable address
 * are counted together.
 */
export const countedNetworks = (address: string | null): [CountedNetwork, ...CountedNetwork[]] => {
  const parsed = address === null ? undefined : parseIp(address)
  if (!parsed) return [{ name: address ?? 'unknown', times: 1 }]
  if (parsed.kind() === 'ipv4') return [{ name: parsed.toString(), times: 1 }]
  const network = (bits: number): string => formatRange({ address: maskTo(parsed, bits), bits })
  return [
    { name: network(64), times: 1 },
    { name: network(48), times: 10 },
  ]
}
