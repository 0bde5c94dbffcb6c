/** Turns the environment into the configuration, once. `main.ts` passes the environment in. */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { OperatorFault } from '../operator-fault.ts'
import { megabyte } from '../units.ts'
import { allVariables, type Values, type VariableValues, variables } from './env-variables.ts'
import { ruleFaults } from './rules.ts'
import { withSecretFiles } from './secret-files.ts'

/** Lists every problem of the configuration at once, one per line. */
export class ConfigFault extends OperatorFault {
  readonly faults: string[]
  constructor(faults: string[]) {
    const count = faults.length === 1 ? '1 problem' : `${faults.length} problems`
    super([`The configuration has ${count}:`, ...faults.map((fault) => `  ${fault}`)].join('\n'))
    this.name = 'ConfigFault'
    this.faults = faults
  }
}

const parseVariables = (env: NodeJS.ProcessEnv): { given: VariableValues; faults: string[] } => {
  const given: Record<string, unknown> = {}
  const faults: string[] = []
  for (const [name, { accepts, secret }] of allVariables) {
    const text = env[name]?.trim()
    if (!text) continue
    const result = accepts.schema.safeParse(text)
    if (result.success) given[name] = result.data
    else faults.push(`${name} must be ${accepts.text}${secret ? '' : `, not ${JSON.stringify(text.slice(0, 60))}`}.`)
  }
  return { given: given as VariableValues, faults }
}

const withDefaults = (given: VariableValues): Values => {
  const values: Record<string, unknown> = { ...given }
  for (const [name, { accepts, default: text }] of allVariables) {
    if (text !== undefined) values[name] ??= accepts.schema.parse(text)
  }
  return values as Values
}

const processesOf = (count: number | 'auto' | undefined) => (count === 'auto' ? availableParallelism() : count)

const submissionOf = (values: Values) => {
  const port = values.SMTP_SUBMISSION_PORT
  if (port === undefined) return undefined
  const listen = {
    host: values.SMTP_SUBMISSION_HOST ?? values.HOST,
    port,
    allowBareLf: values.SMTP_ALLOW_BARE_LF,
    maxConnectionsPerAddress: values.SMTP_MAX_CONNECTIONS_PER_ADDRESS,
  }
  const tls = values.SMTP_SUBMISSION_TLS
  const certFile = values.SMTP_SUBMISSION_TLS_CERT
  const keyFile = values.SMTP_SUBMISSION_TLS_KEY
  if (tls === 'off' || certFile === undefined || keyFile === undefined) return { ...listen, tls: 'off' as const }
  return { ...listen, tls: tls ?? ('starttls' as const), certFile, keyFile }
}

export type SubmissionConfig = NonNullable<ReturnType<typeof submissionOf>>

const inboundSmtpOf = (values: Values) => {
  const port = values.INBOUND_SMTP_PORT
  if (port === undefined) return undefined
  const certFile = values.SMTP_SUBMISSION_TLS_CERT
  const keyFile = values.SMTP_SUBMISSION_TLS_KEY
  return {
    host: values.INBOUND_SMTP_HOST ?? values.HOST,
    port,
    maxConnectionsPerAddress: values.SMTP_MAX_CONNECTIONS_PER_ADDRESS,
    /** STARTTLS is offered with a certificate. */
    tls: certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined,
  }
}

export type InboundSmtpConfig = NonNullable<ReturnType<typeof inboundSmtpOf>>

const withoutSlash = (url: string): string => url.replace(/\/+$/, '')

/** Accounts elsewhere that people can sign in with. An absent one is off. */
const signInOf = (values: Values) => {
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
      url: withoutSlash(values.GITHUB_URL),
      apiUrl: withoutSlash(values.GITHUB_API_URL),
    },
    oidc: oidc && issuer !== undefined ? { ...oidc, issuer, name: values.OIDC_NAME ?? 'Single sign-on' } : undefined,
  }
}

export type SignInConfig = ReturnType<typeof signInOf>

/** Undefined: this installation takes no payments. */
const paymentProviderOf = (values: Values) => {
  const name = values.PAYMENT_PROVIDER ?? (values.NODE_ENV === 'production' ? undefined : 'local')
  if (name !== 'stripe') return name && { name }
  // The rules have refused a missing one.
  const { STRIPE_SECRET_KEY: secretKey = '', STRIPE_WEBHOOK_SECRET: webhookSecret = '' } = values
  // The first price of a plan is sold. The others are former prices that some orgs still pay.
  const { STRIPE_PRICE_PAYG: payg = [], STRIPE_PRICE_PRO: pro = [] } = values
  const apiUrl = values.STRIPE_API_URL
  return { name, apiUrl, secretKey, webhookSecret, prices: { payg, pro } }
}

