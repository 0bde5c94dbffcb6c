/** Removal of old messages: which go, which stay, and what else refers to those that are gone. */
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { blastClient, email, readers } from '../../../test/clients/blast-client.ts'
import { catchUpWithIds, postOf } from '../../../test/clients/post-client.ts'
import { primaryOwner } from '../../../test/clients/team-client.ts'
import { tenantClient } from '../../../test/clients/tenant-client.ts'
import { startWebhookService, webhookClient } from '../../../test/clients/webhook-client.ts'
import { makeSns, sesEvent, topic } from '../../../test/servers/sns.ts'
import { openLogFile } from '../../../test/service/log-file.ts'
import { beginOtherTransaction } from '../../../test/service/other-transaction.ts'
import type { ServiceOptions } from '../../../test/service/service.ts'
import { monthAt, partitionOf } from '../../platform/db/months.ts'
import { beginSnapshot } from '../../reports/exports/store/snapshot.ts'

const day = 86_400
const retention = 40

/** Starts on the tenth of a month whose partitions exist. */
const start = async (options: ServiceOptions = {}) => {
  const logFile = await openLogFile()
  onTestFinished(logFile.remove)
  const env = { MESSAGE_RETENTION_DAYS: String(retention), ...options.env }
  const t = await startWebhookService({ log: logFile.log, ...options, env })
  onTestFinished(() => t.stop())
  const created = await t.org()
  const post = postOf(t, created)
  const { clock, tasks } = t.service
  const run = async () => (await t.ask('POST', '/api/dev/run', { body: { task: 'retention' } })).body.counts
  const moveTo = async (at: Date) => {
    await post.advance((at.getTime() - clock.millis()) / 1000)
    await tasks.upkeep?.run()
  }
  await catchUpWithIds(t)
  await moveTo(new Date(monthAt(clock.now(), 1).from.getTime() + 9 * day * 1000))
  const month = monthAt(clock.now())
  const partition = partitionOf('messages', month)
  /** The first moment at which every message of the month is old enough. */
  const endOfRetention = new Date(month.to.getTime() + retention * day * 1000)
  const exists = async (name = partition) =>
    (await t.database.sql<{ there: boolean }>('select to_regclass($1) is not null as there', [name]))[0]?.there
  /** Copies of a message, so that its month has more than 1 MB. */
  const copy = (id: string, copies: number) =>
    t.database.sql(
      `insert into messages (org_id, id, created_at, environment, project_id, channel, status, from_address, to_addresses,
         text, sent_at, history)
       select org_id, id || n, created_at, environment, project_id, channel, status, from_address, to_addresses,
         repeat('x', 500), sent_at, history
       from messages, generate_series(1, $2::int) n where id = $1`,
      [id, copies],
    )
  return { t, created, post, clock, run, moveTo, month, partition, endOfRetention, exists, copy, logFile }
}

const later = (at: Date, seconds: number): Date => new Date(at.getTime() + seconds * 1000)

