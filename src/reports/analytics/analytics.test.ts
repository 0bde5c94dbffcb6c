import { afterAll, expect, test } from 'vitest'
import { tenantClient } from '../../../test/clients/tenant-client.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'
import { newId, timeOfId } from '../../platform/ground/ids.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { type FiguresQuery, makeReadAnalytics } from './read-analytics.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const { clock, tasks } = t.service
const readFigures = makeReadAnalytics({ db: t.service.modules.db, clock })
const leavesNoTrace = await watchTables(t.database)
const dayMs = 86_400_000
const dateOf = (millis: number) => new Date(millis).toISOString().slice(0, 10)

const zeros = { sent: 0, delivered: 0, bounced: 0, failed: 0, complained: 0, opened: 0, clicked: 0, unsubscribed: 0 }
const noRates = { open_rate: 0, click_rate: 0, bounce_rate: 0, complaint_rate: 0, unsubscribe_rate: 0 }
const read = (key: string, query = '') => t.ask('GET', `/api/v1/analytics${query}`, { key })

type Kinds = Partial<Record<keyof typeof zeros, number>>
type Group = { tenantId?: string; environment?: string; job?: string; variant?: string; projectId?: string; at?: Date }

/** Inserts sent messages with their events, as if everything had happened through the service. */
const happened = async (orgId: string, kinds: Kinds, group: Group = {}): Promise<string[]> => {
  const total = Math.max(kinds.sent ?? 0, kinds.failed ?? 0)
  const at = group.at ?? clock.now()
  const ids = Array.from({ length: total }, () => newId('message', at.getTime()))
  for (const [n, id] of ids.entries()) {
    await t.database.sql(
      `insert into messages (org_id, id, created_at, tenant_id, environment, project_id, channel, status, from_address,
         to_addresses, sent_at, job_id, metadata)
       values ($1, $2, $3, $4, $5, coalesce($6, (select id from projects where org_id = $1 and is_default)), 'email',
         'sent', 'a@example.test', '{b@example.com}', $7, $8, $9)`,
      [
        orgId,
        id,
        new Date(timeOfId(id)),
        group.tenantId ?? null,
        group.environment ?? 'live',
        group.projectId ?? null,
        n < (kinds.sent ?? 0) ? at : null,
        group.job ?? null,
        group.variant === undefined ? null : { subject_variant: group.variant },
      ],
    )
  }
  for (const [kind, n] of Object.entries(kinds)) {
    for (const id of ids.slice(0, n)) await eventOf(orgId, id, kind, at)
  }
  return ids
}
const eventOf = (orgId: string, messageId: string, kind: string, at = clock.now()) =>
  t.database.sql(
    `insert into events (org_id, id, environment, event, data, created_at) values ($1, $2, 'live', $3, $4, $5)`,
    [orgId, newId('event', at.getTime()), `message.${kind}`, { message_id: messageId }, at],
  )
const rollUp = async () => {
  await tasks.webhooks?.run()
  return tasks.analytics?.run()
}

test('S-406 S-410 SD-109 there is one row for each UTC day of the period, which is 30 days by default', async () => {
  const { org, keys } = await t.org()
  const now = clock.millis()
  const today = now - (now % dayMs)
  await happened(org.id, { sent: 2 }, { at: new Date(today - 29 * dayMs) })
  await happened(org.id, { sent: 1 }, { at: new Date(today - 29 * dayMs - 1) })
  const { status, body } = await read(keys.live)
  expect([status, body.group_by, body.days, body.from]).toEqual([
    200,
    null,
    30,
    new Date(today - 29 * dayMs).toISOString(),
  ])
  expect(Date.parse(body.to)).toBeGreaterThanOrEqual(now)
  const dates = Array.from({ length: 30 }, (_, i) => dateOf(today - (29 - i) * dayMs))
  expect(body.data.map((row: { date: string }) => row.date)).toEqual(dates)
  expect(body.data[0]).toEqual({ date: dates[0], job: null, variant: null, ...zeros, sent: 2, ...noRates })
  expect(body.data[29]).toEqual({ date: dates[29], job: null, variant: null, ...zeros, ...noRates })
  expect((await read(keys.live, '?days=31')).body.data[0].sent).toBe(1)
  expect((await read(keys.live, '?days=1')).body.data).toHaveLength(1)
  expect((await read(keys.live, '?days=180')).body.data).toHaveLength(180)
})

