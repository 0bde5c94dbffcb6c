import { describe, expect, test } from 'vitest'
import { dltClient } from '../../../../test/clients/dlt-client.ts'
import { expectRefusal } from '../../../../test/expect/refusal.ts'
import { type TestService, testService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'
import { makePollDlt } from './poll-dlt.ts'

const templateId = expect.stringMatching(/^1007\d{15}$/)

const eventsOf = ({ database }: TestService, orgId: string) =>
  database.sql(
    "select tenant_id, environment, event, data from events where org_id = $1 and event like 'dlt.%' order by id",
    [orgId],
  )

const start = async (env: Record<string, string> = {}) => {
  const t = await testService({ env: { RATE_LIMITER: 'off', ...env } })
  const acme = await t.org()
  const dlt = dltClient(t, acme)
  const states = async (id: string) => {
    const { status, provider_template_id, rejection_reason } = (await dlt.get('templates', id)).body
    return [status, provider_template_id, rejection_reason]
  }
  return { t, acme, dlt, states, events: () => eventsOf(t, acme.org.id) }
}

const smpp = { SMS_PROVIDER: 'smpp', SMPP_URL: 'smpp://user:secret@127.0.0.1:2775' }

describe('the status poll', () => {
  test('X-120 approves what the simulated registry says nothing about, and fires one event per template', async () => {
    const { dlt, states, events } = await start()
    const template = await dlt.template()
    const { entity, header } = (await dlt.get('templates', template)).body
    expect(await dlt.poll()).toMatchObject({ dlt_polled: 3, dlt_approved: 3, dlt_rejected: 0 })
    const [status, providerId, reason] = await states(template)
    expect([status, providerId, reason]).toEqual(['approved', templateId, null])
    expect((await dlt.get('entities', entity)).body.status).toBe('approved')
    expect((await dlt.get('headers', header)).body.status).toBe('approved')
    const fired = [
      {
        tenant_id: null,
        environment: null,
        event: 'dlt.template_approved',
        data: {
          id: template,
          status: 'approved',
          name: 'OTP',
          entity_id: '1101234567890123456',
          provider_template_id: providerId,
        },
      },
    ]
    expect(await events()).toEqual(fired)
    expect(await dlt.poll()).toMatchObject({ dlt_polled: 0, dlt_approved: 0, dlt_rejected: 0 })
    expect(await events()).toEqual(fired)
  })

  test('X-120 S-225 R-35 follows the reports that the development tools set', async () => {
    const { dlt, states, events } = await start()
    const template = await dlt.template()
    await dlt.report(template, 'submitted')
    await dlt.poll()
    expect(await states(template)).toEqual(['submitted', null, null])
    await dlt.report(template, 'unreachable')
    await dlt.poll()
    expect(await states(template)).toEqual(['submitted', null, null])
    expect(await events()).toEqual([])
    await dlt.report(template, 'rejected', { reason: 'The text does not match the header.' })
    await dlt.poll()
    await dlt.poll()
    expect(await states(template)).toEqual(['rejected', null, 'The text does not match the header.'])
    const data = { id: template, name: 'OTP', entity_id: '1101234567890123456' }
    const rejected = {
      event: 'dlt.template_rejected',
      data: { ...data, status: 'rejected', reason: 'The text does not match the header.' },
    }
    expect(await events()).toMatchObject([rejected])
    await dlt.report(template, 'approved')
    await dlt.poll()
    const [, providerId] = await states(template)
    expect(await states(template)).toEqual(['approved', templateId, null])
    const approved = {
      event: 'dlt.template_approved',
      data: { ...data, status: 'approved', provider_template_id: providerId },
    }
    expect(await events()).toMatchObject([rejected, approved])
  })

  test('R-35 a template that is approved with missing fields is not provisioned', async () => {
    const { dlt, states, events } = await start()
    const template = await dlt.template()
    await dlt.report(template, 'approved', { missing_fields: ['template_id'] })
    await dlt.poll()
    expect(await states(template)).toEqual(['approved', null, null])
    await dlt.report(template, 'approved')
    await dlt.poll()
    const [, issued] = await states(template)
    expect(await states(template)).toEqual(['approved', templateId, null])
    await dlt.poll()
    expect(await states(template)).toEqual(['approved', issued, null])
    expect(await events()).toMatchObject([{ event: 'dlt.template_approved', data: { provider_template_id: null } }])
  })

  test('fires one event when two polls run at once', async () => {
    const { dlt, events } = await start()
    await dlt.template()
    await Promise.all([dlt.poll(), dlt.poll(), dlt.poll()])
    expect(await events()).toHaveLength(1)
  })

  test('reads every row, page by page', async () => {
    const { t, dlt } = await start()
    const header = await dlt.header()
    for (let n = 0; n < 5; n++) await dlt.template({ header })
    const { db, clock, appendEvents } = t.service.modules
    const poll = makePollDlt({ db, clock, appendEvents, simulated: true, forget: () => undefined, batch: 2 })
    expect(await poll()).toEqual({ dlt_polled: 7, dlt_approved: 7, dlt_rejected: 0 })
  })

  test('with a real provider moves only what test keys registered', async () => {
    const { acme, dlt, states, events } = await start(smpp)
    const template = await dlt.template()
    const simulated = await dlt.template({ key: acme.keys.test })
    await dlt.report(template, 'approved')
    expect(await dlt.poll()).toMatchObject({ dlt_polled: 3, dlt_approved: 3, dlt_rejected: 0 })
    expect(await states(template)).toEqual(['pending', null, null])
    expect(await states(simulated)).toEqual(['approved', templateId, null])
    expect(await events()).toMatchObject([{ data: { id: simulated } }])
  })

  test('changes nothing while the whole registry is unreachable', async () => {
    const { t, dlt, states } = await start()
    const template = await dlt.template()
    const set = `insert into simulated_registry (id, status, at) values ('*', 'unreachable', $1)`
    await t.database.sql(set, [t.service.clock.now()])
    expect(await dlt.poll()).toMatchObject({ dlt_polled: 0, dlt_approved: 0, dlt_rejected: 0 })
    expect(await states(template)).toEqual(['pending', null, null])
  })
})

describe('POST /api/dev/registry', () => {
  test('R-35 returns the status that it set, and refuses unknown rows and statuses', async () => {
    const { t, dlt } = await start()
    const ask = (body: object) => t.ask('POST', '/api/dev/registry', { body })
    const id = await dlt.entity()
    const set = await ask({ id, status: 'rejected', reason: 'No.' })
    expect([set.status, set.body]).toEqual([200, { id, status: 'rejected' }])
    await dlt.poll()
    expect((await dlt.get('entities', id)).body).toMatchObject({ status: 'rejected', rejection_reason: 'No.' })
    expectRefusal(await ask({ id: newId('dltTemplate'), status: 'approved' }), 'NOT_FOUND')
    const message = 'Must be one of: submitted, approved, rejected, unreachable, reachable.'
    const errors = [{ path: ['status'], code: 'custom', message }]
    expectRefusal(await ask({ id, status: 'verified' }), 'VALIDATION_ERROR', { errors })
    await dlt.remove('entities', id)
    expect(await t.database.sql('select id from simulated_registry')).toEqual([])
  })
})

describe('a message to India', () => {
  test('S-222 S-224 S-225 S-226 needs a template that is approved and provisioned', async () => {
    const { t, acme, dlt } = await start()
    const template = await dlt.template()
    const send = (dlt_template_id: string, key = acme.keys.live) =>
      t.ask('POST', '/api/v1/sms', {
        key,
        body: { from: 'TIDINGS', to: '+919876543210', body: 'Your code is 1234', dlt_template_id },
      })
    expectRefusal(await send(template), 'DLT_TEMPLATE_NOT_APPROVED')
    for (const [status, more, code] of [
      ['submitted', {}, 'DLT_TEMPLATE_NOT_APPROVED'],
      ['rejected', {}, 'DLT_TEMPLATE_NOT_APPROVED'],
      ['approved', { missing_fields: ['template_id'] }, 'DLT_TEMPLATE_NOT_PROVISIONED'],
    ] as const) {
      await dlt.report(template, status, more)
      await dlt.poll()
      expectRefusal(await send(template), code)
    }
    await dlt.report(template, 'approved')
    await dlt.poll()
    const sent = await send(template)
    expect(sent.status, sent.text).toBe(200)
    const simulated = await dlt.template({ key: acme.keys.test })
    await dlt.poll()
    expectRefusal(await send(simulated), 'DLT_TEMPLATE_NOT_FOUND')
    expect((await send(simulated, acme.keys.test)).status).toBe(200)
    await dlt.remove('templates', template)
    expectRefusal(await send(template), 'DLT_TEMPLATE_NOT_FOUND')
  })

  test('S-227 S-229 carries both ids, and fails when they vanish before it is due', async () => {
    const { t, acme, dlt, states } = await start()
    const template = await dlt.template()
    await dlt.poll()
    const [, providerId] = await states(template)
    const { live } = acme.keys
    const message = { from: 'TIDINGS', to: '+919876543210', body: 'Your code is 1234', dlt_template_id: template }
    await t.ask('POST', '/api/v1/sms', { key: live, body: message })
    const outbox = await t.ask('GET', '/api/dev/outbox?channel=sms')
    expect(outbox.body.data.map((sms: { dlt: unknown }) => sms.dlt)).toEqual([
      { entity_id: '1101234567890123456', template_id: providerId },
    ])
    const scheduled_at = new Date(t.service.clock.millis() + 600_000).toISOString()
    const later = await t.ask('POST', '/api/v1/sms', { key: live, body: { ...message, scheduled_at } })
    await dlt.report(template, 'approved', { missing_fields: ['template_id'] })
    await dlt.poll()
    await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 700 } })
    await t.ask('POST', '/api/dev/run', { body: { task: 'scheduler' } })
    const read = await t.ask('GET', `/api/v1/sms/${later.body.id}`, { key: live })
    expect(read.body).toMatchObject({ status: 'failed', dlt_template_id: template })
    expect((await t.ask('GET', '/api/dev/outbox?channel=sms')).body.data).toHaveLength(1)
  })
})
