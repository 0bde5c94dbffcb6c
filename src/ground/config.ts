/** Environment to configuration, once. The only place in the house that reads the environment. */
import { Resolver } from 'node:dns'
import { z } from 'zod'
import { parseSmtpUrl } from './smtp-url.ts'

type Variable<T> = {
  schema: z.ZodType<T, string>
  /** What it takes, in words that fit after "takes". */
  takes: string
  about: string
  /** Shown in the documentation; the value itself comes from the schema's user. */
  fallback?: string
  secret?: true
}

const variable = <T>(v: Variable<T>): Variable<T> => v

const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .pipe(z.number().int().min(min).max(max))

const oneOf = <const T extends readonly [string, ...string[]]>(...values: T) => z.enum(values)

const flag = oneOf('true', 'false').transform((v) => v === 'true')

const url = (...protocols: string[]) =>
  z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol))

const key32 = z
  .string()
  .regex(/^[A-Za-z0-9+/_-]{43}=?$/)
  .transform((text) => Buffer.from(text, 'base64'))
  .refine((bytes) => bytes.length === 32)

const hostname = z
  .string()
  .toLowerCase()
  .regex(/^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/)

const providerList = <const T extends readonly [string, ...string[]]>(...names: T) =>
  z
    .string()
    .transform((text) => text.split(',').map((name) => name.trim()))
    .pipe(z.array(z.enum(names)).min(1))

/** Judged by whoever will use them. */
const nameServers = z
  .string()
  .transform((text) => text.split(',').map((server) => server.trim()))
  .refine((servers) => {
    try {
      new Resolver().setServers(servers)
      return true
    } catch {
      return false
    }
  })

