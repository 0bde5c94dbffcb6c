import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Code } from '../../src/platform/ground/errors.ts'
import { ofDashboard } from '../clients/people.ts'
import { gatedProbe, senderProbe } from '../service/probes.ts'
import { startTestService } from '../service/service.ts'
import { echoProbe } from './echo-probe.ts'
import { type HostileRequest, type RequestOptions, requestsTo } from './requests.ts'
import { changedTables, checkResponse, isNotHttp, makeDigest } from './responses.ts'
import { runs, timeoutFor } from './runs.ts'
import { type Entry, readSurface } from './surface.ts'
import { exchange, write } from './wire.ts'

const t = await startTestService({
  env: { RATE_LIMITER: 'off' },
  routes: (modules) => [echoProbe, gatedProbe(() => undefined), senderProbe(modules)],
})
afterAll(() => t.stop())

const acme = await t.org()
// The key of the service for SAML is made once, by the first request that needs it.
await t.service.sso.samlKey()
const { entries, resolve } = await readSurface(t)
const digest = await makeDigest(t.database)
const tenantId = await t.tenant(acme.org.id, { ref: 'known' })
const keys = [
  acme.keys.live,
  acme.keys.test,
  await t.key(acme.org.id, { tenantId }),
  await t.key(acme.org.id, { scopes: ['read:suppressions'] }),
]
const [owner] = await t.database.sql<{ owner_user_id: string }>('select owner_user_id from orgs')

const fill = () =>
  t.database.sql(
    `insert into suppressions (org_id, id, channel, value, reason, source, created_environment, created_at, updated_at)
     select $1, 'sup_01j0000000000000000000' || lpad(n::text, 4, '0'), 'sms', '+1415555' || lpad(n::text, 4, '0'),
       (array['manual', 'stop', 'bounce'])[1 + n % 3], 'api', (array['live', 'test'])[1 + n % 2], $2, $2
     from generate_series(1, 60) n on conflict do nothing`,
    [acme.org.id, new Date()],
  )

const idsIn = async (): Promise<string[]> => {
  const tables = await t.database.sql<{ name: string }>(
    "select table_name as name from information_schema.columns where table_schema = 'public' and column_name = 'id'",
  )
  const rows = await t.database.sql<{ id: string }>(
    tables.map(({ name }) => `select id from "${name}"`).join(' union all '),
  )
  // The test must not delete the keys that it uses.
  return rows.map(({ id }) => id).filter((id) => !id.startsWith('key_'))
}

const usualHeaders = (entry: Entry, session: string): RequestOptions['headers'] =>
  entry.path.startsWith('/api/internal')
    ? fc.constantFrom([['Cookie', `service_session=${session}`], ...Object.entries(ofDashboard)], [])
    : fc
        .tuple(fc.constantFrom(...keys, acme.keys.live), fc.option(fc.uuid(), { freq: 2 }))
        .map(([key, once]) => [
          ['Authorization', `Bearer ${key}`],
          ...(once === null ? [] : [['Idempotency-Key', once] as const]),
        ])

/** A request that passes all rules except those of the route itself creates the tenant that it names. */
const beforeTenant = new Set<Code>([
  'UNAUTHORIZED',
  'ORG_SUSPENDED',
  'IP_NOT_ALLOWED',
  'RATE_LIMITED',
  'TENANT_KEY_FORBIDDEN',
  'INVALID_TENANT_REF',
  'INSUFFICIENT_SCOPE',
  'METHOD_NOT_ALLOWED',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'VALIDATION_ERROR',
  'INVALID_CURSOR',
  'QUERY_BODY_CONFLICT',
])

/** A wrong code or password is refused and counted. */
const countsOfSignIn = new Set([
  'sign_in_attempts',
  'password_guesses',
  'account_codes',
  'login_challenges',
  'local_outbox',
])
const countsAttempts = ({ path }: Entry): boolean => /^\/api\/(?:auth|internal\/user)(?:\/|$)/.test(path)

/** A rule of the route, such as an unknown name, is reported with the same code as an invalid shape. */
const byRule = (code: string | undefined, body: Buffer): boolean => {
  if (code !== 'VALIDATION_ERROR') return false
  const { errors = [] } = (JSON.parse(body.toString('utf8')) as { error: { errors?: { code: string }[] } }).error
  return errors.every((row) => row.code === 'custom')
}

const isPage = ({ path }: Entry): boolean => /^\/(?:t\/c|u)\/|^\/api\/oauth\/authorize$/.test(path)

const sendAndCheck = async (entry: Entry, request: HostileRequest, before: Record<string, string>) => {
  const toHead = request.method === 'HEAD'
  const received = await exchange(t.url, write(request), { toHead })
  const [answer] = received.answers
  if (!answer) {
    // A response that is sent before the whole body was read can be lost when the connection closes.
    const closes = request.headers.some(([name, value]) => name === 'Connection' && value === 'close')
    expect([received.end, closes && request.body !== undefined]).toEqual(['reset', true])
    const after = await digest()
    expect(changedTables(before, after)).toEqual([])
    return after
  }
  const code = checkResponse(answer, { toHead, target: request.target, pages: isPage(entry) })
  const otherRoute = request.hostile.some((part) => ['path', 'target', 'method'].includes(part))
  // A body that is not valid UTF-8 must not succeed, because the stored text would differ from the sent bytes.
  if (answer.status < 300 && entry.body && request.body && !otherRoute) expect(isUtf8(request.body)).toBe(true)
  if (code && entry.codes && !otherRoute && !isNotHttp(answer)) expect([...entry.codes]).toContain(code)
  const after = await digest()
  const refused = answer.status >= 300
  const read = ['GET', 'HEAD'].includes(request.method)
  if (refused || read) {
    const mayName = request.headers.some(([name]) => name === 'X-Service-Tenant-Ref')
    const madeTenant = mayName && (!code || !beforeTenant.has(code) || (!toHead && byRule(code, answer.body)))
    const ofAudit = ['audit_entries', 'audit_unlinked']
    const isAudited = read && entry.path === '/api/internal/org/export'
    const allowed = new Set([
      ...(madeTenant ? ['tenants', ...ofAudit] : []),
      ...(isAudited ? ofAudit : []),
      ...(countsAttempts(entry) ? countsOfSignIn : []),
    ])
    expect(changedTables(before, after).filter((table) => !allowed.has(table))).toEqual([])
  }
  return after
}

test.for(entries.map((entry) => [`${entry.method} ${entry.path}`, entry] as const))(
  '%s gives a documented response to any request, and a refused request changes nothing',
  { timeout: timeoutFor(60_000) },
  async ([, entry]) => {
    await fill()
    const session = await t.service.sessions.open(owner?.owner_user_id as string, {
      method: 'credentials',
      ip: null,
      userAgent: '',
    })
    const ids = await idsIn()
    let state = await digest()
    const options: RequestOptions = {
      resolve,
      ids: (prefix) => ids.filter((id) => id.startsWith(`${prefix}_`)),
      headers: usualHeaders(entry, session),
    }
    await fc.assert(
      fc.asyncProperty(requestsTo(entry, options), async (request) => {
        try {
          state = await sendAndCheck(entry, request, state)
        } catch (error) {
          state = await digest()
          throw error
        }
      }),
      runs(3),
    )
  },
)
