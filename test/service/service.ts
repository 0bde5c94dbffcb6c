/** Starts a whole service on its own database, with a plain HTTP client. */
import { Agent, request } from 'undici'
import { onTestFinished } from 'vitest'
import { type CreatedOrg, makeCreateOrg } from '../../src/app/operator/create-org.ts'
import { build, type Overrides, type Service } from '../../src/app/wiring/build.ts'
import { mintKey } from '../../src/customers/keys/key-secret.ts'
import { scopes } from '../../src/customers/keys/scopes.ts'
import type { Plan } from '../../src/customers/orgs/plans.ts'
import { type Config, readConfig } from '../../src/platform/ground/config/config.ts'
import { makeVault } from '../../src/platform/ground/crypto.ts'
import { newId } from '../../src/platform/ground/ids.ts'
import { type Log, silentLog } from '../../src/platform/ground/log.ts'
import type { Environment } from '../../src/platform/ground/scope.ts'
import { newDkimKey } from '../../src/senders/domains/dkim-key.ts'
import { cheapHash } from './cheap-password.ts'
import { makeTestDatabase, type TestDatabase } from './database.ts'
import { sharedOr } from './shared-service.ts'

export type Reply = {
  status: number
  headers: Record<string, string | string[] | undefined>
  // biome-ignore lint/suspicious/noExplicitAny: tests assert whole bodies by value
  body: any
  text: string
}

export type Ask = {
  key?: string
  body?: unknown
  /** Sent unchanged instead of `body`. */
  raw?: string | Buffer
  headers?: Record<string, string>
}

export type KeyOptions = {
  environment?: Environment
  scopes?: readonly string[]
  tenantId?: string | null
  projectId?: string | null
  allowedDomainIds?: string[]
  allowedCidrs?: string[]
  ratePerMinute?: number
  expiresAt?: Date
}

export type TestService = {
  service: Service
  database: TestDatabase
  url: string
  ask(method: string, path: string, options?: Ask): Promise<Reply>
  org(options?: { plan?: Plan; name?: string }): Promise<CreatedOrg>
  /** Inserts a key with any restriction directly into the database. */
  key(orgId: string, options?: KeyOptions): Promise<string>
  tenant(orgId: string, options?: { status?: string; ref?: string }): Promise<string>
  /** Gives the org a webhook endpoint, without which no event of a sent message is written. It is disabled. */
  endpoint(orgId: string): Promise<void>
  stop(): Promise<void>
}

export type ServiceOptions = Overrides & {
  config?: Partial<Config>
  env?: Record<string, string>
  log?: Log
  /** The service is not ready until the test starts the worker. */
  worker?: boolean
  database?: TestDatabase
}

/** Tests do not depend on the key itself, so all domains of a run share one. */
let dkimKey: ReturnType<typeof newDkimKey> | undefined
const sharedDkimKey = () => {
  dkimKey ??= newDkimKey()
  return dkimKey
}

export const testMasterKey = Buffer.alloc(32, 7)

const agent = new Agent({ keepAliveTimeout: 1_000, connections: 256 })

