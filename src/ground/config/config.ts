/** Turns the environment into the configuration, once. `main.ts` passes the environment in. */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { type IpRange, parseRange } from '../ip-address.ts'
import { allVariables, type VariableValues } from './env-variables.ts'
import { ruleFaults } from './rules.ts'
import { withSecretFiles } from './secret-files.ts'
import { type TracingConfig, tracingOf } from './tracing-config.ts'

export type SubmissionConfig = {
  host: string
  port: number
  allowBareLf: boolean
  maxConnectionsPerAddress: number
} & ({ tls: 'off' } | { tls: 'starttls' | 'implicit'; certFile: string; keyFile: string })

export type InboundSmtpConfig = {
  host: string
  port: number
  maxConnectionsPerAddress: number
  /** STARTTLS is offered with a certificate. */
  tls: { certFile: string; keyFile: string } | undefined
}

/** Accounts elsewhere that people can sign in with. An absent one is off. */
export type SignInConfig = {
  google: { issuer: string; clientId: string; clientSecret: string } | undefined
  github: { url: string; apiUrl: string; clientId: string; clientSecret: string } | undefined
  oidc: { name: string; issuer: string; clientId: string; clientSecret: string } | undefined
}

export type StripeSettings = {
  apiUrl: string
  secretKey: string
  webhookSecret: string
  /** The first price of a plan is sold. The others are former prices that some orgs still pay. */
  prices: { payg: string[]; pro: string[] }
}

export type PaymentConfig = {
  /** Undefined: this installation takes no payments. */
  provider: { name: 'local' } | ({ name: 'stripe' } & StripeSettings) | undefined
  contact: string
}

export type Config = {
  production: boolean
  host: string
  port: number
  /** The port for health and metrics of a process that runs only the worker. Undefined: none. */
  workerPort: number | undefined
  /** Undefined: the API and the worker run in this process, unless the other one is set. */
  apiProcesses: number | undefined
  workerProcesses: number | undefined
  /** Undefined: derived from the host and the port once the service listens. */
  baseUrl: string | undefined
  serviceDomain: string
  databaseUrl: string | undefined
  databasePoolSize: number
  /** How long a call waits for a connection. Only tests set it: their machine can be busy. */
  databaseConnectTimeoutMs?: number
  /** A streaming replica for requests that only read. */
  databaseReadUrl: string | undefined
  databaseReadMaxLagMs: number
  dataDir: string
  redisUrl: string | undefined
  redisPrefix: string
  rateLimiter: 'auto' | 'off'
  masterKey: Buffer | undefined
  masterKeyPrevious: Buffer[]
  backupPassphrase: string | undefined
  auditSigningSecret: string | undefined
  /** The signing secret and then the former ones. Empty without a signing secret. */
  auditSecrets: string[]
  /** The file, or the place in an object store, that receives the heads of the audit chains. */
  auditWitness: string | undefined
  /** The time in force, and the text it was configured with, for display. */
  auditCutover: { text: string; at: Date }
  auditRetentionDays: number
  /** Variables whose values mean nothing, so that their defaults are in force. */
  ignoredVariables: string[]
  /** The folder, or the place in an object store, for the files of exports. */
  exportStore: string
  /** Undefined: audit entries are deleted without an archive. */
  auditArchiveBucket: string | undefined
  /** Undefined: bodies are kept. */
  messageContentDays: number | undefined
  /** Undefined: messages are kept. */
  messageRetentionDays: number | undefined
  emailProviders: ('local' | 'smtp' | 'ses')[]
  onProviderOutage: 'refuse' | 'queue'
  smtpUrl: string | undefined
  smtpPoolSize: number
  /** Undefined: the SMTP port is off. */
  submission: SubmissionConfig | undefined
  /** Undefined: bounces are not received by mail. */
  inboundSmtp: InboundSmtpConfig | undefined
  sesRegion: string
  sesConfigurationSet: string | undefined
  sesEndpoint: string | undefined
  sesSnsTopics: string[]
  /** Empty: this installation sends no SMS. */
  smsProviders: ('local' | 'aws' | 'smpp')[]
  smppUrl: string | undefined
  smsConfigurationSet: string | undefined
  smsSnsTopics: string[]
  /** The sender of the service's own text messages. Undefined: it sends none. */
  serviceSmsSender: string | undefined
  awsRegion: string
  awsEndpoint: string | undefined
  dltEnforce: boolean
  /** Undefined: the servers of the operating system. */
  dnsServers: string[] | undefined
  devTools: boolean
  firstRunFile: string | undefined
  trustedProxies: IpRange[]
  trustedProxyHops: number
  idempotencyTtlHours: number
  webhookAllowInsecure: boolean
  requestTimeoutMs: number
  /** How long a grant of an OAuth client lasts at most. */
  oauthGrantMaxDays: number
  /** How long a tool call waits for the API. */
  mcpSelfCallTimeoutMs: number
  /** The bytes of request bodies that may be arriving at once. */
  uploads: { perCaller: number; total: number }
  drainDelayMs: number
  signIn: SignInConfig
  payments: PaymentConfig
  metricsToken: string | undefined
  /** Undefined: nothing is traced. */
  tracing: TracingConfig | undefined
  logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
  logFormat: 'json' | 'pretty'
}

