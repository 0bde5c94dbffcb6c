import pg from 'pg'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { startWebhookService, webhookClient } from '../../test/clients/webhook-client.ts'
import { queryOf } from '../platform/db/statement.ts'
import { makeDeliverWebhooks } from './deliver.ts'
import type { QueueControl } from './endpoint-queue.ts'
import { leaseQueues, releaseQueues } from './store/delivery-leases.ts'
import { fanOutEvents } from './store/fan-out-events.ts'

const t = await startWebhookService()
afterAll(() => t.stop())

const endAtOnce: QueueControl = { shouldStop: () => true, leaseUnderWay: () => undefined }

test('A delivery that is inserted while a worker empties the queue makes the queue due', async () => {
  const acme = webhookClient(t, await t.org())
  const { id, receiver } = await acme.made({ events: ['message.sent'] })
  const { db, clock } = t.service
  await acme.emit()
  const [worker, at] = ['worker', clock.now()]
  // The queue is due already, because of an earlier delivery that is about to be made.
  await t.database.sql('update webhook_lanes set due_at = $2 where endpoint_id = $1', [id, at])

  const fanOut = new pg.Client(t.database.url)
  await fanOut.connect()
  onTestFinished(() => fanOut.end())
  await fanOut.query('begin')
  const { text, values } = queryOf(fanOutEvents, { at, limit: 10, maxAttempts: 8 })
  expect((await fanOut.query(text, values)).rows).toEqual([{ events: '1', deliveries: '1' }])
  const leased = await db.rows(leaseQueues, {
    worker,
    at,
    until: new Date(at.getTime() + 60_000),
    limit: 10,
    releasing: [],
  })
  const ids = { orgIds: leased.map(({ org_id }) => org_id), endpointIds: leased.map((queue) => queue.endpoint_id) }
  await db.change(releaseQueues, { worker, ...ids })
  await fanOut.query('commit')

  expect(await t.database.sql('select due_at, lease from webhook_lanes where endpoint_id = $1', [id])).toEqual([
    { due_at: at, lease: null },
  ])
  expect(await acme.run()).toEqual({ events: 0, deliveries: 0, attempts: 1 })
  expect(receiver.got).toHaveLength(1)
})

test('A delivery that is inserted while the release of its queue waits makes the queue due', async () => {
  const acme = webhookClient(t, await t.org())
  const { id } = await acme.made({ events: ['message.sent'] })
  const { db, clock } = t.service
  const deliver = makeDeliverWebhooks({ db, clock } as Parameters<typeof makeDeliverWebhooks>[0])
  await t.database.sql('update webhook_lanes set due_at = $2 where endpoint_id = $1', [id, clock.now()])
  const [queue] = await deliver.lease(10)
  await acme.emit()

  const other = new pg.Client(t.database.url)
  await other.connect()
  onTestFinished(() => other.end())
  await other.query('begin')
  const { text, values } = queryOf(fanOutEvents, { at: clock.now(), limit: 10, maxAttempts: 8 })
  await other.query(text, values)
  const { done: released } = deliver.run(queue!, endAtOnce)
  const waiting = () => t.database.sql("select 1 from pg_stat_activity where wait_event_type = 'Lock'")
  await expect.poll(async () => (await waiting()).length).toBeGreaterThan(0)
  // The worker leases the queue again before the release gets the lock.
  await other.query('update webhook_lanes set due_at = null where endpoint_id = $1', [id])
  await other.query('commit')
  await released
  expect(await t.database.sql('select due_at, lease from webhook_lanes where endpoint_id = $1', [id])).toEqual([
    { due_at: expect.any(Date), lease: null },
  ])
})
