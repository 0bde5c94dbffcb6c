/** Partitions of coming months: who waits while they are created, and what is said when they are not. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { postOf } from '../../../test/clients/post-client.ts'
import { openLogFile } from '../../../test/service/log-file.ts'
import { beginOtherTransaction } from '../../../test/service/other-transaction.ts'
import { testService } from '../../../test/service/service.ts'
import type { MovableClock } from '../ground/clock.ts'
import { silentLog } from '../ground/log.ts'
import { countMonthsAhead, makeEnsureMonths, monthAt, monthlyTables, partitionOf } from './months.ts'

const parents = [...monthlyTables]
const day = 86_400_000

const start = async () => {
  const logFile = await openLogFile()
  onTestFinished(logFile.remove)
  const t = await testService({ log: logFile.log })
  const { db } = t.service
  const clock = t.service.clock as MovableClock
  const post = postOf(t, await t.org())
  const months = (count: number) =>
    Array.from({ length: count }, (_, i) => parents.map((parent) => partitionOf(parent, monthAt(clock.now(), i))))
      .flat()
      .sort()
  const partitions = async () =>
    (
      await t.database.sql<{ name: string }>(
        `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
         where i.inhparent = any ($1::regclass[]) and c.relname not like '%other' order by 1`,
        [parents],
      )
    ).map(({ name }) => name)
  /** The same locks as `tidings backup` takes, until the transaction ends. */
  const backUp = async () => {
    const backup = await beginOtherTransaction(t.database)
    await backup.sql(`lock table ${parents.join(', ')} in access share mode`)
    return backup
  }
  const ensure = makeEnsureMonths({ db, clock, log: logFile.log, patienceMs: 0 })
  const notCreated = () => logFile.lines('month partition not created')
  return {
    t,
    db,
    clock,
    post,
    months,
    partitions,
    backUp,
    ensure,
    notCreated,
    run: () => t.service.tasks.upkeep!.run(),
  }
}

describe('during a backup', () => {
  test('sends continue while a month is created, and it is there once the backup has ended', async () => {
    const { clock, post, months, partitions, backUp, run } = await start()
    await run()
    clock.advance(45 * day)
    const earlier = await partitions()
    const backup = await backUp()
    const running = run()
    await backup.untilWaitedFor()
    for (let sends = 0; sends < 20; sends++) {
      expect(await post.send()).toMatchObject({ status: 200, body: { id: expect.any(String) } })
    }
    expect(await partitions()).toEqual(earlier)
    await backup.commit()
    const { months_created } = await running
    const made = (await partitions()).filter((name) => !earlier.includes(name))
    expect(made).toHaveLength(months_created!)
    expect(await partitions()).toEqual(expect.arrayContaining(months(3)))
  })

  test('a month that is still not created is logged, and the next run creates it', async () => {
    const { t, clock, months, partitions, backUp, ensure, notCreated } = await start()
    const backup = await backUp()
    expect(await ensure()).toBe(0)
    expect(await partitions()).toEqual([])
    await expect.poll(notCreated).toHaveLength(9)
    const month = clock.now().toISOString().slice(0, 7)
    expect((await notCreated())[0]).toMatchObject({
      level: 40,
      table: 'messages',
      month,
      reason: 'canceling statement due to lock timeout',
    })
    const ahead = () => countMonthsAhead({ db: t.service.db, clock })
    expect(await ahead()).toBe(0)
    await backup.commit()
    expect(await ensure()).toBe(9)
    expect(await partitions()).toEqual(months(3))
    expect(await ahead()).toBe(2)
    expect(await ensure()).toBe(0)
    expect(await notCreated()).toHaveLength(9)
  })
})

test('a partition has the columns, constraints and indexes of one that PostgreSQL creates as a part of its table', async () => {
  const { t, clock, ensure } = await start()
  await ensure()
  const describePartition = async (parent: string, ahead: number) => {
    const name = partitionOf(parent, monthAt(clock.now(), ahead))
    const lines = await t.database.sql<{ line: string }>(
      `select concat_ws(' ', a.attname, a.attnum, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attislocal,
         a.attinhcount, a.attstorage, pg_get_expr(d.adbin, d.adrelid)) as line
       from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
       where a.attrelid = $1::regclass and a.attnum > 0
       union all
       select concat_ws(' ', conname, pg_get_constraintdef(oid), convalidated, conislocal, coninhcount, conparentid <> 0)
       from pg_constraint where conrelid = $1::regclass
       union all
       select concat_ws(' ', pg_get_indexdef(x.indexrelid), x.indisvalid, i.inhparent::regclass)
       from pg_index x join pg_inherits i on i.inhrelid = x.indexrelid where x.indrelid = $1::regclass
       union all
       select concat_ws(' ', reloptions::text, relpersistence, relowner::regrole) from pg_class where oid = $1::regclass
       order by 1`,
      [name],
    )
    return lines.map(({ line }) => line.replaceAll(name, 'partition'))
  }
  for (const parent of parents) {
    const { from, to } = monthAt(clock.now(), 5)
    const name = partitionOf(parent, { from, to })
    await t.database.sql(
      `create table ${name} partition of ${parent} for values from ('${from.toISOString()}') to ('${to.toISOString()}')`,
    )
    expect(await describePartition(parent, 1)).toEqual(await describePartition(parent, 5))
  }
})

