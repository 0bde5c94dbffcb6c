/** Messages that are sent from a pool. */
import { afterAll, describe, expect, test } from 'vitest'
import { freshSlug, poolClient } from '../../../../test/clients/pool-client.ts'
import { expectRefusal } from '../../../../test/expect/refusal.ts'
import { beginOtherTransaction } from '../../../../test/service/other-transaction.ts'
import { startTestService } from '../../../../test/service/service.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const acme = await t.org()
const { live, test: testKey } = acme.keys
const orgId = acme.org.id
const pools = poolClient(t, acme)

const send = (from_pool: string, to: string, more: { key?: string; body?: object } = {}) =>
  t.ask('POST', '/api/v1/sms', { key: more.key ?? live, body: { from_pool, to, body: 'Hello', ...more.body } })
const fromOf = async ({ body }: { body: { id: string } }, key = live): Promise<string> =>
  (await t.ask('GET', `/api/v1/sms/${body.id}`, { key })).body.from
const e164Of = async (id: string): Promise<string> => {
  const [row] = await t.database.sql<{ e164: string }>('select e164 from phone_numbers where id = $1', [id])
  return row?.e164 as string
}
let recipients = 0
const recipient = () => `+1303555${String(++recipients).padStart(4, '0')}`

describe('a pool', () => {
  test('S-167 S-168 keeps the sender of a recipient, and gives a new recipient the least used one', async () => {
    const slug = freshSlug()
    const members = [await pools.sender(), await pools.sender()]
    await pools.made({ slug, phone_number_ids: members })
    const numbers = await Promise.all(members.map(e164Of))
    const people = [recipient(), recipient(), recipient(), recipient()]
    const first: string[] = []
    for (const to of people) first.push(await fromOf(await send(slug, to)))
    expect(first).toEqual([numbers[0], numbers[1], numbers[0], numbers[1]])
    const again: string[] = []
    for (const to of people) again.push(await fromOf(await send(slug, to)))
    expect(again).toEqual(first)
  })

  test('SD-53 gives a recipient another sender when its own leaves the pool, in every process at once', async () => {
    const other = await startTestService({ database: t.database })
    try {
      const slug = freshSlug()
      const [first, second] = [await pools.sender(), await pools.sender()]
      const id = await pools.made({ slug, phone_number_ids: [first] })
      const to = recipient()
      const elsewhere = async () => {
        const sent = await other.ask('POST', '/api/v1/sms', { key: live, body: { from_pool: slug, to, body: 'Hi' } })
        return fromOf(sent)
      }
      expect([await fromOf(await send(slug, to)), await elsewhere()]).toEqual([
        await e164Of(first),
        await e164Of(first),
      ])
      await pools.patch(id, { phone_number_ids: [second] })
      expect(await fromOf(await send(slug, to))).toBe(await e164Of(second))
      await expect.poll(elsewhere).toBe(await e164Of(second))
    } finally {
      await other.stop()
    }
  })

  test('SD-53 without a verified member is SENDER_NOT_VERIFIED, and an unknown one SENDER_NOT_REGISTERED', async () => {
    const slug = freshSlug()
    const sender = await pools.sender({ status: 'pending' })
    const id = await pools.made({ slug, phone_number_ids: [sender] })
    expectRefusal(await send(slug, recipient()), 'SENDER_NOT_VERIFIED')
    expectRefusal(await send('nowhere', recipient()), 'SENDER_NOT_REGISTERED')
    expect((await send(slug, recipient(), { key: testKey })).status).toBe(200)
    await pools.remove(id)
    expectRefusal(await send(slug, recipient()), 'SENDER_NOT_REGISTERED')
    const unknown = await send(slug, recipient(), { key: testKey })
    expect([unknown.status, unknown.body.error.errors[0].path]).toEqual([422, ['from_pool']])
  })

  test('S-168 R-39 of a tenant serves only that tenant, and is found before that of the org', async () => {
    const slug = freshSlug()
    const [own, other] = [await t.tenant(orgId), await t.tenant(orgId)]
    const keys = [await t.key(orgId, { tenantId: own }), await t.key(orgId, { tenantId: other })] as const
    const [ofTenant, ofOrg] = [await pools.sender(), await pools.sender()]
    await pools.made({ slug, tenant_id: own, phone_number_ids: [ofTenant] })
    expectRefusal(await send(slug, recipient(), { key: keys[1] }), 'SENDER_NOT_REGISTERED')
    expectRefusal(await send(slug, recipient()), 'SENDER_NOT_REGISTERED')
    await pools.made({ slug, phone_number_ids: [ofOrg] })
    const sentBy = async (key: string) => fromOf(await send(slug, recipient(), { key }), key)
    expect(await sentBy(keys[0])).toBe(await e164Of(ofTenant))
    expect(await sentBy(keys[1])).toBe(await e164Of(ofOrg))
    expect(await sentBy(live)).toBe(await e164Of(ofOrg))
  })

  test('R-39 binds its senders: another tenant cannot send from them until they leave', async () => {
    const [own, other] = [await t.tenant(orgId), await t.tenant(orgId)]
    const key = await t.key(orgId, { tenantId: other })
    const sender = await pools.sender()
    const from = await e164Of(sender)
    const direct = () => t.ask('POST', '/api/v1/sms', { key, body: { from, to: recipient(), body: 'Hello' } })
    expect((await direct()).status).toBe(200)
    const id = await pools.made({ tenant_id: own, phone_number_ids: [sender] })
    expectRefusal(await direct(), 'SENDER_NOT_REGISTERED')
    await pools.remove(id)
    expect((await direct()).status).toBe(200)
  })

  test('R-39 XD-28 can be deleted while messages are scheduled from it, which then fail', async () => {
    const slug = freshSlug()
    const id = await pools.made({ slug })
    const scheduled_at = new Date(t.service.clock.millis() + 600_000).toISOString()
    const message = await send(slug, recipient(), { body: { scheduled_at } })
    expect(message.status, message.text).toBe(200)
    await pools.remove(id)
    await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 700 } })
    await t.ask('POST', '/api/dev/run', { body: { task: 'scheduler' } })
    const read = await t.ask('GET', `/api/v1/sms/${message.body.id}`, { key: live })
    expect(read.body).toMatchObject({ status: 'failed' })
    expect(JSON.stringify(read.body)).toContain('SENDER_NOT_REGISTERED')
  })

  test('R-39 that is deleted while a message chooses its sender is SENDER_NOT_REGISTERED', async () => {
    const slug = freshSlug()
    const id = await pools.made({ slug })
    const other = await beginOtherTransaction(t.database)
    for (const [table, column] of [
      ['pool_recipients', 'pool_id'],
      ['pool_members', 'pool_id'],
      ['pools', 'id'],
    ]) {
      await other.sql(`delete from ${table} where ${column} = $1`, [id])
    }
    const sending = send(slug, recipient())
    await other.untilWaitedFor()
    await other.commit()
    expectRefusal(await sending, 'SENDER_NOT_REGISTERED')
  })

  test('S-168 keeps one sender per recipient when many messages to it are sent at once', async () => {
    const slug = freshSlug()
    const id = await pools.made({ slug, phone_number_ids: [await pools.sender(), await pools.sender()] })
    const to = recipient()
    const replies = await Promise.all(Array.from({ length: 10 }, () => send(slug, to)))
    const senders = new Set(await Promise.all(replies.map((reply) => fromOf(reply))))
    expect(senders.size).toBe(1)
    const members = await t.database.sql<{ recipients: string }>(
      'select recipients from pool_members where pool_id = $1 order by recipients desc',
      [id],
    )
    expect(members.map((member) => Number(member.recipients))).toEqual([1, 0])
  })
})

