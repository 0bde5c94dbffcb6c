import { setTimeout } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { tenantEntry as entry, withTrail } from '../../../test/audit/trail.ts'
import { keyIdOf } from '../../../test/clients/key-client.ts'
import { tenantClient } from '../../../test/clients/tenant-client.ts'
import { iso, tick } from '../../../test/expect/instants.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'
import type { MovableClock } from '../../platform/ground/clock.ts'
import { newId } from '../../platform/ground/ids.ts'

const t = await startTestService()
afterAll(() => t.stop())

const acme = await t.org()
const { live, test: testKey } = acme.keys
const { get, quota, usage, made } = tenantClient(t, acme)
const leavesNoTrace = await watchTables(t.database)
const liveKeyId = await keyIdOf(t, live)
const byKey = { via: 'api_key', api_key_id: liveKeyId }
const recordTrail = <T>(work: () => Promise<T>) => withTrail(t.database, acme.org.id, work)

describe('quota', () => {
  test('A-290 A-173 AD-109 a quota update sets the given limits, keeps omitted ones, and null removes a limit', async () => {
    const id = await made()
    const before = (await get(id)).body
    await tick(t.service.clock)
    const { result: reply, trail } = await recordTrail(() => quota(id, { email_monthly: 50_000, sms_monthly: null }))
    expect([reply.status, reply.body]).toEqual([
      200,
      { tenant_id: id, email_monthly: 50_000, sms_monthly: null, updated_at: iso },
    ])
    expect(reply.body.updated_at > before.updated_at).toBe(true)
    expect((await get(id)).body).toEqual({
      ...before,
      quotas: { email_monthly: 50_000, sms_monthly: null },
      updated_at: reply.body.updated_at,
    })
    const none = { email_monthly: null, sms_monthly: null }
    expect(trail).toEqual([
      entry('tenant.quota_updated', id, {
        old: none,
        new: { email_monthly: 50_000, sms_monthly: null },
        ...byKey,
      }),
    ])
    const limitsAfter = async (body: object) => {
      const { email_monthly, sms_monthly } = (await quota(id, body)).body
      return [email_monthly, sms_monthly]
    }
    expect(await limitsAfter({ sms_monthly: 0 })).toEqual([50_000, 0])
    expect(await limitsAfter({ email_monthly: 1_000_000_000 })).toEqual([1_000_000_000, 0])
    expect(await limitsAfter({ email_monthly: null })).toEqual([null, 0])
    expect(await limitsAfter({ email_monthly: 0, sms_monthly: null })).toEqual([0, null])
  })

  test('AD-109 a quota update without a limit, or with an invalid one, is rejected', async () => {
    const id = await made()
    await leavesNoTrace(async () => {
      expectRefusal(await quota(id, {}), 'NO_FIELDS')
      expectRefusal(await quota(id, { other: 1 }), 'NO_FIELDS')
      for (const figure of [-1, 1_000_000_001, 1.5, '5', true, Number.MAX_SAFE_INTEGER]) {
        for (const name of ['email_monthly', 'sms_monthly']) {
          const reply = await quota(id, { [name]: figure })
          expectRefusal(reply, 'VALIDATION_ERROR', {
            errors: [{ path: [name], code: expect.any(String), message: expect.any(String) }],
          })
        }
      }
    })
  })

  test('AD-109 a quota applies to the next send, also in another process', async () => {
    const second = await startTestService({ database: t.database })
    try {
      const id = await made()
      const spend = {
        orgId: acme.org.id,
        tenantId: id,
        environment: 'live',
        keyId: null,
        channel: 'sms',
      } as const
      const { usage: here } = t.service.modules
      const { usage: there } = second.service.modules
      // Wait for the notification of the creation, so that only the quota update can clear the cached allowance.
      await setTimeout(200)
      await there.reserve({ ...spend, units: 1 })
      await quota(id, { sms_monthly: 2 })
      await here.reserve({ ...spend, units: 1 })
      await expect(here.reserve({ ...spend, units: 1 })).rejects.toMatchObject({
        code: 'TENANT_QUOTA_EXCEEDED',
      })
      await expect
        .poll(() =>
          there.reserve({ ...spend, units: 1 }).then(
            () => 'passed',
            (error) => error.code,
          ),
        )
        .toBe('TENANT_QUOTA_EXCEEDED')
    } finally {
      await second.stop()
    }
  })
})

