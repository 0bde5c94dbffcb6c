/** Who a text message comes from, and who it may not go to: senders, pools, tenants and suppressions. */
import { afterAll, describe, expect, test } from 'vitest'
import { text, texter } from '../../../../test/clients/texter.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService, testService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'
import type { Sms } from '../../../providers/sms/sms-provider.ts'

const t = await startTestService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const first = '+15125550101'
const second = '+15125550102'
const codesOf = (reply: { body: { data: { error: { code: string } | null }[] } }) =>
  reply.body.data.map(({ error }) => error?.code ?? 'sent')

describe('the sender of a live message', () => {
  test('S-177 S-181 X-245 SD-56 must be registered as that kind, in that spelling', async () => {
    const own = await texter(t)
    await own.number(first)
    await own.alphanumeric('Acme Ltd')
    for (const from of ['NOBODY', second, 'ACME LTD', 'acme ltd', 'tidings']) {
      expectRefusal(await leavesNoTrace(() => own.send(text({ from }))), 'SENDER_NOT_REGISTERED')
    }
    for (const from of [first, 'Acme Ltd', 'TIDINGS']) expect((await own.send(text({ from }))).status).toBe(200)
    const other = await texter(t)
    expectRefusal(await leavesNoTrace(() => other.send(text({ from: first }))), 'SENDER_NOT_REGISTERED')
  })

  test.for(['pending', 'unverified', 'failed'])('S-177 X-246 that is %s is not verified', async (status) => {
    const own = await texter(t)
    await own.number(first, { status })
    await own.alphanumeric('Waiting', { status })
    for (const from of [first, 'Waiting']) {
      expectRefusal(await leavesNoTrace(() => own.send(text({ from }))), 'SENDER_NOT_VERIFIED')
    }
  })

  test('X-052 that a test key registered is not registered for a live one', async () => {
    const own = await texter(t)
    await own.number(first, { environment: 'test' })
    await own.alphanumeric('Simulated', { environment: 'test' })
    await own.pool('simulated', [await own.number(second, { environment: 'test' })])
    for (const from of [first, 'Simulated']) {
      expectRefusal(await leavesNoTrace(() => own.send(text({ from }))), 'SENDER_NOT_REGISTERED')
    }
    const pooled = text({ from: undefined, from_pool: 'simulated' })
    expectRefusal(await leavesNoTrace(() => own.send(pooled)), 'SENDER_NOT_VERIFIED')
  })

  test("R-39 of a tenant's pool serves that tenant and the org, and no other tenant", async () => {
    const own = await texter(t)
    const [mine, theirs] = [await t.tenant(own.orgId), await t.tenant(own.orgId)]
    await own.number(first, { tenantId: mine })
    const [key, foreign] = [await t.key(own.orgId, { tenantId: mine }), await t.key(own.orgId, { tenantId: theirs })]
    expect((await own.send(text({ from: first }), { key })).status).toBe(200)
    expect((await own.send(text({ from: first }))).status).toBe(200)
    expectRefusal(await leavesNoTrace(() => own.send(text({ from: first }), { key: foreign })), 'SENDER_NOT_REGISTERED')
  })

  test('S-180 SD-54 is not checked for a test key, whose message is only simulated', async () => {
    const own = await texter(t)
    const { status, body } = await own.send(text({ from: 'NOBODY' }), { key: own.test })
    expect([status, body.status, body.id]).toEqual([200, 'sent', expect.stringMatching(/^msg_/)])
    expect((await own.get(body.id, own.test)).body.provider_response.message_id).toMatch(/^test_msg_/)
    expect(await own.traces()).toMatchObject({ messages: ['sent'], events: ['message.sent'], outbox: 0 })
    expect(await own.used()).toEqual({
      'org test messages': 1,
      'org test sms': 1,
      'key test sms': 1,
      'org test segments': 1,
      'key test segments': 1,
    })
  })

  test('S-186 S-187 its campaign decides the type of the message, and without one it is transactional', async () => {
    const handed: Sms[] = []
    const watched = await testService({
      smsProvider: {
        name: 'watched',
        send: async (sms) => {
          handed.push(sms)
          return { provider: 'watched', providerMessageId: sms.messageId }
        },
        close: async () => undefined,
      },
    })
    const own = await texter(watched)
    await own.number(first, { campaignId: await own.campaign('MARKETING') })
    await own.number(second, { campaignId: await own.campaign('ACCOUNT_NOTIFICATION') })
    await own.number('+15125550103')
    for (const from of [first, second, '+15125550103', 'TIDINGS']) await own.send(text({ from }))
    const scheduled = await own.send(text({ from: first, scheduled_at: own.inSeconds(60) }))
    await own.advance(61)
    await own.fire()
    expect(handed.map(({ from, messageType }) => [from, messageType])).toEqual([
      [first, 'promotional'],
      [second, 'transactional'],
      ['+15125550103', 'transactional'],
      ['TIDINGS', 'transactional'],
      [first, 'promotional'],
    ])
    expect(handed.at(-1)?.messageId, 'SD-47 the message id identifies every attempt').toBe(scheduled.body.id)
  })
})