/** Lists every problem of the configuration at once, one per line. */
export class ConfigFault extends Error {
  readonly faults: string[]
  constructor(faults: string[]) {
    const count = faults.length === 1 ? '1 problem' : `${faults.length} problems`
    super([`The configuration has ${count}:`, ...faults.map((fault) => `  ${fault}`)].join('\n'))
    this.name = 'ConfigFault'
    this.faults = faults
  }
}

const parseVariables = (env: NodeJS.ProcessEnv): { values: VariableValues; faults: string[] } => {
  const values: Record<string, unknown> = {}
  const faults: string[] = []
  for (const [name, { accepts, secret }] of allVariables) {
    const text = env[name]?.trim()
    if (!text) continue
    const result = accepts.schema.safeParse(text)
    if (result.success) values[name] = result.data
    else faults.push(`${name} must be ${accepts.text}${secret ? '' : `, not ${JSON.stringify(text.slice(0, 60))}`}.`)
  }
  return { values: values as VariableValues, faults }
}

const processesOf = (count: number | 'auto' | undefined): number | undefined =>
  count === 'auto' ? availableParallelism() : count

const submissionOf = (values: VariableValues): SubmissionConfig | undefined => {
  const port = values.SMTP_SUBMISSION_PORT
  if (port === undefined) return undefined
  const listen = {
    host: values.SMTP_SUBMISSION_HOST ?? values.HOST ?? '127.0.0.1',
    port,
    allowBareLf: values.SMTP_ALLOW_BARE_LF ?? false,
    maxConnectionsPerAddress: values.SMTP_MAX_CONNECTIONS_PER_ADDRESS ?? 20,
  }
  const tls = values.SMTP_SUBMISSION_TLS
  const certFile = values.SMTP_SUBMISSION_TLS_CERT
  const keyFile = values.SMTP_SUBMISSION_TLS_KEY
  if (tls === 'off' || certFile === undefined || keyFile === undefined) return { ...listen, tls: 'off' }
  return { ...listen, tls: tls ?? 'starttls', certFile, keyFile }
}

const inboundSmtpOf = (values: VariableValues): InboundSmtpConfig | undefined => {
  const port = values.INBOUND_SMTP_PORT
  if (port === undefined) return undefined
  const certFile = values.SMTP_SUBMISSION_TLS_CERT
  const keyFile = values.SMTP_SUBMISSION_TLS_KEY
  return {
    host: values.INBOUND_SMTP_HOST ?? values.HOST ?? '127.0.0.1',
    port,
    maxConnectionsPerAddress: values.SMTP_MAX_CONNECTIONS_PER_ADDRESS ?? 20,
    tls: certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined,
  }
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, '')