export const variables = {
  NODE_ENV: variable({
    schema: oneOf('development', 'test', 'production'),
    takes: '`development`, `test` or `production`',
    fallback: 'development',
    about:
      'In `production` there is no local provider, no dev tools and no insecure webhooks, and the secrets are required; the service refuses to start otherwise.',
  }),
  HOST: variable({
    schema: z.string().min(1),
    takes: 'an address to listen on',
    fallback: '127.0.0.1',
    about: 'Listen address. `0.0.0.0` accepts connections from other machines.',
  }),
  PORT: variable({
    schema: whole(0, 65535),
    takes: 'a whole number from 0 to 65535',
    fallback: '3000',
    about: 'Listen port. 0 picks a free one.',
  }),
  BASE_URL: variable({
    schema: url('http:', 'https:').transform((text) => text.replace(/\/+$/, '')),
    takes: 'an http or https address',
    fallback: '`http://HOST:PORT`',
    about: 'The public address, used in links that leave the service.',
  }),
  SERVICE_DOMAIN: variable({
    schema: hostname,
    takes: 'a domain name',
    fallback: '`tidings.test`; required in production',
    about: "The service's own domain: sandbox senders and return paths live under it.",
  }),
  DATABASE_URL: variable({
    schema: url('postgres:', 'postgresql:'),
    takes: 'a postgres:// address of a PostgreSQL 15 or newer',
    about: 'Absent: PostgreSQL 18 comes with the package and runs on `DATA_DIR`.',
    secret: true,
  }),
  DATABASE_POOL_SIZE: variable({
    schema: whole(2, 500),
    takes: 'a whole number from 2 to 500',
    fallback: '10',
    about: 'Connections each process keeps to the database. Statements are shared, so few are needed.',
  }),
  DATA_DIR: variable({
    schema: z.string().min(1),
    takes: 'a folder',
    fallback: './.data',
    about: 'Where the embedded database and the generated master key live.',
  }),
  REDIS_URL: variable({
    schema: url('redis:', 'rediss:'),
    takes: 'a redis:// or rediss:// address',
    about: 'Rate buckets shared by many processes. Absent: each process counts for itself.',
    secret: true,
  }),
  REDIS_PREFIX: variable({
    schema: z.string().regex(/^[\x21-\x7e]{1,64}$/),
    takes: '1 to 64 printable characters without spaces',
    fallback: 'tidings:',
    about: 'Stands before every Redis key, so that several installations can share one Redis.',
  }),
  RATE_LIMITER: variable({
    schema: oneOf('auto', 'off'),
    takes: '`auto` or `off`',
    fallback: 'auto',
    about: '`auto` counts on Redis when `REDIS_URL` is set, else in process. `off` lets every request pass.',
  }),
  MASTER_KEY: variable({
    schema: key32,
    takes: '32 bytes in base64, for example from `openssl rand -base64 32`',
    fallback: 'made once and kept in `DATA_DIR`; required in production',
    about: 'Encrypts stored secrets and signs tracking and unsubscribe tokens.',
    secret: true,
  }),
  MASTER_KEY_PREVIOUS: variable({
    schema: z
      .string()
      .transform((text) => text.split(',').map((part) => part.trim()))
      .pipe(z.array(key32)),
    takes: 'former master keys, comma-separated',
    about:
      'Keys that stored secrets may still be sealed under while a new `MASTER_KEY` is rolled out, and that links in mail already sent are signed with: without them those links, unsubscribing included, stop working.',
    secret: true,
  }),
  AUDIT_SIGNING_SECRET: variable({
    schema: z.string().min(1),
    takes: 'a text of your own, kept secret',
    about: 'Signs audit entries. Absent: entries are written unsigned and cannot be verified.',
    secret: true,
  }),
  AUDIT_SIGNING_CUTOVER: variable({
    schema: z.string(),
    takes: 'an ISO 8601 instant; anything else counts as absent',
    fallback: '2026-08-10T00:00:00Z',
    about: 'From this instant on every audit entry must carry a valid signature.',
  }),
  AUDIT_LOG_RETENTION_DAYS: variable({
    schema: whole(1, 36_500),
    takes: 'a whole number from 1 to 36500',
    fallback: '365',
    about: 'Audit entries older than this are removed at night.',
  }),
  EMAIL_PROVIDER: variable({
    schema: providerList('local', 'smtp', 'ses'),
    takes: '`smtp`, `ses` or, outside production, `local`; several, comma-separated, are tried in order',
    fallback: '`local`; required in production, without `local`',
    about: 'Who hands email over. `smtp` needs `SMTP_URL`.',
  }),
  SMTP_URL: variable({
    schema: url('smtp:', 'smtps:').refine((text) => parseSmtpUrl(text) !== undefined),
    takes: 'an smtp:// or smtps:// address',
    about: 'The relay of the `smtp` provider. Its options are in [Providers](providers.md#smtp).',
    secret: true,
  }),
  SMTP_POOL_SIZE: variable({
    schema: whole(1, 200),
    takes: 'a whole number from 1 to 200',
    fallback: '5',
    about: 'Connections each process keeps to the relay, and so how many messages it hands over at once.',
  }),
  SMTP_SUBMISSION_PORT: variable({
    schema: whole(0, 65535),
    takes: 'a whole number from 0 to 65535',
    about: 'Takes mail over SMTP on this port, see [SMTP](smtp.md). 0 picks a free one. Absent: none is taken.',
  }),
  SMTP_SUBMISSION_HOST: variable({
    schema: z.string().min(1),
    takes: 'an address to listen on',
    fallback: 'that of `HOST`',
    about: 'Listen address of the SMTP port.',
  }),
  SMTP_SUBMISSION_TLS: variable({
    schema: oneOf('starttls', 'implicit', 'off'),
    takes: '`starttls`, `implicit` or, outside production, `off`',
    fallback: '`starttls`; without a certificate `off`',
    about: 'How connections to the SMTP port are encrypted. In production nobody signs in on one that is not.',
  }),
  SMTP_SUBMISSION_TLS_CERT: variable({
    schema: z.string().min(1),
    takes: 'the path of a PEM file',
    fallback: 'none; required by `SMTP_SUBMISSION_PORT` in production',
    about: 'The certificate of the SMTP port, with its chain. Read at start.',
  }),
  SMTP_SUBMISSION_TLS_KEY: variable({
    schema: z.string().min(1),
    takes: 'the path of a PEM file',
    fallback: 'none; required by `SMTP_SUBMISSION_PORT` in production',
    about: 'The private key of that certificate.',
  }),
  SES_REGION: variable({
    schema: z.string().regex(/^[a-z]{2}(-[a-z]+){1,3}-\d{1,2}$/),
    takes: 'an AWS region',
    fallback: 'us-east-1',
    about: 'Where the `ses` provider sends mail of domains that name no region.',
  }),
  SES_CONFIGURATION_SET: variable({
    schema: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
    takes: 'the name of a configuration set',
    about:
      'Publishes the events of mail sent through the `ses` provider. A dedicated IP pool uses the set of this name with `-` and the name of the pool after it.',
  }),
  SES_ENDPOINT: variable({
    schema: url('http:', 'https:'),
    takes: 'an http or https address',
    fallback: 'that of the region',
    about: 'Where the `ses` provider is reached, for a VPC endpoint or a stand-in in tests.',
  }),
  SES_SNS_TOPICS: variable({
    schema: z
      .string()
      .transform((text) => text.split(',').map((part) => part.trim()))
      .pipe(z.array(z.string().regex(/^arn:aws:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}(\.fifo)?$/))),
    takes: 'ARNs of SNS topics, comma-separated',
    about: 'Topics whose notifications are believed. Absent: none.',
  }),
  SMS_PROVIDER: variable({
    schema: providerList('local', 'aws', 'smpp'),
    takes: '`aws`, `smpp` or, outside production, `local`; several, comma-separated, are tried in order',
    fallback: '`local`; required in production, without `local`',
    about: 'Who hands SMS over. `smpp` needs `SMPP_URL`.',
  }),
  SMPP_URL: variable({
    schema: url('smpp:', 'ssmpp:'),
    takes: 'an smpp:// or ssmpp:// address',
    about: 'The message centre of the `smpp` provider.',
    secret: true,
  }),
  DNS_SERVERS: variable({
    schema: nameServers,
    takes: 'addresses of DNS servers, each with a port where it is not 53, separated by commas',
    fallback: "the machine's own",
    about: 'Who is asked for the records of sending domains and the addresses of webhooks.',
  }),
  DEV_TOOLS: variable({
    schema: oneOf('on', 'off').transform((v) => v === 'on'),
    takes: '`on` or `off`',
    fallback: '`on`; `off` in production and not to be turned on there',
    about: 'The routes under `/api/dev`, for clients on the same machine only.',
  }),
  FIRST_RUN_FILE: variable({
    schema: z.string().min(1),
    takes: 'a file path',
    about: 'The first start writes its credentials there as JSON, readable by its owner only.',
  }),
  TRUSTED_PROXY_HOPS: variable({
    schema: whole(0, 16),
    takes: 'a whole number from 0 to 16',
    fallback: '1',
    about:
      'How many proxies stand before the service: the caller is that many entries from the right of `X-Forwarded-For`. With 0 the header is never read.',
  }),
  IDEMPOTENCY_TTL_HOURS: variable({
    schema: whole(1, 168),
    takes: 'a whole number from 1 to 168',
    fallback: '24',
    about: 'How long an answer is replayed under its `Idempotency-Key`.',
  }),
  MESSAGE_CONTENT_TTL_DAYS: variable({
    schema: whole(1, 3_650),
    takes: 'a whole number from 1 to 3650',
    about: 'Bodies of messages older than this are redacted, hourly. Absent: they are kept.',
  }),
  WEBHOOK_ALLOW_INSECURE: variable({
    schema: flag,
    takes: '`true` or `false`',
    fallback: 'false',
    about: 'Allows webhooks to plain http and to private hosts. Production refuses to start with it.',
  }),
  REQUEST_TIMEOUT_SECONDS: variable({
    schema: whole(1, 600),
    takes: 'a whole number from 1 to 600',
    fallback: '60',
    about: 'A request whose headers and body have not fully arrived by then is ended.',
  }),
  METRICS_TOKEN: variable({
    schema: z.string().min(16),
    takes: 'at least 16 characters',
    about: 'Bearer token for `/metrics`. Absent: only clients on the same machine may read it.',
    secret: true,
  }),
  LOG_LEVEL: variable({
    schema: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    takes: '`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`',
    fallback: 'info',
    about: 'What is logged. One line per request is `info`.',
  }),
  LOG_FORMAT: variable({
    schema: oneOf('json', 'pretty'),
    takes: '`json` or `pretty`',
    fallback: '`pretty` on a terminal, else `json`',
    about: 'Lines for machines or for people. Both go to standard error.',
  }),
} as const

