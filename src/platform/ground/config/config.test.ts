import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { configurationPage } from '../../../../scripts/configuration-page.ts'
import { formatRange } from '../ip-address.ts'
import { ConfigFault, readConfig } from './config.ts'
import { variables } from './env-variables.ts'
import { productionWarnings } from './production-warnings.ts'

const faultsOf = (env: Record<string, string>): string[] => {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof ConfigFault) return error.faults
    throw error
  }
  return []
}

const production = {
  NODE_ENV: 'production',
  SERVICE_DOMAIN: 'mail.example.com',
  MASTER_KEY: randomBytes(32).toString('base64'),
  EMAIL_PROVIDER: 'ses',
  BASE_URL: 'https://api.example.com',
}

test('an empty environment gives a development service on the loopback address', () => {
  expect(readConfig({}, false)).toMatchObject({
    production: false,
    host: '127.0.0.1',
    port: 3000,
    serviceDomain: 'tidings.test',
    databaseUrl: undefined,
    dataDir: './.data',
    emailProviders: ['local'],
    smsProviders: ['local'],
    dltEnforce: true,
    devTools: true,
    trustedProxyHops: 1,
    idempotencyTtlHours: 24,
    logFormat: 'json',
  })
})

test('every invalid variable is reported at once, with the values it accepts', () => {
  expect(
    faultsOf({ PORT: 'http', HOST: '', IDEMPOTENCY_TTL_HOURS: '169', DATABASE_URL: 'mysql://u:secret@h/d' }),
  ).toEqual([
    'PORT must be a whole number from 0 to 65535, not "http".',
    'DATABASE_URL must be a postgres:// URL of a PostgreSQL 15 or newer server.',
    'IDEMPOTENCY_TTL_HOURS must be a whole number from 1 to 168, not "169".',
  ])
})

test.each(['0', '169', '-1', '1.5', 'day', '1e2'])(
  'X-343 the service does not start with IDEMPOTENCY_TTL_HOURS %j',
  (value) => {
    expect(faultsOf({ IDEMPOTENCY_TTL_HOURS: value })).toEqual([
      `IDEMPOTENCY_TTL_HOURS must be a whole number from 1 to 168, not "${value}".`,
    ])
  },
)

test('X-343 IDEMPOTENCY_TTL_HOURS accepts 1 to 168 and defaults to 24', () => {
  expect(readConfig({}).idempotencyTtlHours).toBe(24)
  expect(readConfig({ IDEMPOTENCY_TTL_HOURS: '1' }).idempotencyTtlHours).toBe(1)
  expect(readConfig({ IDEMPOTENCY_TTL_HOURS: '168' }).idempotencyTtlHours).toBe(168)
})

test.each(['30', '3651', '0', '31.5', 'forever'])(
  'the service does not start with MESSAGE_RETENTION_DAYS %j',
  (value) => {
    expect(faultsOf({ MESSAGE_RETENTION_DAYS: value })).toEqual([
      `MESSAGE_RETENTION_DAYS must be a whole number from 31 to 3650, not "${value}".`,
    ])
  },
)

test('MESSAGE_RETENTION_DAYS accepts 31 to 3650, and messages are kept without it', () => {
  expect(readConfig({}).messageRetentionDays).toBeUndefined()
  expect(readConfig({ MESSAGE_RETENTION_DAYS: '31' }).messageRetentionDays).toBe(31)
  expect(readConfig({ MESSAGE_RETENTION_DAYS: '3650' }).messageRetentionDays).toBe(3_650)
})

test('DNS_SERVERS accepts IP addresses with and without a port', () => {
  expect(readConfig({}).dnsServers).toBeUndefined()
  expect(readConfig({ DNS_SERVERS: '127.0.0.1:5353, ::1,[2001:db8::1]:53' }).dnsServers).toEqual([
    '127.0.0.1:5353',
    '::1',
    '[2001:db8::1]:53',
  ])
  for (const wrong of ['dns.example.com', '127.0.0.1,', '1.2.3', ',']) {
    expect(faultsOf({ DNS_SERVERS: wrong }), wrong).toHaveLength(1)
  }
})

