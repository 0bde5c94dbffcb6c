import pg from 'pg'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { mail, mailer, post } from '../../../test/clients/mailer.ts'
import { startTestService } from '../../../test/service/service.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { eventsChannel, makeCoalescedWake, makeEventAnnouncer } from './announce-events.ts'

describe('an announcement', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  const counted = () => {
    let wakes = 0
    const { announce } = makeCoalescedWake(() => {
      wakes++
    })
    return { announce, wakes: () => wakes }
  }

  test('wakes at once while there are few events', () => {
    const { announce, wakes } = counted()
    for (let i = 1; i <= 20; i++) {
      announce(1)
      expect(wakes()).toBe(i)
    }
  })

  test('of no events wakes nobody', () => {
    const { announce, wakes } = counted()
    announce(0)
    vi.advanceTimersByTime(1_000)
    expect(wakes()).toBe(0)
  })

  test('of a busy process wakes once in 100 ms, and the last events are announced too', () => {
    const { announce, wakes } = counted()
    announce(50)
    expect(wakes()).toBe(1)
    for (let ms = 0; ms < 1_000; ms++) {
      announce(10)
      vi.advanceTimersByTime(1)
    }
    expect(wakes()).toBe(11)
    announce(1)
    vi.advanceTimersByTime(100)
    expect(wakes()).toBe(12)
    vi.advanceTimersByTime(1_000)
    expect(wakes()).toBe(12)
    announce(1)
    expect(wakes()).toBe(13)
  })

  test('of a large batch in an idle process wakes at once', () => {
    const { announce, wakes } = counted()
    announce(100)
    expect(wakes()).toBe(1)
  })
})

test('Announcements during a notification that the database has not answered add no second one', async () => {
  const { promise, resolve } = Promise.withResolvers<never[]>()
  const rows = vi.fn(() => promise)
  const announcer = makeEventAnnouncer({ db: { rows }, log: silentLog() })
  for (let i = 0; i < 5; i++) announcer.announce(1)
  expect(rows).toHaveBeenCalledTimes(1)
  resolve([])
  await announcer.close()
})

const listenOn = async (url: string): Promise<string[]> => {
  const got: string[] = []
  const client = new pg.Client(url)
  await client.connect()
  client.on('notification', ({ channel }) => got.push(channel))
  await client.query(`listen ${eventsChannel}; listen end_of_test`)
  onTestFinished(() => client.end())
  return got
}

/** Notifications arrive in the order of their commits. */
const received = async (got: string[], sql: (text: string) => Promise<unknown>): Promise<string[]> => {
  await sql('notify end_of_test')
  await expect.poll(() => got.at(-1)).toBe('end_of_test')
  return got.splice(0).slice(0, -1)
}

test('A process without a worker notifies the workers after a send, and not about a rolled-back event', async () => {
  const t = await startTestService()
  onTestFinished(t.stop)
  const acme = await mailer(t)
  const { appendEvents } = t.service.modules
  const got = await listenOn(t.database.url)
  const event = { orgId: acme.orgId, tenantId: null, environment: null, event: 'usage.alert', data: {} } as const
  const rolledBack = t.service.db.tx(async (tx) => {
    await appendEvents(tx, event)
    throw new Error('rolled back')
  })
  await expect(rolledBack).rejects.toThrow('rolled back')
  expect(await received(got, t.database.sql)).toEqual([])
  expect((await t.ask('POST', post, { key: acme.keys.live, body: mail() })).status).toBe(200)
  await expect.poll(() => got).toEqual([eventsChannel])
  await t.service.db.tx((tx) => appendEvents(tx, event))
  await expect.poll(() => got).toEqual([eventsChannel, eventsChannel])
})

test('A message of an org without a webhook endpoint writes no event, so nobody is notified', async () => {
  const t = await startTestService()
  onTestFinished(t.stop)
  const { keys } = await t.org()
  const got = await listenOn(t.database.url)
  expect((await t.ask('POST', post, { key: keys.live, body: mail() })).status).toBe(200)
  expect(await t.database.sql('select id from events')).toEqual([])
  expect(await received(got, t.database.sql)).toEqual([])
  const heard = await mailer(t)
  expect((await t.ask('POST', post, { key: heard.keys.live, body: mail() })).status).toBe(200)
  await expect.poll(() => got).toEqual([eventsChannel])
})

test('A process with a worker wakes it without a notification, and listens for those of other processes', async () => {
  const t = await startTestService()
  onTestFinished(t.stop)
  const acme = await mailer(t)
  const got = await listenOn(t.database.url)
  await t.service.startWorker()
  const eventsLeft = () => t.database.sql('select id from events')
  expect((await t.ask('POST', post, { key: acme.keys.live, body: mail() })).status).toBe(200)
  await expect.poll(eventsLeft).toEqual([])
  expect(await received(got, t.database.sql)).toEqual([])
  const listening = await t.database.sql<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity
     where datname = current_database() and query = 'listen ${eventsChannel}'`,
  )
  expect(listening).toEqual([{ n: 1 }])
})
