/** Reports about codes: a permanent bounce or a complaint suppresses the destination, and nothing else happens. */
import { afterAll, describe, expect, test } from 'vitest'
import { deliver, postfixBounce, startBouncingService } from '../../../test/clients/inbound-mail.ts'
import { simulator } from '../../../test/clients/mailer.ts'
import { simulated } from '../../../test/clients/texter.ts'
import { verifier } from '../../../test/clients/verifier.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { makeSns, sesEvent, topic } from '../../../test/servers/sns.ts'
import { startTestService } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'

const smsTopic = 'arn:aws:sns:eu-west-1:123456789012:sms-events'
const sns = await makeSns()
const t = await startTestService({ ...sns.overrides, env: { SES_SNS_TOPICS: topic, SMS_SNS_TOPICS: smsTopic } })
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)
const own = await verifier(t)

const suppressed = (of: { orgId: string }, value: string, service = t) =>
  service.database.sql(
    'select channel, reason, source, message_id, tenant_id from suppressions where org_id = $1 and value = $2',
    [of.orgId, value],
  )
const bounce = { channel: 'email', reason: 'bounce', source: 'provider', message_id: null, tenant_id: null }

describe('simulator recipients', () => {
  test.each([
    ['bounced', 'bounce'],
    ['complained', 'complaint'],
  ])('SD-20 R-35 %s suppresses the address for %s, and the next code is refused', async (part, reason) => {
    const to = simulator(`${part}+code`)
    expect((await own.startEmail({ to })).status).toBe(201)
    await expect.poll(() => suppressed(own, to)).toEqual([{ ...bounce, reason }])
    expectRefusal(await leavesNoTrace(() => own.startEmail({ to })), 'UNDELIVERABLE_DESTINATION')
    expect(await own.traces()).toMatchObject({ messages: [], events: [] })
  })

  test('SD-20 a number that is blocked is suppressed, and test mode suppresses nobody', async () => {
    const { bounced: to } = simulated
    const other = await verifier(t)
    await other.started({ to }, { key: other.test })
    await t.service.modules.messages.outcomes.drained()
    expect(await suppressed(other, to)).toEqual([])
    await other.started({ to })
    await expect.poll(() => suppressed(other, to)).toEqual([{ ...bounce, channel: 'sms' }])
    expect((await other.startEmail({ to: simulator('softbounced') })).status).toBe(201)
    expect((await other.startEmail({ to: simulator('delivered') })).status).toBe(201)
    expect(await t.database.sql("select 1 from suppressions where value like '%softbounced%'")).toEqual([])
  })
})

describe('notifications', () => {
  const notify = (path: string, event: unknown, changes = {}) =>
    t.ask('POST', `/api/webhooks/provider/${path}`, {
      raw: JSON.stringify(sns.signed(sns.notification(event, changes))),
    })

  test('SD-20 a bounce from Amazon SES suppresses the address of the tenant, once', async () => {
    const tenantId = await t.tenant(own.orgId)
    const key = await t.key(own.orgId, { tenantId })
    const to = own.newAddress()
    const { id } = (await own.startEmail({ to }, { key })).body
    const event = sesEvent({ orgId: own.orgId, messageId: id }, 'Bounce', [to])
    const body = JSON.stringify(sns.signed(sns.notification(event)))
    const send = () => t.ask('POST', '/api/webhooks/provider/email', { raw: body })
    expect((await send()).status).toBe(200)
    expect(await suppressed(own, to)).toEqual([{ ...bounce, tenant_id: tenantId }])
    expect((await leavesNoTrace(send)).status).toBe(200)
  })

  test('SD-20 a delivery, and reports about unknown codes and codes of other orgs, suppress nobody', async () => {
    const to = own.newAddress()
    const { id } = (await own.startEmail({ to })).body
    const { orgId } = await verifier(t)
    for (const event of [
      sesEvent({ orgId: own.orgId, messageId: id }, 'Delivery', [to]),
      sesEvent({ orgId: own.orgId, messageId: newId('verification') }, 'Bounce', [to]),
      sesEvent({ orgId, messageId: id }, 'Bounce', [to]),
    ]) {
      expect((await notify('email', event)).status).toBe(200)
    }
    expect(await suppressed(own, to)).toEqual([])
  })

  test('SD-20 a blocked number reported by AWS is suppressed', async () => {
    const to = own.newNumber()
    const id = await own.started({ to })
    const event = {
      eventType: 'TEXT_BLOCKED',
      eventVersion: '1.0',
      eventTimestamp: Date.now(),
      isFinal: true,
      messageId: 'aws-1',
      messageStatus: 'BLOCKED',
      context: { 'tidings-org': own.orgId, 'tidings-message': id },
    }
    expect((await notify('sms', event, { TopicArn: smsTopic })).status).toBe(200)
    expect(await suppressed(own, to)).toEqual([{ ...bounce, channel: 'sms' }])
  })

  test('SD-20 a bounce that comes back by mail suppresses the address', async () => {
    const mailing = await startBouncingService()
    try {
      const sender = await verifier(mailing)
      const to = 'gone@reader.test'
      const { id } = (await sender.startEmail({ to })).body
      const relayed = mailing.relayed.find(({ raw }) => raw.includes(`X-Service-Message-Id: ${id}`))
      const returnPath = relayed?.from as string
      expect(returnPath).toMatch(/^v[0-9a-z]{63}@/)
      expect(await deliver(mailing.port, returnPath, postfixBounce({ recipient: to }))).toBe('250 2.0.0 Accepted.')
      expect(await suppressed(sender, to, mailing)).toEqual([bounce])
    } finally {
      await mailing.stop()
    }
  })
})
