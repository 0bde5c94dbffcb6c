/** Text messages for later: at an instant or at a local time, canceling, and the checks when they are due. */
import { afterAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import type { Body } from '../../../../test/clients/mailer.ts'
import { simulated, type Texter, text, texter } from '../../../../test/clients/texter.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { silentLog } from '../../../platform/ground/log.ts'
import { makeRescheduleLocal } from './reschedule-local.ts'

const t = await startTestService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const scheduled = async (own: Texter, more: Body, key = own.live) => {
  const reply = await own.send(text(more), { key })
  expect([reply.status, reply.body.status], reply.text).toEqual([200, 'scheduled'])
  return reply.body as { id: string; scheduled_at: string }
}
const day = 86_400_000
const hour = 3_600_000
/** The next last Sunday of that month, at least two days ahead: clocks change in Europe. */
const nextChange = (month: number): string => {
  const from = t.service.clock.millis() + 2 * day
  for (let year = new Date(from).getUTCFullYear(); ; year++) {
    const last = new Date(Date.UTC(year, month, 0))
    const sunday = new Date(last.getTime() - last.getUTCDay() * day)
    if (sunday.getTime() > from) return sunday.toISOString().slice(0, 10)
  }
}
const spring = nextChange(3)
const autumn = nextChange(10)

describe('scheduled_at', () => {
  test('S-162 S-237 is in the answer, and the message is sent then, with its media', async () => {
    const own = await texter(t)
    await own.number('+15125550199')
    const at = own.inSeconds(3_600)
    const more = { from: '+15125550199', media_url: ['s3://abc/key'], scheduled_at: at }
    const { result, trail } = await withTrail(t.database, own.orgId, () => own.send(text(more)))
    expect([result.status, result.body]).toEqual([
      200,
      {
        id: expect.stringMatching(/^msg_/),
        channel: 'sms',
        status: 'scheduled',
        segments: 1,
        created_at: expect.any(String),
        scheduled_at: at,
      },
    ])
    expect(trail.map(({ action }) => action)).toEqual(['message.sent'])
    expect(await own.traces()).toMatchObject({ messages: ['scheduled'], events: [], outbox: 0, used: {} })
    await own.advance(3_598)
    await own.fire()
    expect(await own.outbox()).toEqual([])
    await own.advance(3)
    await own.fire()
    expect(await own.handed(result.body.id)).toMatchObject({ from: '+15125550199', media_url: ['s3://abc/key'] })
    expect(await own.traces()).toMatchObject({ messages: ['sent'], events: ['message.sent'], outbox: 1 })
    expect(await own.used()).toMatchObject({ 'org live sms': 1 })
  })

  test('SD-44 five minutes ago or one second ahead is sent at once, earlier or a year later is refused', async () => {
    const own = await texter(t)
    for (const seconds of [-299, 0, 0.9]) {
      const { body } = await own.send(text({ scheduled_at: own.inSeconds(seconds) }))
      expect(body).toEqual({ id: body.id, channel: 'sms', status: 'sent', segments: 1, created_at: body.created_at })
    }
    const refused = (seconds: number) => leavesNoTrace(() => own.send(text({ scheduled_at: own.inSeconds(seconds) })))
    expectRefusal(await refused(-302), 'SCHEDULED_AT_IN_PAST')
    expectRefusal(await refused(366 * 86_400 + 10), 'SCHEDULED_AT_TOO_FAR')
    await scheduled(own, { scheduled_at: own.inSeconds(366 * 86_400 - 10) })
  })
})

describe('scheduled_local', () => {
  const times: [what: string, local: string, zone: string, instant: string][] = [
    ['a time that clocks skip moves forward by the gap', `${spring}T02:30`, 'Europe/Berlin', `${spring}T01:30:00.000Z`],
    ['a time that occurs twice is the first', `${autumn}T02:30`, 'Europe/Berlin', `${autumn}T00:30:00.000Z`],
    ['seconds are optional', `${spring}T12:00:30`, 'Europe/Berlin', `${spring}T10:00:30.000Z`],
    ['a zone of half an hour', `${spring}T12:00`, 'Asia/Kolkata', `${spring}T06:30:00.000Z`],
  ]

  test.for(times)('S-150 SD-45 %s', async ([, scheduled_local, scheduled_at_tz, instant]) => {
    const own = await texter(t)
    const { id, scheduled_at } = await scheduled(own, { scheduled_local, scheduled_at_tz })
    expect(scheduled_at).toBe(instant)
    expect(await own.row(id)).toMatchObject({
      scheduled_at: new Date(instant),
      due_at: new Date(instant),
      sms: { segments: 1, scheduled_local, scheduled_at_tz },
    })
    expect((await own.get(id)).body).toMatchObject({ scheduled_at: instant, scheduled_local, scheduled_at_tz })
  })

  test('SD-44 SD-45 is refused in the past and too far ahead, and sent at once when it is now', async () => {
    const own = await texter(t)
    const at = (ahead: number) => ({
      scheduled_local: new Date(t.service.clock.millis() + ahead).toISOString().slice(0, 19),
      scheduled_at_tz: 'UTC',
    })
    expectRefusal(await leavesNoTrace(() => own.send(text(at(-hour)))), 'SCHEDULED_AT_IN_PAST')
    expectRefusal(await leavesNoTrace(() => own.send(text(at(367 * day)))), 'SCHEDULED_AT_TOO_FAR')
    const year = text({ scheduled_local: '0000-01-01T00:00', scheduled_at_tz: 'Europe/Berlin' })
    expectRefusal(await leavesNoTrace(() => own.send(year)), 'SCHEDULED_AT_IN_PAST')
    const { body } = await own.send(text(at(0)))
    expect(body.status).toBe('sent')
    expect((await own.get(body.id)).body).toMatchObject({
      scheduled_at: null,
      scheduled_local: null,
      scheduled_at_tz: null,
    })
  })

  describe('when the rules of the zone change before it is due', () => {
    const localIn = (hours: number) => ({
      scheduled_local: new Date(t.service.clock.millis() + hours * hour).toISOString().slice(0, 19),
      scheduled_at_tz: 'UTC',
    })
    /** Stores the instant that other rules gave: earlier or later than the present ones. */
    const storedBy = (id: string, hours: number) =>
      t.database.sql(
        `update messages set scheduled_at = scheduled_at + make_interval(hours => $2),
           due_at = due_at + make_interval(hours => $2) where id = $1`,
        [id, hours],
      )
    const reschedule = (rules: string) =>
      makeRescheduleLocal({ db: t.service.db, clock: t.service.clock, log: silentLog(), rules })()

    test('S-150 SD-45 a message that is now due later waits for the present instant, and reads show it', async () => {
      const own = await texter(t)
      const { id, scheduled_at } = await scheduled(own, localIn(3))
      await storedBy(id, -2)
      expect((await own.get(id)).body.scheduled_at).toBe(scheduled_at)
      await own.advance(3_601)
      await own.fire()
      expect(await own.row(id)).toMatchObject({ status: 'scheduled', due_at: new Date(scheduled_at), attempts: 0 })
      expect(await own.traces()).toMatchObject({ events: [], outbox: 0, used: {} })
      await own.advance(7_200)
      await own.fire()
      expect(await own.row(id)).toMatchObject({ status: 'sent' })
      expect(await own.outbox()).toHaveLength(1)
    })

    test('S-150 a message that is now due earlier is moved when a process with other rules starts', async () => {
      const own = await texter(t)
      const [early, late, same] = [
        await scheduled(own, localIn(3)),
        await scheduled(own, localIn(4)),
        await scheduled(own, localIn(5)),
      ]
      const atInstant = await scheduled(own, { scheduled_at: own.inSeconds(3 * 3_600) })
      await reschedule('2000a')
      await storedBy(early.id, 2)
      await storedBy(late.id, -1)
      await storedBy(atInstant.id, 2)
      expect(await reschedule('2000a'), 'the same rules').toBe(0)
      expect(await reschedule('2000b')).toBe(2)
      for (const { id, scheduled_at } of [early, late, same]) {
        const at = new Date(scheduled_at)
        expect(await own.row(id)).toMatchObject({ status: 'scheduled', scheduled_at: at, due_at: at })
      }
      const kept = new Date(Date.parse(atInstant.scheduled_at) + 2 * hour)
      expect(await own.row(atInstant.id)).toMatchObject({ scheduled_at: kept, due_at: kept })
      expect(await reschedule('2000b')).toBe(0)
    })

    test('S-150 a message that was canceled or postponed meanwhile is not moved', async () => {
      const own = await texter(t)
      const [canceled, postponed] = [await scheduled(own, localIn(3)), await scheduled(own, localIn(3))]
      for (const { id } of [canceled, postponed]) await storedBy(id, 2)
      expect((await own.cancel(canceled.id)).status).toBe(200)
      const later = new Date(t.service.clock.millis() + 9 * hour)
      await t.database.sql('update messages set due_at = $2 where id = $1', [postponed.id, later])
      expect(await reschedule('2000c')).toBe(0)
      expect(await own.row(canceled.id)).toMatchObject({ status: 'canceled', due_at: null })
      expect(await own.row(postponed.id)).toMatchObject({ status: 'scheduled', due_at: later })
    })
  })
})

describe('DELETE /sms/{id}', () => {
  test('S-154 S-160 cancels a scheduled message once, with an audit entry, and it is not sent', async () => {
    const own = await texter(t)
    const { id } = await scheduled(own, { scheduled_at: own.inSeconds(60) })
    const { result, trail } = await withTrail(t.database, own.orgId, () => own.cancel(id))
    expect([result.status, result.body]).toEqual([
      200,
      { id, channel: 'sms', status: 'canceled', canceled_at: expect.any(String) },
    ])
    expect(trail).toEqual([expect.objectContaining({ action: 'message.canceled', resource_id: id })])
    expectRefusal(await leavesNoTrace(() => own.cancel(id)), 'NOT_SCHEDULED')
    await own.advance(61)
    await own.fire()
    expect(await own.traces()).toMatchObject({ messages: ['canceled'], events: [], outbox: 0, used: {} })
  })

  test('S-154 SD-48 refuses a message that was sent or is being sent, and does not find one of another key or channel', async () => {
    const own = await texter(t)
    const sent = (await own.send(text())).body.id
    expectRefusal(await leavesNoTrace(() => own.cancel(sent)), 'NOT_SCHEDULED')
    const { id } = await scheduled(own, { scheduled_at: own.inSeconds(60) })
    expectRefusal(await leavesNoTrace(() => own.cancel(id, own.test)), 'NOT_FOUND')
    const asEmail = () => t.ask('DELETE', `/api/v1/emails/${id}`, { key: own.live })
    expectRefusal(await leavesNoTrace(asEmail), 'NOT_FOUND')
    await t.database.sql("update messages set status = 'sending' where id = $1", [id])
    expectRefusal(await leavesNoTrace(() => own.cancel(id)), 'NOT_SCHEDULED')
    expect((await own.get(id)).body.status).toBe('sending')
    expect((await own.list('?status=scheduled')).body.data).toEqual([])
    await t.database.sql("update messages set status = 'canceled', due_at = null where id = $1", [id])
  })
})

describe('a message that is due', () => {
  const due = async (own: Texter, id: string) => {
    await own.advance(61)
    await own.fire()
    return own.row(id)
  }

  test('S-159 SD-46 fails when its sender is no longer verified or registered', async () => {
    const own = await texter(t)
    const senders = [await own.number('+15125550101'), await own.number('+15125550102')]
    const at = own.inSeconds(60)
    const first = await scheduled(own, { from: '+15125550101', scheduled_at: at })
    const second = await scheduled(own, { from: '+15125550102', scheduled_at: at })
    await own.setSender(senders[0] as string, 'status', 'unverified')
    await t.database.sql('delete from phone_numbers where id = $1', [senders[1]])
    for (const from of ['+15125550101', '+15125550102']) {
      await expect.poll(async () => (await own.send(text({ from }))).status).toBe(422)
    }
    expect(await due(own, first.id)).toMatchObject({
      status: 'failed',
      error_message: expect.stringMatching('^SENDER_NOT_VERIFIED: '),
    })
    expect(await own.row(second.id)).toMatchObject({
      status: 'failed',
      error_message: expect.stringMatching('^SENDER_NOT_REGISTERED: '),
    })
    expect(await own.traces()).toMatchObject({ events: ['message.failed', 'message.failed'], outbox: 0, used: {} })
  })

  test('S-159 SD-46 is canceled when its tenant is suspended', async () => {
    const own = await texter(t)
    const tenantId = await t.tenant(own.orgId)
    const { id } = await scheduled(own, { scheduled_at: own.inSeconds(60) }, await t.key(own.orgId, { tenantId }))
    await t.database.sql("update tenants set status = 'suspended' where id = $1", [tenantId])
    expect(await due(own, id)).toMatchObject({ status: 'canceled', error_message: 'Tenant suspended' })
    expect(await own.traces()).toMatchObject({ events: [], outbox: 0, used: {} })
  })

  test.for([
    ['the plan', 'update orgs set sms_monthly = $2 where id = $1'],
    ['the spend cap', 'update orgs set spend_cap_micros = $2 where id = $1'],
    ["the tenant's quota", 'update tenants set sms_monthly = $2 where org_id = $1'],
  ])('S-159 SD-46 X-305 waits an hour at a time while %s is used up', async ([, statement]) => {
    const own = await texter(t, { plan: 'payg' })
    const key = await t.key(own.orgId, { tenantId: await t.tenant(own.orgId) })
    const { id } = await scheduled(own, { scheduled_at: own.inSeconds(60) }, key)
    const limit = async (value: number | null) => {
      await t.database.sql(statement as string, [own.orgId, value])
      t.service.modules.usage.forgetOrg(own.orgId)
    }
    await limit(0)
    const before = t.service.clock.millis()
    const row = await due(own, id)
    expect(row).toMatchObject({ status: 'scheduled', error_message: null, attempts: 0 })
    expect((row.due_at as Date).getTime()).toBeGreaterThanOrEqual(before + hour)
    expect(await own.traces()).toMatchObject({ events: [], outbox: 0, used: {} })
    await limit(null)
    await own.advance(3_601)
    await own.fire()
    expect(await own.row(id)).toMatchObject({ status: 'sent' })
    expect(await own.used()).toMatchObject({ 'org live sms': 1 })
  })

  test('SD-46 fails when the provider refuses it for good', async () => {
    const own = await texter(t)
    const { id } = await scheduled(own, { to: simulated.refused, scheduled_at: own.inSeconds(60) })
    expect(await due(own, id)).toMatchObject({ status: 'failed', error_message: 'Refused by the simulator' })
    expect((await own.events()).map(({ event, data }) => [event, data])).toEqual([
      ['message.failed', { message_id: id, channel: 'sms', status: 'failed', error: 'Refused by the simulator' }],
    ])
    expect(await own.traces()).toMatchObject({ outbox: 0, used: {} })
  })
})