type Name = keyof typeof variables
type Read = { [N in Name]: z.output<(typeof variables)[N]['schema']> | undefined }

export type SubmissionConfig = { host: string; port: number } & (
  | { tls: 'off' }
  | { tls: 'starttls' | 'implicit'; certFile: string; keyFile: string }
)

export type Config = {
  production: boolean
  host: string
  port: number
  /** Undefined: known once the port is. */
  baseUrl: string | undefined
  serviceDomain: string
  databaseUrl: string | undefined
  databasePoolSize: number
  dataDir: string
  redisUrl: string | undefined
  redisPrefix: string
  rateLimiter: 'auto' | 'off'
  masterKey: Buffer | undefined
  masterKeyPrevious: Buffer[]
  auditSigningSecret: string | undefined
  /** As configured, for showing; the instant in force beside it. */
  auditCutover: { text: string; at: Date }
  auditRetentionDays: number
  /** Undefined: bodies are kept. */
  messageContentDays: number | undefined
  emailProviders: ('local' | 'smtp' | 'ses')[]
  smtpUrl: string | undefined
  smtpPoolSize: number
  /** Undefined: no mail is taken over SMTP. */
  submission: SubmissionConfig | undefined
  sesRegion: string
  sesConfigurationSet: string | undefined
  sesEndpoint: string | undefined
  sesSnsTopics: string[]
  smsProviders: ('local' | 'aws' | 'smpp')[]
  smppUrl: string | undefined
  /** Undefined: those of the machine. */
  dnsServers: string[] | undefined
  devTools: boolean
  firstRunFile: string | undefined
  trustedProxyHops: number
  idempotencyTtlHours: number
  webhookAllowInsecure: boolean
  requestTimeoutMs: number
  metricsToken: string | undefined
  logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
  logFormat: 'json' | 'pretty'
}