test('S-406 SD-109 refuses other values of group_by and days', async () => {
  const { live } = (await t.org()).keys
  await leavesNoTrace(async () => {
    for (const [query, path] of [
      ['?group_by=day', 'group_by'],
      ['?group_by=', 'group_by'],
      ['?days=0', 'days'],
      ['?days=181', 'days'],
      ['?days=1.5', 'days'],
      ['?variant=', 'variant'],
    ] as const) {
      const reply = await read(live, query)
      expect([reply.status, reply.body.error.errors[0].path], query).toEqual([422, [path]])
    }
  })
})

test('S-407 S-408 S-409 S-412 groups by job and variant with counts and rates', async () => {
  const { org, keys } = await t.org()
  const [first, second] = [newId('job', clock.millis()), newId('job', clock.millis())]
  await happened(
    org.id,
    { sent: 100, delivered: 98, bounced: 1, failed: 1, opened: 40, clicked: 12, unsubscribed: 2 },
    {
      job: first,
      variant: 'A',
    },
  )
  await happened(org.id, { sent: 10, delivered: 10, complained: 5 }, { job: first, variant: 'B' })
  await happened(org.id, { sent: 3 }, { job: second })
  await happened(org.id, { sent: 7, delivered: 7 })
  const a = { ...zeros, sent: 100, delivered: 98, bounced: 1, failed: 1, opened: 40, clicked: 12, unsubscribed: 2 }
  const rates = { open_rate: 0.4082, click_rate: 0.1224, bounce_rate: 0.01, unsubscribe_rate: 0.0204 }
  const variantA = { date: null, job: first, variant: 'A', ...a, ...noRates, ...rates }
  const variantB = {
    date: null,
    job: first,
    variant: 'B',
    ...zeros,
    sent: 10,
    delivered: 10,
    complained: 5,
    ...noRates,
    complaint_rate: 0.5,
  }
  const compare = async () => {
    const byJob = (await read(keys.live, '?group_by=job')).body
    expect([
      byJob.group_by,
      byJob.data.map((row: { job: string | null; sent: number }) => [row.job, row.sent]),
    ]).toEqual([
      'job',
      [
        [second, 3],
        [first, 110],
        [null, 7],
      ],
    ])
    expect((await read(keys.live, '?group_by=variant')).body.data).toEqual([variantA, variantB])
    expect((await read(keys.live, `?group_by=variant&job=${second}`)).body.data).toEqual([])
    expect((await read(keys.live, `?group_by=job&job=${second}`)).body.data).toMatchObject([{ job: second, sent: 3 }])
    expect((await read(keys.live, '?group_by=variant&variant=B')).body.data).toEqual([variantB])
    expect((await read(keys.live, `?days=1&job=${first}&variant=A`)).body.data).toMatchObject([{ job: null, ...a }])
    expect((await read(keys.live, `?days=1&job=${newId('job')}`)).body.data).toMatchObject([zeros])
  }
  await compare()
  await rollUp()
  await compare()
})

test('S-407 without blasts, group_by=job has one row with null', async () => {
  const { keys } = await t.org()
  expect((await read(keys.live, '?group_by=job')).body.data).toEqual([
    { date: null, job: null, variant: null, ...zeros, ...noRates },
  ])
})

test('S-411 R-33 a repeated unsubscribe, open, click or complaint of a message counts once', async () => {
  const { org, keys } = await t.org()
  const once = { sent: 1, opened: 1, clicked: 1, unsubscribed: 1, complained: 1 }
  const [id = ''] = await happened(org.id, once)
  const repeat = async () => {
    for (const kind of ['opened', 'clicked', 'unsubscribed', 'complained']) await eventOf(org.id, id, kind)
  }
  for (let round = 0; round < 3; round++) {
    await repeat()
    await repeat()
    expect((await read(keys.live, '?days=1')).body.data).toMatchObject([{ ...zeros, ...once }])
    if (round < 2) await rollUp()
  }
})

