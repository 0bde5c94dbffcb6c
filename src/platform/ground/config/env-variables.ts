/** Every environment variable of the service: the values it accepts, its default, and what it does. */
import type { z } from 'zod'
import * as accept from './accepted-values.ts'

export type Variable<T> = {
  accepts: accept.AcceptedValue<T>
  /** The default as the documentation shows it. `readConfig` applies the actual value. */
  fallback?: string
  about: string
  /** A secret's value never appears in an error message. */
  secret?: true
}

const variable = <T>(definition: Variable<T>): Variable<T> => definition

export const variables = {
  NODE_ENV: variable({
    accepts: accept.oneOf('development', 'test', 'production'),
    fallback: 'development',
    about:
      'In `production` the service does not start when a variable that this page calls required is missing, or when the `local` provider, the development tools or insecure webhooks are turned on, or when `MASTER_KEY` or `BASE_URL` is unsafe. It logs a warning at start without `AUDIT_SIGNING_SECRET` and with `RATE_LIMITER=off`.',
  }),
  HOST: variable({
    accepts: accept.nonEmptyText('an address to listen on'),
    fallback: '127.0.0.1',
    about: 'Address to listen on. Set `0.0.0.0` to accept connections from other machines.',
  }),
  PORT: variable({
    accepts: accept.wholeNumber(0, 65535),
    fallback: '3000',
    about: 'Port to listen on. 0 picks a free port.',
  }),
  WORKER_PORT: variable({
    accepts: accept.wholeNumber(0, 65535),
    about:
      'Port on which `tidings worker` serves `/healthz`, `/readyz` and `/metrics`, at the address of `HOST`. 0 picks a free port. If not set, the worker opens no port. Other commands ignore it.',
  }),
  API_PROCESSES: variable({
    accepts: accept.processes,
    fallback: 'in production one for each core but one, otherwise 1',
    about:
      'Processes that serve the API on one port; `auto` starts one per core. Without this and `WORKER_PROCESSES`, `tidings start` is one process for the API and the worker, except in production on three cores or more. `tidings api` uses it too, and is one process unless it is set. See [Self-hosting](self-hosting.md#all-cores-of-one-machine).',
  }),
  WORKER_PROCESSES: variable({
    accepts: accept.processes,
    fallback: '1',
    about: 'Processes that run the worker; `auto` starts one per core. `tidings worker` uses it too.',
  }),
  BASE_URL: variable({
    accepts: accept.baseUrl,
    fallback: '`http://HOST:PORT`; required in production',
    about: 'Public URL of the service, used in the links it sends.',
  }),
  SERVICE_DOMAIN: variable({
    accepts: accept.domainName,
    fallback: '`tidings.test`; required in production',
    about: 'Domain of the service. Sandbox senders and return paths are under it.',
  }),
  DATABASE_URL: variable({
    accepts: accept.url('a postgres:// URL of a PostgreSQL 15 or newer server', 'postgres:', 'postgresql:'),
    about: 'PostgreSQL server to use. If not set, the service runs its own PostgreSQL 18 in `DATA_DIR`.',
    secret: true,
  }),
  DATABASE_POOL_SIZE: variable({
    accepts: accept.wholeNumber(2, 500),
    fallback: '10',
    about: 'Database connections per process. Concurrent requests share statements, so a few are enough.',
  }),
  DATABASE_READ_URL: variable({
    accepts: accept.url(
      'a postgres:// URL of a streaming replica of the server in DATABASE_URL',
      'postgres:',
      'postgresql:',
    ),
    about:
      'Streaming replica of the server in `DATABASE_URL`, for lists, reads, analytics and exports. A caller that has just written reads from `DATABASE_URL` until the replica has its write. It names one server, not a load balancer in front of several.',
    secret: true,
  }),
  DATABASE_READ_MAX_LAG_MS: variable({
    accepts: accept.wholeNumber(1_000, 60_000),
    fallback: '10000',
    about:
      'While the replica is further behind than this, or cannot be reached, all requests read from `DATABASE_URL`.',
  }),
  DATA_DIR: variable({
    accepts: accept.nonEmptyText('a folder'),
    fallback: './.data',
    about: 'Folder where the embedded database and the generated master key are stored.',
  }),
  REDIS_URL: variable({
    accepts: accept.url('a redis:// or rediss:// URL', 'redis:', 'rediss:'),
    about:
      'Redis server for rate limits that several processes share, and for their marks of writes if there is a replica. If not set, each process counts on its own.',
    secret: true,
  }),
  REDIS_PREFIX: variable({
    accepts: accept.textMatching(/^[\x21-\x7e]{1,64}$/, '1 to 64 printable ASCII characters without spaces'),
    fallback: 'tidings:',
    about: 'Prefix of every Redis key, so that several installations can share one Redis server.',
  }),
  RATE_LIMITER: variable({
    accepts: accept.oneOf('auto', 'off'),
    fallback: 'auto',
    about: '`auto` counts in Redis when `REDIS_URL` is set, otherwise in the process. `off` disables rate limits.',
  }),
  MASTER_KEY: variable({
    accepts: accept.secretKey,
    fallback: 'generated once and stored in `DATA_DIR`; required in production',
    about:
      'Encrypts stored secrets, signs tracking links, unsubscribe links and return paths, and authenticates backups. Production refuses a key that does not look random: text, repeated patterns, counters.',
    secret: true,
  }),
  MASTER_KEY_PREVIOUS: variable({
    accepts: accept.secretKeys,
    about:
      'Former master keys. They decrypt secrets that are not yet encrypted with the current `MASTER_KEY`, and verify the links and return paths of mail already sent. They need not look random. Those links and return paths stop working when you remove the key that signed them.',
    secret: true,
  }),
  BACKUP_PASSPHRASE: variable({
    accepts: accept.textOfLength(12, 1_024),
    about:
      'Encrypts what `tidings backup` writes, and decrypts it in `tidings restore`. If not set, see the options of both.',
    secret: true,
  }),
  AUDIT_SIGNING_SECRET: variable({
    accepts: accept.nonEmptyText('a secret text'),
    about: 'Signs audit entries. If not set, entries are unsigned and cannot be verified.',
    secret: true,
  }),
  AUDIT_SIGNING_SECRET_PREVIOUS: variable({
    accepts: accept.secretTexts,
    about:
      'Former values of `AUDIT_SIGNING_SECRET`. They verify audit entries and chains that are not yet signed with the current secret. Remove one when the last entry that it signed has been deleted by retention.',
    secret: true,
  }),
  AUDIT_SIGNING_CUTOVER: variable({
    accepts: accept.timestamp,
    fallback: '2026-08-10T00:00:00Z',
    about: 'Audit entries from this time on must carry a valid signature.',
  }),
  AUDIT_WITNESS: variable({
    accepts: accept.fileOrObjects,
    about:
      'Where the worker writes the newest links of the audit chains, at most once a minute: a file to which it appends lines, or a place in an object store where it creates objects. Endpoint, region and credentials of the store come from the variables of the AWS library, such as `AWS_ENDPOINT_URL_S3`. Keep it where someone with access to the database cannot change it. See [Audit log](audit.md#the-witness).',
  }),
  AUDIT_LOG_RETENTION_DAYS: variable({
    accepts: accept.days,
    fallback: '365',
    about:
      'Deletes audit entries older than this many days, once a night. Any other value means 365 and is logged as a warning. See [Retention](retention.md).',
  }),
  AUDIT_ARCHIVE_BUCKET: variable({
    accepts: accept.textMatching(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'the name of a bucket'),
    about:
      'Bucket of an S3-compatible store that receives audit entries before retention deletes them, one file per org and day. Endpoint, region and credentials come from the variables of the AWS library, such as `AWS_ENDPOINT_URL_S3`. See [Retention](retention.md#the-archive-of-the-audit-log).',
  }),
  EXPORT_STORE: variable({
    accepts: accept.fileOrObjects,
    fallback: 'the folder `exports` in `DATA_DIR`',
    about:
      'Where the files of organisation exports are kept: a folder that all processes share, or `s3://bucket/prefix` of an S3-compatible store with the variables of the AWS library. See [Exports](exports.md).',
  }),
  EMAIL_PROVIDER: variable({
    accepts: accept.providers('smtp', 'ses'),
    fallback: '`local`; required in production',
    about: 'Email providers, in the order they are tried. `smtp` requires `SMTP_URL`.',
  }),
  ON_PROVIDER_OUTAGE: variable({
    accepts: accept.oneOf('refuse', 'queue'),
    fallback: 'refuse',
    about:
      'What happens to an email that no provider can take for [10 seconds](providers.md#when-a-provider-fails). `refuse` responds with 500 and stores it as `failed`. `queue` accepts it as `scheduled`, due at once, unless it has attachments or is part of a batch.',
  }),
  SMTP_URL: variable({
    accepts: accept.smtpUrl,
    about: 'Relay of the `smtp` provider. See [Providers](providers.md#smtp) for its options.',
    secret: true,
  }),
  SMTP_POOL_SIZE: variable({
    accepts: accept.wholeNumber(1, 200),
    fallback: '5',
    about: 'Connections to the relay per process. Each sends one message at a time.',
  }),
  SMTP_SUBMISSION_PORT: variable({
    accepts: accept.wholeNumber(0, 65535),
    about: 'Port on which the service accepts mail over [SMTP](smtp.md). 0 picks a free port. If not set, SMTP is off.',
  }),
  SMTP_SUBMISSION_HOST: variable({
    accepts: accept.nonEmptyText('an address to listen on'),
    fallback: 'the value of `HOST`',
    about: 'Address on which the SMTP port listens.',
  }),
  SMTP_SUBMISSION_TLS: variable({
    accepts: accept.submissionTls,
    fallback: '`starttls` with a certificate, otherwise `off`',
    about: 'Encryption of the SMTP port. In production, clients can authenticate only on an encrypted connection.',
  }),
  SMTP_SUBMISSION_TLS_CERT: variable({
    accepts: accept.nonEmptyText('the path of a PEM file'),
    fallback: 'none; required by `SMTP_SUBMISSION_PORT` in production',
    about:
      'Certificate of the SMTP port, with its chain. Read again when the file changes. `INBOUND_SMTP_PORT` offers STARTTLS with it.',
  }),
  SMTP_SUBMISSION_TLS_KEY: variable({
    accepts: accept.nonEmptyText('the path of a PEM file'),
    fallback: 'none; required by `SMTP_SUBMISSION_PORT` in production',
    about: 'Private key of that certificate.',
  }),
  SMTP_ALLOW_BARE_LF: variable({
    accepts: accept.trueOrFalse,
    fallback: 'false',
    about:
      'Accepts messages over SMTP whose lines end with LF or CR alone. Turn it on only for a client that you cannot fix.',
  }),
  SMTP_MAX_CONNECTIONS_PER_ADDRESS: variable({
    accepts: accept.wholeNumber(1, 1_000),
    fallback: '20',
    about:
      'Open connections to each SMTP port per client address and process. Raise it when many clients share one address.',
  }),
  INBOUND_SMTP_PORT: variable({
    accepts: accept.wholeNumber(0, 65535),
    about:
      'Port on which the service receives [bounces and complaints](deliverability.md#bounces) and mail for [inbound domains](inbound.md#receive-email), usually 25. 0 picks a free port. If not set, they are not received, and return paths have no token. Set it for the worker too, which sends scheduled mail.',
  }),
  INBOUND_SMTP_HOST: variable({
    accepts: accept.nonEmptyText('an address to listen on'),
    fallback: 'the value of `HOST`',
    about: 'Address on which that port listens.',
  }),
  SES_REGION: variable({
    accepts: accept.textMatching(/^[a-z]{2}(-[a-z]+){1,3}-\d{1,2}$/, 'an AWS region'),
    fallback: 'us-east-1',
    about: 'Region that the `ses` provider uses for domains without a region.',
  }),
  SES_CONFIGURATION_SET: variable({
    accepts: accept.textMatching(/^[A-Za-z0-9_-]{1,64}$/, 'the name of a configuration set'),
    about:
      'Configuration set that publishes the events of mail sent through the `ses` provider. Mail sent from a dedicated IP pool uses the set `<this name>-<pool name>`.',
  }),
  SES_ENDPOINT: variable({
    accepts: accept.url('an http:// or https:// URL', 'http:', 'https:'),
    fallback: 'the endpoint of the region',
    about: 'Endpoint of the `ses` provider, such as a VPC endpoint or a test server.',
  }),
  SES_SNS_TOPICS: variable({
    accepts: accept.snsTopics,
    about: 'SNS topics whose notifications the service accepts. If not set, it accepts none.',
  }),
  SMS_PROVIDER: variable({
    accepts: accept.providers('aws', 'smpp'),
    fallback: '`local`; none in production',
    about: 'SMS providers, in the order they are tried. `smpp` requires `SMPP_URL`.',
  }),
  SERVICE_SMS_SENDER: variable({
    accepts: accept.textMatching(
      /^(?:\+[1-9]\d{1,14}|[A-Za-z0-9][A-Za-z0-9 ]{0,10})$/,
      'a number in E.164 form or an alphanumeric sender id',
    ),
    fallback: '`TIDINGS` with the `local` provider, otherwise none',
    about:
      'Sender of the codes that the service itself texts to people who verify their phone number. The provider must allow it. If not set, phone numbers cannot be verified.',
  }),
  SMPP_URL: variable({
    accepts: accept.smppUrl,
    about: 'Message centre of the `smpp` provider. See [Providers](providers.md#smpp) for its options.',
    secret: true,
  }),
  SMS_CONFIGURATION_SET: variable({
    accepts: accept.textMatching(/^[A-Za-z0-9_-]{1,64}$/, 'the name of a configuration set'),
    about: 'Configuration set that publishes the events of messages sent through the `aws` provider.',
  }),
  SMS_SNS_TOPICS: variable({
    accepts: accept.snsTopics,
    about:
      'SNS topics whose notifications about SMS the service accepts. If not set, it accepts none. Separate from `SES_SNS_TOPICS`.',
  }),
  AWS_REGION: variable({
    accepts: accept.textMatching(/^[a-z]{2}(-[a-z]+){1,3}-\d{1,2}$/, 'an AWS region'),
    fallback: 'us-east-1',
    about: 'Region of the `aws` provider.',
  }),
  AWS_ENDPOINT_URL: variable({
    accepts: accept.url('an http:// or https:// URL', 'http:', 'https:'),
    fallback: 'the endpoint of the region',
    about:
      'Endpoint of the `aws` provider, such as a VPC endpoint or a test server. The AWS library reads it too, so the `ses` provider uses it unless `SES_ENDPOINT` is set.',
  }),
  DLT_ENFORCE: variable({
    accepts: accept.trueOrFalse,
    fallback: 'true',
    about:
      'Requires an approved DLT template for messages to +91 numbers. `false` lifts the rule for development and is ignored in production.',
  }),
  DNS_SERVERS: variable({
    accepts: accept.nameServers,
    fallback: 'the servers of the operating system',
    about: 'DNS servers that resolve the records of sending domains and the hosts of webhooks.',
  }),
  DEV_TOOLS: variable({
    accepts: accept.onOrOff,
    fallback: '`on`; always `off` in production',
    about: 'Development routes under `/api/dev`, available only to clients on the same machine.',
  }),
  FIRST_RUN_FILE: variable({
    accepts: accept.nonEmptyText('a file path'),
    about:
      'File to which the first start writes its credentials as JSON. The org is created only if that succeeds. Only the owner of the file can read it. If not set, and the credentials cannot be printed, they are written to `first-run.json` in `DATA_DIR`.',
  }),
  TRUSTED_PROXIES: variable({
    accepts: accept.addressRanges,
    fallback: 'loopback, link-local and private ranges',
    about:
      'Addresses of the proxies that connect to the service. `X-Forwarded-For` is ignored when any other address connects. The default is `127.0.0.0/8,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,169.254.0.0/16,fc00::/7,fe80::/10`.',
  }),
  TRUSTED_PROXY_HOPS: variable({
    accepts: accept.wholeNumber(0, 16),
    fallback: '1',
    about:
      'Number of proxies in front of the service. The client address is that many entries from the right of `X-Forwarded-For`. With 0 the header is ignored.',
  }),
  IDEMPOTENCY_TTL_HOURS: variable({
    accepts: accept.wholeNumber(1, 168),
    fallback: '24',
    about: 'Hours for which a response is replayed for its `Idempotency-Key`.',
  }),
  MESSAGE_CONTENT_TTL_DAYS: variable({
    accepts: accept.wholeNumber(1, 3_650),
    about:
      'Redacts the bodies of messages older than this many days. The task runs every hour. If not set, bodies are kept.',
  }),
  MESSAGE_RETENTION_DAYS: variable({
    accepts: accept.wholeNumber(31, 3_650),
    about:
      'Removes messages and their events after this many days, whole months at a time, once a night. Messages that are not sent yet stay. If not set, messages are kept. See [Retention](retention.md#messages).',
  }),
  WEBHOOK_ALLOW_INSECURE: variable({
    accepts: accept.trueOrFalse,
    fallback: 'false',
    about: 'Allows webhook endpoints with plain http and on private hosts. Not allowed in production.',
  }),
  REQUEST_TIMEOUT_SECONDS: variable({
    accepts: accept.wholeNumber(1, 600),
    fallback: '60',
    about: 'Seconds within which the headers and body of a request must arrive.',
  }),
  OAUTH_GRANT_MAX_DAYS: variable({
    accepts: accept.wholeNumber(1, 3_650),
    fallback: '90',
    about:
      'Days after which a person has to allow an OAuth client again, however often the client has refreshed its tokens.',
  }),
  MCP_SELF_CALL_TIMEOUT_MS: variable({
    accepts: accept.wholeNumber(1, 600_000),
    fallback: '60000',
    about:
      'Milliseconds that a tool call at `/api/mcp` waits for the API. After that it fails with `MCP_UPSTREAM_TIMEOUT`, although the request may still take effect.',
  }),
  UPLOAD_MEMORY_PER_KEY_MB: variable({
    accepts: accept.wholeNumber(16, 65_536),
    fallback: '64',
    about:
      'Megabytes of request bodies that may be arriving at once for one API key, or for one address without a key. A request above it gets a 429.',
  }),
  UPLOAD_MEMORY_MB: variable({
    accepts: accept.wholeNumber(16, 65_536),
    fallback: '256',
    about:
      'Megabytes of request bodies that may be arriving at once in one process. Above it, the largest body of the caller with the most bytes gets a 503.',
  }),
  DRAIN_DELAY_SECONDS: variable({
    accepts: accept.wholeNumber(0, 300),
    fallback: '5 in production, otherwise 0',
    about:
      'Seconds between SIGTERM and the moment the service stops to accept requests. Meanwhile `/readyz` is 503, so that a load balancer sends requests elsewhere. Set it longer than the interval of its checks.',
  }),
  GOOGLE_CLIENT_ID: variable({
    accepts: accept.nonEmptyText('a client id'),
    about: 'Client id for [sign-in with Google](sign-in.md#sign-in-providers). If not set, it is off.',
  }),
  GOOGLE_CLIENT_SECRET: variable({
    accepts: accept.nonEmptyText('a client secret'),
    fallback: 'none; required by `GOOGLE_CLIENT_ID`',
    about: 'Secret of that client.',
    secret: true,
  }),
  GOOGLE_ISSUER: variable({
    accepts: accept.url('an https:// URL, or an http:// URL of this machine outside production', 'http:', 'https:'),
    fallback: 'https://accounts.google.com',
    about: 'Issuer whose discovery document describes sign-in with Google. Change it for tests only.',
  }),
  GITHUB_CLIENT_ID: variable({
    accepts: accept.nonEmptyText('a client id'),
    about: 'Client id for [sign-in with GitHub](sign-in.md#sign-in-providers). If not set, it is off.',
  }),
  GITHUB_CLIENT_SECRET: variable({
    accepts: accept.nonEmptyText('a client secret'),
    fallback: 'none; required by `GITHUB_CLIENT_ID`',
    about: 'Secret of that client.',
    secret: true,
  }),
  GITHUB_URL: variable({
    accepts: accept.url('an https:// URL, or an http:// URL of this machine outside production', 'http:', 'https:'),
    fallback: 'https://github.com',
    about: 'Where people sign in, such as the address of a GitHub Enterprise Server.',
  }),
  GITHUB_API_URL: variable({
    accepts: accept.url('an https:// URL, or an http:// URL of this machine outside production', 'http:', 'https:'),
    fallback: 'https://api.github.com',
    about: 'API that belongs to `GITHUB_URL`.',
  }),
  OIDC_NAME: variable({
    accepts: accept.textOfLength(1, 40),
    fallback: 'Single sign-on',
    about: 'Name of the issuer on the sign-in page.',
  }),
  OIDC_ISSUER: variable({
    accepts: accept.url('an https:// URL, or an http:// URL of this machine outside production', 'http:', 'https:'),
    fallback: 'none; required by `OIDC_CLIENT_ID`',
    about: 'Any other [OpenID Connect issuer](sign-in.md#sign-in-providers) that people can sign in with.',
  }),
  OIDC_CLIENT_ID: variable({
    accepts: accept.nonEmptyText('a client id'),
    about: 'Client id at that issuer. If not set, sign-in there is off.',
  }),
  OIDC_CLIENT_SECRET: variable({
    accepts: accept.nonEmptyText('a client secret'),
    fallback: 'none; required by `OIDC_CLIENT_ID`',
    about: 'Secret of that client.',
    secret: true,
  }),
  PAYMENT_PROVIDER: variable({
    accepts: accept.paymentProvider,
    fallback: '`local` outside production; otherwise none',
    about:
      'Where organisations [pay for their plan](billing.md). `local` shows pages of its own and charges nobody. Without a provider, only an operator changes plans.',
  }),
  STRIPE_SECRET_KEY: variable({
    accepts: accept.textMatching(/^[\x21-\x7e]{1,255}$/, 'a secret or restricted key of Stripe'),
    fallback: 'none; required by `PAYMENT_PROVIDER=stripe`',
    about: 'Key for the API of Stripe.',
    secret: true,
  }),
  STRIPE_WEBHOOK_SECRET: variable({
    accepts: accept.textMatching(/^[\x21-\x7e]{1,255}$/, 'a signing secret such as `whsec_…`'),
    fallback: 'none; required by `PAYMENT_PROVIDER=stripe`',
    about: 'Signing secret of the webhook endpoint at Stripe that calls `/api/billing/callback`.',
    secret: true,
  }),
  STRIPE_PRICE_PAYG: variable({
    accepts: accept.priceIds,
    fallback: 'none; required by `PAYMENT_PROVIDER=stripe`',
    about: 'Recurring price of the plan `payg`. New checkouts use the first one; further ones are former prices.',
  }),
  STRIPE_PRICE_PRO: variable({
    accepts: accept.priceIds,
    fallback: 'none; required by `PAYMENT_PROVIDER=stripe`',
    about: 'The same for the plan `pro`.',
  }),
  STRIPE_API_URL: variable({
    accepts: accept.url('an https:// URL, or an http:// URL of this machine outside production', 'http:', 'https:'),
    fallback: 'https://api.stripe.com',
    about: 'Where the API of Stripe is. Change it for tests only.',
  }),
  BILLING_CONTACT: variable({
    accepts: accept.contactAddress,
    fallback: '`billing@SERVICE_DOMAIN`',
    about: 'Address that the dashboard names to those who want the plan `enterprise`.',
  }),
  METRICS_TOKEN: variable({
    accepts: accept.textOfAtLeast(16),
    about: 'Bearer token for `/metrics`. If not set, only clients on the same machine can read it.',
    secret: true,
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: variable({
    accepts: accept.url('an http:// or https:// URL', 'http:', 'https:'),
    about:
      'Collector of traces, over OTLP with HTTP, for example `http://127.0.0.1:4318`. Spans are sent to `/v1/traces` under it. If not set, nothing is traced and the library for it is not loaded. See [Traces](operations.md#traces).',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: variable({
    accepts: accept.headerPairs,
    about: 'Headers of requests to the collector, such as its key.',
    secret: true,
  }),
  OTEL_SERVICE_NAME: variable({
    accepts: accept.textMatching(/^[\x20-\x7e]{1,128}$/, '1 to 128 printable ASCII characters'),
    fallback: 'tidings',
    about: 'Name of the service in traces.',
  }),
  OTEL_TRACES_SAMPLER_ARG: variable({
    accepts: accept.share,
    fallback: '1',
    about: 'Share of the traces that begin here and are recorded. A request that continues a trace follows its flag.',
  }),
  LOG_LEVEL: variable({
    accepts: accept.oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    fallback: 'info',
    about: 'Lowest level that is logged. Requests are logged at `info`, one line each.',
  }),
  LOG_FORMAT: variable({
    accepts: accept.oneOf('json', 'pretty'),
    fallback: '`pretty` on a terminal, otherwise `json`',
    about: 'Format of log lines, which go to standard error.',
  }),
} as const

export type VariableName = keyof typeof variables

/** The parsed value of each variable, undefined when it is not set. */
export type VariableValues = {
  [N in VariableName]: z.output<(typeof variables)[N]['accepts']['schema']> | undefined
}

export const allVariables = Object.entries(variables) as [VariableName, Variable<unknown>][]