test('an error message never contains the value of a secret', () => {
  for (const name of ['MASTER_KEY', 'DATABASE_URL', 'REDIS_URL', 'SMTP_URL', 'METRICS_TOKEN']) {
    expect(faultsOf({ [name]: 'hunter2' }).join()).not.toContain('hunter2')
  }
})

test('A replica needs the primary in DATABASE_URL, and its lag has bounds', () => {
  const url = 'postgres://u:secret@h/d'
  expect(faultsOf({ DATABASE_READ_URL: url })).toEqual([
    'DATABASE_URL is required by DATABASE_READ_URL and must be a postgres:// URL of a PostgreSQL 15 or newer server.',
  ])
  expect(faultsOf({ DATABASE_URL: url, DATABASE_READ_URL: 'hunter2', DATABASE_READ_MAX_LAG_MS: '999' })).toEqual([
    'DATABASE_READ_URL must be a postgres:// URL of a streaming replica of the server in DATABASE_URL.',
    'DATABASE_READ_MAX_LAG_MS must be a whole number from 1000 to 60000, not "999".',
  ])
  expect(readConfig({ DATABASE_URL: url, DATABASE_READ_URL: url })).toMatchObject({
    databaseReadUrl: url,
    databaseReadMaxLagMs: 10_000,
  })
})

test('production reports every missing and every forbidden variable at once', () => {
  expect(
    faultsOf({
      NODE_ENV: 'production',
      DEV_TOOLS: 'on',
      WEBHOOK_ALLOW_INSECURE: 'true',
      EMAIL_PROVIDER: 'local',
    }),
  ).toEqual([
    'BASE_URL is required in production and must be an https:// URL or, outside production, an http:// URL.',
    'SERVICE_DOMAIN is required in production and must be a domain name.',
    'MASTER_KEY is required in production and must be 32 bytes in base64, for example from `openssl rand -base64 32`.',
    'EMAIL_PROVIDER cannot include local in production: it must be a comma-separated list of `smtp`, `ses` and, outside production, `local`.',
    'DEV_TOOLS cannot be on in production: remove it or set it to off.',
    'WEBHOOK_ALLOW_INSECURE cannot be true in production: remove it or set it to false.',
  ])
  expect(readConfig(production)).toMatchObject({
    production: true,
    devTools: false,
    serviceDomain: 'mail.example.com',
  })
})

test('production needs no SMS provider, and the local one is not used there', () => {
  expect(readConfig(production).smsProviders).toEqual([])
  expect(readConfig({ ...production, SMS_PROVIDER: 'aws' }).smsProviders).toEqual(['aws'])
  expect(faultsOf({ ...production, SMS_PROVIDER: 'local' })).toEqual([
    'SMS_PROVIDER cannot include local in production: it must be a comma-separated list of `aws`, `smpp` and, outside production, `local`.',
  ])
})

test('AUDIT_WITNESS is a file or a place in an object store: other URLs are refused, not taken as a path', () => {
  for (const name of ['/var/lib/tidings/heads', 'heads', 's3://bucket', 's3://bucket/', 's3://my.bucket/a/heads-1/']) {
    expect(faultsOf({ AUDIT_WITNESS: name }), name).toEqual([])
  }
  const urls = [
    'gs://bucket/heads',
    'https://x.test/heads',
    'file:///heads',
    's3://',
    's3://Bucket/a',
    's3://bucket//a',
  ]
  for (const name of [...urls, 's3://bucket/../a', 's3://bucket/a?b', 's3://key:secret@bucket/a', 'S3://bucket/a']) {
    expect(faultsOf({ AUDIT_WITNESS: name }), name).toEqual([
      `AUDIT_WITNESS must be a file path or an s3://bucket/prefix URL, not "${name}".`,
    ])
  }
})