export type StripeSettings = Omit<Extract<ReturnType<typeof paymentProviderOf>, { name: 'stripe' }>, 'name'>

/** `name=value` pairs with percent-encoded values, separated by commas. */
const readOtlpHeaders = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split(',')
      .map((pair) => pair.trim())
      .filter((pair) => pair !== '')
      .map((pair) => {
        const at = pair.indexOf('=')
        return [pair.slice(0, at).trim().toLowerCase(), decodeURIComponent(pair.slice(at + 1).trim())]
      }),
  )

/** Where spans are exported. Undefined unless an endpoint is configured. */
const tracingOf = (values: Values) => {
  const endpoint = values.OTEL_EXPORTER_OTLP_ENDPOINT
  return endpoint === undefined
    ? undefined
    : {
        endpoint: withoutSlash(endpoint),
        headers: readOtlpHeaders(values.OTEL_EXPORTER_OTLP_HEADERS ?? ''),
        serviceName: values.OTEL_SERVICE_NAME,
        /** The share of traces that begin here and are recorded. */
        ratio: values.OTEL_TRACES_SAMPLER_ARG,
      }
}

export type TracingConfig = NonNullable<ReturnType<typeof tracingOf>>

/** The time zone is required: without it, a text means a different time on each machine. */
const isTimestamp = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/.test(text) && !Number.isNaN(Date.parse(text))

const auditSecretsOf = (values: Values): string[] => {
  const current = values.AUDIT_SIGNING_SECRET
  return current === undefined ? [] : [current, ...(values.AUDIT_SIGNING_SECRET_PREVIOUS ?? [])]
}

/** The time in force, and the text it was configured with, for display. */
const auditCutoverOf = (configured: string): { text: string; at: Date } => {
  const text = isTimestamp(configured) ? configured : variables.AUDIT_SIGNING_CUTOVER.default
  return { text, at: new Date(text) }
}

