/** Claims under strain: several workers, dead ones, races with cancel, long backlogs and providers that say no. */
import { expect, test } from 'vitest'
import { trailOf } from '../../test/audit/trail.ts'
import { startTestService, testService } from '../../test/service/service.ts'
import { newId } from '../ground/ids.ts'
import { insertWaiting, postOf, relayOf } from './harness.ts'
import type { Outcomes } from './outcomes.ts'

const minutes = (count: number) => count * 60

/** Two houses on one database, whose clocks are moved together. */
const twoServices = async () => {
  const first = await testService()
  const second = await startTestService({ database: first.database })
  const founded = await first.org()
  const post = postOf(first, founded)
  const other = postOf(second, founded)
  return {
    first,
    second,
    founded,
    post,
    orgId: founded.org.id,
    advance: async (seconds: number) => {
      await post.advance(seconds)
      await other.advance(seconds)
    },
    stop: () => second.stop(),
  }
}

test('S-152 SD-47 a claim is left alone for five minutes; then it is taken over, under the same token, and its first owner changes nothing', async () => {
  const { first, second, post, advance, stop } = await twoServices()
  try {
    const id = await post.scheduled()
    await advance(61)
    const [one, two] = [first.service.modules.messages.scheduler, second.service.modules.messages.scheduler]
    const [held] = await one.claim(10)
    expect(held?.id).toBe(id)
    expect(await two.claim(10)).toEqual([])
    await advance(290)
    expect([await one.claim(10), await two.claim(10)]).toEqual([[], []])
    await advance(11)
    const [taken, ...rest] = await two.claim(10)
    expect([taken?.id, rest, await one.claim(10)]).toEqual([id, [], []])
    expect(taken?.claim).not.toBe(held?.claim)

    // The one who was taken for dead comes first: the row is not its own any more.
    await one.fire(held as NonNullable<typeof held>)
    expect(await post.row(id)).toMatchObject({ status: 'sending', claim: taken?.claim, sent_at: null })
    expect(await post.told(id)).toEqual([])
    await two.fire(taken as NonNullable<typeof taken>)
    const settled = await post.row(id)
    expect(settled).toMatchObject({ status: 'sent', claim: null })
    await advance(30)
    await one.fire(held as NonNullable<typeof held>)
    expect(await post.row(id)).toEqual(settled)
    expect((await post.told(id)).map(({ event }) => event)).toEqual(['message.sent'])
    // All three went out under the id of the message, by which a provider tells them to be one.
    expect(await post.handed(id)).toHaveLength(3)
  } finally {
    await stop()
  }
})

test('S-151 S-152 two houses on one database send five hundred due messages once each', async () => {
  const { first, second, post, orgId, stop } = await twoServices()
  try {
    const ids = await insertWaiting(first, 500, { orgId, dueAt: first.service.clock.now() })
    const passes = [first, second, first, second].map(({ service }) => service.tasks.scheduler?.run())
    const worked = (await Promise.all(passes)).map((counts) => counts?.messages_worked_on as number)
    expect(worked.reduce((a, b) => a + b, 0)).toBe(500)
    expect(await post.statuses()).toEqual({ sent: 500 })
    const handed = await first.database.sql<{ message_id: string }>('select message_id from local_outbox')
    expect(handed.map(({ message_id }) => message_id).sort()).toEqual([...ids].sort())
    const told = await first.database.sql("select 1 from events where event = 'message.sent'")
    expect([told.length, await post.used()]).toEqual([500, 500])
  } finally {
    await stop()
  }
})

test('S-153 S-155 S-156 of a cancel and a claim that meet two hundred times one wins, never both', async () => {
  const { first, second, post, orgId, stop } = await twoServices()
  try {
    const outcomes: Record<string, number> = { canceled: 0, sent: 0 }
    for (let round = 0; round < 20; round++) {
      const ids = await insertWaiting(first, 10, { orgId, dueAt: first.service.clock.now() })
      const pass = (service: typeof first) => service.service.tasks.scheduler?.run()
      // One asks well before the scheduler does and one well after; the others meet it.
      const [soon, ...met] = ids.slice(0, -1)
      const replies = [await post.cancel(soon as string)]
      const early = met.slice(0, 4).map((id) => post.cancel(id))
      const passes = [pass(first), pass(second)]
      const late = met.slice(4).map((id) => post.cancel(id))
      replies.push(...(await Promise.all([...early, ...late])))
      await Promise.all(passes)
      replies.push(await post.cancel(ids.at(-1) as string))
      for (const [i, id] of ids.entries()) {
        const { status } = await post.row(id)
        const handed = (await post.handed(id)).length
        expect([replies[i]?.status, status, handed]).toEqual(
          status === 'canceled' ? [200, 'canceled', 0] : [409, 'sent', 1],
        )
        outcomes[status] = (outcomes[status] ?? 0) + 1
      }
    }
    expect((outcomes.canceled as number) + (outcomes.sent as number)).toBe(200)
    expect(Math.min(...Object.values(outcomes))).toBeGreaterThanOrEqual(20)
    const canceled = (await trailOf(first.database, orgId)).filter(({ action }) => action === 'message.canceled')
    expect(new Set(canceled.map(({ resource_id }) => resource_id)).size).toBe(outcomes.canceled)
    expect(canceled).toHaveLength(outcomes.canceled as number)
  } finally {
    await stop()
  }
}, 60_000)