/** Every fault of the configuration at once, one line each. */
export class ConfigFault extends Error {
  readonly faults: string[]
  constructor(faults: string[]) {
    super(
      `The configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${faults.map((f) => `  ${f}`).join('\n')}`,
    )
    this.name = 'ConfigFault'
    this.faults = faults
  }
}

const readVariables = (env: NodeJS.ProcessEnv, faults: string[]): Read => {
  const read: Record<string, unknown> = {}
  for (const [name, { schema, takes, secret }] of Object.entries(variables) as [Name, Variable<unknown>][]) {
    const text = env[name]?.trim()
    if (!text) continue
    const result = schema.safeParse(text)
    if (result.success) read[name] = result.data
    else faults.push(`${name} takes ${takes}${secret ? '' : `, not ${JSON.stringify(text.slice(0, 60))}`}.`)
  }
  return read as Read
}

const submissionFaults = (read: Read, absent: (name: Name) => boolean): string[] => {
  if (read.SMTP_SUBMISSION_PORT === undefined) return []
  const files = ['SMTP_SUBMISSION_TLS_CERT', 'SMTP_SUBMISSION_TLS_KEY'] as const
  const missing = files.filter(absent)
  const production = read.NODE_ENV === 'production'
  if (read.SMTP_SUBMISSION_TLS === 'off') {
    return production ? ['SMTP_SUBMISSION_TLS cannot be off in production: it takes `starttls` or `implicit`.'] : []
  }
  const wanted = production || read.SMTP_SUBMISSION_TLS !== undefined || missing.length === 1
  if (!wanted) return []
  const why = production ? 'SMTP_SUBMISSION_PORT in production' : 'TLS on SMTP_SUBMISSION_PORT'
  return missing.map((name) => `${name} is required by ${why}: it takes ${variables[name].takes}.`)
}

const submissionOf = (read: Read): SubmissionConfig | undefined => {
  const { SMTP_SUBMISSION_PORT: port, SMTP_SUBMISSION_TLS_CERT: certFile } = read
  const { SMTP_SUBMISSION_TLS_KEY: keyFile, SMTP_SUBMISSION_TLS: tls } = read
  if (port === undefined) return undefined
  const listen = { host: read.SMTP_SUBMISSION_HOST ?? read.HOST ?? '127.0.0.1', port }
  if (tls === 'off' || certFile === undefined || keyFile === undefined) return { ...listen, tls: 'off' }
  return { ...listen, tls: tls ?? 'starttls', certFile, keyFile }
}

/** Rules that span variables. A variable that was present but unreadable has its own fault already. */
const crossFaults = (env: NodeJS.ProcessEnv, read: Read): string[] => {
  const faults: string[] = []
  const absent = (name: Name) => !env[name]?.trim()
  if (read.EMAIL_PROVIDER?.includes('smtp') && absent('SMTP_URL')) {
    faults.push(`SMTP_URL is required by EMAIL_PROVIDER=smtp: it takes ${variables.SMTP_URL.takes}.`)
  }
  if (read.SMS_PROVIDER?.includes('smpp') && absent('SMPP_URL')) {
    faults.push(`SMPP_URL is required by SMS_PROVIDER=smpp: it takes ${variables.SMPP_URL.takes}.`)
  }
  faults.push(...submissionFaults(read, absent))
  if (read.NODE_ENV !== 'production') return faults
  for (const name of ['SERVICE_DOMAIN', 'MASTER_KEY', 'EMAIL_PROVIDER', 'SMS_PROVIDER'] as const) {
    if (absent(name)) faults.push(`${name} is required in production: it takes ${variables[name].takes}.`)
  }
  for (const name of ['EMAIL_PROVIDER', 'SMS_PROVIDER'] as const) {
    if ((read[name] as string[] | undefined)?.includes('local')) {
      faults.push(`${name} cannot be local in production: it takes ${variables[name].takes}.`)
    }
  }
  if (read.DEV_TOOLS) faults.push('DEV_TOOLS cannot be turned on in production: leave it out or set it to off.')
  if (read.WEBHOOK_ALLOW_INSECURE) {
    faults.push('WEBHOOK_ALLOW_INSECURE cannot be true in production: leave it out or set it to false.')
  }
  return faults
}

