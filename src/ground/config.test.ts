import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { ConfigFault, configurationPage, readConfig, variables } from './config.ts'

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
  MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  EMAIL_PROVIDER: 'ses',
  SMS_PROVIDER: 'aws',
}

test('with nothing set the service runs for development on the loopback address', () => {
  expect(readConfig({}, false)).toMatchObject({
    production: false,
    host: '127.0.0.1',
    port: 3000,
    serviceDomain: 'tidings.test',
    databaseUrl: undefined,
    dataDir: './.data',
    emailProviders: ['local'],
    smsProviders: ['local'],
    devTools: true,
    trustedProxyHops: 1,
    idempotencyTtlHours: 24,
    logFormat: 'json',
  })
})

test('every fault is reported at once, with the variable and what it takes', () => {
  expect(
    faultsOf({ PORT: 'http', HOST: '', IDEMPOTENCY_TTL_HOURS: '169', DATABASE_URL: 'mysql://u:secret@h/d' }),
  ).toEqual([
    'PORT takes a whole number from 0 to 65535, not "http".',
    'DATABASE_URL takes a postgres:// address of a PostgreSQL 15 or newer.',
    'IDEMPOTENCY_TTL_HOURS takes a whole number from 1 to 168, not "169".',
  ])
})

test.each(['0', '169', '-1', '1.5', 'day', '1e2'])('X-343 IDEMPOTENCY_TTL_HOURS %j stops the start', (value) => {
  expect(faultsOf({ IDEMPOTENCY_TTL_HOURS: value })).toEqual([
    `IDEMPOTENCY_TTL_HOURS takes a whole number from 1 to 168, not "${value}".`,
  ])
})

test('X-343 IDEMPOTENCY_TTL_HOURS takes 1 to 168 and is 24 by default', () => {
  expect(readConfig({}).idempotencyTtlHours).toBe(24)
  expect(readConfig({ IDEMPOTENCY_TTL_HOURS: '1' }).idempotencyTtlHours).toBe(1)
  expect(readConfig({ IDEMPOTENCY_TTL_HOURS: '168' }).idempotencyTtlHours).toBe(168)
})

test('DNS_SERVERS takes addresses, with a port or without', () => {
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

test('a secret that cannot be read is never shown', () => {
  for (const name of ['MASTER_KEY', 'DATABASE_URL', 'REDIS_URL', 'SMTP_URL', 'METRICS_TOKEN']) {
    expect(faultsOf({ [name]: 'hunter2' }).join()).not.toContain('hunter2')
  }
})

test('production names everything it lacks and everything it forbids, at once', () => {
  expect(
    faultsOf({
      NODE_ENV: 'production',
      DEV_TOOLS: 'on',
      WEBHOOK_ALLOW_INSECURE: 'true',
      EMAIL_PROVIDER: 'local',
    }),
  ).toEqual([
    'SERVICE_DOMAIN is required in production: it takes a domain name.',
    'MASTER_KEY is required in production: it takes 32 bytes in base64, for example from `openssl rand -base64 32`.',
    'SMS_PROVIDER is required in production: it takes `aws`, `smpp` or, outside production, `local`; several, comma-separated, are tried in order.',
    'EMAIL_PROVIDER cannot be local in production: it takes `smtp`, `ses` or, outside production, `local`; several, comma-separated, are tried in order.',
    'DEV_TOOLS cannot be turned on in production: leave it out or set it to off.',
    'WEBHOOK_ALLOW_INSECURE cannot be true in production: leave it out or set it to false.',
  ])
  expect(readConfig(production)).toMatchObject({
    production: true,
    devTools: false,
    serviceDomain: 'mail.example.com',
  })
})

test('a provider that needs an address says so', () => {
  expect(faultsOf({ EMAIL_PROVIDER: 'ses,smtp', SMS_PROVIDER: 'smpp' })).toEqual([
    'SMTP_URL is required by EMAIL_PROVIDER=smtp: it takes an smtp:// or smtps:// address.',
    'SMPP_URL is required by SMS_PROVIDER=smpp: it takes an smpp:// or ssmpp:// address.',
  ])
  expect(readConfig({ EMAIL_PROVIDER: 'ses, smtp', SMTP_URL: 'smtp://relay:25' }).emailProviders).toEqual([
    'ses',
    'smtp',
  ])
})

test('what the providers need is read, and checked before anything is sent', () => {
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

test('a master key is 32 bytes of base64, nothing shorter or longer', () => {
  for (const bytes of [31, 33]) expect(faultsOf({ MASTER_KEY: Buffer.alloc(bytes).toString('base64') })).toHaveLength(1)
  expect(readConfig({ MASTER_KEY: production.MASTER_KEY }).masterKey).toEqual(Buffer.alloc(32, 7))
})

test('the reference page holds every variable and is the one in docs/', async () => {
  for (const name of Object.keys(variables)) expect(configurationPage()).toContain(`\`${name}\``)
  expect(await readFile(new URL('../../docs/configuration.md', import.meta.url), 'utf8')).toBe(configurationPage())
})

const tlsFiles = { SMTP_SUBMISSION_TLS_CERT: '/c.pem', SMTP_SUBMISSION_TLS_KEY: '/k.pem' }
const files = { certFile: '/c.pem', keyFile: '/k.pem' }

test('mail is taken over SMTP where a port is set, on the host of the API unless another is named', () => {
  expect(readConfig(tlsFiles).submission).toBeUndefined()
  expect(readConfig({ SMTP_SUBMISSION_PORT: '2525' }).submission).toEqual({
    host: '127.0.0.1',
    port: 2525,
    tls: 'off',
  })
  const port = { SMTP_SUBMISSION_PORT: '587', HOST: '0.0.0.0' }
  const listen = { host: '0.0.0.0', port: 587 }
  expect(readConfig({ ...port, ...tlsFiles }).submission).toEqual({ ...listen, tls: 'starttls', ...files })
  expect(readConfig({ ...port, ...tlsFiles, SMTP_SUBMISSION_TLS: 'off' }).submission).toEqual({
    ...listen,
    tls: 'off',
  })
  const implicit = { ...port, ...tlsFiles, SMTP_SUBMISSION_TLS: 'implicit', SMTP_SUBMISSION_HOST: '::1' }
  expect(readConfig(implicit).submission).toEqual({ host: '::1', port: 587, tls: 'implicit', ...files })
})

test('encryption of the SMTP port needs both files, and production needs encryption', () => {
  const port = { SMTP_SUBMISSION_PORT: '587' }
  const [cert, key] = ['SMTP_SUBMISSION_TLS_CERT', 'SMTP_SUBMISSION_TLS_KEY']
  const required = (name: string, why: string) => `${name} is required by ${why}: it takes the path of a PEM file.`
  expect(faultsOf({ ...port, [cert]: '/c.pem' })).toEqual([required(key, 'TLS on SMTP_SUBMISSION_PORT')])
  expect(faultsOf({ ...port, SMTP_SUBMISSION_TLS: 'starttls' })).toEqual(
    [cert, key].map((name) => required(name, 'TLS on SMTP_SUBMISSION_PORT')),
  )
  expect(faultsOf({ ...production, ...port })).toEqual(
    [cert, key].map((name) => required(name, 'SMTP_SUBMISSION_PORT in production')),
  )
  expect(faultsOf({ ...production, ...port, ...tlsFiles, SMTP_SUBMISSION_TLS: 'off' })).toEqual([
    'SMTP_SUBMISSION_TLS cannot be off in production: it takes `starttls` or `implicit`.',
  ])
  expect(faultsOf({ ...production, ...port, ...tlsFiles })).toEqual([])
})
