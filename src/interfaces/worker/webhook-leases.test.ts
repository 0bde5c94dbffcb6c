/** The webhook loop on a database, where a lease meets the release of the same queue. */
import { afterAll, expect, test } from 'vitest'
import { startWebhookService, webhookClient } from '../../../test/clients/webhook-client.ts'
import type { Db } from '../../platform/db/pool.ts'
import { silentLog } from '../../platform/ground/log.ts'
import type { DeliveryTarget } from '../../webhooks/attempt.ts'
import { makeDeliverWebhooks } from '../../webhooks/deliver.ts'
import type { Attempt } from '../../webhooks/delivery-shapes.ts'
import { makeFanOut } from '../../webhooks/fan-out.ts'
import type { SignedDelivery } from '../../webhooks/sign-delivery.ts'
import { leaseQueues } from '../../webhooks/store/delivery-leases.ts'
import { makeWebhookLoop } from './webhook-loop.ts'

const t = await startWebhookService()
afterAll(() => t.stop())

type Attempted = { messageId: string; respond: () => void }

/** An endpoint whose attempts wait for the test, and a loop on a database of which `replaced` is changed. */
const startLoop = async (replaced: Partial<Db>) => {
  const acme = webhookClient(t, await t.org())
  const { id } = await acme.made()
  const { clock } = t.service
  const db = { ...t.service.db, ...replaced }
  const attempted: Attempted[] = []
  const needs = {
    db,
    clock,
    log: silentLog(),
    vault: { open: () => 'whsec_' },
    send: async (_: DeliveryTarget, { payload }: SignedDelivery, attempt: number): Promise<Attempt> => {
      const response = Promise.withResolvers<void>()
      attempted.push({ messageId: JSON.parse(payload).data.message_id, respond: response.resolve })
      await response.promise
      return {
        attempt,
        at: clock.now().toISOString(),
        duration_ms: 1,
        response_status: 200,
        response_body: '',
        error: null,
      }
    },
  }
  const deliver = makeDeliverWebhooks(needs as unknown as Parameters<typeof makeDeliverWebhooks>[0])
  return {
    attempted,
    deliver,
    loop: makeWebhookLoop({ fanOut: makeFanOut({ db, clock }), deliver, log: silentLog() }),
    emit: (messageId: string) => acme.emit({ data: { message_id: messageId } }),
    lane: async () => (await t.database.sql('select lease, due_at from webhook_lanes where endpoint_id = $1', [id]))[0],
    statuses: async () => (await acme.deliveries(id)).body.data.map((one: { status: string }) => one.status),
  }
}

const held = { lease: expect.any(String), due_at: null }

test('X-145 when a worker leases a queue again while it empties it, each delivery is sent once and recorded', async () => {
  let learned: Promise<void> | undefined
  const { db } = t.service
  const { loop, attempted, emit, lane, statuses } = await startLoop({
    // The worker learns late what it has leased.
    rows: async (statement, ...params) => {
      const rows = await db.rows(statement, ...params)
      if ((statement as unknown) === leaseQueues) await learned
      return rows
    },
  })
  await emit('msg_1')
  const first = loop.pass()
  await expect.poll(() => attempted.length).toBe(1)
  expect(await lane()).toEqual(held)

  const { promise, resolve } = Promise.withResolvers<void>()
  learned = promise
  await emit('msg_2')
  const second = loop.pass()
  await expect.poll(async () => (await t.database.sql('select 1 from events')).length).toBe(0)
  await expect.poll(lane).toEqual(held)
  attempted[0]?.respond()
  await expect.poll(statuses).toContain('delivered')
  resolve()
  await expect.poll(() => attempted.length).toBe(2)
  attempted[1]?.respond()
  await Promise.all([first, second])
  expect(attempted.map(({ messageId }) => messageId)).toEqual(['msg_1', 'msg_2'])
  expect(await statuses()).toEqual(['delivered', 'delivered'])
  expect(await lane()).toEqual({ lease: null, due_at: null })
})

test('X-145 a queue is not leased while it is being released, and is due again afterwards', async () => {
  let begin: Promise<void> | undefined
  const { db } = t.service
  const { deliver, emit, lane } = await startLoop({
    tx: async (work) => {
      await begin
      return db.tx(work)
    },
  })
  const fanOut = makeFanOut({ db, clock: t.service.clock })
  await emit('msg_1')
  await fanOut()
  const [queue] = await deliver.lease(10)
  const { promise, resolve } = Promise.withResolvers<void>()
  begin = promise
  const { done } = deliver.run(queue!, { shouldStop: () => true, leaseUnderWay: () => undefined })
  await emit('msg_2')
  await fanOut()
  expect(await lane()).toEqual({ lease: expect.any(String), due_at: expect.any(Date) })
  expect(await deliver.lease(10)).toEqual([])
  resolve()
  await done
  expect(await lane()).toEqual({ lease: null, due_at: expect.any(Date) })
  expect(await deliver.lease(10)).toEqual([queue])
})