describe('a month whose messages are old', () => {
  test('is dropped once every message of it is older than MESSAGE_RETENTION_DAYS', async () => {
    const { t, post, run, moveTo, month, endOfRetention, exists } = await start()
    const id = await post.sent()
    await post.notify(id, 'delivered')
    await moveTo(later(month.to, -10))
    const last = await post.sent()
    await moveTo(later(month.to, 10))
    const young = await post.sent()
    await moveTo(later(endOfRetention, -60))
    expect(await run()).toMatchObject({ messages_deleted: 0, message_events_deleted: 0 })
    expect((await post.get(id)).status).toBe(200)
    await moveTo(later(endOfRetention, 60))
    expect(await run()).toMatchObject({ messages_deleted: 2, message_events_deleted: 1, months_dropped: 2 })
    for (const gone of [id, last]) {
      expect(await post.get(gone)).toMatchObject({ status: 404, body: { error: { code: 'NOT_FOUND' } } })
      expect((await post.cancel(gone)).status).toBe(404)
    }
    expect((await post.list()).body.data.map((message: { id: string }) => message.id)).toEqual([young])
    expect(await exists()).toBe(false)
    expect(await exists(partitionOf('message_events', month))).toBe(false)
    expect(await t.database.sql('select from message_events')).toEqual([])
    expect(await t.database.sql('select message_id from local_outbox where message_id = $1', [id])).toEqual([])
    expect(await run()).toMatchObject({ messages_deleted: 0, message_events_deleted: 0, months_dropped: 0 })
  })

  test('stays for ever without MESSAGE_RETENTION_DAYS', async () => {
    const { post, run, moveTo, endOfRetention, exists } = await start({ env: { MESSAGE_RETENTION_DAYS: '' } })
    const id = await post.sent()
    await moveTo(later(endOfRetention, 3_000 * day))
    expect(await run()).toMatchObject({ messages_deleted: 0, message_events_deleted: 0 })
    expect((await post.get(id)).status).toBe(200)
    expect(await exists()).toBe(true)
  })

  test('is deleted row by row where the default partition has it', async () => {
    const { t, post, run, moveTo, clock } = await start()
    // No partition of this month was created in time.
    await post.advance(150 * day)
    const month = monthAt(clock.now())
    const id = await post.sent()
    await post.notify(id, 'delivered')
    await t.database.sql(
      `insert into messages (org_id, id, created_at, environment, project_id, channel, status, from_address, to_addresses)
       select org_id, id || n, created_at, environment, project_id, channel, status, from_address, to_addresses
       from messages, generate_series(1, 6000) n where id = $1`,
      [id],
    )
    await moveTo(later(month.to, retention * day - 60))
    expect(await run()).toMatchObject({ messages_deleted: 0 })
    await moveTo(later(month.to, retention * day + 60))
    expect(await run()).toMatchObject({ messages_deleted: 6_001, message_events_deleted: 1 })
    expect(await t.database.sql('select from messages')).toEqual([])
  })
})