describe('a pool', () => {
  const pooled = (to: string, slug = 'main') => text({ from: undefined, from_pool: slug, to })
  const recipient = (i: number) => `+1512555${String(2000 + i)}`

  test('S-167 S-168 gives each recipient a sender that it keeps', async () => {
    const own = await texter(t)
    const members = [await own.number(first), await own.number(second)]
    const poolId = await own.pool('main', members)
    const senders: Record<string, string[]> = {}
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 4; i++) {
        const { body } = await own.send(pooled(recipient(i)))
        const { from } = await own.handed(body.id)
        senders[recipient(i)] = [...(senders[recipient(i)] ?? []), from as string]
        expect((await own.get(body.id)).body).toMatchObject({ from, from_pool: 'main' })
      }
    }
    expect(Object.values(senders)).toEqual([
      [first, first, first],
      [second, second, second],
      [first, first, first],
      [second, second, second],
    ])
    expect(await own.poolCounts(poolId)).toEqual(members.map((id) => ({ id, counted: 2, assigned: 2 })))
  })

  test('S-168 100 concurrent first sends use all members equally, and each recipient has one sender', async () => {
    const own = await texter(t)
    const members = await Promise.all(Array.from({ length: 3 }, (_, i) => own.number(`+1512555010${i}`)))
    const poolId = await own.pool('main', members)
    // Half of the recipients get two messages at the same time.
    const to = Array.from({ length: 150 }, (_, i) => recipient(i % 100))
    const replies = await Promise.all(to.map((number) => own.send(pooled(number))))
    expect(replies.map(({ status }) => status)).toEqual(to.map(() => 200))
    const outbox = await own.outbox()
    const sendersOf = new Map(to.map((number) => [number, new Set<string>()]))
    for (const { to, from } of outbox) sendersOf.get(to[0] as string)?.add(from as string)
    expect([...sendersOf.values()].map(({ size }) => size)).toEqual(new Array(100).fill(1))
    const counts = await own.poolCounts(poolId)
    expect(counts.map(({ counted }) => counted).sort()).toEqual([33, 33, 34])
    for (const { counted, assigned } of counts) expect(assigned).toBe(counted)
  })

  test('SD-53 a recipient changes its sender when that is no longer verified, or has left the pool', async () => {
    const own = await texter(t)
    const members = [await own.number(first), await own.number(second)]
    const poolId = await own.pool('main', members)
    const from = async () => {
      const { body } = await own.send(pooled(recipient(1)))
      return (await own.handed(body.id)).from
    }
    expect(await from()).toBe(first)
    await own.setSender(members[0] as string, 'status', 'unverified')
    await expect.poll(from).toBe(second)
    await own.setSender(members[0] as string, 'status', 'verified')
    expect([await from(), await from()], 'it keeps the new one').toEqual([second, second])
    expect(await own.poolCounts(poolId)).toEqual([
      { id: members[0], counted: 0, assigned: 0 },
      { id: members[1], counted: 1, assigned: 1 },
    ])
    await t.database.sql('delete from pool_members where phone_number_id = $1', [members[1]])
    await expect.poll(from).toBe(first)
    expect(await own.poolCounts(poolId)).toEqual([{ id: members[0], counted: 1, assigned: 1 }])
  })

  test('S-168 R-39 belongs to a tenant or to the org, and the slug is looked up in the tenant first', async () => {
    const own = await texter(t)
    const [mine, theirs] = [await t.tenant(own.orgId), await t.tenant(own.orgId)]
    const [key, foreign] = [await t.key(own.orgId, { tenantId: mine }), await t.key(own.orgId, { tenantId: theirs })]
    await own.pool('main', [await own.number(first)])
    await own.pool('main', [await own.number(second, { tenantId: mine })], mine)
    await own.pool('private', [await own.number('+15125550103', { tenantId: mine })], mine)
    const from = async (slug: string, by: string) => {
      const reply = await own.send(pooled(recipient(1), slug), { key: by })
      return reply.status === 200 ? (await own.handed(reply.body.id)).from : reply.body.error.code
    }
    expect(await from('main', key)).toBe(second)
    expect(await from('main', foreign)).toBe(first)
    expect(await from('main', own.live)).toBe(first)
    expect(await from('private', key)).toBe('+15125550103')
    expect(await from('private', foreign)).toBe('SENDER_NOT_REGISTERED')
    expect(await from('private', own.live)).toBe('SENDER_NOT_REGISTERED')
    const other = await texter(t)
    expectRefusal(await leavesNoTrace(() => other.send(pooled(recipient(1)))), 'SENDER_NOT_REGISTERED')
  })

  test('SD-53 that is unknown, empty or without a verified member is refused', async () => {
    const own = await texter(t)
    await own.pool('empty', [])
    await own.pool('waiting', [await own.number(null, { status: 'pending' })])
    const refusals = {
      nowhere: 'SENDER_NOT_REGISTERED',
      empty: 'SENDER_NOT_VERIFIED',
      waiting: 'SENDER_NOT_VERIFIED',
    } as const
    for (const [slug, code] of Object.entries(refusals)) {
      const body = pooled(recipient(1), slug)
      expectRefusal(await leavesNoTrace(() => own.send(body)), code)
      const later = { ...body, scheduled_at: own.inSeconds(60) }
      expectRefusal(await leavesNoTrace(() => own.send(later)), code)
    }
  })

  test('R-39 serves a test key without a verified member, and assigns nobody', async () => {
    const own = await texter(t)
    const verified = await own.pool('main', [await own.number(first)])
    await own.pool('pending', [await own.number(second, { status: 'pending' })])
    await own.pool('unprovisioned', [await own.number(null, { status: 'pending' })])
    const from = async (slug: string) => {
      const { status, body } = await own.send(pooled(recipient(1), slug), { key: own.test })
      return [status, (await own.get(body.id, own.test)).body.from]
    }
    expect(await from('main')).toEqual([200, first])
    expect(await from('pending')).toEqual([200, second])
    expect(await from('unprovisioned')).toEqual([200, 'unprovisioned'])
    expect((await own.poolCounts(verified))[0]).toMatchObject({ counted: 0, assigned: 0 })
    const unknown = await leavesNoTrace(() => own.send(pooled(recipient(1), 'nowhere'), { key: own.test }))
    const errors = [{ path: ['from_pool'], code: 'custom', message: 'There is no such pool.' }]
    expectRefusal(unknown, 'VALIDATION_ERROR', { errors })
  })

  test('S-178 a suppressed recipient is refused before it is assigned', async () => {
    const own = await texter(t)
    await own.pool('main', [await own.number(first)])
    await own.suppress(recipient(1))
    expectRefusal(await leavesNoTrace(() => own.send(pooled(recipient(1)))), 'SUPPRESSED')
  })

  test('SD-59 whose member is a sender id cannot send media', async () => {
    const own = await texter(t)
    await own.pool('main', [await own.alphanumeric('Acme')])
    const reply = await own.send({ ...pooled(recipient(1)), media_url: ['s3://abc/key'] })
    expect(reply.body.error.errors).toEqual([
      { path: ['media_url'], code: 'custom', message: 'MMS needs a number as its sender.' },
    ])
    expect(await own.traces()).toMatchObject({ messages: [], outbox: 0, used: {} })
  })

  test('S-159 SD-53 a scheduled message is sent from the sender that the recipient has by then', async () => {
    const own = await texter(t)
    const members = [await own.number(first), await own.number(second)]
    await own.pool('main', members)
    const { body } = await own.send({ ...pooled(recipient(1)), scheduled_at: own.inSeconds(60) })
    expect(await own.row(body.id)).toMatchObject({ status: 'scheduled', from_address: first })
    await own.setSender(members[0] as string, 'status', 'failed')
    await expect.poll(async () => (await own.send(text({ from: first }))).status).toBe(422)
    await own.advance(61)
    await own.fire()
    expect(await own.row(body.id)).toMatchObject({ status: 'sent', from_address: second })
    expect((await own.handed(body.id)).from).toBe(second)
  })

  test('R-39 a scheduled message fails when its pool is deleted by then', async () => {
    const own = await texter(t)
    const poolId = await own.pool('main', [await own.number(first)])
    const { body } = await own.send({ ...pooled(recipient(1)), scheduled_at: own.inSeconds(60) })
    await t.database.sql('delete from pools where id = $1', [poolId])
    await expect.poll(async () => (await own.send(pooled(recipient(2)))).status).toBe(422)
    await own.advance(61)
    await own.fire()
    expect(await own.row(body.id)).toMatchObject({
      status: 'failed',
      error_message: expect.stringMatching('^SENDER_NOT_REGISTERED: '),
    })
    expect(await own.outbox()).toEqual([])
  })
})

