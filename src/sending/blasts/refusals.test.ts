/** What refuses a send to an audience, and in which order. A refused send stores nothing. */
import { describe, expect, test } from 'vitest'
import { type BlastClient, blastClient, email, readers, sms } from '../../../test/clients/blast-client.ts'
import type { Body } from '../../../test/clients/mailer.ts'
import { expectRefusal } from '../../../test/expect/refusal.ts'
import { sharedTestService } from '../../../test/service/service.ts'
import type { Code } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'

const t = await sharedTestService()

const plain = { channel: 'email', subject: 'Hello', text: 'Dear {{name}}' }
const short = { channel: 'sms', text: 'Hello {{name}}' }

const refused = async (own: BlastClient, id: string, body: Body, code: Code, key = own.live): Promise<Body> => {
  const before = await own.stored()
  const reply = await own.post(id, body, { key })
  const { errors, message } = reply.body.error ?? {}
  expectRefusal(reply, code, { ...(errors && { errors }), message })
  expect(await own.stored()).toEqual(before)
  return reply.body.error
}

describe('the audience', () => {
  test('S-365 X-231 X-347 10,001 members are refused and 10,000 are accepted', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(10_001))
    const template = await own.template(plain)
    await refused(own, id, email(template), 'AUDIENCE_TOO_LARGE')
    const removed = await t.database.sql<{ contact_id: string }>(
      'delete from audience_members where ctid = (select max(ctid) from audience_members where audience_id = $1) returning contact_id',
      [id],
    )
    expect(removed).toHaveLength(1)
    const answer = await own.sent(id, email(template))
    expect(answer).toMatchObject({ total: 10_000, scheduled: 10_000 })
    expect(await own.stored()).toEqual({ messages: 10_000, jobs: 1 })
    expect((await own.cancelJob(answer.job_id)).body).toMatchObject({ canceled: 10_000 })
  })

  test('SD-100 an unknown audience is 404, and that of another tenant is 403', async () => {
    const own = await blastClient(t)
    const other = await blastClient(t)
    const [one, two] = [await t.tenant(own.orgId), await t.tenant(own.orgId)]
    const key = await t.key(own.orgId, { tenantId: one })
    await refused(own, newId('audience'), email('none'), 'NOT_FOUND')
    await refused(own, await other.audience(readers(1)), email('none'), 'NOT_FOUND')
    await refused(own, await own.audience(readers(1), two), email('none'), 'TENANT_FORBIDDEN', key)
  })

  test('the audience of a tenant is sent to for that tenant, with its suppressions, whichever key sends it', async () => {
    const own = await blastClient(t)
    const tenantId = await t.tenant(own.orgId)
    const id = await own.audience(readers(2), tenantId)
    await own.suppress('reader1@reader.test', 'manual', tenantId, 'email')
    const answer = await own.sent(id, email(await own.template(plain)))
    expect(answer).toMatchObject({ scheduled: 1, suppressed: 1 })
    expect((await own.rows(answer.job_id)).map(({ tenant_id }) => tenant_id)).toEqual([tenantId])
    expect((await own.job(answer.job_id)).body.tenant_id).toBe(tenantId)
  })
})