test('R-33 what happens later counts for the day on which the message was sent', async () => {
  const { org, keys } = await t.org()
  const yesterday = new Date(clock.millis() - dayMs)
  const [id = ''] = await happened(org.id, { sent: 1 }, { at: yesterday })
  await rollUp()
  await eventOf(org.id, id, 'opened')
  await eventOf(org.id, id, 'delivered')
  for (let round = 0; round < 2; round++) {
    expect((await read(keys.live, '?days=2')).body.data).toMatchObject([
      { date: dateOf(yesterday.getTime()), sent: 1, delivered: 1, opened: 1, open_rate: 1 },
      zeros,
    ])
    await rollUp()
  }
})

test('R-33 a message that was never sent counts as failed on the day of its failure', async () => {
  const { org, keys } = await t.org()
  await happened(org.id, { failed: 2 })
  expect((await read(keys.live, '?days=1')).body.data).toMatchObject([{ ...zeros, failed: 2 }])
  await rollUp()
  expect((await read(keys.live, '?days=1')).body.data).toMatchObject([{ ...zeros, failed: 2 }])
})

test('SD-109 a key reads the figures of its environment, its tenant and its project', async () => {
  const { org, keys } = await t.org()
  const [tenantId, other] = [await t.tenant(org.id), await t.tenant(org.id)]
  const { body: project } = await t.ask('POST', '/api/v1/projects', { key: keys.live, body: { name: 'Other' } })
  await happened(org.id, { sent: 1 })
  await happened(org.id, { sent: 2 }, { tenantId })
  await happened(org.id, { sent: 4 }, { tenantId: other })
  await happened(org.id, { sent: 8 }, { environment: 'test' })
  await happened(org.id, { sent: 16 }, { projectId: project.id })
  const expected = [
    [keys.live, 23],
    [keys.test, 8],
    [await t.key(org.id, { tenantId }), 2],
    [await t.key(org.id, { tenantId: other }), 4],
    [await t.key(org.id, { projectId: project.id }), 16],
    [(await t.org()).keys.live, 0],
  ] as const
  for (let round = 0; round < 2; round++) {
    for (const [key, sent] of expected) expect((await read(key, '?days=1')).body.data[0].sent).toBe(sent)
    await rollUp()
  }
  const reader = await t.key(org.id, { scopes: ['read:messages'] })
  expect((await read(reader)).body.error.code).toBe('INSUFFICIENT_SCOPE')
  expectRefusal(await t.ask('GET', '/api/v1/analytics'), 'UNAUTHORIZED')
})

test('R-33 redacting messages and erasing their tenant do not change the figures', async () => {
  const { org, keys } = await t.org()
  const tenants = tenantClient(t, { keys })
  const tenantId = await tenants.made()
  const job = newId('job', clock.millis())
  const group = { tenantId, job, variant: 'A' }
  await happened(org.id, { sent: 3, delivered: 2, opened: 1 }, group)
  await rollUp()
  const [late = ''] = await happened(org.id, { sent: 1, delivered: 1 }, group)
  const figures = async () => (await read(keys.live, '?group_by=variant')).body.data
  const before = await figures()
  expect(before).toMatchObject([{ job, variant: 'A', sent: 4, delivered: 3, opened: 1 }])
  await tenants.move('suspend', tenantId)
  expect((await tenants.move('erase', tenantId)).body.messages_redacted).toBe(4)
  const [row] = await t.database.sql('select to_addresses, metadata from messages where id = $1', [late])
  expect(row).toEqual({ to_addresses: [], metadata: { subject_variant: 'A' } })
  expect(await figures()).toEqual(before)
  await rollUp()
  expect(await figures()).toEqual(before)
})

test('R-33 a report about a message that is still being sent waits until the message is recorded as sent', async () => {
  const { org, keys } = await t.org()
  const yesterday = new Date(clock.millis() - dayMs)
  const [id = ''] = await happened(org.id, { failed: 1 }, { at: yesterday })
  await t.database.sql("update messages set status = 'delivered', claim = 'c', claimed_at = $2 where id = $1", [
    id,
    clock.now(),
  ])
  await t.database.sql('delete from events where org_id = $1', [org.id])
  await t.database.sql('delete from analytics_queue where org_id = $1', [org.id])
  await eventOf(org.id, id, 'delivered')
  await rollUp()
  const queued = () => t.database.sql('select kind from analytics_queue where org_id = $1', [org.id])
  expect(await queued()).toEqual([{ kind: 'delivered' }])
  expect((await read(keys.live, '?days=1')).body.data).toMatchObject([{ ...zeros, delivered: 1 }])
  await t.database.sql('update messages set sent_at = $2, claim = null where id = $1', [id, yesterday])
  await rollUp()
  expect(await queued()).toEqual([])
  expect((await read(keys.live, '?days=2')).body.data).toMatchObject([{ ...zeros, delivered: 1 }, zeros])
})

