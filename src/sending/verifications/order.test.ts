/** The order of the rules for one-time codes: a start that breaks two of them gets the error of the earlier one. */
import { afterAll, expect, test } from 'vitest'
import type { Body } from '../../../test/clients/mailer.ts'
import { simulated } from '../../../test/clients/texter.ts'
import { verifier } from '../../../test/clients/verifier.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'
import type { Code } from '../../platform/ground/errors.ts'

const t = await startTestService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const anywhere = await verifier(t, { plan: 'payg' })
const onlyUk = await verifier(t, { plan: 'payg' })
await onlyUk.geo('GB')
/** Its ceilings are reached, and its quotas are used up. */
const full = await verifier(t, { plan: 'payg' })
const crowded = full.newNumber()
for (let i = 0; i < 5; i++) await full.started({ to: crowded })
for (let i = 0; i < 5; i++) await full.started({ rate_limit_key: 'k' })
await t.database.sql('update orgs set sms_monthly = 0, email_monthly = 0 where id = $1', [full.orgId])
t.service.modules.usage.forgetOrg(full.orgId)

const premium = '+19005550100'
const satellite = '+8816123456789'
const india = '+919876543210'
const gone = '+15125550111'
await anywhere.suppress(gone)
await full.suppress(crowded)
const suppressedMail = 'gone@example.com'
await anywhere.suppress(suppressedMail, 'bounce', null, 'email')
const dlt = await anywhere.dltTemplate()
const used = { 'idempotency-key': 'used' }
await anywhere.started({}, { headers: used })

type How = { own?: typeof anywhere; headers?: Record<string, string>; more?: object }
type Case = [earlier: Code, later: string, body: Body, how?: How]
const mail = { channel: 'email', to: 'ada@example.com', from: 'login@example.test' }
const atTo = { errors: [{ path: ['to'], code: 'custom', message: expect.any(String) }] }
const atTemplate = { errors: [{ path: ['template'], code: 'custom', message: expect.any(String) }] }

const cases: Case[] = [
  ['VALIDATION_ERROR', 'NO_SENDER', { to: 'x', from: null }, { more: atTo }],
  ['NO_SENDER', 'idempotency', { from: null }, { headers: used }],
  ['IDEMPOTENCY_MISMATCH', 'a premium number', { to: premium }, { headers: used }],
  ['UNDELIVERABLE_DESTINATION', 'the allowlist', { to: premium }, { own: onlyUk }],
  ['HIGH_COST_DESTINATION', 'the allowlist', { to: satellite }, { own: onlyUk }],
  ['SMS_DESTINATION_NOT_ALLOWED', 'DLT', { to: india }, { own: onlyUk }],
  ['DLT_TEMPLATE_REQUIRED', 'the sender', { to: india, from: 'Nobody' }],
  ['VALIDATION_ERROR', 'the sender', { to: india, from: 'Nobody', dlt_template_id: dlt }, { more: atTemplate }],
  ['SENDER_NOT_REGISTERED', 'suppression', { to: gone, from: 'Nobody' }],
  ['SENDER_DOMAIN_NOT_VERIFIED', 'suppression', { ...mail, to: suppressedMail, from: 'a@other.example' }],
  ['INVALID_FROM', 'suppression', { ...mail, to: suppressedMail, from: 'nobody' }],
  ['UNDELIVERABLE_DESTINATION', 'the sandbox', { ...mail, to: suppressedMail, from: anywhere.sandbox }],
  ['SANDBOX_RECIPIENT_NOT_ALLOWED', 'quota', { ...mail, from: full.sandbox }, { own: full }],
  ['UNDELIVERABLE_DESTINATION', 'the ceilings', { to: crowded }, { own: full }],
  ['RATE_LIMITED', 'quota', { rate_limit_key: 'k' }, { own: full }],
]

test.each(cases)('S-043 S-051 SD-14 %s comes before %s, and nothing is written', async (earlier, _, body, how = {}) => {
  const { own = anywhere, headers = {}, more = {} } = how
  expectRefusal(await leavesNoTrace(() => own.start(body, { headers })), earlier, more)
})