test('a process of the previous release gives way to a backup too', async () => {
  const { t, clock, partitions, backUp } = await start()
  const backup = await backUp()
  const ensureMonth = () => t.database.sql("select ensure_month('messages', $1)", [monthAt(clock.now()).from])
  await ensureMonth()
  expect(await partitions()).toEqual([])
  await backup.commit()
  await ensureMonth()
  expect(await partitions()).toEqual([partitionOf('messages', monthAt(clock.now()))])
})

describe('the default partition', () => {
  test('keeps a month of which it has rows, which is logged once', async () => {
    const { clock, post, months, partitions, ensure, notCreated } = await start()
    await post.sent()
    expect(await ensure()).toBe(8)
    const kept = partitionOf('messages', monthAt(clock.now()))
    expect(await partitions()).toEqual(months(3).filter((name) => name !== kept))
    expect(await ensure()).toBe(0)
    await expect.poll(notCreated).toEqual([
      expect.objectContaining({
        table: 'messages',
        month: clock.now().toISOString().slice(0, 7),
        reason: 'the default partition has rows of this month',
      }),
    ])
  })

  const large = async () => {
    const started = await start()
    const { t, clock, post } = started
    const id = await post.sent()
    await t.database.sql(
      `insert into messages (org_id, id, created_at, environment, project_id, channel, status, from_address,
         to_addresses, text)
       select org_id, id || n, created_at, environment, project_id, channel, status, from_address, to_addresses,
         repeat('x', 500)
       from messages, generate_series(1, 3000) n where id = $1`,
      [id],
    )
    const checks = () =>
      t.database.sql(
        `select conname from pg_constraint where conrelid = 'messages_other'::regclass and conname like '%without%'`,
      )
    const next = partitionOf('messages', monthAt(clock.now(), 1))
    return { ...started, checks, next }
  }

  test('is not read while a month is attached, if it is large', async () => {
    const { t, db, clock, months, partitions, checks, next } = await large()
    const { from } = monthAt(clock.now(), 1)
    clock.advance(Math.max(0, from.getTime() - 5 * day - clock.millis()))
    const notices: string[] = []
    const connect = async () => {
      const client = await db.connect()
      client.on('notice', ({ message }) => notices.push(message ?? ''))
      await client.query('set client_min_messages = debug1')
      return client
    }
    expect(await makeEnsureMonths({ db: { ...db, connect }, clock, log: silentLog() })()).toBe(8)
    const proved =
      'updated partition constraint for default partition "messages_other" is implied by existing constraints'
    expect(notices.filter((notice) => notice === proved)).toHaveLength(2)
    const kept = partitionOf('messages', monthAt(clock.now()))
    expect(await partitions()).toEqual(months(3).filter((name) => name !== kept))
    expect(await partitions()).toContain(next)
    expect(await checks()).toEqual([])
    // Rows of other months are still accepted there.
    await t.database.sql(
      `insert into messages (org_id, id, created_at, environment, project_id, channel, status, from_address, to_addresses)
       values ('org', 'msg', $1, 'live', 'prj', 'email', 'sent', 'a@example.test', '{}')`,
      [monthAt(clock.now(), 3).from],
    )
  })

  test('accepts rows of a month again after a process died while it attached that month', async () => {
    const { t, clock, post, ensure, checks, next } = await large()
    const { from, to } = monthAt(clock.now(), 1)
    await t.database.sql(
      `alter table messages_other add constraint messages_other_without_${next.slice(-7)}
       check (created_at < '${from.toISOString()}' or created_at >= '${to.toISOString()}') not valid`,
    )
    clock.advance(from.getTime() - clock.millis() + day)
    expect((await post.send()).status).toBe(500)
    await ensure()
    expect(await checks()).toEqual([])
    expect((await post.send()).status).toBe(200)
  })
})
