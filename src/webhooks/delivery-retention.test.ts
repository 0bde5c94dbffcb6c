/** Months of webhook deliveries: dropped when all of them are old, and emptied when few stay. */
import { expect, onTestFinished, test } from 'vitest'
import { catchUpWithIds } from '../../test/clients/post-client.ts'
import { startWebhookService, webhookClient } from '../../test/clients/webhook-client.ts'
import { monthAt, partitionOf } from '../platform/db/months.ts'

const day = 86_400

const start = async () => {
  const t = await startWebhookService()
  onTestFinished(() => t.stop())
  await catchUpWithIds(t)
  const acme = webhookClient(t, await t.org())
  const { clock, tasks } = t.service
  const moveTo = async (at: Date) => {
    await acme.advance((at.getTime() - clock.millis()) / 1000)
    await tasks.upkeep?.run()
  }
  await moveTo(new Date(monthAt(clock.now(), 1).from.getTime() + 9 * day * 1000))
  const month = monthAt(clock.now())
  const partition = partitionOf('webhook_deliveries', month)
  const daysAfterMonth = (days: number) => moveTo(new Date(month.to.getTime() + days * day * 1000 + 60_000))
  const { id, receiver } = await acme.made()
  await acme.emit()
  await acme.run()
  const [first] = (await acme.deliveries(id)).body.data
  /** Copies of the first delivery, with a status by place. */
  const copy = (copies: number, status: string) =>
    t.database.sql(
      `insert into webhook_deliveries (org_id, id, created_at, endpoint_id, environment, event, payload, status,
         max_attempts, next_attempt_at)
       select org_id, 'whd_' || n, created_at, endpoint_id, environment, event, repeat('x', 1000), ${status}, 8,
         case when ${status} = 'pending' then timestamptz '2090-01-01' end
       from webhook_deliveries, generate_series(1, $2::int) n where id = $1`,
      [first.id, copies],
    )
  const run = () => tasks.retention!.run()
  const exists = async () =>
    (await t.database.sql<{ there: boolean }>('select to_regclass($1) is not null as there', [partition]))[0]?.there
  const size = async () =>
    (await t.database.sql<{ n: number }>('select pg_table_size($1::regclass)::int as n', [partition]))[0]?.n ?? 0
  const counts = () => t.database.sql('select status, count(*)::int as n from webhook_deliveries group by 1 order by 1')
  return { t, acme, endpoint: id, receiver, daysAfterMonth, copy, run, exists, size, counts }
}

test('A-365 AD-176 a month is dropped with the last of its deliveries, and stays while one is pending', async () => {
  const { t, daysAfterMonth, copy, run, exists, counts } = await start()
  await copy(3, "(array['delivered', 'failed', 'pending'])[n]")
  await daysAfterMonth(31)
  expect(await run()).toMatchObject({ webhook_deliveries_deleted: 2, months_dropped: 0 })
  await daysAfterMonth(60)
  expect(await run()).toMatchObject({ webhook_deliveries_deleted: 0 })
  await daysAfterMonth(91)
  expect(await run()).toMatchObject({ webhook_deliveries_deleted: 1 })
  expect([await exists(), await counts()]).toEqual([true, [{ status: 'pending', n: 1 }]])
  await t.database.sql("update webhook_deliveries set status = 'canceled'")
  expect(await run()).toMatchObject({ webhook_deliveries_deleted: 1 })
  expect([await exists(), await counts()]).toEqual([false, []])
})

test('AD-176 a month keeps no space of deleted deliveries, and a failed one can still be replayed', async () => {
  const { t, acme, endpoint, receiver, daysAfterMonth, copy, run, size, counts } = await start()
  await copy(5_000, "case when n % 500 = 0 then 'failed' else 'delivered' end")
  const before = await t.database.sql(
    "select d::text as row from webhook_deliveries d where status = 'failed' order by id",
  )
  expect(await size()).toBeGreaterThan(4_000_000)
  await daysAfterMonth(31)
  expect(await run()).toMatchObject({ webhook_deliveries_deleted: 4_991 })
  expect(await counts()).toEqual([{ status: 'failed', n: 10 }])
  expect(await size()).toBeLessThan(100_000)
  expect(await t.database.sql('select d::text as row from webhook_deliveries d order by id')).toEqual(before)
  expect((await acme.replayFailed(endpoint)).status).toBe(202)
  await acme.run()
  expect(receiver.got.length).toBe(11)
})