const signInOf = (values: VariableValues): SignInConfig => {
  const secretOf = (clientId: string | undefined, clientSecret: string | undefined) =>
    clientId === undefined || clientSecret === undefined ? undefined : { clientId, clientSecret }
  const google = secretOf(values.GOOGLE_CLIENT_ID, values.GOOGLE_CLIENT_SECRET)
  const github = secretOf(values.GITHUB_CLIENT_ID, values.GITHUB_CLIENT_SECRET)
  const oidc = secretOf(values.OIDC_CLIENT_ID, values.OIDC_CLIENT_SECRET)
  const issuer = values.OIDC_ISSUER
  return {
    google: google && { ...google, issuer: values.GOOGLE_ISSUER ?? 'https://accounts.google.com' },
    github: github && {
      ...github,
      url: withoutSlash(values.GITHUB_URL ?? 'https://github.com'),
      apiUrl: withoutSlash(values.GITHUB_API_URL ?? 'https://api.github.com'),
    },
    oidc: oidc && issuer !== undefined ? { ...oidc, issuer, name: values.OIDC_NAME ?? 'Single sign-on' } : undefined,
  }
}

const paymentProviderOf = (values: VariableValues): PaymentConfig['provider'] => {
  const name = values.PAYMENT_PROVIDER ?? (values.NODE_ENV === 'production' ? undefined : 'local')
  if (name !== 'stripe') return name && { name }
  // The rules have refused a missing one.
  const { STRIPE_SECRET_KEY: secretKey = '', STRIPE_WEBHOOK_SECRET: webhookSecret = '' } = values
  const { STRIPE_PRICE_PAYG: payg = [], STRIPE_PRICE_PRO: pro = [] } = values
  const apiUrl = values.STRIPE_API_URL ?? 'https://api.stripe.com'
  return { name, apiUrl, secretKey, webhookSecret, prices: { payg, pro } }
}

const paymentsOf = (values: VariableValues): PaymentConfig => ({
  provider: paymentProviderOf(values),
  contact: values.BILLING_CONTACT ?? `billing@${values.SERVICE_DOMAIN ?? 'tidings.test'}`,
})

const privateRanges = [
  '127.0.0.0/8',
  '::1',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '169.254.0.0/16',
  'fc00::/7',
  'fe80::/10',
].map((text) => parseRange(text) as IpRange)

const megabyte = 1_048_576

const defaultCutover = '2026-08-10T00:00:00Z'

/** The time zone is required: without it, a text means a different time on each machine. */
const isTimestamp = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/.test(text) && !Number.isNaN(Date.parse(text))

const auditSecretsOf = (values: VariableValues): string[] => {
  const current = values.AUDIT_SIGNING_SECRET
  return current === undefined ? [] : [current, ...(values.AUDIT_SIGNING_SECRET_PREVIOUS ?? [])]
}

const auditCutoverOf = (configured: string | undefined): Config['auditCutover'] => {
  const text = configured !== undefined && isTimestamp(configured) ? configured : defaultCutover
  return { text, at: new Date(text) }
}