const defaultCutover = '2026-08-10T00:00:00Z'

/** A zone is part of an instant: a text without one could mean any of a day's hours. */
const isInstant = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/.test(text) && !Number.isNaN(Date.parse(text))

const cutoverOf = (text: string | undefined): Config['auditCutover'] => {
  const held = text !== undefined && isInstant(text) ? text : defaultCutover
  return { text: held, at: new Date(held) }
}

export const readConfig = (env: NodeJS.ProcessEnv, terminal = process.stderr.isTTY === true): Config => {
  const faults: string[] = []
  const read = readVariables(env, faults)
  faults.push(...crossFaults(env, read))
  if (faults.length > 0) throw new ConfigFault(faults)

  const production = read.NODE_ENV === 'production'
  return {
    production,
    host: read.HOST ?? '127.0.0.1',
    port: read.PORT ?? 3000,
    baseUrl: read.BASE_URL,
    serviceDomain: read.SERVICE_DOMAIN ?? 'tidings.test',
    databaseUrl: read.DATABASE_URL,
    databasePoolSize: read.DATABASE_POOL_SIZE ?? 10,
    dataDir: read.DATA_DIR ?? './.data',
    redisUrl: read.REDIS_URL,
    redisPrefix: read.REDIS_PREFIX ?? 'tidings:',
    rateLimiter: read.RATE_LIMITER ?? 'auto',
    masterKey: read.MASTER_KEY,
    masterKeyPrevious: read.MASTER_KEY_PREVIOUS ?? [],
    auditSigningSecret: read.AUDIT_SIGNING_SECRET,
    auditCutover: cutoverOf(read.AUDIT_SIGNING_CUTOVER),
    auditRetentionDays: read.AUDIT_LOG_RETENTION_DAYS ?? 365,
    messageContentDays: read.MESSAGE_CONTENT_TTL_DAYS,
    emailProviders: read.EMAIL_PROVIDER ?? ['local'],
    smtpUrl: read.SMTP_URL,
    smtpPoolSize: read.SMTP_POOL_SIZE ?? 5,
    submission: submissionOf(read),
    sesRegion: read.SES_REGION ?? 'us-east-1',
    sesConfigurationSet: read.SES_CONFIGURATION_SET,
    sesEndpoint: read.SES_ENDPOINT,
    sesSnsTopics: read.SES_SNS_TOPICS ?? [],
    smsProviders: read.SMS_PROVIDER ?? ['local'],
    smppUrl: read.SMPP_URL,
    dnsServers: read.DNS_SERVERS,
    devTools: read.DEV_TOOLS ?? !production,
    firstRunFile: read.FIRST_RUN_FILE,
    trustedProxyHops: read.TRUSTED_PROXY_HOPS ?? 1,
    idempotencyTtlHours: read.IDEMPOTENCY_TTL_HOURS ?? 24,
    webhookAllowInsecure: read.WEBHOOK_ALLOW_INSECURE ?? false,
    requestTimeoutMs: (read.REQUEST_TIMEOUT_SECONDS ?? 60) * 1000,
    metricsToken: read.METRICS_TOKEN,
    logLevel: read.LOG_LEVEL ?? 'info',
    logFormat: read.LOG_FORMAT ?? (terminal ? 'pretty' : 'json'),
  }
}

/** The reference page, made from the table above so that it cannot drift. */
export const configurationPage = (): string => {
  const rows = (Object.entries(variables) as [Name, Variable<unknown>][]).map(
    ([name, v]) => `| \`${name}\` | ${v.takes} | ${v.fallback ?? 'none'} | ${v.about} |`,
  )
  return [
    '# Configuration',
    '',
    'Generated by `npm run docs` from `src/ground/config.ts`; a test holds the two together.',
    '',
    'Everything is set through the environment, read once at start. An empty value counts as absent. When',
    'something is wrong the service does not start and names every fault at once.',
    '',
    '| variable | takes | default | about |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}