const queuedKinds = async (orgId: string) =>
  (await t.database.sql<{ kind: string }>('select kind from analytics_queue where org_id = $1', [orgId])).map(
    ({ kind }) => kind,
  )

test('S-406 what counts once waits in the queue, and other events are in the days as soon as they leave the outbox', async () => {
  const { org } = await t.org()
  await happened(org.id, { sent: 3, delivered: 2, opened: 1 })
  await tasks.webhooks?.run()
  expect(await queuedKinds(org.id)).toEqual(['opened'])
  const days = () =>
    t.database.sql('select part, sent, delivered, opened from analytics_days where org_id = $1 order by part', [org.id])
  const added = { sent: '3', delivered: '2', opened: '0' }
  expect(await days()).toEqual([
    { part: 'other', ...added },
    { part: 'other_email', ...added },
  ])
  await tasks.analytics?.run()
  expect(await queuedKinds(org.id)).toEqual([])
  expect(await days()).toEqual([
    { part: 'other', ...added, opened: '1' },
    { part: 'other_email', ...added, opened: '1' },
  ])
})

const mail = { from: 'hello@example.test', to: ['ada@example.com'], subject: 'Hi', text: 'Hi' }

test('S-406 SD-109 without a webhook endpoint a new message counts once for its project and tenant and writes no event', async () => {
  const { org, keys } = await t.org()
  const tenantId = await t.tenant(org.id)
  const key = await t.key(org.id, { tenantId })
  const sms = { from: 'TIDINGS', to: '+15005550001', body: 'Hi' }
  const sent = await Promise.all([
    ...Array.from({ length: 8 }, () => t.ask('POST', '/api/v1/emails', { key, body: mail })),
    t.ask('POST', '/api/v1/emails/batch', { key: keys.live, body: [mail, mail] }),
    t.ask('POST', '/api/v1/emails', { key: keys.test, body: mail }),
    t.ask('POST', '/api/v1/sms', { key: keys.live, body: sms }),
  ])
  expect(sent.map(({ status }) => status)).toEqual(Array(11).fill(200))
  expect(await t.database.sql("select from events where org_id = $1 and event = 'message.sent'", [org.id])).toEqual([])
  const counts = () => t.database.sql('select amount from analytics_counts where org_id = $1', [org.id])
  const [project] = await t.database.sql<{ id: string }>('select id from projects where org_id = $1', [org.id])
  const figures = async () => {
    const live = { orgId: org.id, tenantId: null, environment: 'live', projectId: null } as const
    const sentOf = async (scope: Partial<Scope> = {}, query: Partial<FiguresQuery> = {}) =>
      (await readFigures({ ...live, ...scope }, { days: 1, ...query })).data.map((row) => row.sent)
    return {
      org: await sentOf(),
      emails: await sentOf({}, { channel: 'email' }),
      texts: await sentOf({}, { channel: 'sms' }),
      tenant: await sentOf({ tenantId }),
      test: await sentOf({ environment: 'test' }),
      project: await sentOf({ projectId: project!.id }),
      otherProject: await sentOf({ projectId: 'prj_other' }),
      withoutJob: await sentOf({}, { group_by: 'job' }),
      ofJob: await sentOf({}, { group_by: 'job', job: 'job_1' }),
    }
  }
  const expected = {
    org: [11],
    emails: [10],
    texts: [1],
    tenant: [8],
    test: [1],
    project: [11],
    otherProject: [0],
    withoutJob: [11],
    ofJob: [],
  }
  expect((await counts()).length).toBeGreaterThan(0)
  expect(await figures()).toEqual(expected)
  await Promise.all([tasks.analytics?.run(), tasks.analytics?.run()])
  expect(await counts()).toEqual([])
  expect(await figures()).toEqual(expected)
})

