import { afterAll, expect, test } from 'vitest'
import { keyIdOf } from '../../../test/clients/key-client.ts'
import { tenantClient } from '../../../test/clients/tenant-client.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'
import type { MovableClock } from '../../platform/ground/clock.ts'
import type { Spend } from './lines.ts'

const t = await startTestService()
afterAll(() => t.stop())
const clock = t.service.clock as MovableClock
const leavesNoTrace = await watchTables(t.database)
const { usage } = t.service.modules
const readUsage = (key: string, query = '', headers: Record<string, string> = {}) =>
  t.ask('GET', `/api/v1/usage${query}`, { key, headers })
const month = () => clock.now().toISOString().slice(0, 7)
// Away from the end of a month, so that all usage of a test is in the same month.
const now = clock.now()
clock.advance(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 2) - now.getTime())

const nothing = { used: 0, segments: 0 }

test.each([
  ['free', 3_000, 100],
  ['payg', null, null],
  ['pro', 100_000, 10_000],
  ['enterprise', 2_000_000, 200_000],
] as const)('XD-23 an org on the %s plan without usage gets zero counts and its limits', async (plan, email, sms) => {
  const { keys } = await t.org({ plan })
  const reply = await leavesNoTrace(() => readUsage(keys.live))
  expect([reply.status, reply.body]).toEqual([
    200,
    {
      period: month(),
      environment: 'live',
      plan,
      tenant_id: null,
      email: { used: 0, limit: email, remaining: email },
      sms: { ...nothing, limit: sms, remaining: sms },
      spend: { currency: 'USD', used: '0.000000', cap: null, remaining: null },
    },
  ])
  expect((await readUsage(keys.test)).body).toEqual({
    period: month(),
    environment: 'test',
    plan,
    tenant_id: null,
    email: { used: 0, limit: null, remaining: null },
    sms: { ...nothing, limit: null, remaining: null },
    spend: { currency: 'USD', used: '0.000000', cap: null, remaining: null },
  })
})

test('X-304 XD-23 usage is reported for the environment of the key, with limits and spend cap, and by key on request', async () => {
  const { org, keys } = await t.org({ plan: 'pro' })
  await t.database.sql(
    'update orgs set email_monthly = 100, sms_monthly = 5, spend_cap_micros = 200000000 where id = $1',
    [org.id],
  )
  usage.forgetOrg(org.id)
  const tenantId = await tenantClient(t, { keys }).made()
  const [first, second] = [await keyIdOf(t, keys.live), await keyIdOf(t, await t.key(org.id))]
  const testId = await keyIdOf(t, keys.test)
  const spend = (more: Partial<Spend> & Pick<Spend, 'channel' | 'units'>) =>
    usage.reserve({ orgId: org.id, tenantId: null, environment: 'live', keyId: first, ...more })
  await spend({ channel: 'email', units: 80 })
  await spend({ channel: 'sms', units: 4, segments: 9, costMicros: 39_225_001 })
  await spend({ channel: 'email', units: 15, keyId: second, tenantId, costMicros: 1 })
  await spend({ channel: 'email', units: 2, keyId: null })
  await spend({ channel: 'email', units: 7, keyId: testId, environment: 'test' })
  const given = await spend({ channel: 'email', units: 1, keyId: await keyIdOf(t, await t.key(org.id)) })
  await usage.release(given)

  const expected = {
    period: month(),
    environment: 'live',
    plan: 'pro',
    tenant_id: null,
    email: { used: 97, limit: 100, remaining: 3 },
    sms: { used: 4, segments: 9, limit: 5, remaining: 1 },
    spend: { currency: 'USD', used: '39.225002', cap: '200.00', remaining: '160.774998' },
  }
  expect((await readUsage(keys.live)).body).toEqual(expected)
  expect((await readUsage(keys.live, '?by_key=false')).body).toEqual(expected)
  const row = (
    key_id: string | null,
    name: string | null,
    email: number,
    sms: number,
    segments: number,
    money: string,
  ) => ({
    key_id,
    name,
    email,
    sms,
    segments,
    spend: money,
  })
  const byKey = await readUsage(keys.live, '?by_key=true')
  expect(byKey.status).toBe(200)
  expect(byKey.body).toEqual({ ...expected, by_key: expect.any(Array) })
  expect(byKey.body.by_key).toHaveLength(3)
  expect(byKey.body.by_key).toEqual(
    expect.arrayContaining([
      row(first, 'First live key', 80, 4, 9, '39.225001'),
      row(second, 'test', 15, 0, 0, '0.000001'),
      row(null, null, 2, 0, 0, '0.000000'),
    ]),
  )
  expect((await readUsage(keys.test, '?by_key=true')).body).toMatchObject({
    environment: 'test',
    email: { used: 7, limit: null, remaining: null },
    by_key: [row(testId, 'First test key', 7, 0, 0, '0.000000')],
  })
  const other = await t.org({ plan: 'pro' })
  expect((await readUsage(other.keys.live, '?by_key=true')).body).toMatchObject({ email: { used: 0 }, by_key: [] })
})