const makeAsk =
  (url: string): TestService['ask'] =>
  async (method, path, { key, body, raw, headers } = {}) => {
    const payload = raw ?? (body === undefined ? null : JSON.stringify(body))
    const response = await request(`${url}${path}`, {
      method: method as 'GET',
      dispatcher: agent,
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(payload !== null && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: payload,
    })
    const text = await response.body.text()
    let parsed: unknown
    try {
      parsed = text === '' ? undefined : JSON.parse(text)
    } catch {
      parsed = undefined
    }
    return { status: response.statusCode, headers: response.headers, body: parsed, text }
  }

export const startTestService = async (options: ServiceOptions = {}): Promise<TestService> => {
  const database = options.database ?? (await makeTestDatabase())
  const config: Config = {
    ...readConfig({
      PORT: '0',
      LOG_LEVEL: 'silent',
      MASTER_KEY: testMasterKey.toString('base64'),
      // Nothing listens there, so tests never query the machine's own DNS servers.
      DNS_SERVERS: '127.0.0.1:1',
      // Services on the same database share their counts. All others are separated by prefix on a shared Redis.
      ...(process.env.REDIS_URL && {
        REDIS_URL: process.env.REDIS_URL,
        REDIS_PREFIX: new URL(database.url).pathname,
      }),
      ...options.env,
    }),
    databaseConnectTimeoutMs: 20_000,
    ...options.config,
  }
  const service = await build(
    { ...config, masterKey: config.masterKey ?? testMasterKey },
    database.url,
    options.log ?? silentLog(),
    {
      checkResponses: true,
      newDkimKey: sharedDkimKey,
      hashPassword: cheapHash,
      ...options,
    },
  )
  database.backgroundWrites.push(service.modules.outbox.flushed)
  const url = await service.startApi({ worker: options.worker ?? false })
  const { db, clock } = service
  const { serviceDomain } = config
  const vault = makeVault(testMasterKey)
  const { create } = makeCreateOrg({
    db,
    clock,
    baseUrl: url,
    serviceDomain,
    vault,
    newKey: sharedDkimKey,
    hash: cheapHash,
  })

  return {
    service,
    database,
    url,
    ask: makeAsk(url),
    org: ({ plan = 'enterprise', name = 'Acme' } = {}) => create({ name, plan, withSenders: true }),
    key: async (orgId, o = {}) => {
      const environment = o.environment ?? 'live'
      const { key, hash, prefix, lastFour } = mintKey(environment)
      await database.sql(
        `insert into api_keys (org_id, id, hash, name, environment, prefix, last_four, scopes, tenant_id, project_id,
           allowed_domain_ids, allowed_cidrs, rate_limit_per_minute, expires_at, created_at, updated_at)
         values ($1, $2, $3, 'test', $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14)`,
        [
          orgId,
          newId('key'),
          hash,
          environment,
          prefix,
          lastFour,
          o.scopes ?? scopes,
          o.tenantId ?? null,
          o.projectId ?? null,
          o.allowedDomainIds ?? null,
          o.allowedCidrs ?? null,
          o.ratePerMinute ?? null,
          o.expiresAt ?? null,
          clock.now(),
        ],
      )
      return key
    },
    tenant: async (orgId, { status = 'active', ref } = {}) => {
      const id = newId('tenant')
      await database.sql(
        `insert into tenants (org_id, id, slug, name, external_ref, status, created_environment, created_at, updated_at)
         values ($1, $2, $2, $2, $3, $4, 'live', $5, $5)`,
        [orgId, id, ref?.toLowerCase() ?? null, status, clock.now()],
      )
      return id
    },
    endpoint: async (orgId) => {
      await database.sql(
        `insert into webhook_endpoints (org_id, id, url, events, enabled, secret, created_environment, created_at,
           updated_at)
         values ($1, 'whe_disabled', 'https://example.test', '{}', false, '', 'live', $2, $2)
         on conflict do nothing`,
        [orgId, clock.now()],
      )
    },
    stop: async () => {
      await service.stop()
      if (!options.database) await database.drop()
    },
  }
}

/**
 * The default service that the files of a worker share, because starting one takes longer than most tests. A file that
 * uses it makes orgs of its own, does not move the clock, and does not look at the rows of other orgs. The service ends
 * with the worker, and nobody stops it.
 */
export const sharedTestService = (): Promise<TestService> =>
  sharedOr(async () => startTestService({ database: await makeTestDatabase('shared') }))

/** Like `startTestService`, but the service stops when the current test ends. */
export const testService = async (options: ServiceOptions = {}): Promise<TestService> => {
  const started = await startTestService(options)
  onTestFinished(started.stop)
  return started
}