describe('the template and the sender', () => {
  test('S-353 SD-100 an unknown template and one of the other channel are refused', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(1))
    expect((await refused(own, id, email('none'), 'VALIDATION_ERROR')).errors).toMatchObject([{ path: ['template'] }])
    const wrong = await own.template(short)
    expect((await refused(own, id, email(wrong), 'VALIDATION_ERROR')).errors).toMatchObject([{ path: ['template'] }])
  })

  test.each(['channel', 'from', 'template'])('S-353 SD-100 a body without %s is refused', async (field) => {
    const own = await blastClient(t)
    const { [field]: _, ...body } = email('news')
    const { errors } = await refused(own, newId('audience'), body, 'VALIDATION_ERROR')
    expect(errors).toMatchObject([{ path: [field] }])
  })

  test('S-353 a live sender must be verified, and a test sender need not be', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(1))
    const body = email(await own.template(plain), { from: 'hello@unknown.test' })
    await refused(own, id, body, 'SENDER_DOMAIN_NOT_VERIFIED')
    await refused(own, id, { ...body, from: 'nobody' }, 'INVALID_FROM')
    expect(await own.sent(id, body, { key: own.test })).toMatchObject({ scheduled: 1 })
    const texts = await own.audience([{ phone: '+12025550101' }])
    await refused(own, texts, sms(await own.template(short), { from: 'UNKNOWN' }), 'SENDER_NOT_REGISTERED')
  })

  test('S-379 X-194 a live blast from the sandbox sender is refused, also to members of the org', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(1))
    const body = email(await own.template(plain), { from: own.sandbox })
    await refused(own, id, body, 'SANDBOX_RECIPIENT_NOT_ALLOWED')
    expect(await own.sent(id, body, { key: own.test })).toMatchObject({ scheduled: 1 })
  })
})

describe('destinations', () => {
  const satellite = '+8816123456'

  test('S-373 S-374 X-191 S-215 one refused number refuses the whole blast, in both environments', async () => {
    const own = await blastClient(t)
    await own.geo('US')
    const body = sms(await own.template(short))
    const abroad = await own.audience([{ phone: '+447700900123' }, { phone: '+12025550101' }])
    const costly = await own.audience([{ phone: '+447700900124' }, { phone: satellite }])
    for (const key of [own.live, own.test]) {
      await refused(own, abroad, body, 'SMS_DESTINATION_NOT_ALLOWED', key)
      // The first gate is checked for all numbers before the second one.
      await refused(own, costly, body, 'HIGH_COST_DESTINATION', key)
    }
  })

  test('S-375 a suppressed member in a refused country does not refuse the blast', async () => {
    const own = await blastClient(t)
    await own.geo('US')
    const id = await own.audience([{ phone: '+447700900123' }, { phone: '+12025550101' }])
    await own.suppress('+447700900123', 'stop')
    expect(await own.sent(id, sms(await own.template(short)))).toMatchObject({ scheduled: 1, suppressed: 1 })
  })

  test('S-211 SD-58 an empty list refuses every blast, also to numbers without a calling code', async () => {
    const own = await blastClient(t)
    await own.geo('')
    const body = sms(await own.template(short))
    for (const phone of ['+2101234567', '07700 900123', '+12025550101']) {
      await refused(own, await own.audience([{ phone }]), body, 'SMS_DESTINATION_NOT_ALLOWED')
    }
    const costly = await own.audience([{ phone: '07700 900124' }, { phone: satellite }])
    await refused(own, costly, body, 'HIGH_COST_DESTINATION')
    expect(await own.sent(await own.audience([]), body)).toMatchObject({ total: 0, scheduled: 0 })
  })

  test('S-376 S-403 numbers without a readable calling code pass and fail at the provider', async () => {
    const own = await blastClient(t)
    await own.geo('US')
    const id = await own.audience([{ phone: '07700 900123' }, { phone: '+2101234567' }])
    const answer = await own.sent(id, sms(await own.template(short)))
    expect(answer).toMatchObject({ scheduled: 2, deferred_quiet_hours: 0 })
    await own.fire()
    const rows = await own.rows(answer.job_id)
    expect(rows.map(({ to, status }) => [to, status])).toEqual([
      ['+2101234567', 'failed'],
      ['07700 900123', 'failed'],
    ])
  })

  test('S-360 S-377 S-378 SD-101 a number in India needs an approved DLT template', async () => {
    const own = await blastClient(t)
    const template = await own.template(short)
    const id = await own.audience([{ phone: '+12025550101' }, { phone: '+919876543210' }])
    const body = (dlt_template_id?: string) => sms(template, dlt_template_id === undefined ? {} : { dlt_template_id })
    for (const key of [own.live, own.test]) {
      await refused(own, id, body(), 'DLT_TEMPLATE_REQUIRED', key)
      await refused(own, id, body(newId('dltTemplate')), 'DLT_TEMPLATE_NOT_FOUND', key)
      await refused(own, id, body(await own.dltTemplate({ status: 'submitted' })), 'DLT_TEMPLATE_NOT_APPROVED', key)
      const unprovisioned = await own.dltTemplate({ providerTemplateId: null })
      await refused(own, id, body(unprovisioned), 'DLT_TEMPLATE_NOT_PROVISIONED', key)
    }
    const approved = await own.dltTemplate()
    const { job_id } = await own.sent(id, body(approved))
    const stored = await t.database.sql<{ to: string; dlt: string | null }>(
      "select to_addresses[1] as to, sms ->> 'dlt_template_id' as dlt from messages where job_id = $1 order by 1",
      [job_id],
    )
    expect(stored).toEqual([
      { to: '+12025550101', dlt: null },
      { to: '+919876543210', dlt: approved },
    ])
    await own.suppress('+919876543210', 'stop')
    expect(await own.sent(id, body('dlt_unknown'))).toMatchObject({ scheduled: 1, suppressed: 1 })
  })
})