test('a provider that needs a URL reports when it is missing', () => {
  expect(faultsOf({ EMAIL_PROVIDER: 'ses,smtp', SMS_PROVIDER: 'smpp' })).toEqual([
    'SMTP_URL is required by EMAIL_PROVIDER=smtp and must be an smtp:// or smtps:// URL.',
    'SMPP_URL is required by SMS_PROVIDER=smpp and must be an smpp:// or ssmpp:// URL with a system id.',
  ])
  expect(readConfig({ EMAIL_PROVIDER: 'ses, smtp', SMTP_URL: 'smtp://relay:25' }).emailProviders).toEqual([
    'ses',
    'smtp',
  ])
})

test('the options of the providers are validated at start', () => {
  expect(readConfig({})).toMatchObject({
    smtpPoolSize: 5,
    sesRegion: 'us-east-1',
    sesConfigurationSet: undefined,
    sesSnsTopics: [],
  })
  const topic = 'arn:aws:sns:eu-west-1:123456789012:ses-events'
  expect(
    readConfig({
      SMTP_POOL_SIZE: '20',
      SES_REGION: 'eu-west-1',
      SES_CONFIGURATION_SET: 'events',
      SES_SNS_TOPICS: `${topic}, ${topic}-2`,
    }),
  ).toMatchObject({
    smtpPoolSize: 20,
    sesRegion: 'eu-west-1',
    sesConfigurationSet: 'events',
    sesSnsTopics: [topic, `${topic}-2`],
  })
  expect(
    faultsOf({
      SMTP_URL: 'smtp://user:hunter2@relay.example?tls=maybe',
      SMTP_POOL_SIZE: '0',
      SES_REGION: 'europe',
      SES_CONFIGURATION_SET: 'a b',
      SES_ENDPOINT: 'ftp://x',
      SES_SNS_TOPICS: 'ses-events',
    }).map((fault) => fault.split(' ')[0]),
  ).toEqual(['SMTP_URL', 'SMTP_POOL_SIZE', 'SES_REGION', 'SES_CONFIGURATION_SET', 'SES_ENDPOINT', 'SES_SNS_TOPICS'])
})

test('MASTER_KEY must be exactly 32 bytes in base64', () => {
  for (const bytes of [31, 33]) expect(faultsOf({ MASTER_KEY: Buffer.alloc(bytes).toString('base64') })).toHaveLength(1)
  const key = randomBytes(32)
  expect(readConfig({ MASTER_KEY: key.toString('base64') }).masterKey).toEqual(key)
})

test('docs/configuration.md is up to date and lists every variable', async () => {
  for (const name of Object.keys(variables)) expect(configurationPage()).toContain(`\`${name}\``)
  expect(await readFile(new URL('../../../../docs/configuration.md', import.meta.url), 'utf8')).toBe(
    configurationPage(),
  )
})

const tlsFiles = { SMTP_SUBMISSION_TLS_CERT: '/c.pem', SMTP_SUBMISSION_TLS_KEY: '/k.pem' }
const files = { certFile: '/c.pem', keyFile: '/k.pem' }
const defaults = { allowBareLf: false, maxConnectionsPerAddress: 20 }

test('INBOUND_SMTP_PORT turns the port for bounces on, with TLS if there is a certificate', () => {
  expect(readConfig({}).inboundSmtp).toBeUndefined()
  expect(readConfig({ INBOUND_SMTP_PORT: '25', HOST: '0.0.0.0' }).inboundSmtp).toEqual({
    host: '0.0.0.0',
    port: 25,
    maxConnectionsPerAddress: 20,
    tls: undefined,
  })
  const env = { INBOUND_SMTP_PORT: '25', INBOUND_SMTP_HOST: '::1', SMTP_MAX_CONNECTIONS_PER_ADDRESS: '3', ...tlsFiles }
  expect(readConfig(env).inboundSmtp).toEqual({
    host: '::1',
    port: 25,
    maxConnectionsPerAddress: 3,
    tls: { certFile: '/c.pem', keyFile: '/k.pem' },
  })
  expect(() => readConfig({ INBOUND_SMTP_PORT: '25', SMTP_SUBMISSION_TLS_CERT: '/c.pem' })).toThrow(
    'SMTP_SUBMISSION_TLS_KEY is required by TLS on INBOUND_SMTP_PORT and must be the path of a PEM file.',
  )
})

