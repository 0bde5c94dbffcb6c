/** Claims with several workers, stale claims, races with cancel, long backlogs, and providers that fail or throttle. */
import { expect, test } from 'vitest'
import { trailOf } from '../../../test/audit/trail.ts'
import { insertScheduled, postOf, startRelay } from '../../../test/clients/post-client.ts'
import { startTestService, type TestService, testService } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'
import { silentLog } from '../../platform/ground/log.ts'
import type { Outcomes } from './outcomes.ts'
import { makeScheduler } from './scheduler.ts'

const minutes = (count: number) => count * 60

/** Two services on one database. Their clocks move together. */
const twoServices = async () => {
  const first = await testService()
  const second = await startTestService({ database: first.database })
  const created = await first.org()
  const post = postOf(first, created)
  const other = postOf(second, created)
  return {
    first,
    second,
    created,
    post,
    orgId: created.org.id,
    advance: async (seconds: number) => {
      await post.advance(seconds)
      await other.advance(seconds)
    },
    stop: () => second.stop(),
  }
}

test('S-152 SD-47 a claim is stale after five minutes; then only its next owner can settle the message, under the same id', async () => {
  const { first, second, post, advance, stop } = await twoServices()
  try {
    const id = await post.scheduled()
    await advance(61)
    const [one, two] = [first.service.modules.messages.scheduler, second.service.modules.messages.scheduler]
    const [stale] = await one.claim(10)
    expect(stale?.id).toBe(id)
    expect(await two.claim(10)).toEqual([])
    await advance(290)
    expect([await one.claim(10), await two.claim(10)]).toEqual([[], []])
    await advance(11)
    const [current, ...rest] = await two.claim(10)
    expect([current?.id, rest, await one.claim(10)]).toEqual([id, [], []])
    expect(current?.claim).not.toBe(stale?.claim)

    // The first worker settles first, but its claim is no longer current.
    await one.fire(stale as NonNullable<typeof stale>)
    expect(await post.row(id)).toMatchObject({ status: 'sending', claim: current?.claim, sent_at: null })
    expect(await post.events(id)).toEqual([])
    await two.fire(current as NonNullable<typeof current>)
    const settled = await post.row(id)
    expect(settled).toMatchObject({ status: 'sent', claim: null })
    await advance(30)
    await one.fire(stale as NonNullable<typeof stale>)
    expect(await post.row(id)).toEqual(settled)
    expect((await post.events(id)).map(({ event }) => event)).toEqual(['message.sent'])
    await second.service.modules.outbox.flushed()
    // All three have the same message id, by which a provider can recognize duplicates.
    expect(await post.handed(id)).toHaveLength(3)
    expect(await post.used()).toBe(1)
    expect(await first.database.sql('select id from usage_reservations')).toEqual([])
  } finally {
    await stop()
  }
})

test('S-151 S-152 two services on one database send five hundred due messages once each', async () => {
  const { first, second, post, orgId, stop } = await twoServices()
  try {
    const ids = await insertScheduled(first, 500, { orgId, dueAt: first.service.clock.now() })
    const passes = [first, second, first, second].map(({ service }) => service.tasks.scheduler?.run())
    const worked = (await Promise.all(passes)).map((counts) => counts?.messages_worked_on as number)
    expect(worked.reduce((a, b) => a + b, 0)).toBe(500)
    expect(await post.statuses()).toEqual({ sent: 500 })
    for (const { service } of [first, second]) await service.modules.outbox.flushed()
    const handed = await first.database.sql<{ message_id: string }>('select message_id from local_outbox')
    expect(handed.map(({ message_id }) => message_id).sort()).toEqual([...ids].sort())
    const events = await first.database.sql("select 1 from events where event = 'message.sent'")
    expect([events.length, await post.used()]).toEqual([500, 500])
  } finally {
    await stop()
  }
})

