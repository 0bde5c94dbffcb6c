/** Tables that rows pass through: each of them states when it is vacuumed. */
import { expect, onTestFinished, test } from 'vitest'
import { postOf } from '../../../test/clients/post-client.ts'
import { startWebhookService, webhookClient } from '../../../test/clients/webhook-client.ts'

test('every table from which a send, its webhook and its opening delete rows, or whose rows they change, is vacuumed early', async () => {
  const t = await startWebhookService()
  onTestFinished(() => t.stop())
  const created = await t.org()
  const [post, acme] = [postOf(t, created), webhookClient(t, created)]
  await acme.made()
  for (let sends = 0; sends < 5; sends++) {
    await post.sent({}, created.keys.live, { 'idempotency-key': `key-${sends}` })
    await post.scheduled({ scheduled_at: post.inSeconds(60) })
  }
  await acme.advance(61)
  await post.fire()
  // Of the events of messages, only those that count once wait in the queue of analytics.
  await t.database.sql(
    `insert into events (org_id, id, environment, event, data, created_at)
     select org_id, 'evt_' || id, environment, 'message.opened', jsonb_build_object('message_id', id), created_at
     from messages where org_id = $1`,
    [created.org.id],
  )
  await acme.run()
  for (const task of ['analytics', 'upkeep', 'usage']) await t.ask('POST', '/api/dev/run', { body: { task } })
  const used = () =>
    t.database.sql<{ name: string; early: boolean }>(
      `select s.relname as name, coalesce(c.reloptions::text like '%autovacuum_vacuum_scale_factor=0%', false) as early
       from pg_stat_user_tables s join pg_class c on c.oid = s.relid
       where s.schemaname = 'public' and s.n_tup_del + s.n_tup_upd > 0
       order by 1`,
    )
  // Each connection reports its changes a moment later.
  const passed = ['analytics_queue', 'audit_chains', 'audit_unlinked', 'events', 'idempotency_keys', 'usage_counters']
  await expect
    .poll(async () => (await used()).map(({ name }) => name))
    .toEqual(expect.arrayContaining([...passed, 'webhook_lanes']))
  const late = (await used()).filter(({ early }) => !early).map(({ name }) => name)
  // Each row of a partition changes a few times at most, and the rows of the others at most once a minute.
  const rarely =
    /^(messages|webhook_deliveries)_|^(api_keys|webhook_endpoints|settings|audit_register_head|orgs|local_outbox|health_probes)$/
  expect(late.filter((name) => !rarely.test(name))).toEqual([])
})