test('X-304 X-265 by_key is refused for a tenant key and for a platform key with a tenant reference', async () => {
  const { org, keys } = await t.org()
  const tenantId = await tenantClient(t, { keys }).made('active', { external_ref: 'named' })
  const key = await t.key(org.id, { tenantId })
  await leavesNoTrace(async () => {
    expectRefusal(await readUsage(key, '?by_key=true'), 'BY_KEY_NOT_AVAILABLE')
    expectRefusal(
      await readUsage(keys.live, '?by_key=true', { 'x-service-tenant-ref': 'Named' }),
      'BY_KEY_NOT_AVAILABLE',
    )
  })
  const shown = (await readUsage(key)).body
  expect([shown.tenant_id, shown.spend, 'by_key' in shown]).toEqual([tenantId, null, false])
  expect((await readUsage(keys.live, '', { 'x-service-tenant-ref': 'Named' })).body).toEqual(shown)
})

test('XD-23 remaining is 0, never negative, when the limit was lowered below the usage', async () => {
  const { org, keys } = await t.org()
  await usage.reserve({
    orgId: org.id,
    tenantId: null,
    environment: 'live',
    keyId: null,
    channel: 'sms',
    units: 9,
    costMicros: 5_000_000,
  })
  await t.database.sql('update orgs set sms_monthly = 4, spend_cap_micros = 1234567 where id = $1', [org.id])
  usage.forgetOrg(org.id)
  expect((await readUsage(keys.live)).body).toMatchObject({
    sms: { used: 9, limit: 4, remaining: 0 },
    spend: { used: '5.000000', cap: '1.23', remaining: '0.000000' },
  })
})

test('XD-23 a period other than the current month or the 24 before it is rejected', async () => {
  const { org, keys } = await t.org()
  const first = month()
  await usage.reserve({
    orgId: org.id,
    tenantId: null,
    environment: 'live',
    keyId: null,
    channel: 'email',
    units: 3,
  })
  const used = async (query: string) => {
    const { body } = await readUsage(keys.live, query)
    return [body.period, body.email.used]
  }
  expect(await used('')).toEqual([first, 3])
  const inMonths = (n: number) => {
    const at = clock.now()
    clock.advance(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + n, 2) - at.getTime())
  }
  inMonths(1)
  expect(await used('')).toEqual([month(), 0])
  expect(await used(`?period=${first}`)).toEqual([first, 3])
  inMonths(23)
  expect(await used(`?period=${first}`)).toEqual([first, 3])
  inMonths(1)
  const next = new Date(clock.millis() + 40 * 86_400_000).toISOString().slice(0, 7)
  const refused = async (period: string, code: string, message: string) =>
    expectRefusal(await readUsage(keys.live, `?period=${period}`), 'VALIDATION_ERROR', {
      errors: [{ path: ['period'], code, message }],
    })
  for (const period of [first, next]) {
    await refused(period, 'custom', 'Must be the current month or one of the 24 before it, such as 2026-03.')
  }
  for (const period of ['2026-13', '2026-3', 'x', '']) {
    await refused(period, 'invalid_string', 'Must be a month such as 2026-03.')
  }
  expectRefusal(await readUsage(keys.live, '?by_key=yes'), 'VALIDATION_ERROR', {
    errors: [{ path: ['by_key'], code: 'invalid_enum', message: expect.any(String) }],
  })
})