describe('a suppressed recipient', () => {
  const to = '+15125550100'

  test('S-178 S-193 fails the send, and its item of a batch', async () => {
    const own = await texter(t)
    await own.suppress(to, 'stop')
    for (const key of [own.live, own.test]) {
      expectRefusal(await leavesNoTrace(() => own.send(text(), { key })), 'SUPPRESSED')
      const later = text({ scheduled_at: own.inSeconds(60) })
      expectRefusal(await leavesNoTrace(() => own.send(later, { key })), 'SUPPRESSED')
    }
    expect(codesOf(await own.batch(text({ to: ['+15125550199', to] })))).toEqual(['sent', 'SUPPRESSED'])
    expect(await own.used()).toMatchObject({ 'org live sms': 1 })
  })

  test('S-182 SD-66 of one tenant does not affect another, nor the org; one of the org affects all', async () => {
    const own = await texter(t)
    const [mine, theirs] = [await t.tenant(own.orgId), await t.tenant(own.orgId)]
    const keys = await Promise.all([mine, theirs].map((tenantId) => t.key(own.orgId, { tenantId })))
    const statuses = async () => {
      const replies = []
      for (const key of [...keys, own.live]) replies.push((await own.send(text(), { key })).status)
      return replies
    }
    await own.suppress(to, 'stop', mine)
    await own.suppress(to, 'stop', null, 'email')
    expect(await statuses()).toEqual([422, 200, 200])
    await own.suppress(to)
    expect(await statuses()).toEqual([422, 422, 422])
    const other = await texter(t)
    expect((await other.send(text())).status).toBe(200)
  })

  test('S-159 SD-46 fails a scheduled message', async () => {
    const own = await texter(t)
    const { body } = await own.send(text({ scheduled_at: own.inSeconds(60) }))
    await own.suppress(to, 'stop')
    await own.advance(61)
    await own.fire()
    expect(await own.row(body.id)).toMatchObject({
      status: 'failed',
      error_message: expect.stringMatching('^SUPPRESSED: '),
    })
    expect(await own.traces()).toMatchObject({ events: ['message.failed'], outbox: 0, used: {} })
  })
})

test('S-206 an id of another kind is not a message', async () => {
  const own = await texter(t)
  expectRefusal(await own.get(newId('pool')), 'NOT_FOUND')
})
