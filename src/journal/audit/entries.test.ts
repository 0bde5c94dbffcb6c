/** The audit entry of each action. */
import { afterAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../test/audit/trail.ts'
import { keyClient, keyIdOf } from '../../../test/clients/key-client.ts'
import { expectRefusal } from '../../../test/expect/refusal.ts'
import { openLogFile } from '../../../test/service/log-file.ts'
import { startTestService } from '../../../test/service/service.ts'
import { ops as runOps } from '../../app/command/ops.ts'
import { readConfig } from '../../platform/ground/config/config.ts'
import { newId } from '../../platform/ground/ids.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { actions } from './actions.ts'
import type { AuditEntry } from './append.ts'

const secret = 'audit-test-secret'
const logFile = await openLogFile()
const t = await startTestService({ env: { AUDIT_SIGNING_SECRET: secret }, log: logFile.log })
afterAll(async () => {
  await t.stop()
  await logFile.remove()
})

const acme = await t.org()
const orgId = acme.org.id
const { live } = acme.keys
const liveKeyId = await keyIdOf(t, live)
const { create, patch, revoke, held } = await keyClient(t, acme)
const recordTrail = <T>(work: () => Promise<T>, org = orgId) => withTrail(t.database, org, work)

/** All columns of an entry by the live key. */
const byKey = (action: string, resourceType: string, resourceId: string, metadata: object) => ({
  id: expect.stringMatching(/^aud_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
  actor_user_id: null,
  action,
  resource_type: resourceType,
  resource_id: resourceId,
  metadata: { ...metadata, via: 'api_key', api_key_id: liveKeyId },
  ip_address: '127.0.0.1',
  user_agent: '',
  created_at: expect.any(Date),
  signature: expect.stringMatching(/^[0-9a-f]{64}$/),
})

const opsIn = async (args: string[]): Promise<string> => {
  let output = ''
  const config = readConfig({ DATABASE_URL: t.database.url, AUDIT_SIGNING_SECRET: secret })
  await runOps(config, silentLog(), args, (text) => {
    output += text
  })
  return output
}

describe('keys', () => {
  const restrictions = {
    environment: 'live',
    scopes: ['send:email'],
    tenant_id: null,
    project_id: null,
    allowed_domain_ids: null,
    allowed_cidrs: null,
    rate_limit_per_minute: null,
    expires_at: null,
  }

  test('A-139 A-140 A-141 AD-114 creating, updating and revoking a key each write an entry without the secret', async () => {
    const created = await recordTrail(() => create({ name: 'CI', scopes: ['send:email'] }))
    const { id, key } = created.result.body
    expect(created.trail).toEqual([byKey('api_key.created', 'api_key', id, { name: 'CI', ...restrictions })])
    const changed = await recordTrail(() => patch(id, { name: 'CD', rate_limit_per_minute: 5 }))
    expect(changed.trail).toEqual([
      byKey('api_key.updated', 'api_key', id, {
        ...restrictions,
        name: 'CD',
        rate_limit_per_minute: 5,
        changed: ['name', 'rate_limit_per_minute'],
      }),
    ])
    const revoked = await recordTrail(() => revoke(id))
    const metadata = { name: 'CD', environment: 'live' }
    expect(revoked.trail).toEqual([byKey('api_key.revoked', 'api_key', id, metadata)])
    expect(JSON.stringify([created.trail, changed.trail, revoked.trail])).not.toContain(key.slice(13, -4))
    expect((await recordTrail(() => revoke(id))).trail).toEqual([])
  })

  test('R-10 a refused, empty or unknown key change writes no entry', async () => {
    const narrow = await held({ scopes: ['write:keys'] })
    const { trail } = await recordTrail(async () => {
      expectRefusal(await create({ name: 'x', scopes: ['send:sms'] }, narrow.key), 'SCOPE_ESCALATION')
      expectRefusal(await patch(narrow.id, {}), 'NO_FIELDS')
      expectRefusal(await revoke(narrow.id, narrow.key), 'SELF_REVOKE_FORBIDDEN')
      expectRefusal(await revoke(newId('key')), 'NOT_FOUND')
    })
    expect(trail).toEqual([])
  })
})

describe('suppressions', () => {
  const add = (body: unknown) => t.ask('POST', '/api/v1/suppressions', { key: live, body })
  const remove = (id: string) => t.ask('DELETE', `/api/v1/suppressions/${id}`, { key: live })
  const metadata = (value: string, reason = 'manual') => ({ channel: 'email', value, reason })

  test('A-163 each added suppression writes an entry, but not one that already existed', async () => {
    const one = await recordTrail(() => add({ channel: 'email', value: 'One@example.com' }))
    expect(one.trail).toEqual([
      byKey('suppression.added', 'suppression', one.result.body.id, metadata('one@example.com')),
    ])
    const many = await recordTrail(() =>
      add({
        items: ['one', 'two', 'three', 'two'].map((name) => ({
          channel: 'email',
          value: `${name}@example.com`,
        })),
      }),
    )
    const [, two, three] = many.result.body.data
    expect(many.trail).toEqual([
      byKey('suppression.added', 'suppression', two.id, metadata('two@example.com')),
      byKey('suppression.added', 'suppression', three.id, metadata('three@example.com')),
    ])
  })

  test('A-163 concurrently added suppressions write one entry each', async () => {
    const values = Array.from({ length: 60 }, (_, i) => `at-once-${i % 40}@example.com`)
    const { trail } = await recordTrail(() => Promise.all(values.map((value) => add({ channel: 'email', value }))))
    expect(trail.map(({ metadata }) => metadata?.value).sort()).toEqual([...new Set(values)].sort())
  })

  test('A-164 A-165 removing a suppression writes an entry with its channel, value and reason', async () => {
    const { body } = await add({ channel: 'email', value: 'leaves@example.com' })
    const { trail } = await recordTrail(() => remove(body.id))
    expect(trail).toEqual([byKey('suppression.removed', 'suppression', body.id, metadata('leaves@example.com'))])
    const again = await recordTrail(async () => {
      expectRefusal(await remove(body.id), 'NOT_FOUND')
      expectRefusal(await remove(newId('suppression')), 'NOT_FOUND')
    })
    expect(again.trail).toEqual([])
  })

  test('A-166 AD-98 a refused removal writes no entry, and is logged without the address', async () => {
    const id = newId('suppression')
    await t.database.sql(
      `insert into suppressions (org_id, id, channel, value, reason, source, created_environment,
         created_at, updated_at)
       values ($1, $2, 'email', 'secret-address@example.com', 'complaint', 'provider', 'live', $3, $3)`,
      [orgId, id, t.service.clock.now()],
    )
    const { result: reply, trail } = await recordTrail(() => remove(id))
    expectRefusal(reply, 'SUPPRESSION_PROTECTED')
    expect(trail).toEqual([])
    await expect
      .poll(async () =>
        (await logFile.lines('suppression.remove_refused')).filter((line) => line.suppression_id === id),
      )
      .toEqual([
        expect.objectContaining({
          org_id: orgId,
          key_id: liveKeyId,
          suppression_id: id,
          channel: 'email',
          reason: 'complaint',
          request_id: reply.headers['x-request-id'],
        }),
      ])
    expect(await logFile.text()).not.toContain('secret-address')
  })
})

describe('operator commands', () => {
  test('A-195 A-196 AD-94 changing the plan writes an entry by the service, and setting the same plan writes none', async () => {
    const { org } = await t.org({ plan: 'pro', name: 'Plans' })
    const bySystem = (action: string, from: string, to: string) => ({
      ...byKey(action, 'org', org.id, {}),
      metadata: { from, to, via: 'system' },
      ip_address: null,
      user_agent: '',
    })
    const plan = (name: string) => recordTrail(() => opsIn(['org', 'plan', org.id, name]), org.id)
    expect((await plan('enterprise')).trail).toEqual([bySystem('plan.upgraded', 'pro', 'enterprise')])
    expect((await plan('enterprise')).trail).toEqual([])
    expect((await plan('free')).trail).toEqual([bySystem('plan.downgraded', 'enterprise', 'free')])
    expect((await plan('payg')).trail).toEqual([bySystem('plan.upgraded', 'free', 'payg')])
  })

  test('A-200 A-201 AD-73 XD-31 suspending and unsuspending each write one unsigned entry by the operator tool', async () => {
    const { org } = await t.org({ name: 'Suspended' })
    const byTool = (action: string) => ({
      ...byKey(action, 'org', org.id, {}),
      metadata: { reason: 'unpaid', operator: 'kim' },
      ip_address: null,
      user_agent: 'operator-tool',
      signature: null,
    })
    const suspend = () => opsIn(['org', 'suspend', org.id, '--reason', 'unpaid', '--operator', 'kim'])
    const unsuspend = () => opsIn(['org', 'unsuspend', org.id, '--operator', 'kim'])
    expect((await recordTrail(suspend, org.id)).trail).toEqual([byTool('org.suspended')])
    expect((await recordTrail(suspend, org.id)).trail).toEqual([])
    expect((await recordTrail(unsuspend, org.id)).trail).toEqual([byTool('org.unsuspended')])
    expect((await recordTrail(unsuspend, org.id)).trail).toEqual([])
  })

  test('A-139 AD-94 a key created by the operator writes an entry by the service', async () => {
    const { org } = await t.org({ name: 'Operator' })
    const { result, trail } = await recordTrail(
      () => opsIn(['key', 'create', org.id, '--name', 'CI', '--scopes', 'send:email', '--json']),
      org.id,
    )
    const { id, key } = JSON.parse(result)
    expect(trail).toEqual([
      {
        ...byKey('api_key.created', 'api_key', id, {}),
        metadata: { name: 'CI', environment: 'live', scopes: ['send:email'], via: 'system' },
        ip_address: null,
      },
    ])
    expect(JSON.stringify(trail)).not.toContain(key.slice(13, -4))
  })
})

describe('an entry', () => {
  const entryOf = async (headers: Record<string, string>) => {
    const { result, trail } = await recordTrail(() =>
      t.ask('POST', '/api/v1/tenants', { key: live, body: { name: 'Seen' }, headers }),
    )
    expect(result.status).toBe(201)
    return trail[0]
  }

  test.each([
    [{}, '127.0.0.1'],
    [{ 'x-forwarded-for': '198.51.100.1, 203.0.113.9' }, '203.0.113.9'],
    [{ 'x-forwarded-for': '203.0.113.9:51234' }, '203.0.113.9'],
    [{ 'x-forwarded-for': '2001:DB8::1' }, '2001:db8::1'],
    [{ 'x-forwarded-for': 'nonsense' }, null],
  ])('A-100 AD-93 of a request with headers %j has the address %s', async (headers, address) => {
    expect((await entryOf(headers as Record<string, string>))?.ip_address).toBe(address)
  })

  test('A-101 AD-93 has the first 512 characters of the user agent, or an empty string', async () => {
    expect((await entryOf({ 'user-agent': 'curl/8' }))?.user_agent).toBe('curl/8')
    expect((await entryOf({ 'user-agent': 'x'.repeat(600) }))?.user_agent).toBe('x'.repeat(512))
    expect((await entryOf({}))?.user_agent).toBe('')
  })

  const writeAsUser = () => {
    const { db, audit } = t.service.modules
    const entry: AuditEntry = {
      orgId,
      actor: { kind: 'user', userId: 'usr_ann', ip: '203.0.113.9', userAgent: 'Firefox '.repeat(100) },
      action: 'org.updated',
      resourceType: null,
      resourceId: null,
    }
    return recordTrail(() => db.tx((tx) => audit(tx, entry)))
  }

  test('A-093 A-102 A-103 has an id, the time of the action and a signature', async () => {
    const { clock } = t.service
    const before = clock.now()
    const [row] = (await writeAsUser()).trail
    expect(row?.id).toMatch(/^aud_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
    expect(row?.signature).toMatch(/^[0-9a-f]{64}$/)
    const at = row?.created_at as Date
    expect(at >= before && at <= clock.now()).toBe(true)
  })

  test('A-094 A-097 A-099 of a user has the user id and org, and null for absent fields', async () => {
    expect((await writeAsUser()).trail).toEqual([
      {
        id: expect.stringMatching(/^aud_[0-7][0-9a-hjkmnp-tv-z]{25}$/),
        actor_user_id: 'usr_ann',
        action: 'org.updated',
        resource_type: null,
        resource_id: null,
        metadata: null,
        ip_address: '203.0.113.9',
        user_agent: 'Firefox '.repeat(64),
        created_at: expect.any(Date),
        signature: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ])
  })

  test('A-096 has one of the documented actions', async () => {
    const rows = await t.database.sql<{ action: string }>('select distinct action from audit_entries')
    expect(rows.length).toBeGreaterThan(8)
    for (const { action } of rows) expect(actions).toContain(action)
    expect(new Set(actions).size).toBe(actions.length)
  })
})