test.each(['+19005550100', '+12129760100'])(
  'S-039 SD-12 X-237 the premium number %s is refused with any key',
  async (to) => {
    for (const key of [anywhere.live, anywhere.test]) {
      expectRefusal(await leavesNoTrace(() => anywhere.start({ to }, { key })), 'UNDELIVERABLE_DESTINATION')
    }
    expect((await anywhere.start({ to: '+12129000100' })).status).toBe(201)
  },
)

test.each(['+870123456789', '+878123456789', '+881123456789', satellite, '+882123456789', '+883123456789'])(
  'S-040 X-238 the network number %s is refused with any key',
  async (to) => {
    for (const key of [anywhere.live, anywhere.test]) {
      expectRefusal(await leavesNoTrace(() => anywhere.start({ to }, { key })), 'HIGH_COST_DESTINATION')
    }
  },
)

test('S-055 S-214 X-189 the destination list applies to SMS codes with any key, and not to email codes', async () => {
  for (const key of [onlyUk.live, onlyUk.test]) {
    const reply = await leavesNoTrace(() => onlyUk.start({ to: '+15125550100' }, { key }))
    expectRefusal(reply, 'SMS_DESTINATION_NOT_ALLOWED')
    expect((await onlyUk.start({}, { key })).status).toBe(201)
    expect((await onlyUk.startEmail({}, { key })).status).toBe(201)
  }
})

test.each(['bounce', 'complaint', 'manual'])(
  'X-237 SD-16 a destination suppressed for %s gets no code',
  async (reason) => {
    const to = anywhere.newAddress()
    await anywhere.suppress(to, reason, null, 'email')
    for (const key of [anywhere.live, anywhere.test]) {
      const reply = await leavesNoTrace(() => anywhere.startEmail({ to: to.toUpperCase() }, { key }))
      expectRefusal(reply, 'UNDELIVERABLE_DESTINATION')
    }
  },
)

test('SD-16 a number that replied STOP gets no code, and an address that unsubscribed gets one', async () => {
  const stopped = anywhere.newNumber()
  await anywhere.suppress(stopped, 'stop')
  expectRefusal(await leavesNoTrace(() => anywhere.start({ to: stopped })), 'UNDELIVERABLE_DESTINATION')
  const to = anywhere.newAddress()
  await anywhere.suppress(to, 'unsubscribe', null, 'email')
  expect((await anywhere.startEmail({ to })).status).toBe(201)
})

test('R-29 a start that its quota refuses has spent its unit of the ceilings, and nothing else', async () => {
  const own = await verifier(t, { plan: 'payg' })
  await t.database.sql('update orgs set sms_monthly = 0 where id = $1', [own.orgId])
  t.service.modules.usage.forgetOrg(own.orgId)
  const to = '+447946999999'
  for (let i = 0; i < 5; i++) {
    const reply = await own.start({ to })
    expect([reply.status, reply.body.error.code]).toEqual([429, 'USAGE_LIMIT_EXCEEDED'])
  }
  expectRefusal(await leavesNoTrace(() => own.start({ to })), 'RATE_LIMITED')
  expect(await own.used()).toEqual({})
  expect(await own.count()).toBe(0)
  expect((await own.codesSent()).filter((entry) => entry.to.includes(to))).toEqual([])
})

test('S-061 the quota of a tenant counts its codes', async () => {
  const own = await verifier(t, { plan: 'payg' })
  const tenantId = await t.tenant(own.orgId)
  const key = await t.key(own.orgId, { tenantId })
  await t.database.sql('update tenants set sms_monthly = 1 where id = $1', [tenantId])
  expect((await own.start({}, { key })).status).toBe(201)
  expect((await own.start({}, { key })).body.error.code).toBe('TENANT_QUOTA_EXCEEDED')
  expect((await own.start({ to: simulated.delivered })).status).toBe(201)
})
