import { afterAll, expect, test } from 'vitest'
import { mail, post } from '../../../test/clients/mailer.ts'
import { startWebhookService, webhookClient } from '../../../test/clients/webhook-client.ts'
import { type Clock, systemClock } from '../../platform/ground/clock.ts'
import { makeReadQueueAges } from './queue-ages.ts'

const t = await startWebhookService()
afterAll(() => t.stop())

/** The ages that are not 0, read at a time of the test. */
const agesAt = async (now: Date): Promise<Record<string, number>> => {
  const clock: Clock = { ...systemClock, now: () => now }
  const ages = await makeReadQueueAges({ db: t.service.db, clock })()
  const waiting = ages.filter(({ value }) => value > 0)
  return Object.fromEntries(waiting.map(({ labels: { queue, state }, value }) => [`${queue} ${state}`, value]))
}

const after = (from: Date, seconds: number): Date => new Date(from.getTime() + seconds * 1_000)

test('each queue shows for how long its oldest item has waited', async () => {
  const org = await t.org()
  const acme = webhookClient(t, org)
  await t.database.sql('delete from events')
  await t.database.sql('delete from audit_unlinked')
  const start = t.service.clock.now()
  const scheduledAt = after(start, 600)
  const sent = await t.ask('POST', post, {
    key: org.keys.live,
    body: mail({ scheduled_at: scheduledAt.toISOString() }),
  })
  expect(sent.status).toBe(200)
  await t.database.sql('delete from events')
  await t.database.sql('delete from audit_unlinked')
  expect(await agesAt(start)).toEqual({})
  expect(await agesAt(after(scheduledAt, 90))).toEqual({ 'messages due': 90 })

  await t.database.sql(
    `insert into events (org_id, id, event, data, created_at) values ($1, 'evt_1', 'message.sent', '{}', $2)`,
    [org.org.id, start],
  )
  await t.database.sql('insert into audit_unlinked (org_id, created_at, entry_id) values ($1, $2, $3)', [
    org.org.id,
    after(start, 5),
    'aud_1',
  ])
  await t.database.sql(
    `insert into usage_reservations (org_id, id, reserved_at, expires_at, parts) values ($1, 'msg_1', $2, $3, '{}')`,
    [org.org.id, start, after(start, 10)],
  )
  await acme.made()
  await t.database.sql('update webhook_lanes set due_at = $1 where org_id = $2', [after(start, 20), org.org.id])
  expect(await agesAt(after(start, 60))).toEqual({
    'events waiting': 60,
    'audit unlinked': expect.any(Number),
    'reservations expired': 50,
    'deliveries due': 40,
  })
  await t.database.sql(`update webhook_lanes set due_at = null, lease = 'dead', leased_until = $1 where org_id = $2`, [
    after(start, 30),
    org.org.id,
  ])
  expect(await agesAt(after(start, 60))).toMatchObject({ 'deliveries lease_expired': 30 })
})

test('without a database no age is known, and the next read tries again', async () => {
  let reads = 0
  const db = { ...t.service.db, rows: () => Promise.reject(new Error(`no database ${reads++}`)) }
  const read = makeReadQueueAges({ db, clock: systemClock })
  expect(await read()).toEqual([])
  expect(await read()).toEqual([])
  expect(reads).toBe(1)
})