describe('quotas', () => {
  test('SD-102 the quota of the plan counts the rows to insert, and refuses the whole blast', async () => {
    const own = await blastClient(t, { email: 2 })
    const template = await own.template(plain)
    await refused(own, await own.audience(readers(3)), email(template), 'USAGE_LIMIT_EXCEEDED')
    const id = await own.audience(readers(3, (i) => ({ email: `again${i}@reader.test` })))
    await own.suppress('again0@reader.test', 'manual', null, 'email')
    expect(await own.sent(id, email(template))).toMatchObject({ scheduled: 2 })
  })

  test('SD-102 the quota of the tenant refuses the whole blast', async () => {
    const own = await blastClient(t)
    const tenantId = await t.tenant(own.orgId)
    await t.database.sql('update tenants set email_monthly = 1 where id = $1', [tenantId])
    const id = await own.audience(readers(2), tenantId)
    await refused(own, id, email(await own.template(plain)), 'TENANT_QUOTA_EXCEEDED')
  })

  test('R-32 a test blast takes the allowance of the day once, for all its rows, or is refused', async () => {
    const own = await blastClient(t, { plan: 'free' })
    const template = await own.template(plain)
    const big = await own.audience(readers(600))
    const answer = await own.sent(big, email(template), { key: own.test })
    expect(await own.used()).toEqual({ 'org test messages': 600 })
    await refused(own, big, email(template), 'TEST_DAILY_LIMIT', own.test)
    expect(await own.used()).toEqual({ 'org test messages': 600 })
    await own.fire()
    expect((await own.job(answer.job_id, own.test)).body.counts).toMatchObject({ scheduled: 0, sending: 0 })
    expect((await own.used())['org test messages']).toBe(600)
    expect((await own.used())['org test email']).toBe(600)
  })
})

