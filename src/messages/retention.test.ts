/** What goes with time, and where rows of a month stand. */
import { describe, expect, test } from 'vitest'
import { testService } from '../../test/service/service.ts'
import { newId, timeOfId } from '../ground/ids.ts'
import { insertWaiting, postOf } from './harness.ts'

const day = 86_400

const serviceWith = async (env: Record<string, string> = {}) => {
  const t = await testService({ env })
  const founded = await t.org()
  const post = postOf(t, founded)
  // Ids of one process only grow: after a test that moved its clock the next starts where that one ended.
  const ahead = timeOfId(newId('message')) - t.service.clock.millis()
  if (ahead > 0) await post.advance(Math.ceil(ahead / 1000))
  const run = async (task: string) => (await t.ask('POST', '/api/dev/run', { body: { task } })).body.counts
  return { t, orgId: founded.org.id, run, ...post }
}

describe('content', () => {
  test('X-359 S-142 S-143 SD-42 is redacted after its days, and a message without html stays told apart', async () => {
    const { sent, get, list, advance, run } = await serviceWith({ MESSAGE_CONTENT_TTL_DAYS: '30' })
    const both = await sent({ html: '<p>Hi</p>', text: 'Hi' })
    const textOnly = await sent({ text: 'Hi' })
    const body = async (id: string) => {
      const { status, body: shown } = await get(id, '?include=body')
      return [status, shown.html, shown.text, shown.redacted_at]
    }
    await advance(29 * day)
    expect(await run('redaction')).toEqual({ messages_redacted: 0 })
    const young = await sent({ text: 'Young' })
    expect(await body(both)).toEqual([200, '<p>Hi</p>', 'Hi', null])
    expect(await body(textOnly)).toEqual([200, null, 'Hi', null])
    await advance(day + 1)
    const before = (await list()).body
    expect(await run('redaction')).toEqual({ messages_redacted: 2 })
    for (const id of [both, textOnly]) expect(await body(id)).toEqual([200, null, null, expect.any(String)])
    expect(await body(young)).toEqual([200, null, 'Young', null])
    expect((await list()).body).toEqual(before)
    expect(await run('redaction')).toEqual({ messages_redacted: 0 })
  })

  test('X-359 SD-42 what waits keeps its content until it is sent; without a limit everything does', async () => {
    const { scheduled, inSeconds, row, handed, advance, fire, run, get } = await serviceWith({
      MESSAGE_CONTENT_TTL_DAYS: '1',
    })
    const id = await scheduled({ scheduled_at: inSeconds(5 * day), text: 'Long awaited' })
    await advance(4 * day)
    expect(await run('redaction')).toEqual({ messages_redacted: 0 })
    expect((await get(id, '?include=body')).body.text).toBe('Long awaited')
    await advance(day + 1)
    await fire()
    expect([(await row(id)).status, (await handed(id))[0]?.mail]).toMatchObject(['sent', { text: 'Long awaited' }])
    expect(await run('redaction')).toEqual({ messages_redacted: 1 })

    const kept = await serviceWith()
    const old = await kept.sent({ text: 'Kept' })
    await kept.advance(400 * day)
    expect(await kept.run('redaction')).toEqual({ messages_redacted: 0 })
    expect((await kept.get(old, '?include=body')).body.text).toBe('Kept')
  })

  test('X-359 goes in chunks, each committed by itself', async () => {
    const { t, orgId, advance, run } = await serviceWith({ MESSAGE_CONTENT_TTL_DAYS: '1' })
    await insertWaiting(t, 1_200, { orgId, dueAt: t.service.clock.now() })
    await t.database.sql("update messages set status = 'sent'")
    await advance(2 * day)
    expect(await run('redaction')).toEqual({ messages_redacted: 1_200 })
    const commits = await t.database.sql(
      'select count(*)::int as n from messages where text is null and html is null group by xmin order by 1',
    )
    expect(commits).toEqual([{ n: 200 }, { n: 500 }, { n: 500 }])
  })

  test('notes of notifications go after fourteen days', async () => {
    const { t, sent, notify, advance, run } = await serviceWith()
    await notify(await sent(), 'delivered')
    await advance(13 * day)
    await notify(await sent(), 'delivered')
    expect((await run('retention')).provider_notifications_deleted).toBe(0)
    await advance(day + 1)
    expect((await run('retention')).provider_notifications_deleted).toBe(1)
    expect(await t.database.sql('select provider from provider_notifications')).toEqual([{ provider: 'dev' }])
  })
})

describe('partitions', () => {
  const partitions = (t: Awaited<ReturnType<typeof serviceWith>>['t']) =>
    t.database.sql<{ name: string }>(
      `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
       join pg_class p on p.oid = i.inhparent where p.relname in ('messages', 'message_events') order by 1`,
    )
  const monthsFrom = (at: Date, count: number) =>
    Array.from({ length: count }, (_, i) =>
      new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + i)).toISOString().slice(0, 7).replace('-', '_'),
    )
  const placeOf = async (t: Awaited<ReturnType<typeof serviceWith>>['t'], id: string) =>
    (
      await t.database.sql<{ place: string }>('select tableoid::regclass::text as place from messages where id = $1', [
        id,
      ])
    )[0]?.place

  test('this month and the next two are made ahead, once, however many ask', async () => {
    const { t, sent, run } = await serviceWith()
    const { retention } = t.service.modules.messages
    await Promise.all(Array.from({ length: 5 }, () => retention.ensurePartitions()))
    await run('retention')
    const months = monthsFrom(t.service.clock.now(), 3)
    const made = ['message_events', 'messages'].flatMap((parent) =>
      [...months, 'other'].map((month) => `${parent}_${month}`),
    )
    expect((await partitions(t)).map(({ name }) => name)).toEqual(made.sort())
    expect(await placeOf(t, await sent())).toBe(`messages_${months[0]}`)
  })

  test('a month whose rows stand in the default partition stays there, and reads go over all of them', async () => {
    const { t, sent, list, get, notify, row, advance, run, cancel, scheduled, inSeconds, fire } = await serviceWith()
    const months = monthsFrom(t.service.clock.now(), 8)
    const early = await sent({ tags: ['kept'] })
    expect(await placeOf(t, early)).toBe('messages_other')
    // This month has a row already; the two after it have none.
    await run('retention')
    expect(await placeOf(t, await sent())).toBe('messages_other')
    const names = (await partitions(t)).map(({ name }) => name)
    expect(names).not.toContain(`messages_${months[0]}`)
    expect(names).toContain(`messages_${months[1]}`)
    const waiting = await scheduled({ scheduled_at: inSeconds(32 * day) })

    await advance(31 * day)
    const next = await sent({ tags: ['kept'] })
    expect(await placeOf(t, next)).not.toBe('messages_other')
    await advance(150 * day)
    // Nobody made a month ahead of this one.
    const late = await sent({ tags: ['kept'] })
    expect(await placeOf(t, late)).toBe('messages_other')
    const ids: string[] = []
    for (let query = '?tag=kept&limit=1'; ; ) {
      const { data, next_cursor } = (await list(query)).body
      ids.push(...data.map(({ id }: { id: string }) => id))
      if (next_cursor === null) break
      query = `?tag=kept&limit=1&cursor=${next_cursor}`
    }
    expect(ids).toEqual([late, next, early])
    for (const id of ids) {
      expect((await get(id)).body.id).toBe(id)
      await notify(id, 'delivered')
      expect((await row(id)).status).toBe('delivered')
    }
    await fire()
    expect((await row(waiting)).status).toBe('sent')
    expect((await cancel(late)).status).toBe(409)
  })
})