test('S-406 of two orgs that send at once, only the one with a webhook endpoint writes events, and both are counted', async () => {
  const [heard, unheard] = [await t.org(), await t.org()]
  await t.endpoint(heard.org.id)
  const both = [heard, unheard]
  const sent = await Promise.all(
    Array.from({ length: 20 }, (_, i) => t.ask('POST', '/api/v1/emails', { key: both[i % 2]!.keys.live, body: mail })),
  )
  expect(sent.map(({ status }) => status)).toEqual(Array(20).fill(200))
  const rowsOf = async ({ org }: { org: { id: string } }) =>
    (
      await t.database.sql(
        `select (select count(*)::int from events where org_id = $1 and event = 'message.sent') as events,
           (select coalesce(sum(amount), 0)::int from analytics_counts where org_id = $1) as counted`,
        [org.id],
      )
    )[0]
  expect(await rowsOf(heard)).toEqual({ events: 10, counted: 0 })
  expect(await rowsOf(unheard)).toEqual({ events: 0, counted: 10 })
  for (const { keys } of both) {
    expect((await read(keys.live, '?days=1')).body.data).toMatchObject([{ ...zeros, sent: 10 }])
  }
})

test('S-406 SD-109 the event of a new message counts for its project and tenant without a look at the message', async () => {
  const { org, keys } = await t.org()
  await t.endpoint(org.id)
  const tenantId = await t.tenant(org.id)
  const key = await t.key(org.id, { tenantId })
  const { status, body } = await t.ask('POST', '/api/v1/emails', { key, body: mail })
  expect([status, body.id]).toEqual([200, expect.stringMatching(/^msg_/)])
  const [event] = await t.database.sql(
    `select e.project_id = (select id from projects where org_id = $1 and is_default) as of_project
     from events e where e.org_id = $1 and e.event = 'message.sent'`,
    [org.id],
  )
  expect(event).toEqual({ of_project: true })
  await t.database.sql('delete from messages where org_id = $1', [org.id])
  await tasks.webhooks?.run()
  expect(await queuedKinds(org.id)).toEqual([])
  expect((await read(keys.live, '?days=1')).body.data).toMatchObject([{ ...zeros, sent: 1 }])
  expect((await read(key, '?days=1')).body.data).toMatchObject([{ ...zeros, sent: 1 }])
})

test('S-406 several workers count each event once', async () => {
  const { org, keys } = await t.org()
  await happened(org.id, { sent: 60, delivered: 50, opened: 30 })
  await Promise.all(Array.from({ length: 6 }, () => tasks.webhooks?.run()))
  await Promise.all(Array.from({ length: 6 }, () => tasks.analytics?.run()))
  expect((await read(keys.live, '?days=1')).body.data).toMatchObject([
    { ...zeros, sent: 60, delivered: 50, opened: 30 },
  ])
  expect(await t.database.sql('select 1 from analytics_queue where org_id = $1', [org.id])).toEqual([])
})

test('A-364 S-410 figures of days that are no longer shown are deleted', async () => {
  const { org } = await t.org()
  await happened(org.id, { sent: 1, opened: 1 }, { at: new Date(clock.millis() - 182 * dayMs) })
  await happened(org.id, { sent: 1, opened: 1 }, { at: new Date(clock.millis() - 179 * dayMs) })
  await rollUp()
  const rows = async (table: string) =>
    (await t.database.sql(`select 1 from ${table} where org_id = $1`, [org.id])).length
  expect([await rows('analytics_days'), await rows('analytics_firsts')]).toEqual([4, 2])
  await tasks.retention?.run()
  expect([await rows('analytics_days'), await rows('analytics_firsts')]).toEqual([2, 1])
})

test('The time in an id is the same in SQL and in the service', async () => {
  const ids = [0, 1, 999, Date.now(), 2 ** 48 - 1].map((ms) => newId('message', ms))
  const rows = await t.database.sql<{ ms: number }>(
    'select (extract(epoch from time_of_id(id)) * 1000)::float8 as ms from unnest($1::text[]) with ordinality as r (id, n) order by n',
    [ids.slice(0, 4)],
  )
  expect(rows.map(({ ms }) => ms)).toEqual(ids.slice(0, 4).map(timeOfId))
})