test('S-153 S-155 S-156 when a cancel and a claim race, exactly one of them wins, in two hundred races', async () => {
  const { first, second, post, orgId, stop } = await twoServices()
  try {
    const outcomes: Record<string, number> = { canceled: 0, sent: 0 }
    for (let round = 0; round < 20; round++) {
      const ids = await insertScheduled(first, 10, { orgId, dueAt: first.service.clock.now() })
      const pass = (service: typeof first) => service.service.tasks.scheduler?.run()
      // One cancel runs before the scheduler and one after it. The others race with it.
      const [before, ...racing] = ids.slice(0, -1)
      const replies = [await post.cancel(before as string)]
      const early = racing.slice(0, 4).map((id) => post.cancel(id))
      const passes = [pass(first), pass(second)]
      const late = racing.slice(4).map((id) => post.cancel(id))
      replies.push(...(await Promise.all([...early, ...late])))
      await Promise.all(passes)
      await second.service.modules.outbox.flushed()
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

test('S-151 a backlog of five thousand messages and orgs without due messages do not delay other orgs', async () => {
  const t = await testService()
  const [big, small] = [await t.org(), await t.org()]
  const now = t.service.clock.now()
  await insertScheduled(t, 5_000, { orgId: big.org.id, dueAt: new Date(now.getTime() - 3_600_000) })
  const few = await insertScheduled(t, 10, { orgId: small.org.id, dueAt: now })
  for (let others = 0; others < 8; others++) {
    const { org } = await t.org()
    await insertScheduled(t, 3, { orgId: org.id, dueAt: new Date(now.getTime() + 3_600_000) })
  }
  const { scheduler } = t.service.modules.messages
  const claimed = await scheduler.claim(100)
  const ofSmall = claimed.filter(({ org_id }) => org_id === small.org.id)
  expect(ofSmall.map(({ id }) => id).sort()).toEqual([...few].sort())
  // Half of the limit for each of the two orgs with due messages. Orgs without due messages get no share.
  expect(claimed.length - ofSmall.length).toBe(50)
  expect((await scheduler.claim(100)).map(({ org_id }) => org_id)).toEqual(
    Array.from({ length: 100 }, () => big.org.id),
  )
})

/** Sets the content of every message of these orgs to that many bytes, half of them in `html`. */
const fillContent = ({ database }: TestService, orgIds: string[], bytes: number) =>
  database.sql("update messages set html = repeat('é', $1), text = repeat('x', 2 * $1) where org_id = any ($2)", [
    bytes / 4,
    orgIds,
  ])

test('S-151 a claim ends with the message that reaches its size in bytes, and no org is passed over', async () => {
  const t = await testService()
  const orgs = [await t.org(), await t.org(), await t.org()].map(({ org }) => org.id).sort()
  const { db, clock, modules } = t.service
  for (const orgId of orgs) await insertScheduled(t, 4, { orgId, dueAt: clock.now() })
  const scheduler = makeScheduler({
    db,
    clock,
    usage: modules.usage,
    channels: {},
    log: silentLog(),
    applyReports: () => undefined,
    suppressRefused: async () => undefined,
    announce: () => undefined,
    heldUntil: (_, at) => at,
    onSent: async () => undefined,
    claimBytes: 30_000,
  })
  const claim = async () => (await scheduler.claim(200)).map(({ org_id }) => orgs.indexOf(org_id)).sort()
  await fillContent(t, orgs, 20_000)
  // The second message reaches the size. The next claim begins with the org that had no turn.
  expect([await claim(), await claim(), await claim()]).toEqual([
    [0, 1],
    [2, 2],
    [0, 1],
  ])
  await fillContent(t, orgs, 100_000)
  expect(await claim()).toHaveLength(1)
  await fillContent(t, orgs, 400)
  expect(await claim()).toHaveLength(5)
  expect(await claim()).toEqual([])
})

test('the scheduler claims at most 32 MB of messages, and one more', { timeout: 60_000 }, async () => {
  const t = await testService()
  const { org } = await t.org()
  await insertScheduled(t, 4, { orgId: org.id, dueAt: t.service.clock.now() })
  await fillContent(t, [org.id], 12 * 1_048_576)
  const claimed = await t.service.modules.messages.scheduler.claim(200)
  expect(claimed.map(({ bytes }) => bytes)).toEqual(new Array(3).fill(12 * 1_048_576))
})

test('S-151 with more orgs than fit into one claim, every org has a turn before any has a second one', async () => {
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
  // Small claims take turns in the same way as large ones.
  await claim(10, 25)
  expect(claims.sort()).toEqual([...orgIds].sort())
  await claim(100, 3)
  expect(claims.sort()).toEqual([...orgIds, ...orgIds].sort())
  expect(await scheduler.claim(100)).toEqual([])
})

const smtpService = async (refusal: Parameters<typeof startRelay>[0]) => {
  const relay = await startRelay(refusal)
  const t = await testService({ env: { EMAIL_PROVIDER: 'smtp', SMTP_URL: relay.url } })
  const created = await t.org()
  return { t, relay, orgId: created.org.id, ...postOf(t, created) }
}

test('SD-46 a message with transient faults is retried after 1, 5, 15 and 60 minutes and then fails', async () => {
  const text = '4.3.0 Try again later'
  const { t, relay, scheduled, advance, fire, row, events, used } = await smtpService(() => ({
    code: 451,
    text,
  }))
  const id = await scheduled()
  await advance(61)
  for (const [attempts, wait] of [1, 5, 15, 60].entries()) {
    expect(await fire()).toBe(1)
    const { due_at, ...stored } = await row(id)
    expect(stored).toMatchObject({ status: 'scheduled', attempts: attempts + 1, claim: null, sent_at: null })
    const left = (due_at as Date).getTime() - t.service.clock.millis()
    expect(Math.ceil(left / 60_000)).toBe(wait)
    expect([await events(id), await used()]).toEqual([[], 0])
    await advance(minutes(wait) - 20)
    expect(await fire()).toBe(0)
    await advance(21)
  }
  expect(await fire()).toBe(1)
  const failed = await row(id)
  expect(failed).toMatchObject({
    status: 'failed',
    due_at: null,
    error_message: expect.stringContaining(text),
  })
  expect((await events(id)).map(({ event, data }) => [event, data.error])).toEqual([
    ['message.failed', failed.error_message],
  ])
  expect([relay.attempts(), relay.accepted, await used()]).toEqual([5, [], 0])
  await advance(minutes(600))
  expect(await fire()).toBe(0)
})

test('SD-46 a relay that recovers during the retries gets the message, which is counted once', async () => {
  let failing = true
  const { relay, scheduled, advance, fire, row, events, used } = await smtpService(() =>
    failing ? { code: 451, text: '4.3.0 Try again later' } : undefined,
  )
  const id = await scheduled()
  await advance(61)
  await fire()
  failing = false
  await advance(61)
  await fire()
  expect([(await row(id)).status, relay.accepted, await used()]).toEqual(['sent', [id], 1])
  expect((await events(id)).map(({ event }) => event)).toEqual(['message.sent'])
})

test('SD-46 a relay that throttles slows the scheduler down, and every message is still sent', async () => {
  let budget = 0
  const throttled = { code: 454, text: '4.7.0 Throttling failure: maximum sending rate exceeded' }
  const { t, relay, orgId, advance, fire, statuses } = await smtpService(() => (budget-- > 0 ? undefined : throttled))
  const ids = await insertScheduled(t, 60, { orgId, dueAt: t.service.clock.now() })
  await fire()
  const attempts = relay.attempts()
  // Messages in progress when the relay throttled are deferred. No others are tried.
  expect([attempts >= 1, relay.accepted, await statuses()]).toEqual([true, [], { scheduled: 60 }])
  expect(await fire()).toBe(0)
  expect(relay.attempts()).toBe(attempts)
  // After the pause a few messages are tried, and no more until one is accepted.
  await advance(61)
  await fire()
  expect(relay.attempts() - attempts).toBeLessThanOrEqual(10)
  for (let rounds = 0; relay.accepted.length < 60; rounds++) {
    expect(rounds).toBeLessThan(40)
    budget = 10
    await advance(61)
    await fire()
  }
  expect(await statuses()).toEqual({ sent: 60 })
  expect([...relay.accepted].sort()).toEqual([...ids].sort())
  const counted = await t.database.sql('select distinct attempts from messages')
  expect(counted).toEqual([{ attempts: 0 }])
}, 60_000)

test('S-151 a message whose reservation meets a failover is sent once and counted once, under the same claim', async () => {
  const t = await testService()
  const created = await t.org()
  const post = postOf(t, created)
  const { scheduler } = t.service.modules.messages
  const id = await post.scheduled()
  await post.advance(61)
  const [row] = await scheduler.claim(10)
  // A sequence counts on when the statement is rolled back.
  await t.database.sql('create sequence read_only_tries')
  await t.database.sql(`create function refuse_once() returns trigger language plpgsql as $$
    begin
      if nextval('read_only_tries') = 1 then raise exception 'read-only' using errcode = '25006'; end if;
      return new;
    end $$`)
  await t.database.sql(
    'create trigger refuse_once before insert on usage_reservations for each row execute function refuse_once()',
  )
  try {
    await scheduler.fire(row as NonNullable<typeof row>)
  } finally {
    await t.database.sql('drop function refuse_once cascade')
  }
  expect(await t.database.sql('select last_value::int as tries from read_only_tries')).toEqual([{ tries: 2 }])
  await t.database.sql('drop sequence read_only_tries')
  expect(await post.row(id)).toMatchObject({ status: 'sent', claim: null, attempts: 0 })
  expect(await post.handed(id)).toHaveLength(1)
  expect((await post.events(id)).map(({ event }) => event)).toEqual(['message.sent'])
  expect(await post.used()).toBe(1)
  expect(await t.database.sql('select id from usage_reservations where org_id = $1', [created.org.id])).toEqual([])
})

test('SD-46 SD-61 settling a message does not overwrite a report that arrived while it was being sent', async () => {
  const t = await testService()
  const created = await t.org()
  const post = postOf(t, created)
  const { scheduler, outcomes } = t.service.modules.messages
  const report = (kind: 'delivered' | 'soft_bounce' | 'hard_bounce', recipient: string) => ({
    kind,
    recipients: [recipient],
    at: t.service.clock.now(),
    detail: 'mailbox busy',
    bounceType: kind === 'delivered' ? null : 'Transient',
    bounceSubtype: null,
  })
  const reportWhileSending = async (kind: Parameters<typeof report>[0]) => {
    const to = `${kind}@reader.test`
    const messageId = await post.scheduled({ to: [to] })
    await post.advance(61)
    const [row] = await scheduler.claim(10)
    const notification = { provider: 'test', id: messageId, orgId: created.org.id, messageId }
    await outcomes.take({ ...notification, report: report(kind, to) } as Parameters<Outcomes['take']>[0])
    await scheduler.fire(row as NonNullable<typeof row>)
    return { messageId, row: await post.row(messageId), events: await post.events(messageId) }
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
  expect(soft.row).toMatchObject({ status: 'bounced', error_message: 'Soft bounce: mailbox busy' })
  expect((await post.get(soft.messageId)).body.provider_response).toMatchObject({
    bounce_type: 'Transient',
    message_id: expect.stringMatching(/^local_/),
  })
  // Its own report suppressed the recipient, so the send fails, but the status of the report stays.
  const hard = await reportWhileSending('hard_bounce')
  expect(hard.row).toMatchObject({
    status: 'bounced',
    error_message: 'Hard bounce: mailbox busy',
    due_at: null,
  })
  expect(hard.events.map(({ event }) => event)).toEqual(['message.bounced'])
  await post.advance(minutes(10))
  expect(await post.fire()).toBe(0)
})

test('SD-46 SD-61 a report about an attempt with an unknown result ends the retries', async () => {
  const t = await testService()
  const created = await t.org()
  const post = postOf(t, created)
  const id = await post.scheduled()
  // A message that was never handed to a provider ignores reports.
  const before = await post.row(id)
  expect((await post.notify(id, 'delivered')).status).toBe(200)
  expect(await post.row(id)).toEqual(before)
  await t.database.sql('update messages set attempts = 1 where id = $1', [id])
  await post.notify(id, 'delivered')
  expect(await post.row(id)).toMatchObject({ status: 'delivered', due_at: null })
  await post.advance(minutes(10))
  expect([await post.fire(), await post.handed(id)]).toEqual([0, []])
})
