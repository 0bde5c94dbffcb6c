/** The order of the rules for text messages: a request that breaks two of them gets the error of the earlier one. */
import { afterAll, expect, test } from 'vitest'
import type { Body } from '../../../../test/clients/mailer.ts'
import { simulated, text, texter } from '../../../../test/clients/texter.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'
import type { Code } from '../../../platform/ground/errors.ts'

const t = await startTestService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

/** Allows every country but the ones that a case names. The other org allows only the UK. */
const anywhere = await texter(t, { plan: 'payg' })
const onlyUk = await texter(t, { plan: 'payg' })
await onlyUk.geo('GB')

const tenantId = await t.tenant(anywhere.orgId)
const tenantKey = await t.key(anywhere.orgId, { tenantId })
const gone = '+15125550111'
const india = '+919876543210'
const satellite = '+8816123456789'
const pending = '+15125550177'
await anywhere.suppress(gone)
await anywhere.suppress(india)
const pendingId = await anywhere.number(pending, { status: 'pending' })
await anywhere.pool('waiting', [pendingId])
const dlt = await anywhere.dltTemplate()
for (const body of [
  { slug: 'needs', channel: 'sms', text: '{{name}}' },
  { slug: 'loop', channel: 'sms', text: '{{#each xs}}.{{/each}}' },
]) {
  expect((await t.ask('POST', '/api/v1/templates', { key: anywhere.live, body })).status).toBe(201)
}
const used = { 'idempotency-key': 'used' }
expect((await anywhere.send(text(), { headers: used })).status).toBe(200)

const limits: Record<string, () => Promise<unknown>> = {
  plan: () => t.database.sql('update orgs set sms_monthly = 0 where id = $1', [anywhere.orgId]),
  tenant: () => t.database.sql('update tenants set sms_monthly = 0 where id = $1', [tenantId]),
  spend: () => t.database.sql('update orgs set spend_cap_micros = 0 where id = $1', [anywhere.orgId]),
}
const resetLimits = async () => {
  await t.database.sql('update orgs set sms_monthly = null, spend_cap_micros = null where id = $1', [anywhere.orgId])
  await t.database.sql('update tenants set sms_monthly = null where id = $1', [tenantId])
}

const past = new Date(t.service.clock.millis() - 600_000).toISOString()
const soon = new Date(t.service.clock.millis() + 3_600_000).toISOString()
const link = { media_url: ['https://example.com/a'] }
const rendered = (slug: string, variables: Body) => ({ body: undefined, template: slug, variables })

type How = { own?: typeof anywhere; limits?: string[]; headers?: Record<string, string>; key?: string }
type Case = [earlier: Code, later: string, body: Body, how?: How]
const cases: Case[] = [
  ['PAYLOAD_TOO_LARGE', 'the schema', { to: '', body: 'x'.repeat(6 * 1_048_576) }],
  ['VALIDATION_ERROR', 'media', { to: '', ...link }],
  ['MMS_TOO_MANY_ATTACHMENTS', 'their form', { media_url: new Array(11).fill('https://example.com/a') }],
  ['VALIDATION_ERROR', 'idempotency', { to: '' }, { headers: used }],
  ['MMS_INVALID_MEDIA_URI', 'idempotency', link, { headers: used }],
  ['IDEMPOTENCY_MISMATCH', 'scheduling', { scheduled_at: past }, { headers: used }],
  ['SCHEDULED_AT_IN_PAST', 'the template', { scheduled_at: past, template: 'nowhere' }],
  ['TEMPLATE_MISSING_VARIABLES', 'high-cost ranges', { to: satellite, ...rendered('needs', {}) }],
  ['VALIDATION_ERROR', 'high-cost ranges, by length', { to: satellite, ...rendered('needs', { name: '' }) }],
  [
    'PAYLOAD_TOO_LARGE',
    'high-cost ranges, by its loops',
    { to: satellite, ...rendered('loop', { xs: new Array(5_001).fill(0) }) },
  ],
  ['HIGH_COST_DESTINATION', 'the allowlist', { to: satellite }, { own: onlyUk }],
  ['SMS_DESTINATION_NOT_ALLOWED', 'DLT', { to: india }, { own: onlyUk }],
  ['SMS_DESTINATION_NOT_ALLOWED', 'DLT, later', { to: india, scheduled_at: soon }, { own: onlyUk }],
  ['DLT_TEMPLATE_REQUIRED', 'the sender', { to: india, from: 'NOBODY' }],
  ['DLT_TEMPLATE_NOT_FOUND', 'the sender', { to: india, from: 'NOBODY', dlt_template_id: 'dlt_x' }],
  ['SENDER_NOT_REGISTERED', 'suppression', { to: gone, from: 'NOBODY' }],
  ['SENDER_NOT_REGISTERED', 'suppression, to India', { to: india, from: 'NOBODY', dlt_template_id: dlt }],
  ['SENDER_NOT_VERIFIED', 'suppression', { to: gone, from: pending }],
  ['SENDER_NOT_VERIFIED', 'suppression, by pool', { to: gone, from: undefined, from_pool: 'waiting' }],
  ['SENDER_NOT_REGISTERED', 'suppression, by pool', { to: gone, from: undefined, from_pool: 'nowhere' }],
  ['SUPPRESSED', "the tenant's quota", { to: gone }, { limits: ['tenant', 'plan', 'spend'], key: tenantKey }],
  ['SUPPRESSED', 'the plan, later', { to: gone, scheduled_at: soon }, { limits: ['plan', 'spend'] }],
  ['TENANT_QUOTA_EXCEEDED', 'the plan', {}, { limits: ['tenant', 'plan', 'spend'], key: tenantKey }],
  [
    'TENANT_QUOTA_EXCEEDED',
    'the plan, later',
    { scheduled_at: soon },
    { limits: ['tenant', 'plan', 'spend'], key: tenantKey },
  ],
  ['USAGE_LIMIT_EXCEEDED', 'spend', {}, { limits: ['plan', 'spend'] }],
  ['USAGE_LIMIT_EXCEEDED', 'spend, later', { scheduled_at: soon }, { limits: ['plan', 'spend'] }],
  ['SPEND_CAP_EXCEEDED', 'the provider', { to: simulated.refused }, { limits: ['spend'] }],
]

test.for(cases)('S-175 R-36 %s takes precedence over %s', async ([code, , body, how = {}]) => {
  const { own = anywhere } = how
  await resetLimits()
  for (const limit of how.limits ?? []) await limits[limit]?.()
  t.service.modules.usage.forgetOrg(own.orgId)
  // The first request may create usage counters with the value 0. The second must change nothing.
  await own.send(text(body), how)
  const reply = await leavesNoTrace(() => own.send(text(body), how))
  const { message, errors } = reply.body.error
  expectRefusal(reply, code, { message, ...(errors && { errors }) })
})

test('S-184 R-36 a limit that is reached leaves the other channel open', async () => {
  await resetLimits()
  await limits.plan?.()
  t.service.modules.usage.forgetOrg(anywhere.orgId)
  const over = await anywhere.send(text())
  expect([over.body.error.code, Number(over.headers['retry-after']) > 0]).toEqual(['USAGE_LIMIT_EXCEEDED', true])
  const mail = { from: 'hello@example.test', to: ['ada@example.com'], subject: 'Hello', text: 'Hello' }
  expect((await t.ask('POST', '/api/v1/emails', { key: anywhere.live, body: mail })).status).toBe(200)
})
