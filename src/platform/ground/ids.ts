import { randomFillSync } from 'node:crypto'

/** Every id prefix of the service. Audiences and audit entries share `aud_`; they are in different tables. */
export const prefixes = {
  message: 'msg',
  verification: 'ver',
  job: 'job',
  template: 'tpl',
  dltTemplate: 'dlt',
  dltEntity: 'dle',
  dltHeader: 'dlh',
  suppression: 'sup',
  inboundSms: 'ism',
  inboundEmail: 'iem',
  brand: 'brd',
  campaign: 'cmp',
  phoneNumber: 'num',
  pool: 'pol',
  contact: 'con',
  audience: 'aud',
  auditEntry: 'aud',
  org: 'org',
  user: 'usr',
  membership: 'mem',
  invitation: 'inv',
  session: 'ses',
  challenge: 'chl',
  exportJob: 'exp',
  scimToken: 'sct',
  scimGroup: 'scg',
  oauthClient: 'oac',
  oauthGrant: 'oag',
  tenant: 'ten',
  project: 'prj',
  key: 'key',
  domain: 'dom',
  ipPool: 'ipp',
  webhookEndpoint: 'whe',
  webhookDelivery: 'whd',
  event: 'evt',
  request: 'req',
} as const

export type IdKind = keyof typeof prefixes

/** Other prefixes that are accepted in requests: a former one of contacts, and that of inbound email, which shares a route. */
const otherPrefixes: Partial<Record<IdKind, string[]>> = { contact: ['ctc'], inboundSms: ['iem'] }

/** A regular expression of the ids of that kind. */
export const idPattern = (kind: IdKind): string => {
  const [first = '', ...others] = [prefixes[kind], ...(otherPrefixes[kind] ?? [])]
  return `^${others.length > 0 ? `(?:${[first, ...others].join('|')})` : first}_[0-7][0-9a-hjkmnp-tv-z]{25}$`
}

const crockford = '0123456789abcdefghjkmnpqrstvwxyz'
/** Every pair of digits, indexed by its ten bits. */
const pairs = new Uint16Array(1024)
Buffer.from(pairs.buffer).write(
  Array.from(pairs, (_, bits) => `${crockford[bits >>> 5]}${crockford[bits & 31]}`).join(''),
)

/** The digits of the last id. Each new id overwrites them, which is faster than concatenating strings. */
const written = new Uint16Array(13)
const writtenText = Buffer.from(written.buffer)

const pool = Buffer.allocUnsafe(8 * 512)
let poolAt = pool.length
/** Ids keep their order when the clock steps back by at most this much. When it steps back further, they follow it. */
const maxClockStepBackMs = 10_000
let lastMs = 0
let counter = 0

/**
 * A prefix and a UUIDv7 in 26 characters of Crockford base32: 48 bits of time, the version, a 12-bit counter that keeps
 * the ids of one process in order within a millisecond, the variant and 62 random bits.
 */
export const newId = (kind: IdKind, ms: number = Date.now()): string => {
  if (poolAt === pool.length) {
    randomFillSync(pool)
    poolAt = 0
  }
  const high = pool.readUInt32BE(poolAt)
  const low = pool.readUInt32BE(poolAt + 4)
  poolAt += 8
  if (ms > lastMs || lastMs - ms > maxClockStepBackMs) {
    lastMs = ms
    counter = high >>> 22
  } else if (++counter > 0xfff) {
    lastMs += 1
    counter = 0
  }
  // Four words of 32 bits: 48 bits of time, 16 of version and counter, then the variant and the random bits.
  const a = Math.floor(lastMs / 0x10000)
  const b = ((lastMs - a * 0x10000) << 16) | 0x7000 | counter
  const c = 0x80000000 | (high & 0x3fffffff)
  // Two zero bits and the 128 bits make 130: 13 pairs of digits with ten bits each.
  written[0] = pairs[(a >>> 24) & 1023] as number
  written[1] = pairs[(a >>> 14) & 1023] as number
  written[2] = pairs[(a >>> 4) & 1023] as number
  written[3] = pairs[((a << 6) | (b >>> 26)) & 1023] as number
  written[4] = pairs[(b >>> 16) & 1023] as number
  written[5] = pairs[(b >>> 6) & 1023] as number
  written[6] = pairs[((b << 4) | (c >>> 28)) & 1023] as number
  written[7] = pairs[(c >>> 18) & 1023] as number
  written[8] = pairs[(c >>> 8) & 1023] as number
  written[9] = pairs[((c << 2) | (low >>> 30)) & 1023] as number
  written[10] = pairs[(low >>> 20) & 1023] as number
  written[11] = pairs[(low >>> 10) & 1023] as number
  written[12] = pairs[low & 1023] as number
  return `${prefixes[kind]}_${writtenText.toString('latin1')}`
}

/** How many of the last digits of an id count the ids that are derived from it: 30 bits. */
const countedDigits = 6

/**
 * The n-th id that is derived from another one: always the same, with the time of that one, and in order. Ids of one
 * process and millisecond differ before the digits that are counted, so those derived from two of them never meet.
 */
export const derivedId = (kind: IdKind, from: string, n: number): string => {
  const start = from.length - countedDigits
  let count = n
  for (let i = start; i < from.length; i++) count += crockford.indexOf(from[i] as string) * 32 ** (from.length - 1 - i)
  let digits = ''
  for (let i = 0; i < countedDigits; i++) {
    digits = `${crockford[count % 32]}${digits}`
    count = Math.floor(count / 32)
  }
  return `${prefixes[kind]}_${from.slice(from.length - 26, start)}${digits}`
}

const shapes = new Map<IdKind, RegExp>(
  (Object.keys(prefixes) as IdKind[]).map((kind) => [kind, new RegExp(idPattern(kind))]),
)

/** Whether a caller's string has the format of an id of that kind. If not, callers report it as not found. */
export const isId = (kind: IdKind, value: string): boolean => shapes.get(kind)?.test(value) ?? false

/** Whether it is the id of what a provider was handed: a message, or the verification of a one-time code. */
export const isSentId = (value: string): boolean => isId('message', value) || isId('verification', value)

/** The time at which an id was made, in milliseconds. NaN for a text that is not an id. */
export const timeOfId = (id: string): number => {
  let time = 0
  // The first ten digits are two zero bits and the 48 bits of time.
  for (let i = id.length - 26; i < id.length - 16; i++) {
    const digit = crockford.indexOf(id[i] ?? '?')
    time = digit < 0 ? Number.NaN : time * 32 + digit
  }
  return time
}

/** Digits of an id from hexadecimal text, one for every two of its characters. */
export const idDigits = (hex: string, count: number): string => {
  let digits = ''
  for (let i = 0; i < count; i++) digits += crockford[Number.parseInt(hex.slice(i * 2, i * 2 + 2), 16) & 31]
  return digits
}