test('SMTP_SUBMISSION_PORT turns the SMTP port on, by default on the host of the API', () => {
  expect(readConfig(tlsFiles).submission).toBeUndefined()
  expect(readConfig({ SMTP_SUBMISSION_PORT: '2525' }).submission).toEqual({
    host: '127.0.0.1',
    port: 2525,
    tls: 'off',
    ...defaults,
  })
  const port = { SMTP_SUBMISSION_PORT: '587', HOST: '0.0.0.0' }
  const listen = { host: '0.0.0.0', port: 587, ...defaults }
  expect(readConfig({ ...port, ...tlsFiles }).submission).toEqual({ ...listen, tls: 'starttls', ...files })
  expect(readConfig({ ...port, ...tlsFiles, SMTP_SUBMISSION_TLS: 'off' }).submission).toEqual({
    ...listen,
    tls: 'off',
  })
  const implicit = { ...port, ...tlsFiles, SMTP_SUBMISSION_TLS: 'implicit', SMTP_SUBMISSION_HOST: '::1' }
  expect(readConfig(implicit).submission).toEqual({ host: '::1', port: 587, tls: 'implicit', ...files, ...defaults })
})

test('SMTP_MAX_CONNECTIONS_PER_ADDRESS accepts 1 to 1000', () => {
  const port = { SMTP_SUBMISSION_PORT: '587' }
  const name = 'SMTP_MAX_CONNECTIONS_PER_ADDRESS'
  for (const value of [1, 1_000]) {
    expect(readConfig({ ...port, [name]: String(value) }).submission?.maxConnectionsPerAddress).toBe(value)
  }
  for (const value of ['0', '1001', '-1', 'many']) {
    expect(faultsOf({ ...port, [name]: value })).toEqual([
      `${name} must be a whole number from 1 to 1000, not "${value}".`,
    ])
  }
})

test('SMTP_ALLOW_BARE_LF is read as a flag', () => {
  const port = { SMTP_SUBMISSION_PORT: '587' }
  expect(readConfig({ ...port, SMTP_ALLOW_BARE_LF: 'true' }).submission).toMatchObject({ allowBareLf: true })
  expect(faultsOf({ ...port, SMTP_ALLOW_BARE_LF: 'yes' })).toEqual([
    'SMTP_ALLOW_BARE_LF must be `true` or `false`, not "yes".',
  ])
})

test('TLS on the SMTP port requires a certificate and a key, and production requires TLS', () => {
  const port = { SMTP_SUBMISSION_PORT: '587' }
  const cert = 'SMTP_SUBMISSION_TLS_CERT'
  const key = 'SMTP_SUBMISSION_TLS_KEY'
  const required = (name: string, reason: string) =>
    `${name} is required by ${reason} and must be the path of a PEM file.`
  expect(faultsOf({ ...port, [cert]: '/c.pem' })).toEqual([required(key, 'TLS on SMTP_SUBMISSION_PORT')])
  expect(faultsOf({ ...port, SMTP_SUBMISSION_TLS: 'starttls' })).toEqual(
    [cert, key].map((name) => required(name, 'TLS on SMTP_SUBMISSION_PORT')),
  )
  expect(faultsOf({ ...production, ...port })).toEqual(
    [cert, key].map((name) => required(name, 'SMTP_SUBMISSION_PORT in production')),
  )
  expect(faultsOf({ ...production, ...port, ...tlsFiles, SMTP_SUBMISSION_TLS: 'off' })).toEqual([
    'SMTP_SUBMISSION_TLS cannot be off in production: it must be `starttls` or `implicit`.',
  ])
  expect(faultsOf({ ...production, ...port, ...tlsFiles })).toEqual([])
})

