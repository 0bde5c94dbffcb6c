/** Every environment variable of the service: the values it accepts, its default, and what it does. */
import type { z } from 'zod'
import * as accept from './accepted-values.ts'

type Variable = {
  accepts: accept.AcceptedValue<unknown>
  /** The value in force when the variable is not set. */
  default?: string
  /** How the documentation describes the default. Absent: by itself. */
  fallback?: string
  about: string
  /** A secret's value never appears in an error message. */
  secret?: true
}

/** The addresses of proxies on this machine and in private networks. */
const privateRanges = '127.0.0.0/8,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,169.254.0.0/16,fc00::/7,fe80::/10'

const variable = <A extends Variable['accepts'], const Rest extends Omit<Variable, 'accepts' | 'about'>>(
  accepts: A,
  about: string,
  rest?: Rest,
) => ({ accepts, about, ...rest }) as { accepts: A; about: string } & Rest

const clientSecret = (clientId: string) =>
  variable(accept.nonEmptyText('a client secret'), 'Secret of that client.', {
    fallback: `none; required by \`${clientId}\``,
    secret: true,
  })

export const variables = {
  NODE_ENV: variable(
    accept.choice('development', 'test', 'production'),
    'In `production` the service does not start when a variable that this page calls required is missing, or when the `local` provider, the development tools or insecure webhooks are turned on, or when `MASTER_KEY` or `BASE_URL` is unsafe. It logs a warning at start without `AUDIT_SIGNING_SECRET` and with `RATE_LIMITER=off`.',
    { default: 'development' },
  ),
  HOST: variable(
    accept.nonEmptyText('an address to listen on'),
    'Address to listen on. Set `0.0.0.0` to accept connections from other machines.',
    { default: '127.0.0.1' },
  ),
  PORT: variable(accept.wholeNumber(0, 65535), 'Port to listen on. 0 picks a free port.', { default: '3000' }),
  WORKER_PORT: variable(
    accept.wholeNumber(0, 65535),
    'Port on which `tidings worker` serves `/healthz`, `/readyz` and `/metrics`, at the address of `HOST`. 0 picks a free port. If not set, the worker opens no port. Other commands ignore it.',
  ),
  API_PROCESSES: variable(
    accept.processes,
    'Processes that serve the API on one port; `auto` starts one per core. Without this and `WORKER_PROCESSES`, `tidings start` is one process for the API and the worker, except in production on three cores or more. `tidings api` uses it too, and is one process unless it is set. See [Self-hosting](self-hosting.md#all-cores-of-one-machine).',
    { fallback: 'in production one for each core but one, otherwise 1' },
  ),
  WORKER_PROCESSES: variable(
    accept.processes,
    'Processes that run the worker; `auto` starts one per core. `tidings worker` uses it too.',
    { fallback: '1' },
  ),
  BASE_URL: variable(accept.baseUrl, 'Public URL of the service, used in the links it sends.', {
    fallback: '`http://HOST:PORT`; required in production',
  }),
  SERVICE_DOMAIN: variable(accept.domainName, 'Domain of the service. Sandbox senders and return paths are under it.', {
    default: 'tidings.test',
    fallback: '`tidings.test`; required in production',
  }),
  DATABASE_URL: variable(
    accept.url('a postgres:// URL of a PostgreSQL 15 or newer server', 'postgres:', 'postgresql:'),
    'PostgreSQL server to use. If not set, the service runs its own PostgreSQL 18 in `DATA_DIR`.',
    { secret: true },
  ),
  DATABASE_POOL_SIZE: variable(
    accept.wholeNumber(2, 500),
    'Database connections per process. Concurrent requests share statements, so a few are enough.',
    { default: '10' },
  ),
  DATABASE_READ_URL: variable(
    accept.url('a postgres:// URL of a streaming replica of the server in DATABASE_URL', 'postgres:', 'postgresql:'),
    'Streaming replica of the server in `DATABASE_URL`, for lists, reads, analytics and exports. A caller that has just written reads from `DATABASE_URL` until the replica has its write. It names one server, not a load balancer in front of several.',
    { secret: true },
  ),
  DATABASE_READ_MAX_LAG_MS: variable(
    accept.wholeNumber(1_000, 60_000),
    'While the replica is further behind than this, or cannot be reached, all requests read from `DATABASE_URL`.',
    { default: '10000' },
  ),
  DATA_DIR: variable(
    accept.nonEmptyText('a folder'),
    'Folder where the embedded database and the generated master key are stored.',
    { default: './.data' },
  ),
  REDIS_URL: variable(
    accept.url('a redis:// or rediss:// URL', 'redis:', 'rediss:'),
    'Redis server for rate limits that several processes share, and for their marks of writes if there is a replica. If not set, each process counts on its own.',
    { secret: true },
  ),
  REDIS_PREFIX: variable(
    accept.textMatching(/^[\x21-\x7e]{1,64}$/, '1 to 64 printable ASCII characters without spaces'),
    'Prefix of every Redis key, so that several installations can share one Redis server.',
    { default: 'tidings:' },
  ),
  RATE_LIMITER: variable(
    accept.choice('auto', 'off'),
    '`auto` counts in Redis when `REDIS_URL` is set, otherwise in the process. `off` disables rate limits.',
    { default: 'auto' },
  ),
  MASTER_KEY: variable(
    accept.secretKey,
    'Encrypts stored secrets, signs tracking links, unsubscribe links and return paths, and authenticates backups. Production refuses a key that does not look random: text, repeated patterns, counters.',
    { fallback: 'generated once and stored in `DATA_DIR`; required in production', secret: true },
  ),
  MASTER_KEY_PREVIOUS: variable(
    accept.secretKeys,
    'Former master keys. They decrypt secrets that are not yet encrypted with the current `MASTER_KEY`, and verify the links and return paths of mail already sent. They need not look random. Those links and return paths stop working when you remove the key that signed them.',
    { secret: true },
  ),
  BACKUP_PASSPHRASE: variable(
    accept.textOfLength(12, 1_024),
    'Encrypts what `tidings backup` writes, and decrypts it in `tidings restore`. If not set, see the options of both.',
    { secret: true },
  ),
  AUDIT_SIGNING_SECRET: variable(
    accept.nonEmptyText('a secret text'),
    'Signs audit entries. If not set, entries are unsigned and cannot be verified.',
    { secret: true },
  ),
  AUDIT_SIGNING_SECRET_PREVIOUS: variable(
    accept.secretTexts,
    'Former values of `AUDIT_SIGNING_SECRET`. They verify audit entries and chains that are not yet signed with the current secret. Remove one when the last entry that it signed has been deleted by retention.',
    { secret: true },
  ),
  AUDIT_SIGNING_CUTOVER: variable(accept.timestamp, 'Audit entries from this time on must carry a valid signature.', {
    default: '2026-08-10T00:00:00Z',
  }),
  AUDIT_WITNESS: variable(
    accept.fileOrObjects,
    'Where the worker writes the newest links of the audit chains, at most once a minute: a file to which it appends lines, or a place in an object store where it creates objects. Endpoint, region and credentials of the store come from the variables of the AWS library, such as `AWS_ENDPOINT_URL_S3`. Keep it where someone with access to the database cannot change it. See [Audit log](audit.md#the-witness).',
  ),
  AUDIT_LOG_RETENTION_DAYS: variable(
    accept.days,
    'Deletes audit entries older than this many days, once a night. Any other value means 365 and is logged as a warning. See [Retention](retention.md).',
    { default: '365' },
  ),
  AUDIT_ARCHIVE_BUCKET: variable(
    accept.textMatching(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'the name of a bucket'),
    'Bucket of an S3-compatible store that receives audit entries before retention deletes them, one file per org and day. Endpoint, region and credentials come from the variables of the AWS library, such as `AWS_ENDPOINT_URL_S3`. See [Retention](retention.md#the-archive-of-the-audit-log).',
  ),
  EXPORT_STORE: variable(
    accept.fileOrObjects,
    'Where the files of organisation exports are kept: a folder that all processes share, or `s3://bucket/prefix` of an S3-compatible store with the variables of the AWS library. See [Exports](exports.md).',
    { fallback: 'the folder `exports` in `DATA_DIR`' },
  ),
  EMAIL_PROVIDER: variable(
    accept.providers('smtp', 'ses'),
    'Email providers, in the order they are tried. `smtp` requires `SMTP_URL`.',
    { default: 'local', fallback: '`local`; required in production' },
  ),
  ON_PROVIDER_OUTAGE: variable(
    accept.choice('refuse', 'queue'),
    'What happens to an email that no provider can take for [10 seconds](providers.md#when-a-provider-fails). `refuse` responds with 500 and stores it as `failed`. `queue` accepts it as `scheduled`, due at once, unless it has attachments or is part of a batch.',
    { default: 'refuse' },
  ),
  SMTP_URL: variable(
    accept.smtpUrl,
    'Relay of the `smtp` provider. See [Providers](providers.md#smtp) for its options.',
    { secret: true },
  ),
  SMTP_POOL_SIZE: variable(
    accept.wholeNumber(1, 200),
    'Connections to the relay per process. Each sends one message at a time.',
    { default: '5' },
  ),
  SMTP_SUBMISSION_PORT: variable(
    accept.wholeNumber(0, 65535),
    'Port on which the service accepts mail over [SMTP](smtp.md). 0 picks a free port. If not set, SMTP is off.',
  ),
  SMTP_SUBMISSION_HOST: variable(
    accept.nonEmptyText('an address to listen on'),
    'Address on which the SMTP port listens.',
    { fallback: 'the value of `HOST`' },
  ),
  SMTP_SUBMISSION_TLS: variable(
    accept.submissionTls,
    'Encryption of the SMTP port. In production, clients can authenticate only on an encrypted connection.',
    { fallback: '`starttls` with a certificate, otherwise `off`' },
  ),
  SMTP_SUBMISSION_TLS_CERT: variable(
    accept.nonEmptyText('the path of a PEM file'),
    'Certificate of the SMTP port, with its chain. Read again when the file changes. `INBOUND_SMTP_PORT` offers STARTTLS with it.',
    { fallback: 'none; required by `SMTP_SUBMISSION_PORT` in production' },
  ),
  SMTP_SUBMISSION_TLS_KEY: variable(accept.nonEmptyText('the path of a PEM file'), 'Private key of that certificate.', {
    fallback: 'none; required by `SMTP_SUBMISSION_PORT` in production',
  }),
  SMTP_ALLOW_BARE_LF: variable(
    accept.trueOrFalse,
    'Accepts messages over SMTP whose lines end with LF or CR alone. Turn it on only for a client that you cannot fix.',
    { default: 'false' },
  ),
  SMTP_MAX_CONNECTIONS_PER_ADDRESS: variable(
    accept.wholeNumber(1, 1_000),
    'Open connections to each SMTP port per client address and process. Raise it when many clients share one address.',
    { default: '20' },
  ),
  INBOUND_SMTP_PORT: variable(
    accept.wholeNumber(0, 65535),
    'Port on which the service receives [bounces and complaints](deliverability.md#bounces) and mail for [inbound domains](inbound.md#receive-email), usually 25. 0 picks a free port. If not set, they are not received, and return paths have no token. Set it for the worker too, which sends scheduled mail.',
  ),
  INBOUND_SMTP_HOST: variable(accept.nonEmptyText('an address to listen on'), 'Address on which that port listens.', {
    fallback: 'the value of `HOST`',
  }),
  SES_REGION: variable(
    accept.textMatching(/^[a-z]{2}(-[a-z]+){1,3}-\d{1,2}$/, 'an AWS region'),
    'Region that the `ses` provider uses for domains without a region.',
    { default: 'us-east-1' },
  ),
  SES_CONFIGURATION_SET: variable(
    accept.textMatching(/^[A-Za-z0-9_-]{1,64}$/, 'the name of a configuration set'),
    'Configuration set that publishes the events of mail sent through the `ses` provider. Mail sent from a dedicated IP pool uses the set `<this name>-<pool name>`.',
  ),
  SES_ENDPOINT: variable(
    accept.url('an http:// or https:// URL', 'http:', 'https:'),
    'Endpoint of the `ses` provider, such as a VPC endpoint or a test server.',
    { fallback: 'the endpoint of the region' },
  ),
  SES_SNS_TOPICS: variable(
    accept.snsTopics,
    'SNS topics whose notifications the service accepts. If not set, it accepts none.',
  ),
  SMS_PROVIDER: variable(
    accept.providers('aws', 'smpp'),
    'SMS providers, in the order they are tried. `smpp` requires `SMPP_URL`.',
    { fallback: '`local`; none in production' },
  ),
  SERVICE_SMS_SENDER: variable(
    accept.textMatching(
      /^(?:\+[1-9]\d{1,14}|[A-Za-z0-9][A-Za-z0-9 ]{0,10})$/,
      'a number in E.164 form or an alphanumeric sender id',
    ),
    'Sender of the codes that the service itself texts to people who verify their phone number. The provider must allow it. If not set, phone numbers cannot be verified.',
    { fallback: '`TIDINGS` with the `local` provider, otherwise none' },
  ),
  SMPP_URL: variable(
    accept.smppUrl,
    'Message centre of the `smpp` provider. See [Providers](providers.md#smpp) for its options.',
    { secret: true },
  ),
  SMS_CONFIGURATION_SET: variable(
    accept.textMatching(/^[A-Za-z0-9_-]{1,64}$/, 'the name of a configuration set'),
    'Configuration set that publishes the events of messages sent through the `aws` provider.',
  ),
  SMS_SNS_TOPICS: variable(
    accept.snsTopics,
    'SNS topics whose notifications about SMS the service accepts. If not set, it accepts none. Separate from `SES_SNS_TOPICS`.',
  ),
  AWS_REGION: variable(
    accept.textMatching(/^[a-z]{2}(-[a-z]+){1,3}-\d{1,2}$/, 'an AWS region'),
    'Region of the `aws` provider.',
    { default: 'us-east-1' },
  ),
  AWS_ENDPOINT_URL: variable(
    accept.url('an http:// or https:// URL', 'http:', 'https:'),
    'Endpoint of the `aws` provider, such as a VPC endpoint or a test server. The AWS library reads it too, so the `ses` provider uses it unless `SES_ENDPOINT` is set.',
    { fallback: 'the endpoint of the region' },
  ),
  DLT_ENFORCE: variable(
    accept.trueOrFalse,
    'Requires an approved DLT template for messages to +91 numbers. `false` lifts the rule for development and is ignored in production.',
    { default: 'true' },
  ),
  DNS_SERVERS: variable(
    accept.nameServers,
    'DNS servers that resolve the records of sending domains and the hosts of webhooks.',
    { fallback: 'the servers of the operating system' },
  ),
  DEV_TOOLS: variable(
    accept.onOrOff,
    'Development routes under `/api/dev`, available only to clients on the same machine.',
    { fallback: '`on`; always `off` in production' },
  ),
  FIRST_RUN_FILE: variable(
    accept.nonEmptyText('a file path'),
    'File to which the first start writes its credentials as JSON. The org is created only if that succeeds. Only the owner of the file can read it. If not set, and the credentials cannot be printed, they are written to `first-run.json` in `DATA_DIR`.',
  ),
  TRUSTED_PROXIES: variable(
    accept.addressRanges,
    `Addresses of the proxies that connect to the service. \`X-Forwarded-For\` is ignored when any other address connects. The default is \`${privateRanges}\`.`,
    { default: privateRanges, fallback: 'loopback, link-local and private ranges' },
  ),
  TRUSTED_PROXY_HOPS: variable(
    accept.wholeNumber(0, 16),
    'Number of proxies in front of the service. The client address is that many entries from the right of `X-Forwarded-For`. With 0 the header is ignored.',
    { default: '1' },
  ),
  IDEMPOTENCY_TTL_HOURS: variable(
    accept.wholeNumber(1, 168),
    'Hours for which a response is replayed for its `Idempotency-Key`.',
    { default: '24' },
  ),
  MESSAGE_CONTENT_TTL_DAYS: variable(
    accept.wholeNumber(1, 3_650),
    'Redacts the bodies of messages older than this many days. The task runs every hour. If not set, bodies are kept.',
  ),
  MESSAGE_RETENTION_DAYS: variable(
    accept.wholeNumber(31, 3_650),
    'Removes messages and their events after this many days, whole months at a time, once a night. Messages that are not sent yet stay. If not set, messages are kept. See [Retention](retention.md#messages).',
  ),
  WEBHOOK_ALLOW_INSECURE: variable(
    accept.trueOrFalse,
    'Allows webhook endpoints with plain http and on private hosts. Not allowed in production.',
    { default: 'false' },
  ),
  REQUEST_TIMEOUT_SECONDS: variable(
    accept.wholeNumber(1, 600),
    'Seconds within which the headers and body of a request must arrive.',
    { default: '60' },
  ),
  OAUTH_GRANT_MAX_DAYS: variable(
    accept.wholeNumber(1, 3_650),
    'Days after which a person has to allow an OAuth client again, however often the client has refreshed its tokens.',
    { default: '90' },
  ),
  MCP_SELF_CALL_TIMEOUT_MS: variable(
    accept.wholeNumber(1, 600_000),
    'Milliseconds that a tool call at `/api/mcp` waits for the API. After that it fails with `MCP_UPSTREAM_TIMEOUT`, although the request may still take effect.',
    { default: '60000' },
  ),
  UPLOAD_MEMORY_PER_KEY_MB: variable(
    accept.wholeNumber(16, 65_536),
    'Megabytes of request bodies that may be arriving at once for one API key, or for one address without a key. A request above it gets a 429.',
    { default: '64' },
  ),
  UPLOAD_MEMORY_MB: variable(
    accept.wholeNumber(16, 65_536),
    'Megabytes of request bodies that may be arriving at once in one process. Above it, the largest body of the caller with the most bytes gets a 503.',
    { default: '256' },
  ),
  DRAIN_DELAY_SECONDS: variable(
    accept.wholeNumber(0, 300),
    'Seconds between SIGTERM and the moment the service stops to accept requests. Meanwhile `/readyz` is 503, so that a load balancer sends requests elsewhere. Set it longer than the interval of its checks.',
    { fallback: '5 in production, otherwise 0' },
  ),
  GOOGLE_CLIENT_ID: variable(
    accept.nonEmptyText('a client id'),
    'Client id for [sign-in with Google](sign-in.md#sign-in-providers). If not set, it is off.',
  ),
  GOOGLE_CLIENT_SECRET: clientSecret('GOOGLE_CLIENT_ID'),
  GOOGLE_ISSUER: variable(
    accept.url('an https:// URL, or an http:// URL of this machine outside production', 'http:', 'https:'),
    'Issuer whose discovery document describes sign-in with Google. Change it for tests only.',
    { default: 'https://accounts.google.com' },
  ),
  GITHUB_CLIENT_ID: variable(
    accept.nonEmptyText('a client id'),
    'Client id for [sign-in with GitHub](sign-in.md#sign-in-providers). If not set, it is off.',
  ),
  GITHUB_CLIENT_SECRET: clientSecret('GITHUB_CLIENT_ID'),
  GITHUB_URL: variable(
    accept.url('an https:// URL, or an http:// URL of this machine outside production', 'http:', 'https:'),
    'Where people sign in, such as the address of a GitHub Enterprise Server.',
    { default: 'https://github.com' },
  ),
  GITHUB_API_URL: variable(
    accept.url('an https:// URL, or an http:// URL of this machine outside production', 'http:', 'https:'),
    'API that belongs to `GITHUB_URL`.',
    { default: 'https://api.github.com' },
  ),
  OIDC_NAME: variable(accept.textOfLength(1, 40), 'Name of the issuer on the sign-in page.', {
    default: 'Single sign-on',
  }),
  OIDC_ISSUER: variable(
    accept.url('an https:// URL, or an http:// URL of this machine outside production', 'http:', 'https:'),
    'Any other [OpenID Connect issuer](sign-in.md#sign-in-providers) that people can sign in with.',
    { fallback: 'none; required by `OIDC_CLIENT_ID`' },
  ),
  OIDC_CLIENT_ID: variable(
    accept.nonEmptyText('a client id'),
    'Client id at that issuer. If not set, sign-in there is off.',
  ),
  OIDC_CLIENT_SECRET: clientSecret('OIDC_CLIENT_ID'),
  PAYMENT_PROVIDER: variable(
    accept.paymentProvider,
    'Where organisations [pay for their plan](billing.md). `local` shows pages of its own and charges nobody. Without a provider, only an operator changes plans.',
    { fallback: '`local` outside production; otherwise none' },
  ),
  STRIPE_SECRET_KEY: variable(
    accept.textMatching(/^[\x21-\x7e]{1,255}$/, 'a secret or restricted key of Stripe'),
    'Key for the API of Stripe.',
    { fallback: 'none; required by `PAYMENT_PROVIDER=stripe`', secret: true },
  ),
  STRIPE_WEBHOOK_SECRET: variable(
    accept.textMatching(/^[\x21-\x7e]{1,255}$/, 'a signing secret such as `whsec_…`'),
    'Signing secret of the webhook endpoint at Stripe that calls `/api/billing/callback`.',
    { fallback: 'none; required by `PAYMENT_PROVIDER=stripe`', secret: true },
  ),
  STRIPE_PRICE_PAYG: variable(
    accept.priceIds,
    'Recurring price of the plan `payg`. New checkouts use the first one; further ones are former prices.',
    { fallback: 'none; required by `PAYMENT_PROVIDER=stripe`' },
  ),
  STRIPE_PRICE_PRO: variable(accept.priceIds, 'The same for the plan `pro`.', {
    fallback: 'none; required by `PAYMENT_PROVIDER=stripe`',
  }),
  STRIPE_API_URL: variable(
    accept.url('an https:// URL, or an http:// URL of this machine outside production', 'http:', 'https:'),
    'Where the API of Stripe is. Change it for tests only.',
    { default: 'https://api.stripe.com' },
  ),
  BILLING_CONTACT: variable(
    accept.contactAddress,
    'Address that the dashboard names to those who want the plan `enterprise`.',
    { fallback: '`billing@SERVICE_DOMAIN`' },
  ),
  METRICS_TOKEN: variable(
    accept.textOfAtLeast(16),
    'Bearer token for `/metrics`. If not set, only clients on the same machine can read it.',
    { secret: true },
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: variable(
    accept.url('an http:// or https:// URL', 'http:', 'https:'),
    'Collector of traces, over OTLP with HTTP, for example `http://127.0.0.1:4318`. Spans are sent to `/v1/traces` under it. If not set, nothing is traced and the library for it is not loaded. See [Traces](operations.md#traces).',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: variable(accept.headerPairs, 'Headers of requests to the collector, such as its key.', {
    secret: true,
  }),
  OTEL_SERVICE_NAME: variable(
    accept.textMatching(/^[\x20-\x7e]{1,128}$/, '1 to 128 printable ASCII characters'),
    'Name of the service in traces.',
    { default: 'tidings' },
  ),
  OTEL_TRACES_SAMPLER_ARG: variable(
    accept.share,
    'Share of the traces that begin here and are recorded. A request that continues a trace follows its flag.',
    { default: '1' },
  ),
  LOG_LEVEL: variable(
    accept.choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'Lowest level that is logged. Requests are logged at `info`, one line each.',
    { default: 'info' },
  ),
  LOG_FORMAT: variable(accept.choice('json', 'pretty'), 'Format of log lines, which go to standard error.', {
    fallback: '`pretty` on a terminal, otherwise `json`',
  }),
} as const satisfies Record<string, Variable>

export type VariableName = keyof typeof variables

type Parsed<N extends VariableName> = z.output<(typeof variables)[N]['accepts']['schema']>

/** The parsed values of the variables that are set. */
export type VariableValues = { [N in VariableName]?: Parsed<N> | undefined }

/** The values in force: given ones and defaults. */
export type Values = {
  [N in VariableName]: (typeof variables)[N] extends { default: string }
    ? NonNullable<Parsed<N>>
    : Parsed<N> | undefined
}

export const allVariables = Object.entries(variables) as [VariableName, Variable][]
