/** Test mode and live mode: simulation, separate counts, and no effect of one on the other. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { domainClient } from '../../../../test/clients/domain-client.ts'
import { type Mailer, mail, mailer, simulator } from '../../../../test/clients/mailer.ts'
import { postOf } from '../../../../test/clients/post-client.ts'
import { mailer as mailProgram, startSubmissionService } from '../../../../test/clients/submission-client.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import type { Reply } from '../../../../test/service/service.ts'

const t = await startSubmissionService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

describe('a test send', () => {
  let own: Mailer
  let simulated: Reply
  let real: Reply

  beforeAll(async () => {
    own = await mailer(t)
    simulated = await own.send(mail(), { key: own.test })
    real = await own.send(mail({ to: ['a@example.com', 'b@example.com'] }))
  })

  test('X-047 SD-54 is simulated and does not reach a provider', async () => {
    expect([simulated.status, simulated.body.status]).toEqual([200, 'sent'])
    expect(simulated.body.id).toMatch(/^msg_/)
    const shown = (await own.get(simulated.body.id, own.test)).body
    expect([shown.status, shown.provider_response.message_id]).toEqual(['sent', expect.stringMatching(/^test_msg_/)])
    expect((await own.outbox()).map(({ message_id }) => message_id)).toEqual([real.body.id])
  })

  test('X-048 X-050 is counted separately from live usage', async () => {
    expect(await own.used()).toEqual({
      'org test messages': 1,
      'org test email': 1,
      'key test email': 1,
      'org live email': 2,
      'key live email': 2,
    })
  })

  test('X-051 fires message.sent with the environment test, and a live send with live', async () => {
    const events = await own.events()
    expect(events.map(({ event, environment, data }) => [event, environment, data.message_id])).toEqual([
      ['message.sent', 'test', simulated.body.id],
      ['message.sent', 'live', real.body.id],
    ])
  })

  test('A-167 writes an audit entry with its environment', async () => {
    expect((await own.traces()).audited).toEqual([
      expect.objectContaining({ count: 1, environment: 'test' }),
      expect.objectContaining({ count: 1, environment: 'live' }),
    ])
  })
})

test('X-049 X-050 XD-10 each environment has its own limit, and using up one does not affect the other', async () => {
  const own = await mailer(t, { plan: 'free', email: 1 })
  const live = () => own.send(mail())
  const simulated = () => own.send(mail(), { key: own.test })
  expect((await live()).status).toBe(200)
  expectRefusal(await leavesNoTrace(live), 'USAGE_LIMIT_EXCEEDED')
  expect((await simulated()).status).toBe(200)
  await t.database.sql(
    "update usage_counters set used = 1000 where org_id = $1 and environment = 'test' and measure = 'messages'",
    [own.orgId],
  )
  const over = await leavesNoTrace(simulated)
  expectRefusal(over, 'TEST_DAILY_LIMIT')
  expect(Number(over.headers['retry-after'])).toBeGreaterThan(0)
  expect((await own.batch([mail()], { key: own.test })).body.error.code).toBe('TEST_DAILY_LIMIT')
  await t.database.sql('update orgs set email_monthly = 2 where id = $1', [own.orgId])
  t.service.modules.usage.forgetOrg(own.orgId)
  expect((await live()).status).toBe(200)
})

test('X-052 XD-10 SD-55 bounces in test mode suppress nobody, and suppressions apply in both modes', async () => {
  const own = await mailer(t)
  for (const part of ['bounced', 'complained', 'delivered', 'softbounced']) {
    const to = [simulator(part)]
    const { id } = (await own.send(mail({ to }), { key: own.test })).body
    const status = part === 'delivered' ? 'delivered' : 'bounced'
    await expect.poll(async () => (await own.get(id, own.test)).body.status).toBe(status)
  }
  const rows = await t.database.sql('select 1 from suppressions where org_id = $1', [own.orgId])
  expect(rows).toEqual([])
  const outcomes = (await own.events()).filter(({ event }) => event !== 'message.sent')
  expect(outcomes.map(({ event, environment }) => [event, environment])).toEqual([
    ['message.bounced', 'test'],
    ['message.complained', 'test'],
    ['message.delivered', 'test'],
    ['message.bounced', 'test'],
  ])
  await own.suppress('gone@example.com')
  expectRefusal(await own.send(mail({ to: ['gone@example.com'] }), { key: own.test }), 'ALL_SUPPRESSED')
})

test('X-052 X-192 a domain added by a test key cannot send live mail through the API, in batches, scheduled or over SMTP', async () => {
  const own = await mailer(t)
  const domains = domainClient(t, own)
  const id = await domains.added('made-in-test.test', own.test)
  expect((await domains.verify(id, own.test)).body.status).toBe('verified')
  const from = 'x@made-in-test.test'
  const scheduled_at = new Date(t.service.clock.millis() + 60_000).toISOString()
  for (const body of [mail({ from }), mail({ from, scheduled_at })]) {
    expectRefusal(await leavesNoTrace(() => own.send(body)), 'SENDER_DOMAIN_NOT_VERIFIED')
  }
  const overSmtp = () => mailProgram(t.port, own.live)({ from, to: 'ada@example.com', subject: 'Hello', text: 'Hello' })
  expect((await leavesNoTrace(overSmtp)).response).toMatch(/^553 5\.7\.1 SENDER_DOMAIN_NOT_VERIFIED /)
  const batch = await own.batch([mail({ from }), mail()])
  expect(batch.body.data.map(({ error }: { error: { code: string } | null }) => error?.code)).toEqual([
    'SENDER_NOT_VERIFIED',
    undefined,
  ])
  // A key restricted to that domain gets the error of the restriction.
  const restricted = await t.key(own.orgId, { allowedDomainIds: [id] })
  expectRefusal(await leavesNoTrace(() => own.send(mail({ from }), { key: restricted })), 'DOMAIN_NOT_ALLOWED_FOR_KEY')
  const restrictedTest = await t.key(own.orgId, { allowedDomainIds: [id], environment: 'test' })
  for (const key of [own.test, restrictedTest]) {
    expect((await own.send(mail({ from }), { key })).status).toBe(200)
  }
  expect((await own.outbox()).map(({ message_id }) => message_id)).toEqual([batch.body.data[1].id])
})

test('X-052 a scheduled live message fails when its domain belongs to test mode by the time it is due', async () => {
  const own = await mailer(t)
  const domains = domainClient(t, own)
  const { scheduled, advance, fire, row, handed } = postOf(t, own)
  const verified = async (key: string) => {
    const id = await domains.added('swapped.test', key)
    expect((await domains.verify(id, key)).body.status).toBe('verified')
    return id
  }
  const first = await verified(own.live)
  const id = await scheduled({ from: 'x@swapped.test' })
  await domains.remove(first)
  await verified(own.test)
  await advance(61)
  await fire()
  const { status, error_message } = await row(id)
  expect([status, error_message]).toEqual(['failed', expect.stringMatching('^SENDER_DOMAIN_NOT_VERIFIED: ')])
  expect(await handed(id)).toEqual([])
})

test('X-052 a test key cannot change a domain that a live key has taken, and its warmup no longer applies', async () => {
  const own = await mailer(t)
  const domains = domainClient(t, own)
  const id = await domains.added('lost.test', own.test)
  await domains.verify(id, own.test)
  await domains.startWarmup(id, { days: 30 }, own.test)
  expect((await domains.create({ name: 'lost.test' })).body).toMatchObject({ id, warmup: null })
  for (const ask of [
    () => domains.remove(id, own.test),
    () => domains.startWarmup(id, {}, own.test),
    () => domains.patch(id, { inbound: true }, own.test),
    () => domains.verify(id, own.test),
  ]) {
    expectRefusal(await leavesNoTrace(ask), 'ENVIRONMENT_ESCALATION')
  }
  const to = Array.from({ length: 50 }, (_, i) => `n${i}@example.com`)
  for (const cc of [[], ['one-more@example.com']]) {
    expect((await own.send(mail({ from: 'x@lost.test', to: to.slice(cc.length), cc }))).status).toBe(200)
  }
})

test('X-054 an Idempotency-Key used in one environment has no effect in the other', async () => {
  const own = await mailer(t)
  const headers = { 'idempotency-key': 'both' }
  const live = await own.send(mail(), { headers })
  const simulated = await own.send(mail(), { headers, key: own.test })
  expect([live.status, simulated.status]).toEqual([200, 200])
  expect(live.body.id).not.toBe(simulated.body.id)
})

test('X-053 a test key cannot suspend, archive or erase a tenant, not even one that it created', async () => {
  const own = await mailer(t)
  const made = await t.ask('POST', '/api/v1/tenants', { key: own.test, body: { name: 'Made in test mode' } })
  const at = `/api/v1/tenants/${made.body.id}`
  for (const [method, path] of [
    ['POST', `${at}/suspend`],
    ['DELETE', at],
    ['POST', `${at}/erase`],
  ] as const) {
    expectRefusal(await leavesNoTrace(() => t.ask(method, path, { key: own.test })), 'ENVIRONMENT_ESCALATION')
  }
})

test('X-277 XD-26 a tenant has its own quota, and its events carry its tenant id', async () => {
  const own = await mailer(t)
  const tenantId = await t.tenant(own.orgId)
  const key = await t.key(own.orgId, { tenantId })
  const quota = { email_monthly: 1 }
  await t.ask('PATCH', `/api/v1/tenants/${tenantId}/quota`, { key: own.live, body: quota })
  const reply = await own.send(mail(), { key })
  expect((await own.events())[0]).toMatchObject({ tenant_id: tenantId, data: { message_id: reply.body.id } })
  const over = await leavesNoTrace(() => own.send(mail(), { key }))
  expectRefusal(over, 'TENANT_QUOTA_EXCEEDED')
  expect((await own.batch([mail()], { key })).body.error.code).toBe('TENANT_QUOTA_EXCEEDED')
  expect((await own.send(mail())).status).toBe(200)
})

test('S-110 X-275 a burst above the rate limit is 429 RATE_LIMITED and sends nothing', async () => {
  const own = await mailer(t)
  const key = await t.key(own.orgId, { ratePerMinute: 2 })
  const replies = [await own.send(mail(), { key }), await own.send(mail(), { key })]
  expect(replies.map(({ status }) => status)).toEqual([200, 200])
  const over = await leavesNoTrace(() => own.send(mail(), { key }))
  expect([over.status, over.body.error.code, Number(over.headers['retry-after']) > 0]).toEqual([
    429,
    'RATE_LIMITED',
    true,
  ])
})