test('TRUSTED_PROXIES accepts up to 100 addresses and ranges, and defaults to loopback and private ranges', () => {
  const read = (TRUSTED_PROXIES: string) => readConfig({ TRUSTED_PROXIES }).trustedProxies.map(formatRange)
  expect(read('203.0.113.7, 10.1.2.3/8,2001:db8::/32,::ffff:192.0.2.0/120')).toEqual([
    '203.0.113.7/32',
    '10.0.0.0/8',
    '2001:db8::/32',
    '192.0.2.0/24',
  ])
  expect(read(Array(100).fill('::1').join())).toHaveLength(100)
  const fallback =
    '127.0.0.0/8,::1/128,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,169.254.0.0/16,fc00::/7,fe80::/10'.split(',')
  expect([read(''), readConfig({}).trustedProxies.map(formatRange)]).toEqual([fallback, fallback])
  for (const wrong of ['proxy', '10.0.0.0/33', '10.0.0', '::1/129', '10.0.0.1,', ',', 'fe80::1%lo', '1.1.1.1/8/8']) {
    expect(faultsOf({ TRUSTED_PROXIES: wrong }), wrong).toEqual([
      `TRUSTED_PROXIES must be a comma-separated list of up to 100 IP addresses and CIDR ranges, not "${wrong}".`,
    ])
  }
  expect(faultsOf({ TRUSTED_PROXIES: Array(101).fill('::1').join() })).toHaveLength(1)
})

const guessable =
  'MASTER_KEY cannot be guessable in production: make a random key with `openssl rand -base64 32`. If the service has already used the current key, move that key to MASTER_KEY_PREVIOUS.'
const weakKey = Buffer.alloc(32, 7).toString('base64')

test('production does not start with a guessable MASTER_KEY, and a previous key may be guessable', () => {
  expect(faultsOf({ ...production, MASTER_KEY: weakKey })).toEqual([guessable])
  expect(faultsOf({ MASTER_KEY: weakKey })).toEqual([])
  expect(readConfig({ ...production, MASTER_KEY_PREVIOUS: weakKey }).masterKeyPrevious).toEqual([Buffer.alloc(32, 7)])
})

test('production does not start without a BASE_URL or with a plain http one', () => {
  const plain =
    'BASE_URL cannot be a plain http URL in production: set it to the https:// URL of the proxy in front of the service.'
  expect(faultsOf({ ...production, BASE_URL: ' ' })).toEqual([
    'BASE_URL is required in production and must be an https:// URL or, outside production, an http:// URL.',
  ])
  for (const BASE_URL of ['http://api.example.com', 'HTTP://api.example.com', 'http://127.0.0.1:3000/']) {
    expect(faultsOf({ ...production, BASE_URL }), BASE_URL).toEqual([plain])
    expect(faultsOf({ BASE_URL }), BASE_URL).toEqual([])
  }
  expect(readConfig({ ...production, BASE_URL: 'https://api.example.com/' }).baseUrl).toBe('https://api.example.com')
  expect(faultsOf({ ...production, MASTER_KEY: weakKey, BASE_URL: 'http://a.example' })).toEqual([guessable, plain])
})

test('production warns about unlimited requests and unsigned audit entries', () => {
  const warned = (env: Record<string, string>) => productionWarnings(readConfig(env)).map(({ variable }) => variable)
  const safe = { ...production, AUDIT_SIGNING_SECRET: 'secret' }
  expect(warned(safe)).toEqual([])
  expect(warned({ ...safe, RATE_LIMITER: 'off' })).toEqual(['RATE_LIMITER'])
  expect(warned({ ...safe, AUDIT_SIGNING_SECRET: '' })).toEqual(['AUDIT_SIGNING_SECRET'])
  expect(warned({ RATE_LIMITER: 'off' })).toEqual([])
})

