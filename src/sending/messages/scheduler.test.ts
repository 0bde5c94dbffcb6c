/** Scheduled messages: creating them, the checks when they are due, and canceling them. */
import { afterAll, describe, expect, test } from 'vitest'
import { trailOf, withTrail } from '../../../test/audit/trail.ts'
import { keyIdOf } from '../../../test/clients/key-client.ts'
import { postOf } from '../../../test/clients/post-client.ts'
import { tenantClient } from '../../../test/clients/tenant-client.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'
import type { Plan } from '../../customers/orgs/plans.ts'

const t = await startTestService()
afterAll(() => t.stop())

const hour = 3_600
const orgWith = async (plan: Plan = 'enterprise') => {
  const created = await t.org({ plan })
  return { ...created, orgId: created.org.id, live: created.keys.live, ...postOf(t, created) }
}
const setOrg = async (orgId: string, set: string) => {
  await t.database.sql(`update orgs set ${set} where id = $1`, [orgId])
  t.service.modules.usage.forgetOrg(orgId)
}

describe('scheduling', () => {
  test('S-144 a time more than a second ahead stores the message as scheduled and sends nothing', async () => {
    const { send, inSeconds, row, handed, events, used, get } = await orgWith()
    const at = inSeconds(2)
    const { status, body } = await send({ scheduled_at: at })
    expect([status, body]).toEqual([
      200,
      {
        id: expect.stringMatching(/^msg_/),
        channel: 'email',
        status: 'scheduled',
        created_at: expect.any(String),
        scheduled_at: at,
      },
    ])
    expect(await row(body.id)).toMatchObject({ status: 'scheduled', due_at: new Date(at), attempts: 0 })
    expect((await get(body.id)).body).toMatchObject({ status: 'scheduled', scheduled_at: at, sent_at: null })
    expect([await handed(body.id), await events(body.id), await used()]).toEqual([[], [], 0])
  })

  test('S-145 X-342 a time between five minutes ago and one second ahead sends the message immediately', async () => {
    const { send, inSeconds, handed, get } = await orgWith()
    for (const seconds of [0.5, 0, -1, -295]) {
      const { body } = await send({ scheduled_at: inSeconds(seconds) })
      expect(body, `${seconds}`).toEqual({
        id: body.id,
        channel: 'email',
        status: 'sent',
        created_at: expect.any(String),
      })
      expect(await handed(body.id)).toHaveLength(1)
      expect((await get(body.id)).body).toMatchObject({ status: 'sent', scheduled_at: null })
    }
  })

  test('S-146 S-147 X-342 a time too far in the past or the future is rejected', async () => {
    const { send, inSeconds } = await orgWith()
    const leavesNoTrace = await watchTables(t.database)
    const day = 24 * hour
    const refusals = [
      ['SCHEDULED_AT_IN_PAST', { scheduled_at: inSeconds(-302) }],
      ['SCHEDULED_AT_TOO_FAR', { scheduled_at: inSeconds(366 * day + 30) }],
    ] as const
    for (const [code, body] of refusals) expectRefusal(await leavesNoTrace(() => send(body)), code)
    expect((await send({ scheduled_at: inSeconds(366 * day - 30) })).body.status).toBe('scheduled')
  })

  test('S-148 S-149 a scheduled message with several recipients or attachments is rejected', async () => {
    const { send, inSeconds } = await orgWith()
    const leavesNoTrace = await watchTables(t.database)
    const scheduled_at = inSeconds(60)
    const attachments = [{ filename: 'a.txt', content: 'aGk=' }]
    const refusals = [
      ['SCHEDULED_SINGLE_RECIPIENT', { scheduled_at, to: ['ann@reader.test', 'jo@reader.test'] }],
      ['SCHEDULED_NO_ATTACHMENTS', { scheduled_at, attachments }],
    ] as const
    for (const [code, body] of refusals) expectRefusal(await leavesNoTrace(() => send(body)), code)
  })

  test('SD-49 a template is rendered when the message is scheduled; deleting it later changes nothing', async () => {
    const { live, scheduled, advance, fire, handed } = await orgWith()
    const made = await t.ask('POST', '/api/v1/templates', {
      key: live,
      body: {
        slug: 'hello',
        name: 'Hello',
        channel: 'email',
        subject: 'Hello {{name}}',
        text: 'Dear {{name}}',
      },
    })
    expect(made.status).toBeLessThan(300)
    const template = { template: 'hello', variables: { name: 'Ann' }, subject: undefined, text: undefined }
    const id = await scheduled(template)
    expect((await t.ask('DELETE', `/api/v1/templates/${made.body.id}`, { key: live })).status).toBeLessThan(300)
    await advance(61)
    await fire()
    expect((await handed(id)).map(({ mail }) => mail.subject)).toEqual(['Hello Ann'])
  })
})

