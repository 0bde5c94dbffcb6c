/** Compares what the customers were promised with what the database and their endpoint have at the end. */
import type pg from 'pg'
import type { Received } from '../servers/receiver.ts'
import { until } from '../start/launched.ts'
import type { Promised } from './journey.ts'

type Needs = { db: pg.Pool; promised: Promised[]; received: Received[] }

const countBy = async (db: pg.Pool, sql: string): Promise<Map<string, number>> => {
  const { rows } = await db.query<{ id: string; n: number }>(sql)
  return new Map(rows.map(({ id, n }) => [id, n]))
}

/** Waits until the due messages are sent and the deliveries of their events are made. */
const settled = async (db: pg.Pool): Promise<void> => {
  const unfinished = `
    select 1 from messages where status = 'sending' or (status = 'scheduled' and scheduled_at < now() + interval '1 hour')
    union all select 1 from events
    union all select 1 from webhook_deliveries where status = 'pending'
    limit 1`
  await until('everything due is done', async () => (await db.query(unfinished)).rows.length === 0, 120_000)
}

/** Sends do not wait for the outbox. What is still missing after a while is reported as a fault of its message. */
const outboxWritten = async (db: pg.Pool): Promise<void> => {
  const unwritten = `
    select 1 from messages m
    where status = 'sent' and not exists (select 1 from local_outbox o where o.message_id = m.id)
    limit 1`
  const isWritten = async () => (await db.query(unwritten)).rows.length === 0
  await until('the outbox has every message', isWritten, 10_000).catch(() => undefined)
}

/** The deliveries that arrived for each message. An attempt may be repeated, under the id of its delivery. */
const deliveriesByMessage = (received: Received[]): Map<string, Set<string>> => {
  const found = new Map<string, Set<string>>()
  for (const { body } of received) {
    const { message_id: id } = body.data
    found.set(id, (found.get(id) ?? new Set()).add(body.delivery_id))
  }
  return found
}

export const outcomeFaults = async ({ db, promised, received }: Needs): Promise<string[]> => {
  await settled(db)
  const faults: string[] = []
  const { rows } = await db.query<{ id: string; status: string }>('select id, status from messages')
  const statuses = new Map(rows.map(({ id, status }) => [id, status]))
  await outboxWritten(db)
  const handed = await countBy(
    db,
    'select message_id as id, count(*)::int as n from local_outbox where message_id is not null group by 1',
  )
  const arrived = deliveriesByMessage(received)
  for (const { id, status } of promised) {
    if (statuses.get(id) !== status) faults.push(`${id} must be ${status} and is ${statuses.get(id) ?? 'missing'}`)
    const times = status === 'sent' ? 1 : 0
    if ((handed.get(id) ?? 0) !== times) faults.push(`${id} is ${status} and was sent ${handed.get(id) ?? 0} times`)
    const deliveries = arrived.get(id)?.size ?? 0
    if (deliveries !== times) faults.push(`${id} is ${status} and has ${deliveries} deliveries of message.sent`)
  }
  if (statuses.size !== promised.length) {
    faults.push(`${statuses.size} messages are stored, but ${promised.length} were acknowledged`)
  }
  return faults
}
