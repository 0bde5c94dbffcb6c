/** Which tenant a text message belongs to, and what an erasure removes. */
import { afterAll, describe, expect, test } from 'vitest'
import { freshNumber, phoneClient } from '../../../test/clients/phone-client.ts'
import { tenantClient } from '../../../test/clients/tenant-client.ts'
import { text } from '../../../test/clients/texter.ts'
import { expectRefusal } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())

describe('the tenant of a message', () => {
  const withTenants = async () => {
    const own = await phoneClient(t)
    const [a, b] = [await t.tenant(own.orgId), await t.tenant(own.orgId)]
    const keyOf = (tenantId: string) => t.key(own.orgId, { tenantId })
    return { own, a, b, keyA: await keyOf(a), keyB: await keyOf(b) }
  }

  test('X-105 S-262 SD-69 follows the last message that the number sent to the sender', async () => {
    const { own, a, b, keyA, keyB } = await withTenants()
    const from = freshNumber()
    await own.sent(from, { key: keyB })
    const prior = await own.sent(from, { key: keyA })
    const id = await own.received(from, 'STOP')
    expect((await own.inboundOne(id)).body).toMatchObject({ tenant_id: a, in_reply_to: prior })
    expect(await own.suppressed()).toMatchObject([{ tenant_id: a, message_id: prior }])
    expect(await own.inboundEvents()).toMatchObject([{ event: 'suppression.created', tenant_id: a }])
    expectRefusal(await own.send(text({ to: from }), { key: keyA }), 'SUPPRESSED')
    expect((await own.send(text({ to: from }), { key: keyB })).status).toBe(200)
    expect([(await own.inboundOne(id, keyA)).status, (await own.inboundOne(id, keyB)).status]).toEqual([200, 404])
    expect(b).not.toBe(a)
  })

  test('X-105 is that of the receiving number when there is no such message', async () => {
    const { own, a, b, keyB } = await withTenants()
    await own.setSender(own.lineId, 'tenant_id', a)
    const from = freshNumber()
    // Sent from another sender, sent to another number, simulated, or not sent yet.
    expect((await own.send(text({ to: from }), { key: keyB })).status).toBe(200)
    await own.sent(freshNumber())
    const testKey = await t.key(own.orgId, { tenantId: b, environment: 'test' })
    expect((await own.send({ from: own.line, to: from, body: 'Hi' }, { key: testKey })).status).toBe(200)
    const later = { from: own.line, to: from, body: 'Hi', scheduled_at: own.inSeconds(3_600) }
    expect((await own.send(later)).status).toBe(200)
    const id = await own.received(from, 'STOP')
    expect((await own.inboundOne(id)).body).toMatchObject({ tenant_id: a, in_reply_to: null })
    expect(await own.suppressed()).toMatchObject([{ tenant_id: a, message_id: null }])
    expect(await own.inboundEvents()).toMatchObject([{ tenant_id: a }])
  })

  test('X-105 is the org for a message that the org itself sent, also to a number of a tenant', async () => {
    const { own, a, keyA } = await withTenants()
    const from = freshNumber()
    const prior = await own.sent(from)
    await own.setSender(own.lineId, 'tenant_id', a)
    await own.received(from, 'STOP')
    expect(await own.suppressed()).toMatchObject([{ tenant_id: null, message_id: prior }])
    expectRefusal(await own.send(text({ to: from }), { key: keyA }), 'SUPPRESSED')
  })

  test('is never one that is erased or is being erased', async () => {
    const { own, a, keyA } = await withTenants()
    const from = freshNumber()
    await own.sent(from, { key: keyA })
    await t.database.sql("update tenants set status = 'archived', erasure = '{}' where id = $1", [a])
    const id = await own.received(from, 'STOP')
    expect((await own.inboundOne(id)).body.tenant_id).toBeNull()
    expect(await own.suppressed()).toMatchObject([{ tenant_id: null }])
  })

  test('X-127 A-283 an erasure deletes its messages, counts them, and keeps the opt-out', async () => {
    const { own, a, keyA } = await withTenants()
    const from = freshNumber()
    await own.sent(from, { key: keyA })
    for (const body of ['Hello', 'STOP', 'HELP']) await own.received(from, body)
    const kept = await own.received(freshNumber(), 'Hello')
    const tenants = tenantClient(t, own)
    await tenants.move('archive', a)
    const { body } = await tenants.move('erase', a)
    expect(body).toMatchObject({ status: 'erased', messages_redacted: 1, inbound_deleted: 3 })
    expect((await own.inbound()).body.data.map(({ id }: { id: string }) => id)).toEqual([kept])
    expect((await own.suppressed()).map(({ reason }) => reason)).toEqual(['stop'])
    const [erased] = (await own.inboundEvents()).filter(({ event }) => event === 'tenant.erased')
    expect(erased?.data).toMatchObject({ tenant_id: a, inbound_deleted: 3 })
  })
})