describe('usage', () => {
  test("A-289 AD-102 a tenant's usage reports the tenant's own counts and limits per environment", async () => {
    const id = await made()
    await quota(id, { email_monthly: 100 })
    const spend = { orgId: acme.org.id, tenantId: id, keyId: liveKeyId } as const
    const { usage: reservations } = t.service.modules
    await reservations.reserve({ ...spend, environment: 'live', channel: 'email', units: 30 })
    await reservations.reserve({
      ...spend,
      environment: 'live',
      channel: 'sms',
      units: 4,
      segments: 9,
      costMicros: 58_500,
    })
    await reservations.reserve({ ...spend, environment: 'test', channel: 'email', units: 2 })
    await reservations.reserve({ ...spend, tenantId: null, environment: 'live', channel: 'email', units: 1_000 })
    const period = t.service.clock.now().toISOString().slice(0, 7)
    const expected = {
      period,
      environment: 'live',
      plan: 'enterprise',
      tenant_id: id,
      email: { used: 30, limit: 100, remaining: 70 },
      sms: { used: 4, segments: 9, limit: null, remaining: null },
      spend: null,
    }
    expect(await usage(id)).toMatchObject({ status: 200, body: expected })
    expect((await usage(id)).body).toEqual(expected)
    expect((await usage(id, `?period=${period}`)).body).toEqual(expected)
    expect((await usage(id, '', testKey)).body).toEqual({
      ...expected,
      environment: 'test',
      email: { used: 2, limit: 100, remaining: 98 },
      sms: { used: 0, segments: 0, limit: null, remaining: null },
    })
    const tenantKey = await t.key(acme.org.id, { tenantId: id })
    expect((await usage(id, '', tenantKey)).body).toEqual(expected)
    expect((await t.ask('GET', '/api/v1/usage', { key: tenantKey })).body).toEqual(expected)
    expectRefusal(await usage(await made(), '', tenantKey), 'TENANT_FORBIDDEN')
  })

  test('A-289 the usage of an unknown tenant is not found, and that of an erased one can be read', async () => {
    const other = await t.org({ name: 'Other usage' })
    const foreign = await tenantClient(t, other).made()
    for (const id of [newId('tenant'), foreign, 'ten_x']) expectRefusal(await usage(id), 'NOT_FOUND')
    expect((await usage(await made('erased'))).status).toBe(200)
  })

  test.each([
    ...['2026-13', '2026-1', 'now', ''].map((period) => [period, 'invalid_string'] as const),
    ...['1999-01', '2999-01'].map((period) => [period, 'custom'] as const),
  ])('the period %s is rejected with %s', async (period, code) => {
    expectRefusal(await usage(await made(), `?period=${period}`), 'VALIDATION_ERROR', {
      errors: [{ path: ['period'], code, message: expect.any(String) }],
    })
  })

  test('A-289 usage starts at zero in a new month, and earlier months can still be read', async () => {
    const other = await startTestService()
    try {
      const org = await other.org()
      const client = tenantClient(other, org)
      const id = await client.made()
      const clock = other.service.clock as MovableClock
      const period = clock.now().toISOString().slice(0, 7)
      await other.service.modules.usage.reserve({
        orgId: org.org.id,
        tenantId: id,
        environment: 'live',
        keyId: null,
        channel: 'email',
        units: 5,
      })
      clock.advance(32 * 86_400_000)
      expect((await client.usage(id)).body.email.used).toBe(0)
      expect((await client.usage(id, `?period=${period}`)).body.email.used).toBe(5)
    } finally {
      await other.stop()
    }
  })
})