describe('what stays in an old month', () => {
  test('a scheduled message is sent when it is due, and goes as many days after that', async () => {
    const { post, run, moveTo, clock, endOfRetention, exists } = await start()
    const old = await post.sent()
    const dueAt = later(endOfRetention, 20 * day)
    const id = await post.scheduled({ scheduled_at: dueAt.toISOString() })
    await moveTo(later(endOfRetention, day))
    expect(await run()).toMatchObject({ messages_deleted: 1 })
    expect((await post.get(old)).status).toBe(404)
    expect((await post.get(id)).body).toMatchObject({ status: 'scheduled' })
    expect(await exists()).toBe(true)
    await moveTo(later(dueAt, 1))
    expect(await post.fire()).toBe(1)
    expect((await post.row(id)).status).toBe('sent')
    expect((await post.handed(id)).length).toBe(1)
    await moveTo(later(clock.now(), (retention - 1) * day))
    expect(await run()).toMatchObject({ messages_deleted: 0 })
    expect((await post.get(id)).body).toMatchObject({ status: 'sent' })
    await moveTo(later(clock.now(), 2 * day))
    expect(await run()).toMatchObject({ messages_deleted: 1 })
    expect((await post.get(id)).status).toBe(404)
    expect(await exists()).toBe(false)
  })

  test('a large month is emptied except for the messages that stay, which do not change', async () => {
    const { t, post, run, moveTo, endOfRetention, partition, copy } = await start()
    const old = await post.sent()
    const waiting = await post.scheduled({
      scheduled_at: later(endOfRetention, 20 * day).toISOString(),
      html: '<p>Long awaited</p>',
      tags: ['one', 'two'],
      metadata: { order: '1' },
    })
    const recent = await post.scheduled({ scheduled_at: later(endOfRetention, -5 * day).toISOString() })
    await copy(old, 4_000)
    const size = async () =>
      (await t.database.sql<{ n: number }>(`select pg_table_size('${partition}')::int as n`))[0]?.n ?? 0
    expect(await size()).toBeGreaterThan(2_000_000)
    await moveTo(later(endOfRetention, -5 * day + 10))
    expect(await post.fire()).toBe(1)
    await moveTo(later(endOfRetention, 60))
    const rows = () =>
      t.database.sql(`select m::text as row from messages m where id = any ($1) order by id`, [[waiting, recent]])
    const before = await rows()
    expect(before).toHaveLength(2)
    expect(await run()).toMatchObject({ messages_deleted: 4_001 })
    expect(await rows()).toEqual(before)
    expect(await t.database.sql(`select id from ${partition} order by id`)).toEqual([{ id: waiting }, { id: recent }])
    expect(await size()).toBeLessThan(100_000)
    const dead = `select from pg_stat_user_tables where relname = '${partition}' and n_dead_tup > 0`
    expect(await t.database.sql(dead)).toEqual([])
    await moveTo(later(endOfRetention, 20 * day + 10))
    expect(await post.fire()).toBe(1)
    expect((await post.row(waiting)).status).toBe('sent')
  })

  test('a message that becomes due to stay while its month is being removed keeps the month', async () => {
    const { t, created, post, run, moveTo, endOfRetention, partition, exists, logFile } = await start()
    const id = await post.sent()
    await moveTo(later(endOfRetention, 60))
    const other = await beginOtherTransaction(t.database)
    await other.sql(`lock table ${partition} in access share mode`)
    await other.sql(
      `insert into messages (org_id, id, created_at, environment, project_id, channel, status, from_address, to_addresses)
       select org_id, 'msg_open', created_at, environment, project_id, channel, 'scheduled', from_address, to_addresses
       from messages where id = $1`,
      [id],
    )
    const running = run()
    await other.untilWaitedFor()
    await other.commit()
    expect(await running).toMatchObject({ messages_deleted: 0 })
    expect(await exists()).toBe(true)
    const left = () => t.database.sql('select id from messages where org_id = $1 order by id', [created.org.id])
    expect(await left()).toEqual([{ id }, { id: 'msg_open' }])
    await expect
      .poll(() => logFile.lines('month not removed'))
      .toMatchObject([
        { level: 40, table: 'messages', month: endOfMonthName(partition), reason: 'a row of the month has to stay' },
      ])
    expect(await run()).toMatchObject({ messages_deleted: 1 })
    expect(await left()).toEqual([{ id: 'msg_open' }])
  })

  test('the messages of a job stay until it is over, and its counts stay for ever', async () => {
    const { t, run, moveTo, endOfRetention, exists } = await start()
    const acme = await blastClient(t)
    const audience = await acme.audience(readers(6))
    const template = await acme.template({ channel: 'email', subject: 'News', text: 'Hi' })
    const done = await acme.sent(audience, email(template))
    const scheduled_local = later(endOfRetention, 10 * day)
      .toISOString()
      .slice(0, 19)
    const slots = { scheduled_local, scheduled_at_tz: 'UTC' }
    const waiting = await acme.sent(audience, email(template, slots))
    const scheduler = () => t.ask('POST', '/api/dev/run', { body: { task: 'scheduler' } })
    await moveTo(later(t.service.clock.now(), 120))
    await scheduler()
    const counts = async (id: string) => (await acme.job(id)).body.counts
    const [bounced] = await acme.rows(done.job_id)
    await t.ask('POST', '/api/dev/notify', { body: { message_id: bounced!.id, outcome: 'hard_bounce' } })
    const before = await counts(done.job_id)
    expect(before).toMatchObject({ sent: 5, bounced: 1 })
    await moveTo(later(endOfRetention, 60))
    expect(await run()).toMatchObject({ messages_deleted: 6 })
    expect(await acme.rows(done.job_id)).toEqual([])
    expect(await counts(done.job_id)).toEqual(before)
    expect((await acme.jobs()).body.data.map((job: { counts: object }) => job.counts)).toContainEqual(before)
    expect(await counts(waiting.job_id)).toMatchObject({ scheduled: 6 })
    await moveTo(later(endOfRetention, 10 * day + 120))
    await scheduler()
    expect((await acme.jobEvents(waiting.job_id)).map(({ event }) => event)).toContain('job.completed')
    const completed = await counts(waiting.job_id)
    expect(completed).toMatchObject({ scheduled: 0, sent: 5 })
    await moveTo(later(endOfRetention, (10 + retention + 1) * day))
    expect(await run()).toMatchObject({ messages_deleted: 6 })
    expect(await counts(waiting.job_id)).toEqual(completed)
    expect(await exists()).toBe(false)
  })
})

