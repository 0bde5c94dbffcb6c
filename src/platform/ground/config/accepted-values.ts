/** Parsers of environment variables, each with the text that describes the values it accepts. */
import { Resolver } from 'node:dns'
import { z } from 'zod'
import { type IpRange, parseRange } from '../ip-address.ts'
import { parseObjectUrl } from '../object-url.ts'
import { parseSmppUrl } from '../smpp-url.ts'
import { parseSmtpUrl } from '../smtp-url.ts'

export type AcceptedValue<T> = {
  schema: z.ZodType<T, string>
  /** Completes the sentence "The value must be …". */
  text: string
}

type Names = readonly [string, ...string[]]

const accepted = <T>(text: string, schema: z.ZodType<T, string>): AcceptedValue<T> => ({ schema, text })

const list = z.string().transform((text) => text.split(',').map((part) => part.trim()))

const listOf = <T>(item: z.ZodType<T, string>) => list.pipe(z.array(item))

const matching = (pattern: RegExp) => z.string().regex(pattern)

const urlOf = (...protocols: string[]) =>
  z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol))

const base64Key = matching(/^[A-Za-z0-9+/_-]{43}=?$/)
  .transform((text) => Buffer.from(text, 'base64'))
  .refine((bytes) => bytes.length === 32)

/** Names as the documentation shows code. */
const codes = (names: readonly string[]): string[] => names.map((name) => `\`${name}\``)

const alternatives = (names: readonly string[]): string =>
  `${codes(names.slice(0, -1)).join(', ')} or ${codes(names.slice(-1))}`

export const nonEmptyText = (text: string) => accepted(text, z.string().min(1))

export const textOfLength = (min: number, max: number) =>
  accepted(`a text of ${min} to ${max} characters`, z.string().min(min).max(max))

export const textOfAtLeast = (length: number) =>
  accepted(`a text of at least ${length} characters`, z.string().min(length))

export const textMatching = (pattern: RegExp, text: string) => accepted(text, matching(pattern))

/** At most as many processes as the largest machines have cores. */
const mostProcesses = 256

export const processes = accepted(
  `\`auto\` or a whole number from 1 to ${mostProcesses}`,
  matching(/^(auto|[1-9]\d{0,2})$/)
    .transform((text) => (text === 'auto' ? ('auto' as const) : Number(text)))
    .refine((count) => count === 'auto' || count <= mostProcesses),
)

/** Another URL would be taken as the name of a folder. */
export const fileOrObjects = accepted(
  'a file path or an s3://bucket/prefix URL',
  z
    .string()
    .min(1)
    .max(4_096)
    .refine((text) => !/^\w+:\/\//.test(text) || parseObjectUrl(text) !== undefined),
)

export const wholeNumber = (min: number, max: number) =>
  accepted(
    `a whole number from ${min} to ${max}`,
    matching(/^\d{1,15}$/)
      .transform(Number)
      .pipe(z.number().int().min(min).max(max)),
  )

export const share = accepted(
  'a number from 0 to 1',
  matching(/^(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?|\.\d{1,9})$/).transform(Number),
)

/** Names are HTTP tokens, and values are percent-encoded. */
export const headerPairs = accepted(
  'a comma-separated list of `name=value` with percent-encoded values',
  matching(/^\s*[\w.-]+\s*=(?:[^,%\s]|%[0-7][0-9a-f])*\s*(?:,\s*[\w.-]+\s*=(?:[^,%\s]|%[0-7][0-9a-f])*\s*)*$/i).max(
    8_192,
  ),
)

export const choice = <const T extends Names>(...values: T) => accepted(alternatives(values), z.enum(values))

const flag = (yes: string, no: string) =>
  accepted(
    alternatives([yes, no]),
    z.enum([yes, no]).transform((value) => value === yes),
  )

export const trueOrFalse = flag('true', 'false')

export const onOrOff = flag('on', 'off')

/** Accepts `off` too; a production rule rejects it there. */
export const submissionTls = accepted(
  '`starttls`, `implicit` or, outside production, `off`',
  z.enum(['starttls', 'implicit', 'off']),
)

/** Accepts `local` too; a production rule rejects it there. */
export const providers = <const T extends Names>(...names: T) =>
  accepted(
    `a comma-separated list of ${codes(names).join(', ')} and, outside production, \`local\``,
    listOf(z.enum([...names, 'local'])),
  )

/** Accepts `local` too; a production rule rejects it there. */
export const paymentProvider = accepted('`stripe` or, outside production, `local`', z.enum(['stripe', 'local']))

export const priceIds = accepted(
  'a comma-separated list of Stripe price ids such as `price_1Nx…`',
  listOf(matching(/^[\w-]{1,255}$/)),
)

export const contactAddress = accepted('an email address', matching(/^[^\s@]+@[^\s@]+$/).max(320))

export const url = (text: string, ...protocols: string[]) => accepted(text, urlOf(...protocols))

/** An address that paths are appended to, so trailing slashes are removed. */
export const baseUrl = accepted(
  'an https:// URL or, outside production, an http:// URL',
  urlOf('http:', 'https:').transform((text) => text.replace(/\/+$/, '')),
)

export const smtpUrl = accepted(
  'an smtp:// or smtps:// URL',
  urlOf('smtp:', 'smtps:').refine((text) => parseSmtpUrl(text) !== undefined),
)

export const smppUrl = accepted(
  'an smpp:// or ssmpp:// URL with a system id',
  urlOf('smpp:', 'ssmpp:').refine((text) => parseSmppUrl(text) !== undefined),
)

export const domainName = accepted(
  'a domain name',
  z
    .string()
    .toLowerCase()
    .regex(/^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/),
)

export const secretKey = accepted<Buffer>('32 bytes in base64, for example from `openssl rand -base64 32`', base64Key)

export const secretKeys = accepted<Buffer[]>(
  'a comma-separated list of keys, each 32 bytes in base64',
  listOf(base64Key),
)

export const secretTexts = accepted('a comma-separated list of secret texts', listOf(z.string().min(1)))

export const snsTopics = accepted(
  'a comma-separated list of SNS topic ARNs',
  listOf(matching(/^arn:aws:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}(\.fifo)?$/)),
)

/** Checked by the resolver itself, so that every accepted value works later. */
export const nameServers = accepted(
  'a comma-separated list of DNS server IP addresses, each with an optional port',
  list.refine((servers) => {
    try {
      new Resolver().setServers(servers)
      return true
    } catch {
      return false
    }
  }),
)

/** Every request is compared with each of them, so their number is limited. */
const maxRanges = 100

export const addressRanges = accepted(
  `a comma-separated list of up to ${maxRanges} IP addresses and CIDR ranges`,
  list
    .transform((texts) => texts.map(parseRange))
    .pipe(z.array(z.custom<IpRange>((range) => range !== undefined)).max(maxRanges)),
)

/** Never rejected: a value that is not a timestamp falls back to the default. */
export const timestamp = accepted('an ISO 8601 timestamp with a time zone; any other value is ignored', z.string())

/** Never rejected: a value that is not a number of days falls back to the default, with a warning. */
export const days = accepted(
  'a whole number of at least 1; any other value is ignored',
  z.string().transform((text) => (/^[1-9]\d{0,4}$/.test(text) ? Number(text) : undefined)),
)