test('S-151 a backlog of five thousand keeps no other org waiting, nor do orgs whose messages lie ahead', async () => {
  const t = await testService()
  const [big, small] = [await t.org(), await t.org()]
  const now = t.service.clock.now()
  await insertWaiting(t, 5_000, { orgId: big.org.id, dueAt: new Date(now.getTime() - 3_600_000) })
  const few = await insertWaiting(t, 10, { orgId: small.org.id, dueAt: now })
  for (let others = 0; others < 8; others++) {
    const { org } = await t.org()
    await insertWaiting(t, 3, { orgId: org.id, dueAt: new Date(now.getTime() + 3_600_000) })
  }
  const { scheduler } = t.service.modules.messages
  const claimed = await scheduler.claim(100)
  const ofSmall = claimed.filter(({ org_id }) => org_id === small.org.id)
  expect(ofSmall.map(({ id }) => id).sort()).toEqual([...few].sort())
  // Half for each of the two with anything due; the orgs that only wait take none of it.
  expect(claimed.length - ofSmall.length).toBe(50)
  expect((await scheduler.claim(100)).map(({ org_id }) => org_id)).toEqual(
    Array.from({ length: 100 }, () => big.org.id),
  )
})

test('S-151 with more orgs than one turn looks at everybody has a turn before anybody has two', async () => {
  const t = await testService()
  const orgIds = Array.from({ length: 250 }, () => newId('org'))
  await t.database.sql(
    `insert into orgs (id, name, slug, plan, created_at, updated_at)
     select id, id, id, 'pro', $2, $2 from unnest($1::text[]) as id`,
    [orgIds, t.service.clock.now()],
  )
  await t.database.sql(
    `insert into messages (org_id, id, created_at, environment, project_id, channel, status, from_address, to_addresses,
       due_at)
     select org_id, org_id || n, $2, 'live', 'none', 'email', 'scheduled', 'a@b.test', '{c@d.test}', $2
     from unnest($1::text[]) as org_id, generate_series(1, 2) n`,
    [orgIds, t.service.clock.now()],
  )
  const { scheduler } = t.service.modules.messages
  const claims: string[] = []
  const claim = async (limit: number, times: number) => {
    for (let n = 0; n < times; n++) claims.push(...(await scheduler.claim(limit)).map(({ org_id }) => org_id))
  }
  // Small claims go round as large ones do.
  await claim(10, 25)
  expect(claims.sort()).toEqual([...orgIds].sort())
  await claim(100, 3)
  expect(claims.sort()).toEqual([...orgIds, ...orgIds].sort())
  expect(await scheduler.claim(100)).toEqual([])
})

const smtpService = async (answer: Parameters<typeof relayOf>[0]) => {
  const relay = await relayOf(answer)
  const t = await testService({ env: { EMAIL_PROVIDER: 'smtp', SMTP_URL: relay.url } })
  const founded = await t.org()
  return { t, relay, orgId: founded.org.id, ...postOf(t, founded) }
}

test('SD-46 passing faults are tried again after 1, 5, 15 and 60 minutes, then it has failed', async () => {
  const words = '4.3.0 Try again later'
  const { t, relay, scheduled, advance, fire, row, told, used } = await smtpService(() => ({
    code: 451,
    words,
  }))
  const id = await scheduled()
  await advance(61)
  for (const [attempts, wait] of [1, 5, 15, 60].entries()) {
    expect(await fire()).toBe(1)
    const { due_at, ...stored } = await row(id)
    expect(stored).toMatchObject({ status: 'scheduled', attempts: attempts + 1, claim: null, sent_at: null })
    const left = (due_at as Date).getTime() - t.service.clock.millis()
    expect(Math.ceil(left / 60_000)).toBe(wait)
    expect([await told(id), await used()]).toEqual([[], 0])
    await advance(minutes(wait) - 20)
    expect(await fire()).toBe(0)
    await advance(21)
  }
  expect(await fire()).toBe(1)
  const failed = await row(id)
  expect(failed).toMatchObject({
    status: 'failed',
    due_at: null,
    error_message: expect.stringContaining(words),
  })
  expect((await told(id)).map(({ event, data }) => [event, data.error])).toEqual([
    ['message.failed', failed.error_message],
  ])
  expect([relay.asked(), relay.taken, await used()]).toEqual([5, [], 0])
  await advance(minutes(600))
  expect(await fire()).toBe(0)
})

