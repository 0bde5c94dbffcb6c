/** Redaction of old content, deletion of old notifications, and monthly partitions. */
import { describe, expect, test } from 'vitest'
import { catchUpWithIds, insertScheduled, postOf } from '../../../test/clients/post-client.ts'
import { testService } from '../../../test/service/service.ts'

const day = 86_400

const serviceWith = async (env: Record<string, string> = {}) => {
  const t = await testService({ env })
  const created = await t.org()
  await catchUpWithIds(t)
  const run = async (task: string) => (await t.ask('POST', '/api/dev/run', { body: { task } })).body.counts
  return { t, orgId: created.org.id, run, ...postOf(t, created) }
}

describe('redaction', () => {
  test('X-359 S-142 S-143 SD-42 removes content after the configured days, and redacted_at shows that it was removed', async () => {
    const { sent, get, list, advance, run } = await serviceWith({ MESSAGE_CONTENT_TTL_DAYS: '30' })
    const both = await sent({ html: '<p>Hi</p>', text: 'Hi' })
    const textOnly = await sent({ text: 'Hi' })
    const body = async (id: string) => {
      const { status, body: shown } = await get(id, '?include=body')
      return [status, shown.html, shown.text, shown.redacted_at]
    }
    await advance(29 * day)
    expect(await run('redaction')).toMatchObject({ messages_redacted: 0 })
    const young = await sent({ text: 'Young' })
    expect(await body(both)).toEqual([200, '<p>Hi</p>', 'Hi', null])
    expect(await body(textOnly)).toEqual([200, null, 'Hi', null])
    await advance(day + 1)
    const before = (await list()).body
    expect(await run('redaction')).toMatchObject({ messages_redacted: 2 })
    for (const id of [both, textOnly]) expect(await body(id)).toEqual([200, null, null, expect.any(String)])
    expect(await body(young)).toEqual([200, null, 'Young', null])
    expect((await list()).body).toEqual(before)
    expect(await run('redaction')).toMatchObject({ messages_redacted: 0 })
  })

  test('X-359 SD-42 keeps the content of scheduled messages until they are sent, and of all messages without a limit', async () => {
    const { scheduled, inSeconds, row, handed, advance, fire, run, get } = await serviceWith({
      MESSAGE_CONTENT_TTL_DAYS: '1',
    })
    const id = await scheduled({ scheduled_at: inSeconds(5 * day), text: 'Long awaited' })
    await advance(4 * day)
    expect(await run('redaction')).toMatchObject({ messages_redacted: 0 })
    expect((await get(id, '?include=body')).body.text).toBe('Long awaited')
    await advance(day + 1)
    await fire()
    expect([(await row(id)).status, (await handed(id))[0]?.mail]).toMatchObject(['sent', { text: 'Long awaited' }])
    expect(await run('redaction')).toMatchObject({ messages_redacted: 1 })

    const kept = await serviceWith()
    const old = await kept.sent({ text: 'Kept' })
    await kept.advance(400 * day)
    expect(await kept.run('redaction')).toMatchObject({ messages_redacted: 0 })
    expect((await kept.get(old, '?include=body')).body.text).toBe('Kept')
  })

  test('X-359 works in chunks that commit separately', async () => {
    const { t, orgId, advance, run } = await serviceWith({ MESSAGE_CONTENT_TTL_DAYS: '1' })
    await insertScheduled(t, 1_200, { orgId, dueAt: t.service.clock.now() })
    await t.database.sql("update messages set status = 'sent'")
    await advance(2 * day)
    expect(await run('redaction')).toMatchObject({ messages_redacted: 1_200 })
    const commits = await t.database.sql(
      'select count(*)::int as n from messages where text is null and html is null group by xmin order by 1',
    )
    expect(commits).toEqual([{ n: 200 }, { n: 500 }, { n: 500 }])
  })

  test('provider notifications are deleted after fourteen days', async () => {
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
  const partitionOf = async (t: Awaited<ReturnType<typeof serviceWith>>['t'], id: string) =>
    (
      await t.database.sql<{ partition: string }>(
        'select tableoid::regclass::text as partition from messages where id = $1',
        [id],
      )
    )[0]?.partition

  test('the partitions of this month and the next two are created once, even by concurrent calls', async () => {
    const { t, sent, run } = await serviceWith()
    await Promise.all(Array.from({ length: 5 }, () => t.service.tasks.upkeep?.run()))
    await run('retention')
    const months = monthsFrom(t.service.clock.now(), 3)
    const made = ['message_events', 'messages'].flatMap((parent) =>
      [...months, 'other'].map((month) => `${parent}_${month}`),
    )
    expect((await partitions(t)).map(({ name }) => name)).toEqual(made.sort())
    expect(await partitionOf(t, await sent())).toBe(`messages_${months[0]}`)
  })

  test('a month with rows in the default partition stays there, and reads cover all partitions', async () => {
    const { t, sent, list, get, notify, row, advance, run, cancel, scheduled, inSeconds, fire } = await serviceWith()
    const months = monthsFrom(t.service.clock.now(), 8)
    const early = await sent({ tags: ['kept'] })
    expect(await partitionOf(t, early)).toBe('messages_other')
    // The default partition already has a row of this month, and none of the next two.
    await run('retention')
    expect(await partitionOf(t, await sent())).toBe('messages_other')
    const names = (await partitions(t)).map(({ name }) => name)
    expect(names).not.toContain(`messages_${months[0]}`)
    expect(names).toContain(`messages_${months[1]}`)
    const waiting = await scheduled({ scheduled_at: inSeconds(32 * day) })

    await advance(31 * day)
    const next = await sent({ tags: ['kept'] })
    expect(await partitionOf(t, next)).not.toBe('messages_other')
    await advance(150 * day)
    // No partition was created for this month.
    const late = await sent({ tags: ['kept'] })
    expect(await partitionOf(t, late)).toBe('messages_other')
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