const endOfMonthName = (partition: string): string => partition.slice(-7).replace('_', '-')

describe('while others use the table', () => {
  test('sends continue during a backup, and the month is dropped when it has ended', async () => {
    const { t, post, run, moveTo, endOfRetention, exists } = await start()
    await post.sent()
    await moveTo(later(endOfRetention, 60))
    const backup = await beginOtherTransaction(t.database)
    await backup.sql('lock table messages in access share mode')
    const running = run()
    await backup.untilWaitedFor()
    for (let sends = 0; sends < 20; sends++) expect((await post.send()).status).toBe(200)
    expect(await exists()).toBe(true)
    await backup.commit()
    expect(await running).toMatchObject({ messages_deleted: 1 })
    expect(await exists()).toBe(false)
  })

  test('an export that has begun still contains the messages that stay', async () => {
    const { t, post, run, moveTo, endOfRetention, partition, copy } = await start()
    await copy(await post.sent(), 4_000)
    const id = await post.scheduled({ scheduled_at: later(endOfRetention, 20 * day).toISOString() })
    await moveTo(later(endOfRetention, 60))
    const reading = new pg.Client(t.database.url)
    await reading.connect()
    await reading.query(beginSnapshot)
    await reading.query('select')
    const running = run()
    // Either the month is emptied meanwhile, or its removal waits for the export.
    const waits = "select from pg_locks where relation = $1::regclass and mode = 'AccessExclusiveLock'"
    const ended = running.then(() => true)
    const isWaiting = async () => (await t.database.sql(waits, [partition])).length > 0
    await expect.poll(async () => (await isWaiting()) || (await Promise.race([ended, false]))).toBe(true)
    const { rows } = await reading.query(
      'select count(*)::int as n, max(id) filter (where status = $1) as id from messages',
      ['scheduled'],
    )
    expect(rows).toEqual([{ n: 4_002, id }])
    await reading.end()
    expect(await running).toMatchObject({ messages_deleted: 4_001 })
    expect((await post.get(id)).body.status).toBe('scheduled')
  })

  test('two runs at the same time remove each message once', async () => {
    const { post, run, moveTo, endOfRetention, exists } = await start()
    await post.sent()
    await moveTo(later(endOfRetention, 60))
    const counts = await Promise.all([run(), run(), run()])
    expect(counts.map(({ messages_deleted }) => messages_deleted).sort()).toEqual([0, 0, 1])
    expect(await exists()).toBe(false)
  })
})