test('SD-46 a relay that comes back within its retries gets the message, counted once', async () => {
  let away = true
  const { relay, scheduled, advance, fire, row, told, used } = await smtpService(() =>
    away ? { code: 451, words: '4.3.0 Try again later' } : undefined,
  )
  const id = await scheduled()
  await advance(61)
  await fire()
  away = false
  await advance(61)
  await fire()
  expect([(await row(id)).status, relay.taken, await used()]).toEqual(['sent', [id], 1])
  expect((await told(id)).map(({ event }) => event)).toEqual(['message.sent'])
})

test('SD-46 a relay that throttles slows the scheduler down and loses nothing', async () => {
  let budget = 0
  const throttled = { code: 454, words: '4.7.0 Throttling failure: maximum sending rate exceeded' }
  const { t, relay, orgId, advance, fire, statuses } = await smtpService(() => (budget-- > 0 ? undefined : throttled))
  const ids = await insertWaiting(t, 60, { orgId, dueAt: t.service.clock.now() })
  await fire()
  const asked = relay.asked()
  // What was under way when it was said is put off; nothing else is even tried.
  expect([asked >= 1, relay.taken, await statuses()]).toEqual([true, [], { scheduled: 60 }])
  expect(await fire()).toBe(0)
  expect(relay.asked()).toBe(asked)
  // Then it is asked with a few, and no more of them until it takes one.
  await advance(61)
  await fire()
  expect(relay.asked() - asked).toBeLessThanOrEqual(10)
  for (let rounds = 0; relay.taken.length < 60; rounds++) {
    expect(rounds).toBeLessThan(40)
    budget = 10
    await advance(61)
    await fire()
  }
  expect(await statuses()).toEqual({ sent: 60 })
  expect([...relay.taken].sort()).toEqual([...ids].sort())
  const attempts = await t.database.sql('select distinct attempts from messages')
  expect(attempts).toEqual([{ attempts: 0 }])
}, 60_000)

test('SD-46 SD-61 what is reported while it is being sent is not overwritten when the sending is settled', async () => {
  const t = await testService()
  const founded = await t.org()
  const post = postOf(t, founded)
  const { scheduler, outcomes } = t.service.modules.messages
  const report = (kind: 'delivered' | 'soft_bounce' | 'hard_bounce', recipient: string) => ({
    kind,
    recipients: [recipient],
    at: t.service.clock.now(),
    detail: 'in its words',
    bounceType: kind === 'delivered' ? null : 'Transient',
    bounceSubtype: null,
  })
  const reportWhileSending = async (kind: Parameters<typeof report>[0]) => {
    const to = `${kind}@reader.test`
    const messageId = await post.scheduled({ to: [to] })
    await post.advance(61)
    const [row] = await scheduler.claim(10)
    const notification = { provider: 'test', id: messageId, orgId: founded.org.id, messageId }
    await outcomes.take({ ...notification, report: report(kind, to) } as Parameters<Outcomes['take']>[0])
    await scheduler.fire(row as NonNullable<typeof row>)
    return { messageId, row: await post.row(messageId), events: await post.told(messageId) }
  }
  const delivered = await reportWhileSending('delivered')
  expect(delivered.row).toMatchObject({
    status: 'delivered',
    sent_at: expect.any(Date),
    claim: null,
    due_at: null,
  })
  expect(delivered.events.map(({ event }) => event)).toEqual(['message.delivered', 'message.sent'])
  const soft = await reportWhileSending('soft_bounce')
  expect(soft.row).toMatchObject({ status: 'bounced', error_message: 'Soft bounce: in its words' })
  expect((await post.get(soft.messageId)).body.provider_response).toMatchObject({
    bounce_type: 'Transient',
    message_id: expect.stringMatching(/^local_/),
  })
  // Suppressed by its own report, it is not sent again; that is no second end of it.
  const hard = await reportWhileSending('hard_bounce')
  expect(hard.row).toMatchObject({
    status: 'bounced',
    error_message: 'Hard bounce: in its words',
    due_at: null,
  })
  expect(hard.events.map(({ event }) => event)).toEqual(['message.bounced'])
  await post.advance(minutes(10))
  expect(await post.fire()).toBe(0)
})

test('SD-46 SD-61 a report of an attempt whose end was not known ends the retries', async () => {
  const t = await testService()
  const founded = await t.org()
  const post = postOf(t, founded)
  const id = await post.scheduled()
  // Nothing was handed over yet, so there is nothing to report.
  const before = await post.row(id)
  expect((await post.notify(id, 'delivered')).status).toBe(200)
  expect(await post.row(id)).toEqual(before)
  await t.database.sql('update messages set attempts = 1 where id = $1', [id])
  await post.notify(id, 'delivered')
  expect(await post.row(id)).toMatchObject({ status: 'delivered', due_at: null })
  await post.advance(minutes(10))
  expect([await post.fire(), await post.handed(id)]).toEqual([0, []])
})