describe('missing variables', () => {
  const withCode = { channel: 'email', subject: 'Hello {{title}}', text: 'Your code is {{code}}.' }
  const names = (error: Body) => (error.errors as { path: string[] }[]).map(({ path }) => path.join('.')).sort()

  test('S-386 X-233 a name that no recipient supplies refuses the blast', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(3))
    const template = await own.template(withCode)
    const error = await refused(own, id, email(template), 'TEMPLATE_MISSING_VARIABLES')
    expect(names(error)).toEqual(['variables.code', 'variables.title'])
    const some = await refused(own, id, email(template, { variables: { title: 'x' } }), 'TEMPLATE_MISSING_VARIABLES')
    expect(names(some)).toEqual(['variables.code'])
  })

  test('S-387 a name that some contacts lack renders empty for them', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(3, (i) => (i === 2 ? { metadata: { code: '7', title: 'T' } } : {})))
    const { job_id } = await own.sent(id, email(await own.template(withCode)))
    expect((await own.rows(job_id)).map(({ text }) => text)).toEqual([
      'Your code is .',
      'Your code is .',
      'Your code is 7.',
    ])
  })

  test('S-386 a name that only a suppressed member supplies is missing', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(2, (i) => (i === 1 ? { metadata: { code: '7', title: 'T' } } : {})))
    await own.suppress('reader1@reader.test', 'manual', null, 'email')
    await refused(own, id, email(await own.template(withCode)), 'TEMPLATE_MISSING_VARIABLES')
  })

  test('S-388 under a tenant key a missing name renders empty', async () => {
    const own = await blastClient(t)
    const tenantId = await t.tenant(own.orgId)
    const key = await t.key(own.orgId, { tenantId })
    const id = await own.audience(readers(1), tenantId)
    const { job_id } = await own.sent(id, email(await own.template(withCode)), { key })
    expect((await own.rows(job_id))[0]?.text).toBe('Your code is .')
  })

  test('S-389 with subject_variants the variants are checked and the subject of the template is not', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(2))
    const template = await own.template({ ...withCode, text: 'Hi' })
    const subject_variants = ['One', 'Two {{name}}']
    expect(await own.sent(id, email(template, { subject_variants }))).toMatchObject({ scheduled: 2 })
    const more = ['One', 'Two {{other}}']
    const error = await refused(own, id, email(template, { subject_variants: more }), 'TEMPLATE_MISSING_VARIABLES')
    expect(names(error)).toEqual(['variables.other'])
  })

  test('S-390 R-32 in a text message the unsubscribe link is missing, and empty under a tenant key', async () => {
    const own = await blastClient(t)
    const template = await own.template({ channel: 'sms', text: 'Stop: {{unsubscribe_url}}' })
    const id = await own.audience([{ phone: '+12025550101' }])
    const variables = { unsubscribe_url: 'https://example.com' }
    const error = await refused(own, id, sms(template, { variables }), 'TEMPLATE_MISSING_VARIABLES')
    expect(names(error)).toEqual(['variables.unsubscribe_url'])
    const tenantId = await t.tenant(own.orgId)
    const key = await t.key(own.orgId, { tenantId, environment: 'test' })
    const ofTenant = await own.audience([{ phone: '+12025550101' }], tenantId)
    const { job_id } = await own.sent(ofTenant, sms(template, { variables }), { key })
    expect((await own.rows(job_id))[0]?.text).toBe('Stop: ')
  })
})

describe('the order of refusals', () => {
  test('SD-100 each rule refuses before the next one', async () => {
    const own = await blastClient(t, { email: 0 })
    const template = await own.template({ channel: 'email', subject: 'x', text: `{{gone}} ${'y'.repeat(900_000)}` })
    const big = await own.audience(readers(10_001, (i) => ({ email: `order${i}@reader.test` })))
    const one = await own.audience([{ email: 'one@reader.test' }])
    const sender = { from: 'hello@unknown.test' }
    const body = email('none', { ...sender, ramp_minutes: -1 })
    await refused(own, newId('audience'), body, 'VALIDATION_ERROR')
    await refused(own, newId('audience'), email('none', sender), 'NOT_FOUND')
    await refused(own, big, email('none', sender), 'AUDIENCE_TOO_LARGE')
    expect((await refused(own, one, email('none', sender), 'VALIDATION_ERROR')).errors).toMatchObject([
      { path: ['template'] },
    ])
    await refused(own, one, email(template, sender), 'SENDER_DOMAIN_NOT_VERIFIED')
    await refused(own, one, email(template), 'USAGE_LIMIT_EXCEEDED')
    await t.database.sql('update orgs set email_monthly = 10 where id = $1', [own.orgId])
    t.service.modules.usage.forgetOrg(own.orgId)
    await refused(own, one, email(template), 'TEMPLATE_MISSING_VARIABLES')
    await refused(own, one, email(template, { variables: { gone: 'x' } }), 'PAYLOAD_TOO_LARGE')
  })
})
