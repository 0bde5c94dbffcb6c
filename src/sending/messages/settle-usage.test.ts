/** Usage of messages whose process died between the reservation and the record. */
import { expect, test } from 'vitest'
import { insertScheduled, postOf } from '../../../test/clients/post-client.ts'
import { testService } from '../../../test/service/service.ts'
import { partOf, type Spend } from '../../customers/usage/lines.ts'
import { newId } from '../../platform/ground/ids.ts'

const lease = 15 * 60

const setUp = async () => {
  const t = await testService()
  const created = await t.org()
  const orgId = created.org.id
  const post = postOf(t, created)
  const { usage, messages } = t.service.modules
  const spend = (units: number): Spend => ({
    orgId,
    tenantId: null,
    environment: 'live',
    keyId: null,
    channel: 'email',
    units,
  })
  return {
    t,
    post,
    orgId,
    usage,
    spend,
    scheduler: messages.scheduler,
    newMessageId: () => newId('message', t.service.clock.millis()),
    reservations: async () =>
      (await t.database.sql<{ id: string }>('select id from usage_reservations where org_id = $1', [orgId])).map(
        ({ id }) => id,
      ),
    settle: async (): Promise<number> =>
      (await t.ask('POST', '/api/dev/run', { body: { task: 'usage' } })).body.counts.reservations_settled,
  }
}

test('SD-47 a scheduled message whose worker died after its reservation is counted once', async () => {
  const { post, usage, spend, scheduler, reservations, settle } = await setUp()
  const id = await post.scheduled()
  await post.advance(61)
  const [row] = await scheduler.claim(10)
  await usage.reserve(spend(1), { id, claim: row?.claim as string })
  expect([await post.used(), await reservations()]).toEqual([1, [id]])

  // The claim expires long before the reservation does, so the next worker finds both.
  await post.advance(301)
  expect(await post.fire()).toBe(1)
  expect((await post.row(id)).status).toBe('sent')
  expect([await post.used(), await reservations()]).toEqual([1, []])
  await post.advance(lease)
  expect([await settle(), await post.used()]).toEqual([0, 1])
})

test('SD-47 a reservation waits for its scheduled message, however long the service is down', async () => {
  const { post, usage, spend, scheduler, reservations, settle } = await setUp()
  const id = await post.scheduled()
  await post.advance(61)
  const [row] = await scheduler.claim(10)
  await usage.reserve(spend(1), { id, claim: row?.claim as string })
  await post.advance(lease * 4)
  expect([await settle(), await post.used(), await reservations()]).toEqual([0, 1, [id]])
  expect(await post.fire()).toBe(1)
  expect([(await post.row(id)).status, await post.used(), await reservations()]).toEqual(['sent', 1, []])
})

test('S-152 a message that may have been sent by a dead worker stays counted when it fails afterwards', async () => {
  const { t, post, orgId, usage, spend, scheduler, reservations } = await setUp()
  const id = await post.scheduled()
  await post.advance(61)
  const [row] = await scheduler.claim(10)
  await usage.reserve(spend(1), { id, claim: row?.claim as string })
  const key = await t.key(orgId)
  await t.ask('POST', '/api/v1/suppressions', { key, body: { channel: 'email', value: 'ann@reader.test' } })
  await post.advance(301)
  expect(await post.fire()).toBe(1)
  expect(await post.row(id)).toMatchObject({
    status: 'failed',
    error_message: expect.stringContaining('ALL_SUPPRESSED'),
  })
  expect([await post.used(), await reservations(), await post.handed(id)]).toEqual([1, [], []])
})

test('X-305 an immediate send that died before its record is released when its lease has expired', async () => {
  const { post, usage, spend, newMessageId, reservations, settle } = await setUp()
  const id = newMessageId()
  await usage.reserve({ ...spend(3), costMicros: 900 }, { id })
  await post.advance(lease - 60)
  expect([await settle(), await post.used(), await reservations()]).toEqual([0, 3, [id]])
  await post.advance(61)
  expect([await settle(), await post.used(), await post.used('spend'), await reservations()]).toEqual([1, 0, 0, []])
  expect([await settle(), await post.used()]).toEqual([0, 0])
})

test('X-305 a batch that died keeps the messages counted that it recorded, and releases the others', async () => {
  const { t, post, orgId, usage, spend, newMessageId, reservations, settle } = await setUp()
  const [recorded] = (await insertScheduled(t, 1, { orgId, dueAt: t.service.clock.now() })) as [string]
  await t.database.sql("update messages set status = 'sent', due_at = null where id = $1", [recorded])
  const parts = { [recorded]: partOf(spend(2)), [newMessageId()]: partOf(spend(3)) }
  await usage.reserve(spend(5), { id: newId('request'), parts })
  expect(await post.used()).toBe(5)
  await post.advance(lease + 1)
  expect([await settle(), await post.used(), await reservations()]).toEqual([1, 2, []])
})

test('S-152 a worker that lost its claim after the message was sent does not add to its usage', async () => {
  const { post, usage, spend, scheduler, reservations, settle } = await setUp()
  const id = await post.scheduled()
  await post.advance(61)
  const [stale] = await scheduler.claim(10)
  await post.advance(301)
  expect(await post.fire()).toBe(1)
  // The worker wakes up, reserves and dies.
  await usage.reserve(spend(1), { id, claim: stale?.claim as string })
  expect(await post.used()).toBe(2)
  await post.advance(lease + 1)
  expect([await settle(), await post.used(), await reservations()]).toEqual([1, 1, []])
})

test('S-156 X-305 a send, a batch and a refused send leave no reservation behind', async () => {
  const { t, post, orgId, reservations } = await setUp()
  await post.sent()
  const refused = await post.send({ to: ['refused@simulator.tidings.test'] })
  expect([refused.status, refused.body.error.code]).toEqual([500, 'INTERNAL_ERROR'])
  expect([await post.used(), await reservations()]).toEqual([1, []])
  const item = { from: 'hello@example.test', subject: 'A subject', text: 'Hi' }
  const to = [['bob@reader.test'], ['refused@simulator.tidings.test'], ['cy@reader.test', 'dee@reader.test']]
  const { status, body } = await t.ask('POST', '/api/v1/emails/batch', {
    key: await t.key(orgId),
    body: to.map((addresses) => ({ ...item, to: addresses })),
  })
  expect([status, body.succeeded, body.failed]).toEqual([200, 2, 1])
  expect([await post.used(), await reservations()]).toEqual([4, []])
})
