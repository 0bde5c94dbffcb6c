/** Decides which customer-supplied URLs, and which IP addresses, the service may call. */
import type ipaddr from 'ipaddr.js'
import { contains, type IpRange, parseIp, parseRange } from '../ground/ip-address.ts'

/** Why a request to a customer's URL failed. */
type FaultKind = 'timeout' | 'connection' | 'tls' | 'dns' | 'url_not_allowed'

export class OutgoingFault extends Error {
  readonly kind: FaultKind
  constructor(kind: FaultKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'OutgoingFault'
    this.kind = kind
  }
}

export class NotAllowedFault extends OutgoingFault {
  /** Whether the URL is allowed where insecure URLs are. */
  readonly onlyInsecure: boolean
  constructor(reason: string, onlyInsecure = false) {
    super('url_not_allowed', reason)
    this.name = 'NotAllowedFault'
    this.onlyInsecure = onlyInsecure
  }
}

const ranges = (...texts: string[]): IpRange[] =>
  texts.map((text) => {
    const range = parseRange(text)
    if (!range) throw new Error(`${text} is not an IP range`)
    return range
  })

/** Private networks. Allowed only where insecure webhooks are allowed. */
const privateRanges = ranges(
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::1/128',
  'fc00::/7',
)

/** Never dialed: metadata services, link-local, multicast, reserved, documentation, benchmarking, relays. */
const forbiddenRanges = ranges(
  '0.0.0.0/8',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Host services of cloud providers, at addresses that look public or merely private.
  '168.63.129.16/32',
  '100.100.100.200/32',
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  // Tunnels whose addresses embed an IPv4 address: Teredo (with the other protocol assignments) and 6to4.
  '2001::/23',
  '2002::/16',
  '2001:db8::/32',
  '3fff::/20',
)

const globalUnicast6 = ranges('2000::/3')[0] as IpRange
const nat64 = ranges('64:ff9b::/96')[0] as IpRange

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** Returns the IPv4 address embedded in a NAT64 address, because that is where a translator connects. */
const translated = (address: Address): Address => {
  if (!contains(nat64, address)) return address
  const inner = parseIp(address.toByteArray().slice(12).join('.'))
  return inner ?? address
}

const within = (list: IpRange[], address: Address): boolean => list.some((range) => contains(range, address))

/** Whether the service may connect to this address. Text that is not an IP address is rejected. */
export const mayDial = (text: string, allowPrivate: boolean): boolean => {
  const parsed = parseIp(text)
  if (!parsed) return false
  const address = translated(parsed)
  if (within(forbiddenRanges, address)) return false
  if (within(privateRanges, address)) return allowPrivate
  return address.kind() === 'ipv4' || contains(globalUnicast6, address)
}

const privateNames = /(^|\.)(localhost|localdomain|local|internal|home\.arpa)$/
const hostname = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_](?:[a-z0-9_-]{0,62}))*$/

/** Tabs, line ends, spaces and backslashes. URL parsers drop or convert them, and parsers disagree on how. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const ambiguousCharacters = /[\u0000-\u0020\u007f\\]/

/** The IP address in the host of a URL, without brackets. Undefined when the host is a name. */
export const literalOf = (host: string): string | undefined => {
  const bare = host.startsWith('[') ? host.slice(1, -1) : host
  return parseIp(bare) ? bare : undefined
}

const readUrl = (text: string, allowInsecure: boolean): URL => {
  if (ambiguousCharacters.test(text) || !URL.canParse(text)) throw new NotAllowedFault('not a valid URL')
  // The parser rewrites every notation of an IPv4 address (octal, hexadecimal, single number) as dotted decimal.
  const url = new URL(text)
  const insecure = url.protocol === 'http:' && allowInsecure
  if (url.protocol !== 'https:' && !insecure) throw new NotAllowedFault(`protocol ${url.protocol} is not allowed`)
  const authority = /^[a-z]+:\/*([^/?#]*)/i.exec(text)?.[1] ?? ''
  if (authority.includes('@')) throw new NotAllowedFault('URL contains credentials')
  const port = Number(url.port || (insecure ? 80 : 443))
  if (port < 1024 && port !== 443 && !(insecure && port === 80)) {
    throw new NotAllowedFault(`port ${port} is not allowed`)
  }
  url.hash = ''

  const literal = literalOf(url.hostname)
  if (literal !== undefined) {
    if (!mayDial(literal, allowInsecure)) throw new NotAllowedFault(`address ${literal} is not allowed`)
    return url
  }
  // A single trailing dot names the same host. More dots, or any other character, make the host name invalid.
  const name = url.hostname.replace(/\.$/, '')
  if (!hostname.test(name) || literalOf(name) !== undefined) throw new NotAllowedFault('invalid host name')
  if (privateNames.test(name) && !allowInsecure) throw new NotAllowedFault(`host name ${name} is private`)
  url.hostname = name
  return url
}

const isReadable = (text: string): boolean => {
  try {
    readUrl(text, true)
    return true
  } catch {
    return false
  }
}

/** Checks a URL without querying the DNS, and returns it in the form in which it is called. Throws NotAllowedFault. */
export const checkUrl = (text: string, allowInsecure: boolean): URL => {
  try {
    return readUrl(text, allowInsecure)
  } catch (error) {
    if (!(error instanceof NotAllowedFault) || allowInsecure) throw error
    throw new NotAllowedFault(error.message, isReadable(text))
  }
}