export const readConfig = (given: NodeJS.ProcessEnv, terminal = process.stderr.isTTY === true): Config => {
  const { env, faults } = withSecretFiles(given)
  const { values, faults: valueFaults } = parseVariables(env)
  faults.push(...valueFaults, ...ruleFaults(env, values))
  if (faults.length > 0) throw new ConfigFault(faults)

  const production = values.NODE_ENV === 'production'
  const smsProviders: Config['smsProviders'] = values.SMS_PROVIDER ?? (production ? [] : ['local'])
  return {
    production,
    host: values.HOST ?? '127.0.0.1',
    port: values.PORT ?? 3000,
    workerPort: values.WORKER_PORT,
    apiProcesses: processesOf(values.API_PROCESSES),
    workerProcesses: processesOf(values.WORKER_PROCESSES),
    baseUrl: values.BASE_URL,
    serviceDomain: values.SERVICE_DOMAIN ?? 'tidings.test',
    databaseUrl: values.DATABASE_URL,
    databasePoolSize: values.DATABASE_POOL_SIZE ?? 10,
    databaseReadUrl: values.DATABASE_READ_URL,
    databaseReadMaxLagMs: values.DATABASE_READ_MAX_LAG_MS ?? 10_000,
    dataDir: values.DATA_DIR ?? './.data',
    redisUrl: values.REDIS_URL,
    redisPrefix: values.REDIS_PREFIX ?? 'tidings:',
    rateLimiter: values.RATE_LIMITER ?? 'auto',
    masterKey: values.MASTER_KEY,
    masterKeyPrevious: values.MASTER_KEY_PREVIOUS ?? [],
    backupPassphrase: values.BACKUP_PASSPHRASE,
    auditSigningSecret: values.AUDIT_SIGNING_SECRET,
    auditSecrets: auditSecretsOf(values),
    auditWitness: values.AUDIT_WITNESS,
    auditCutover: auditCutoverOf(values.AUDIT_SIGNING_CUTOVER),
    auditRetentionDays: values.AUDIT_LOG_RETENTION_DAYS ?? 365,
    ignoredVariables:
      env.AUDIT_LOG_RETENTION_DAYS?.trim() && values.AUDIT_LOG_RETENTION_DAYS === undefined
        ? ['AUDIT_LOG_RETENTION_DAYS']
        : [],
    exportStore: values.EXPORT_STORE ?? join(values.DATA_DIR ?? './.data', 'exports'),
    auditArchiveBucket: values.AUDIT_ARCHIVE_BUCKET,
    messageContentDays: values.MESSAGE_CONTENT_TTL_DAYS,
    messageRetentionDays: values.MESSAGE_RETENTION_DAYS,
    emailProviders: values.EMAIL_PROVIDER ?? ['local'],
    onProviderOutage: values.ON_PROVIDER_OUTAGE ?? 'refuse',
    smtpUrl: values.SMTP_URL,
    smtpPoolSize: values.SMTP_POOL_SIZE ?? 5,
    submission: submissionOf(values),
    inboundSmtp: inboundSmtpOf(values),
    sesRegion: values.SES_REGION ?? 'us-east-1',
    sesConfigurationSet: values.SES_CONFIGURATION_SET,
    sesEndpoint: values.SES_ENDPOINT,
    sesSnsTopics: values.SES_SNS_TOPICS ?? [],
    smsProviders,
    smppUrl: values.SMPP_URL,
    smsConfigurationSet: values.SMS_CONFIGURATION_SET,
    smsSnsTopics: values.SMS_SNS_TOPICS ?? [],
    serviceSmsSender: values.SERVICE_SMS_SENDER ?? (smsProviders.includes('local') ? 'TIDINGS' : undefined),
    awsRegion: values.AWS_REGION ?? 'us-east-1',
    awsEndpoint: values.AWS_ENDPOINT_URL,
    dltEnforce: production || (values.DLT_ENFORCE ?? true),
    dnsServers: values.DNS_SERVERS,
    devTools: values.DEV_TOOLS ?? !production,
    firstRunFile: values.FIRST_RUN_FILE,
    trustedProxies: values.TRUSTED_PROXIES ?? privateRanges,
    trustedProxyHops: values.TRUSTED_PROXY_HOPS ?? 1,
    idempotencyTtlHours: values.IDEMPOTENCY_TTL_HOURS ?? 24,
    webhookAllowInsecure: values.WEBHOOK_ALLOW_INSECURE ?? false,
    requestTimeoutMs: (values.REQUEST_TIMEOUT_SECONDS ?? 60) * 1000,
    oauthGrantMaxDays: values.OAUTH_GRANT_MAX_DAYS ?? 90,
    mcpSelfCallTimeoutMs: values.MCP_SELF_CALL_TIMEOUT_MS ?? 60_000,
    uploads: {
      perCaller: (values.UPLOAD_MEMORY_PER_KEY_MB ?? 64) * megabyte,
      total: (values.UPLOAD_MEMORY_MB ?? 256) * megabyte,
    },
    drainDelayMs: (values.DRAIN_DELAY_SECONDS ?? (production ? 5 : 0)) * 1000,
    signIn: signInOf(values),
    payments: paymentsOf(values),
    metricsToken: values.METRICS_TOKEN,
    tracing: tracingOf(values),
    logLevel: values.LOG_LEVEL ?? 'info',
    logFormat: values.LOG_FORMAT ?? (terminal ? 'pretty' : 'json'),
  }
}