describe('when it is due', () => {
  test('S-151 SD-46 SD-48 a message is claimed as sending, cannot be canceled then, and is sent once', async () => {
    const { orgId, scheduled, advance, row, get, list, cancel, handed, events, used } = await orgWith()
    const id = await scheduled()
    const { scheduler } = t.service.modules.messages
    expect((await scheduler.claim(1_000)).filter((claimed) => claimed.id === id)).toEqual([])
    await advance(61)
    const claimed = (await scheduler.claim(1_000)).filter((one) => one.org_id === orgId)
    expect(claimed.map((one) => [one.id, one.status])).toEqual([[id, 'sending']])
    expect((await get(id)).body.status).toBe('sending')
    expect((await list('?status=scheduled')).body.data).toEqual([])
    expect((await list('?status=sending')).body.data).toMatchObject([{ id, status: 'sending' }])
    const before = await row(id)
    expectRefusal(await cancel(id), 'NOT_SCHEDULED')
    expect(await row(id)).toEqual(before)
    for (const one of claimed) await scheduler.fire(one)
    expect(await row(id)).toMatchObject({ status: 'sent', due_at: null, claim: null, error_message: null })
    expect((await row(id)).history.map(({ status }) => status)).toEqual(['scheduled', 'sent'])
    expect(await handed(id)).toHaveLength(1)
    expect(await events(id)).toEqual([
      {
        event: 'message.sent',
        tenant_id: null,
        environment: 'live',
        data: { message_id: id, channel: 'email', status: 'sent' },
      },
    ])
    expect(await used()).toBe(1)
    expect((await trailOf(t.database, orgId)).map(({ action }) => action)).toEqual(['message.sent'])
  })

  test('X-085 SD-46 a message that the provider refuses fails at once, fires message.failed with the reason, and is not counted', async () => {
    const { scheduled, advance, fire, row, events, used, get } = await orgWith()
    const id = await scheduled({ to: ['refused@simulator.tidings.test'] })
    await advance(61)
    await fire()
    const error = '550 5.7.1 Refused by the simulator'
    expect(await row(id)).toMatchObject({ status: 'failed', attempts: 0, error_message: error, due_at: null })
    expect((await get(id)).body).toMatchObject({ status: 'failed', provider_response: { detail: error } })
    expect((await events(id)).map(({ event, data }) => [event, data])).toEqual([
      ['message.failed', { message_id: id, channel: 'email', status: 'failed', error }],
    ])
    expect(await used()).toBe(0)
  })

  test('SD-46 SD-50 a message fails with the error code when its recipient was suppressed or its domain is no longer verified', async () => {
    const { orgId, live, scheduled, advance, fire, row, handed, events, used } = await orgWith()
    const [suppressed, unverified] = [await scheduled({ to: ['Gone@reader.test'] }), await scheduled()]
    const put = await t.ask('POST', '/api/v1/suppressions', {
      key: live,
      body: { channel: 'email', value: 'gone@reader.test' },
    })
    expect(put.status).toBeLessThan(300)
    await advance(61)
    await t.database.sql("update messages set from_address = 'x@elsewhere.test' where id = $1", [unverified])
    await fire()
    for (const [id, code] of [
      [suppressed, 'ALL_SUPPRESSED'],
      [unverified, 'SENDER_DOMAIN_NOT_VERIFIED'],
    ] as const) {
      const { status, error_message } = await row(id)
      expect([status, error_message]).toEqual(['failed', expect.stringMatching(`^${code}: `)])
      expect(await handed(id)).toEqual([])
      expect((await events(id)).map(({ event, data }) => [event, data.error])).toEqual([
        ['message.failed', error_message],
      ])
    }
    expect(await used()).toBe(0)
    expect((await trailOf(t.database, orgId)).filter(({ action }) => action === 'message.canceled')).toEqual([])
  })

  test('S-086 S-100 SD-50 a recipient suppressed since then is left out, and reads show only the others', async () => {
    const { live, scheduled, advance, fire, get, used } = await orgWith()
    const id = await scheduled({
      to: ['Ann <ann@reader.test>'],
      cc: ['left@reader.test', 'cy@reader.test'],
      reply_to: ['Desk <ann@reader.test>'],
    })
    const body = { channel: 'email', value: 'left@reader.test' }
    await t.ask('POST', '/api/v1/suppressions', { key: live, body })
    await advance(61)
    await fire()
    const expected = { status: 'sent', to: ['ann@reader.test'], cc: ['cy@reader.test'], bcc: [] }
    expect((await get(id)).body).toMatchObject(expected)
    const { data } = (await t.ask('GET', '/api/dev/outbox?to=cy@reader.test')).body
    expect(data).toHaveLength(1)
    expect(data[0].raw).toMatch(/^To: Ann <ann@reader.test>\r$/m)
    expect(data[0].raw).toMatch(/^Cc: cy@reader.test\r$/m)
    expect(data[0].raw).toMatch(/^Reply-To: Desk <ann@reader.test>\r$/m)
    expect(await used()).toBe(2)
  })

  test('SD-50 an unsubscribe blocks scheduled broadcasts and not scheduled transactional messages', async () => {
    const { orgId, scheduled, advance, fire, row } = await orgWith()
    const [broadcast, transactional] = [await scheduled({ stream: 'broadcast' }), await scheduled()]
    await t.database.sql(
      `insert into suppressions (org_id, id, channel, value, reason, source, created_environment, created_at, updated_at)
       values ($1, 'sup_x', 'email', 'ann@reader.test', 'unsubscribe', 'email_link', 'live', $2, $2)`,
      [orgId, t.service.clock.now()],
    )
    await advance(61)
    await fire()
    expect([(await row(broadcast)).status, (await row(transactional)).status]).toEqual(['failed', 'sent'])
  })

  test('S-106 a scheduled sandbox message counts on the day of the request, and not again when it is sent', async () => {
    const { org, owner, scheduled, advance, fire, row, used } = await orgWith()
    const from = `hi@${org.slug}.sandbox.tidings.test`
    const id = await scheduled({
      from,
      to: [owner.email],
      scheduled_at: postOf(t, { org, keys: { live: '', test: '' } }).inSeconds(2 * 24 * hour),
    })
    expect([await used('sandbox'), await used()]).toEqual([1, 0])
    await advance(2 * 24 * hour + 1)
    await fire()
    expect([(await row(id)).status, await used('sandbox'), await used()]).toEqual(['sent', 1, 1])
  })

  test('X-195 S-106 S-157 a sandbox message is canceled with the reason when its recipient is no longer a verified member', async () => {
    const { org, orgId, owner, scheduled, advance, fire, row, handed, events, used } = await orgWith()
    const id = await scheduled({ from: `hi@${org.slug}.sandbox.tidings.test`, to: [owner.email] })
    await t.database.sql('update users set email_verified_at = null where email = $1', [owner.email])
    await advance(61)
    await fire()
    expect(await row(id)).toMatchObject({
      status: 'canceled',
      canceled_at: expect.any(Date),
      due_at: null,
      error_message: expect.stringMatching(/^SANDBOX_RECIPIENT_NOT_ALLOWED: /),
    })
    expect([await handed(id), await events(id), await used()]).toEqual([[], [], 0])
    // Canceled by the service, so the audit log has no entry.
    expect((await trailOf(t.database, orgId)).map(({ action }) => action)).toEqual(['message.sent'])
  })

  test('S-158 X-310 a message over the spend cap is deferred by an hour at a time and sent once the cap allows it', async () => {
    const { orgId, scheduled, advance, fire, row, handed, events } = await orgWith('payg')
    const at = new Date(t.service.clock.millis() + 60_000)
    const id = await scheduled({ scheduled_at: at.toISOString() })
    await setOrg(orgId, 'spend_cap_micros = 0')
    await advance(61)
    for (let hours = 0; hours < 3; hours++) {
      await fire()
      const { status, due_at, attempts } = await row(id)
      const wait = (due_at as Date).getTime() - t.service.clock.millis()
      expect([status, attempts, Math.ceil(wait / 60_000)]).toEqual(['scheduled', 0, 60])
      await advance(hour - 10)
      await fire()
      expect((await row(id)).due_at).toEqual(due_at)
      await advance(11)
    }
    expect([await handed(id), await events(id)]).toEqual([[], []])
    expect((await row(id)).history.map(({ status }) => status)).toEqual(['scheduled'])
    await setOrg(orgId, 'spend_cap_micros = null')
    await fire()
    expect(await row(id)).toMatchObject({ status: 'sent', error_message: null })
    expect(await row(id)).toMatchObject({ scheduled_at: at })
  })

  test.each([
    ['plan', async (orgId: string) => setOrg(orgId, 'email_monthly = 0')],
    [
      'tenant',
      async (orgId: string) => {
        await t.database.sql('update tenants set email_monthly = 0 where org_id = $1', [orgId])
        t.service.modules.usage.forgetOrg(orgId)
      },
    ],
  ] as const)('SD-46 a message over the %s quota is deferred by an hour', async (_, close) => {
    const { orgId, scheduled, advance, fire, row, handed } = await orgWith()
    const key = await t.key(orgId, { tenantId: await t.tenant(orgId) })
    const id = await scheduled({}, key)
    await close(orgId)
    await advance(61)
    await fire()
    const { status, due_at } = await row(id)
    expect([status, Math.ceil(((due_at as Date).getTime() - t.service.clock.millis()) / 60_000)]).toEqual([
      'scheduled',
      60,
    ])
    expect(await handed(id)).toEqual([])
  })

  test('XD-20 a message over the warmup cap of its domain is deferred until midnight UTC', async () => {
    const { orgId, live, scheduled, advance, fire, row, statuses } = await orgWith()
    const [domain] = await t.database.sql<{ id: string }>('select id from domains where org_id = $1', [orgId])
    const path = `/api/v1/domains/${domain?.id}/warmup`
    expect((await t.ask('POST', path, { key: live, body: { days: 14 } })).status).toBeLessThan(300)
    const at = new Date(t.service.clock.millis() + 5_000).toISOString()
    const ids = await Promise.all(Array.from({ length: 51 }, () => scheduled({ scheduled_at: at })))
    await advance(6)
    const midnight = new Date(t.service.clock.now().setUTCHours(24, 0, 0, 0))
    await fire()
    expect(await statuses()).toEqual({ sent: 50, scheduled: 1 })
    const rows = await Promise.all(ids.map(row))
    expect(rows.flatMap(({ due_at }) => due_at ?? [])).toEqual([midnight])
    await advance((midnight.getTime() - t.service.clock.millis()) / 1000 + 1)
    await fire()
    expect(await statuses()).toEqual({ sent: 51 })
  })

  test('XD-21 a message of a paused IP pool is deferred by an hour', async () => {
    const { orgId, live, scheduled, advance, fire, row } = await orgWith()
    const pool = await t.ask('POST', '/api/v1/ip-pools', {
      key: live,
      body: { name: 'main', region: 'us-east-1', ip_count: 1 },
    })
    const [domain] = await t.database.sql<{ id: string }>('select id from domains where org_id = $1', [orgId])
    const patch = (path: string, body: object) => t.ask('PATCH', path, { key: live, body })
    const joined = await patch(`/api/v1/domains/${domain?.id}`, { ip_pool_id: pool.body.id })
    expect([joined.status, joined.text]).toEqual([200, expect.any(String)])
    const id = await scheduled()
    expect((await patch(`/api/v1/ip-pools/${pool.body.id}`, { paused: true })).status).toBe(200)
    await advance(61)
    await fire()
    const { status, due_at } = await row(id)
    expect([status, Math.ceil(((due_at as Date).getTime() - t.service.clock.millis()) / 60_000)]).toEqual([
      'scheduled',
      60,
    ])
    expect((await patch(`/api/v1/ip-pools/${pool.body.id}`, { paused: false })).status).toBe(200)
    await advance(hour)
    await fire()
    expect((await row(id)).status).toBe('sent')
  })

  test('XD-31 messages of a suspended org are deferred by an hour at a time and sent after it is reactivated', async () => {
    const { orgId, scheduled, advance, fire, row, handed } = await orgWith()
    const id = await scheduled()
    await setOrg(orgId, 'suspended_at = created_at')
    await advance(61)
    for (let hours = 0; hours < 2; hours++) {
      await fire()
      const { status, due_at } = await row(id)
      expect([status, Math.ceil(((due_at as Date).getTime() - t.service.clock.millis()) / 60_000)]).toEqual([
        'scheduled',
        60,
      ])
      await advance(hour + 1)
    }
    expect(await handed(id)).toEqual([])
    await setOrg(orgId, 'suspended_at = null')
    await fire()
    expect([(await row(id)).status, (await handed(id)).length]).toEqual(['sent', 1])
  })
})