describe('the recipients of a pool that tenants share', () => {
  test('A-283 are erased with the tenant that sent to them last, and their sender has fewer recipients', async () => {
    const [gone, kept] = [await t.tenant(orgId), await t.tenant(orgId)]
    const [goneKey, keptKey] = [await t.key(orgId, { tenantId: gone }), await t.key(orgId, { tenantId: kept })]
    const slug = freshSlug()
    const member = await pools.sender()
    const pool = await pools.made({ slug, phone_number_ids: [member] })
    const [onlyGone, thenKept, thenGone, onlyOrg] = [recipient(), recipient(), recipient(), recipient()]
    for (const [to, key] of [
      [onlyGone, goneKey],
      [thenKept, goneKey],
      [thenKept, keptKey],
      [thenGone, live],
      [thenGone, goneKey],
      [thenGone, goneKey],
      [onlyOrg, live],
    ] as const) {
      expect((await send(slug, to, { key })).status).toBe(200)
    }
    const rows = () =>
      t.database.sql<{ recipient: string; tenant_id: string | null }>(
        'select recipient, tenant_id from pool_recipients where org_id = $1 and pool_id = $2 order by recipient',
        [orgId, pool],
      )
    expect(await rows()).toEqual([
      { recipient: onlyGone, tenant_id: gone },
      { recipient: thenKept, tenant_id: kept },
      { recipient: thenGone, tenant_id: gone },
      { recipient: onlyOrg, tenant_id: null },
    ])
    expect((await t.ask('DELETE', `/api/v1/tenants/${gone}`, { key: live })).status).toBe(200)
    const erased = await t.ask('POST', `/api/v1/tenants/${gone}/erase`, { key: live })
    expect(erased.status, erased.text).toBe(200)
    expect((await rows()).map((row) => row.recipient)).toEqual([thenKept, onlyOrg])
    const [counted] = await t.database.sql<{ recipients: number }>(
      'select recipients::int from pool_members where org_id = $1 and pool_id = $2',
      [orgId, pool],
    )
    expect(counted?.recipients).toBe(2)
  })
})
