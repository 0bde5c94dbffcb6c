/** The order of the rules: a request that breaks two of them gets the error of the earlier one. */
import { afterAll, expect, test } from 'vitest'
import { type Body, mail, mailer, simulator } from '../../../../test/clients/mailer.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { dayOf } from '../../../customers/usage/periods.ts'
import type { Code } from '../../../platform/ground/errors.ts'

const t = await startTestService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

/** Exhausts a limit: sandbox, plan, tenant quota, spend cap, or the warmup cap of the domain. */
const own = await mailer(t, { plan: 'payg' })
const now = t.service.clock.now()
const tenantId = await t.tenant(own.orgId)
const [domain] = await t.database.sql<{ id: string }>('select id from domains where org_id = $1', [own.orgId])
const warmup = await t.ask('POST', `/api/v1/domains/${domain?.id}/warmup`, {
  key: own.live,
  body: { days: 30 },
})
expect(warmup.status).toBe(200)

const count = (subject: string, measure: string, period: string, used: number) =>
  t.database.sql(
    `insert into usage_counters (org_id, subject, environment, measure, period, used) values ($1, $2, 'live', $3, $4, $5)
     on conflict (org_id, subject, environment, measure, period) do update set used = excluded.used`,
    [own.orgId, subject, measure, period, used],
  )
const limits: Record<string, () => Promise<unknown>> = {
  sandbox: () => count('org', 'sandbox', dayOf(now), 100),
  warmup: () => count(domain?.id as string, 'warmup', dayOf(now), 50),
  plan: () => t.database.sql('update orgs set email_monthly = 0 where id = $1', [own.orgId]),
  tenant: () => t.database.sql('update tenants set email_monthly = 0 where id = $1', [tenantId]),
  spend: () => t.database.sql('update orgs set spend_cap_micros = 0 where id = $1', [own.orgId]),
}
const resetLimits = async () => {
  await t.database.sql('update orgs set email_monthly = null, spend_cap_micros = null where id = $1', [own.orgId])
  await t.database.sql('update tenants set email_monthly = null where id = $1', [tenantId])
  await t.database.sql('update usage_counters set used = 0 where org_id = $1', [own.orgId])
}

const tenantKey = await t.key(own.orgId, { tenantId })
for (const body of [
  { slug: 'loop', channel: 'email', subject: 'x', text: '{{#each xs}}.{{/each}}{{name}}{{unsubscribe_url}}' },
]) {
  expect((await t.ask('POST', '/api/v1/templates', { key: own.live, body })).status).toBe(201)
}
await own.suppress('gone@example.com')
const used = { 'idempotency-key': 'used' }
expect((await own.send(mail(), { headers: used })).status).toBe(200)

const past = new Date(t.service.clock.millis() - 600_000).toISOString()
const soon = new Date(t.service.clock.millis() + 3_600_000).toISOString()
const looping = { template: 'loop', text: undefined, variables: { xs: new Array(5_001).fill(0) } }
const named = { ...looping, variables: { ...looping.variables, name: 'x' } }
const stranger = { from: own.sandbox, to: ['stranger@example.com'] }
const member = { from: own.sandbox, to: [own.owner.email] }
const suppressed = { to: ['gone@example.com'] }

type Case = [
  earlier: Code,
  later: string,
  body: Body,
  how?: { limits?: string[]; headers?: Record<string, string>; key?: string },
]
const cases: Case[] = [
  ['PAYLOAD_TOO_LARGE', 'the schema', { to: [], text: 'x'.repeat(6 * 1_048_576) }],
  ['VALIDATION_ERROR', 'idempotency', { to: [] }, { headers: used }],
  ['VALIDATION_ERROR', 'scheduling', { subject: undefined, scheduled_at: past }],
  ['IDEMPOTENCY_MISMATCH', 'scheduling', { scheduled_at: past }, { headers: used }],
  ['SCHEDULED_AT_IN_PAST', 'the template', { scheduled_at: past, template: 'nowhere' }],
  ['TEMPLATE_MISSING_VARIABLES', 'render caps', looping],
  ['PAYLOAD_TOO_LARGE', 'the unsubscribe link', named],
  ['UNSUBSCRIBE_REQUIRES_BROADCAST', 'the sender', { text: '{{unsubscribe_url}}', from: 'x@nobodys.test' }],
  ['SENDER_DOMAIN_NOT_VERIFIED', 'suppression', { ...suppressed, from: 'x@nobodys.test' }],
  ['ALL_SUPPRESSED', 'sandbox recipients', { ...suppressed, from: own.sandbox }],
  ['SANDBOX_RECIPIENT_NOT_ALLOWED', 'sandbox volume', stranger, { limits: ['sandbox'] }],
  ['SANDBOX_DAILY_LIMIT', 'the plan', member, { limits: ['sandbox', 'plan'] }],
  ['SANDBOX_DAILY_LIMIT', 'the plan, later', { ...member, scheduled_at: soon }, { limits: ['sandbox', 'plan'] }],
  ['USAGE_LIMIT_EXCEEDED', "the tenant's quota", {}, { limits: ['plan', 'tenant'], key: tenantKey }],
  ['TENANT_QUOTA_EXCEEDED', 'spend', {}, { limits: ['tenant', 'spend'], key: tenantKey }],
  ['SPEND_CAP_EXCEEDED', 'warmup', {}, { limits: ['spend', 'warmup'] }],
  ['WARMUP_LIMIT_EXCEEDED', 'the provider', { to: [simulator('refused')] }, { limits: ['warmup'] }],
]

test.for(cases)('SD-35 %s takes precedence over %s', async ([code, , body, how = {}]) => {
  await resetLimits()
  for (const limit of how.limits ?? []) await limits[limit]?.()
  t.service.modules.usage.forgetOrg(own.orgId)
  // The first request may create usage counters with the value 0. The second must change nothing.
  await own.send(mail(body), how)
  const reply = await leavesNoTrace(() => own.send(mail(body), how))
  const { message, errors } = reply.body.error
  expectRefusal(reply, code, { message, ...(errors && { errors }) })
})