const configOf = (values: Values, ignoredVariables: string[], terminal: boolean) => {
  const production = values.NODE_ENV === 'production'
  const smsProviders: NonNullable<Values['SMS_PROVIDER']> = values.SMS_PROVIDER ?? (production ? [] : ['local'])
  return {
    production,
    host: values.HOST,
    port: values.PORT,
    /** The port for health and metrics of a process that runs only the worker. Undefined: none. */
    workerPort: values.WORKER_PORT,
    /** Undefined: the API and the worker run in this process, unless the other one is set. */
    apiProcesses: processesOf(values.API_PROCESSES),
    workerProcesses: processesOf(values.WORKER_PROCESSES),
    /** Undefined: derived from the host and the port once the service listens. */
    baseUrl: values.BASE_URL,
    serviceDomain: values.SERVICE_DOMAIN,
    databaseUrl: values.DATABASE_URL,
    databasePoolSize: values.DATABASE_POOL_SIZE,
    /** A streaming replica for requests that only read. */
    databaseReadUrl: values.DATABASE_READ_URL,
    databaseReadMaxLagMs: values.DATABASE_READ_MAX_LAG_MS,
    dataDir: values.DATA_DIR,
    redisUrl: values.REDIS_URL,
    redisPrefix: values.REDIS_PREFIX,
    rateLimiter: values.RATE_LIMITER,
    masterKey: values.MASTER_KEY,
    masterKeyPrevious: values.MASTER_KEY_PREVIOUS ?? [],
    backupPassphrase: values.BACKUP_PASSPHRASE,
    auditSigningSecret: values.AUDIT_SIGNING_SECRET,
    /** The signing secret and then the former ones. Empty without a signing secret. */
    auditSecrets: auditSecretsOf(values),
    /** The file, or the place in an object store, that receives the heads of the audit chains. */
    auditWitness: values.AUDIT_WITNESS,
    auditCutover: auditCutoverOf(values.AUDIT_SIGNING_CUTOVER),
    auditRetentionDays: values.AUDIT_LOG_RETENTION_DAYS,
    /** Variables whose values mean nothing, so that their defaults are in force. */
    ignoredVariables,
    /** The folder, or the place in an object store, for the files of exports. */
    exportStore: values.EXPORT_STORE ?? join(values.DATA_DIR, 'exports'),
    /** Undefined: audit entries are deleted without an archive. */
    auditArchiveBucket: values.AUDIT_ARCHIVE_BUCKET,
    /** Undefined: bodies are kept. */
    messageContentDays: values.MESSAGE_CONTENT_TTL_DAYS,
    /** Undefined: messages are kept. */
    messageRetentionDays: values.MESSAGE_RETENTION_DAYS,
    emailProviders: values.EMAIL_PROVIDER,
    onProviderOutage: values.ON_PROVIDER_OUTAGE,
    smtpUrl: values.SMTP_URL,
    smtpPoolSize: values.SMTP_POOL_SIZE,
    /** Undefined: the SMTP port is off. */
    submission: submissionOf(values),
    /** Undefined: bounces are not received by mail. */
    inboundSmtp: inboundSmtpOf(values),
    sesRegion: values.SES_REGION,
    sesConfigurationSet: values.SES_CONFIGURATION_SET,
    sesEndpoint: values.SES_ENDPOINT,
    sesSnsTopics: values.SES_SNS_TOPICS ?? [],
    /** Empty: this installation sends no SMS. */
    smsProviders,
    smppUrl: values.SMPP_URL,
    smsConfigurationSet: values.SMS_CONFIGURATION_SET,
    smsSnsTopics: values.SMS_SNS_TOPICS ?? [],
    /** The sender of the service's own text messages. Undefined: it sends none. */
    serviceSmsSender: values.SERVICE_SMS_SENDER ?? (smsProviders.includes('local') ? 'TIDINGS' : undefined),
    awsRegion: values.AWS_REGION,
    awsEndpoint: values.AWS_ENDPOINT_URL,
    dltEnforce: production || values.DLT_ENFORCE,
    /** Undefined: the servers of the operating system. */
    dnsServers: values.DNS_SERVERS,
    devTools: values.DEV_TOOLS ?? !production,
    firstRunFile: values.FIRST_RUN_FILE,
    trustedProxies: values.TRUSTED_PROXIES,
    trustedProxyHops: values.TRUSTED_PROXY_HOPS,
    idempotencyTtlHours: values.IDEMPOTENCY_TTL_HOURS,
    webhookAllowInsecure: values.WEBHOOK_ALLOW_INSECURE,
    requestTimeoutMs: values.REQUEST_TIMEOUT_SECONDS * 1000,
    /** How long a grant of an OAuth client lasts at most. */
    oauthGrantMaxDays: values.OAUTH_GRANT_MAX_DAYS,
    /** How long a tool call waits for the API. */
    mcpSelfCallTimeoutMs: values.MCP_SELF_CALL_TIMEOUT_MS,
    /** The bytes of request bodies that may be arriving at once. */
    uploads: {
      perCaller: values.UPLOAD_MEMORY_PER_KEY_MB * megabyte,
      total: values.UPLOAD_MEMORY_MB * megabyte,
    },
    drainDelayMs: (values.DRAIN_DELAY_SECONDS ?? (production ? 5 : 0)) * 1000,
    signIn: signInOf(values),
    payments: {
      provider: paymentProviderOf(values),
      contact: values.BILLING_CONTACT ?? `billing@${values.SERVICE_DOMAIN}`,
    },
    metricsToken: values.METRICS_TOKEN,
    /** Undefined: nothing is traced. */
    tracing: tracingOf(values),
    logLevel: values.LOG_LEVEL,
    logFormat: values.LOG_FORMAT ?? (terminal ? 'pretty' : 'json'),
  }
}

export type Config = ReturnType<typeof configOf> & {
  /** How long a call waits for a connection. Only tests set it: their machine can be busy. */
  databaseConnectTimeoutMs?: number
}

export const readConfig = (environment: NodeJS.ProcessEnv, terminal = process.stderr.isTTY === true): Config => {
  const { env, faults } = withSecretFiles(environment)
  const { given, faults: valueFaults } = parseVariables(env)
  faults.push(...valueFaults, ...ruleFaults(env, given))
  if (faults.length > 0) throw new ConfigFault(faults)
  const isIgnored = env.AUDIT_LOG_RETENTION_DAYS?.trim() && given.AUDIT_LOG_RETENTION_DAYS === undefined
  return configOf(withDefaults(given), isIgnored ? ['AUDIT_LOG_RETENTION_DAYS'] : [], terminal)
}