test('A sign-in provider requires its secret and its issuer, and plain http only to this machine', () => {
  expect(readConfig({}).signIn).toEqual({ google: undefined, github: undefined, oidc: undefined })
  const faultsOf = (env: Record<string, string>): string[] => {
    try {
      readConfig(env)
      return []
    } catch (error) {
      return (error as ConfigFault).faults
    }
  }
  expect(faultsOf({ GOOGLE_CLIENT_ID: 'x', GITHUB_CLIENT_ID: 'x', OIDC_CLIENT_ID: 'x' })).toEqual([
    'GOOGLE_CLIENT_SECRET is required by GOOGLE_CLIENT_ID and must be a client secret.',
    'GITHUB_CLIENT_SECRET is required by GITHUB_CLIENT_ID and must be a client secret.',
    'OIDC_CLIENT_SECRET is required by OIDC_CLIENT_ID and must be a client secret.',
    'OIDC_ISSUER is required by OIDC_CLIENT_ID and must be an https:// URL, or an http:// URL of this machine outside production.',
  ])
  const client = { OIDC_CLIENT_ID: 'x', OIDC_CLIENT_SECRET: 'y' }
  const local = { ...client, OIDC_ISSUER: 'http://127.0.0.1:9000' }
  expect(readConfig(local).signIn.oidc).toEqual({
    name: 'Single sign-on',
    issuer: 'http://127.0.0.1:9000',
    clientId: 'x',
    clientSecret: 'y',
  })
  const fault = 'OIDC_ISSUER must be an https:// URL, or an http:// URL of this machine outside production.'
  expect(faultsOf({ ...client, OIDC_ISSUER: 'http://issuer.example' })).toEqual([fault])
  expect(faultsOf({ ...local, NODE_ENV: 'production' })).toContain(fault)
  const github = { GITHUB_CLIENT_ID: 'x', GITHUB_CLIENT_SECRET: 'y', GITHUB_URL: 'https://git.example/' }
  expect(readConfig(github).signIn.github).toEqual({
    clientId: 'x',
    clientSecret: 'y',
    url: 'https://git.example',
    apiUrl: 'https://api.github.com',
  })
})

test('AD-126 payments are local outside production, off in it, and Stripe needs its key, secret and prices', () => {
  expect(readConfig({ SERVICE_DOMAIN: 'mail.example' }).payments).toEqual({
    provider: { name: 'local' },
    contact: 'billing@mail.example',
  })
  const needed = ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET', 'STRIPE_PRICE_PAYG', 'STRIPE_PRICE_PRO']
  expect(faultsOf({ PAYMENT_PROVIDER: 'stripe' }).map((fault) => fault.split(' ', 1)[0])).toEqual(needed)
  const stripe = {
    PAYMENT_PROVIDER: 'stripe',
    STRIPE_SECRET_KEY: 'sk_1',
    STRIPE_WEBHOOK_SECRET: 'whsec_1',
    STRIPE_PRICE_PAYG: 'price_a',
    STRIPE_PRICE_PRO: 'price_b,price_c',
  }
  expect(readConfig(stripe).payments.provider).toEqual({
    name: 'stripe',
    apiUrl: 'https://api.stripe.com',
    secretKey: 'sk_1',
    webhookSecret: 'whsec_1',
    prices: { payg: ['price_a'], pro: ['price_b', 'price_c'] },
  })
  expect(faultsOf({ ...stripe, STRIPE_PRICE_PAYG: 'price_b' })).toEqual([
    'STRIPE_PRICE_PAYG and STRIPE_PRICE_PRO both contain price_b.',
  ])
  expect(faultsOf({ ...stripe, STRIPE_API_URL: 'http://stripe.example' })).toHaveLength(1)
  expect(faultsOf({ NODE_ENV: 'production', PAYMENT_PROVIDER: 'local' })).toContain(
    'PAYMENT_PROVIDER cannot be local in production: it must be `stripe` or, outside production, `local`.',
  )
})
