import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Code } from '../../src/ground/errors.ts'
import { gatedProbe, senderProbe } from '../service/probes.ts'
import { startTestService } from '../service/service.ts'
import { changed, isNotHttp, judge, makeDigest } from './judge.ts'
import { keeperProbe } from './keeper.ts'
import { patience, runs } from './runs.ts'
import { type Aim, type Aimed, shotsAt } from './shots.ts'
import { type Entry, readSurface } from './surface.ts'
import { tell, write } from './wire.ts'

const t = await startTestService({
  env: { RATE_LIMITER: 'off' },
  routes: (modules) => [keeperProbe, gatedProbe(() => undefined), senderProbe(modules)],
})
afterAll(() => t.stop())

const acme = await t.org()
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
  // A caller's own key must not be among what the callers remove.
  return rows.map(({ id }) => id).filter((id) => !id.startsWith('key_'))
}

const usualHeaders = (entry: Entry, session: string): Aim['headers'] =>
  entry.path.startsWith('/api/internal')
    ? fc.constantFrom([['Cookie', `service_session=${session}`]], [])
    : fc
        .tuple(fc.constantFrom(...keys, acme.keys.live), fc.option(fc.uuid(), { freq: 2 }))
        .map(([key, once]) => [
          ['Authorization', `Bearer ${key}`],
          ...(once === null ? [] : [['Idempotency-Key', once] as const]),
        ])

/** A tenant is made from its reference once a request passed every rule but those of the route itself. */
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

/** A rule of the route's own, such as a name that nobody has, is told with the code of a wrong shape. */
const byRule = (code: string | undefined, body: Buffer): boolean => {
  if (code !== 'VALIDATION_ERROR') return false
  const { errors = [] } = (JSON.parse(body.toString('utf8')) as { error: { errors?: { code: string }[] } }).error
  return errors.every((row) => row.code === 'custom')
}

const hit = async (entry: Entry, shot: Aimed, before: Record<string, string>) => {
  const toHead = shot.method === 'HEAD'
  const heard = await tell(t.url, write(shot), { toHead })
  const [answer] = heard.answers
  if (!answer) {
    // An answer given before the whole body was read can be lost with the connection that was to end with it.
    const ends = shot.headers.some(([name, value]) => name === 'Connection' && value === 'close')
    expect([heard.end, ends && shot.body !== undefined]).toEqual(['reset', true])
    const after = await digest()
    expect(changed(before, after)).toEqual([])
    return after
  }
  const code = judge(answer, { toHead, target: shot.target, pages: /^\/(?:t\/c|u)\//.test(entry.path) })
  const aside = shot.hostile.some((part) => ['path', 'target', 'method'].includes(part))
  // What is read as other text than it was would be stored as what nobody sent.
  if (answer.status < 300 && entry.body && shot.body && !aside) expect(isUtf8(shot.body)).toBe(true)
  if (code && entry.codes && !aside && !isNotHttp(answer)) expect([...entry.codes]).toContain(code)
  const after = await digest()
  const refused = answer.status >= 300
  const read = ['GET', 'HEAD'].includes(shot.method)
  if (refused || read) {
    const mayName = shot.headers.some(([name]) => name === 'X-Service-Tenant-Ref')
    const madeTenant = mayName && (!code || !beforeTenant.has(code) || (!toHead && byRule(code, answer.body)))
    const ofTenant = ['tenants', 'audit_entries', 'audit_unlinked']
    expect(changed(before, after).filter((table) => !(madeTenant && ofTenant.includes(table)))).toEqual([])
  }
  return after
}

test.for(entries.map((entry) => [`${entry.method} ${entry.path}`, entry] as const))(
  '%s answers whatever it is sent as documented and changes nothing that it refuses',
  { timeout: patience(60_000) },
  async ([, entry]) => {
    await fill()
    const session = await t.service.sessions.open(owner?.owner_user_id as string, {
      method: 'credentials',
      ip: null,
      userAgent: '',
    })
    const ids = await idsIn()
    let state = await digest()
    const aim: Aim = {
      resolve,
      ids: (prefix) => ids.filter((id) => id.startsWith(`${prefix}_`)),
      headers: usualHeaders(entry, session),
    }
    await fc.assert(
      fc.asyncProperty(shotsAt(entry, aim), async (shot) => {
        try {
          state = await hit(entry, shot, state)
        } catch (error) {
          state = await digest()
          throw error
        }
      }),
      runs(25),
    )
  },
)