describe('after a message was removed', () => {
  test('links in it still work, and are not counted', async () => {
    const { t, post, created, run, moveTo, endOfRetention } = await start()
    const messageId = await post.sent({
      track_opens: true,
      track_clicks: true,
      html: '<a href="https://shop.example/">x</a>',
    })
    const ref = { orgId: created.org.id, messageId }
    const { links } = t.service.modules
    const paths = [links.clickUrl(ref, 'https://shop.example/'), links.openUrl(ref)].map((url) =>
      url.slice(t.url.length),
    )
    await moveTo(later(endOfRetention, 60))
    await run()
    await t.database.sql('delete from events')
    const [click, open] = [await t.ask('GET', paths[0]!), await t.ask('GET', paths[1]!)]
    expect([click.status, click.headers.location]).toEqual([302, 'https://shop.example/'])
    expect([open.status, open.headers['content-type']]).toEqual([200, 'image/gif'])
    expect(await t.database.sql('select from events')).toEqual([])
    expect(await t.database.sql('select from message_events')).toEqual([])
  })

  test('notifications of its provider are acknowledged without effect', async () => {
    const sns = await makeSns()
    const { t, post, created, run, moveTo, endOfRetention } = await start({
      ...sns.overrides,
      env: { SES_SNS_TOPICS: topic },
    })
    const messageId = await post.sent()
    await moveTo(later(endOfRetention, 60))
    await run()
    const event = sesEvent({ orgId: created.org.id, messageId }, 'Bounce', ['ann@reader.test'])
    const raw = JSON.stringify(sns.signed(sns.notification(event)))
    const headers = { 'content-type': 'text/plain' }
    const reply = await t.ask('POST', '/api/webhooks/provider/email', { raw, headers })
    expect([reply.status, reply.body]).toEqual([200, { status: 'notification' }])
    expect(await t.database.sql('select from suppressions')).toEqual([])
  })

  test('its figures, its webhook deliveries and the usage that it counted for stay', async () => {
    const { t, post, created, run, moveTo, endOfRetention } = await start()
    const acme = webhookClient(t, created)
    const { id: endpoint, receiver } = await acme.made()
    const id = await post.sent()
    await acme.run()
    await t.database.sql("update webhook_deliveries set status = 'failed'")
    const analytics = async () => {
      await t.ask('POST', '/api/dev/run', { body: { task: 'analytics' } })
      const { body } = await t.ask('GET', '/api/v1/analytics?days=180', { key: created.keys.live })
      return body.data.filter(({ sent }: { sent: number }) => sent > 0)
    }
    const figures = await analytics()
    expect(figures).toMatchObject([{ sent: 1 }])
    const used = await post.used()
    await moveTo(later(endOfRetention, 60))
    expect(await run()).toMatchObject({ messages_deleted: 1 })
    expect(await analytics()).toEqual(figures)
    expect(await post.used()).toBe(used)
    const [failed] = (await acme.deliveries(endpoint)).body.data
    expect(failed).toMatchObject({ status: 'failed', event: 'message.sent' })
    const before = receiver.got.length
    expect((await acme.replay(endpoint, failed.id)).status).toBe(202)
    await acme.run()
    expect(receiver.got.length).toBe(before + 1)
    expect(receiver.got.at(-1)?.text).toContain(id)
  })

  test('its tenant can be erased', async () => {
    const { t, post, created, run, moveTo, endOfRetention } = await start()
    const tenants = tenantClient(t, created)
    const tenantId = await tenants.made()
    await post.sent({}, await t.key(created.org.id, { tenantId }))
    await t.service.modules.outbox.flushed()
    await moveTo(later(endOfRetention, 60))
    expect(await run()).toMatchObject({ messages_deleted: 1 })
    await tenants.move('archive', tenantId)
    const { status, body } = await tenants.move('erase', tenantId)
    expect([status, body]).toMatchObject([200, { status: 'erased', messages_redacted: 0 }])
    expect(await t.database.sql('select from local_outbox')).toEqual([])
  })

  test('the overview still shows that the org has sent messages', async () => {
    const { t, post, created, run, moveTo, endOfRetention } = await start()
    await post.sent()
    await moveTo(later(endOfRetention, 60))
    expect(await run()).toMatchObject({ messages_deleted: 1 })
    const { body } = await (await primaryOwner(t, created.org.id)).ask('GET', '/api/internal/overview')
    expect(body.open_setup_steps).toEqual(expect.arrayContaining(['add_webhook']))
    expect(body.open_setup_steps).not.toContain('send_message')
  })
})