describe('canceling', () => {
  test('S-153 S-156 A-168 a canceled message is never sent, and the audit log gets one entry', async () => {
    const { orgId, live, scheduled, advance, fire, row, cancel, handed, events } = await orgWith()
    const id = await scheduled()
    const { result, trail } = await withTrail(t.database, orgId, () => cancel(id))
    expect([result.status, result.body]).toEqual([
      200,
      { id, channel: 'email', status: 'canceled', canceled_at: expect.any(String) },
    ])
    expect(trail).toMatchObject([
      {
        action: 'message.canceled',
        resource_type: 'message',
        resource_id: id,
        metadata: { channel: 'email', environment: 'live', api_key_id: await keyIdOf(t, live) },
      },
    ])
    expect(trail).toHaveLength(1)
    await advance(61)
    await fire()
    expect(await row(id)).toMatchObject({ status: 'canceled', due_at: null, sent_at: null })
    expect([await handed(id), await events(id)]).toEqual([[], []])
  })

  test('S-155 canceling a message with any other status is rejected and changes nothing', async () => {
    const { orgId, sent, scheduled, cancel } = await orgWith()
    const leavesNoTrace = await watchTables(t.database)
    const id = await sent()
    for (const status of ['sending', 'sent', 'delivered', 'bounced', 'failed']) {
      await t.database.sql('update messages set status = $2 where id = $1', [id, status])
      expectRefusal(await leavesNoTrace(() => cancel(id)), 'NOT_SCHEDULED', {}, status)
    }
    const canceled = await scheduled()
    await cancel(canceled)
    expectRefusal(await leavesNoTrace(() => cancel(canceled)), 'NOT_SCHEDULED')
    const other = await t.org()
    expectRefusal(await leavesNoTrace(() => cancel(canceled, other.keys.live)), 'NOT_FOUND')
    expect(orgId).not.toBe(other.org.id)
  })

  test.each([
    ['suspend', 'Tenant suspended', 'unsuspend'],
    ['archive', 'Tenant archived', 'restore'],
  ] as const)(
    'A-276 AD-106 %s cancels the scheduled messages of the tenant permanently',
    async (move, reason, back) => {
      const created = await t.org()
      const { scheduled, advance, fire, row, handed, events } = postOf(t, created)
      const tenants = tenantClient(t, created)
      const [tenantId, otherId] = [await tenants.made(), await tenants.made()]
      const key = await t.key(created.org.id, { tenantId })
      const otherKey = await t.key(created.org.id, { tenantId: otherId })
      const ids = [await scheduled({}, key), await scheduled({}, key), await scheduled({}, key)]
      const sending = ids.pop() as string
      const others = [await scheduled(), await scheduled({}, otherKey)]
      await t.database.sql("update messages set due_at = $2, status = 'sending', claim = 'x' where id = $1", [
        sending,
        new Date(t.service.clock.millis() + 300_000),
      ])
      const { trail } = await withTrail(t.database, created.org.id, () => tenants.move(move, tenantId))
      expect(trail.map(({ action, metadata }) => [action, metadata?.canceled_messages])).toEqual([
        [move === 'suspend' ? 'tenant.suspended' : 'tenant.archived', 2],
      ])
      expect((await row(sending)).status).toBe('sending')
      expect((await tenants.move(back, tenantId)).status).toBe(200)
      await advance(61)
      await fire()
      for (const id of ids) {
        expect(await row(id)).toMatchObject({ status: 'canceled', error_message: reason, due_at: null })
        expect([await handed(id), await events(id)]).toEqual([[], []])
      }
      for (const id of others) expect((await row(id)).status).toBe('sent')
    },
  )

  test('AD-106 a message that is due for an inactive tenant is canceled with the same reason', async () => {
    const created = await t.org()
    const { scheduled, advance, fire, row, handed } = postOf(t, created)
    for (const [status, reason] of [
      ['suspended', 'Tenant suspended'],
      ['archived', 'Tenant archived'],
    ] as const) {
      const tenantId = await t.tenant(created.org.id)
      const id = await scheduled({}, await t.key(created.org.id, { tenantId }))
      await t.database.sql('update tenants set status = $2 where id = $1', [tenantId, status])
      await advance(61)
      await fire()
      expect(await row(id)).toMatchObject({ status: 'canceled', error_message: reason })
      expect(await handed(id)).toEqual([])
    }
  })
})
