/** Figures and the overview in the dashboard. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { blastClient, email, readers } from '../../../../test/clients/blast-client.ts'
import { mail } from '../../../../test/clients/mailer.ts'
import { type Member, person, primaryOwner } from '../../../../test/clients/team-client.ts'
import { text } from '../../../../test/clients/texter.ts'
import { type Reply, startTestService } from '../../../../test/service/service.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const { tasks } = t.service

const path = '/api/internal/analytics'
type Row = { date: string | null; job: string | null; sent: number }

const own = await blastClient(t)
const { orgId } = own
const tenantId = await t.tenant(orgId)
const tenantKey = await t.key(orgId, { tenantId })
let viewer: Member
let job: string
beforeAll(async () => {
  viewer = await person(t, { orgId, role: 'viewer' })
  const sent = async (reply: Promise<Reply>) => expect((await reply).status).toBe(200)
  const byEmail = (key = own.live) => sent(t.ask('POST', '/api/v1/emails', { key, body: mail() }))
  await byEmail()
  await byEmail()
  await byEmail(tenantKey)
  await byEmail(own.test)
  await sent(own.send(text()))
  const template = await own.template({ channel: 'email', subject: 'Hi', text: 'Hi' })
  job = (await own.sent(await own.audience(readers(2)), email(template))).job_id
  await own.fire()
})

const read = async (query = ''): Promise<Reply['body']> => {
  const reply = await viewer.ask('GET', `${path}${query}`)
  expect(reply.status, reply.text).toBe(200)
  return reply.body
}
const sentIn = async (query: string): Promise<number> =>
  (await read(query)).data.reduce((sum: number, row: Row) => sum + row.sent, 0)
const jobsIn = async (query: string) => {
  const { data } = await read(`?group_by=job&${query}`)
  return data.map((row: Row) => [row.job, row.sent])
}

const expectFigures = async () => {
  expect(await sentIn('')).toBe(6)
  expect(await sentIn('?environment=test')).toBe(1)
  expect(await sentIn(`?tenant_id=${tenantId}`)).toBe(1)
  expect(await sentIn('?channel=email')).toBe(5)
  expect(await sentIn('?channel=sms&days=1')).toBe(1)
  expect(await sentIn(`?channel=sms&tenant_id=${tenantId}`)).toBe(0)
  expect(await sentIn(`?job=${job}`)).toBe(2)
  expect(await sentIn(`?job=${job}&channel=sms`)).toBe(0)
  expect(await jobsIn('')).toEqual([
    [job, 2],
    [null, 4],
  ])
  expect(await jobsIn('channel=email')).toEqual([
    [job, 2],
    [null, 3],
  ])
  expect(await jobsIn('channel=sms')).toEqual([[null, 1]])
}

describe('figures', () => {
  test('AD-167 are those of the API, by channel, environment, tenant and job, before and after they are added up', async () => {
    const { to: _, ...whole } = await read()
    const { to: __, ...ofKey } = (await t.ask('GET', '/api/v1/analytics', { key: own.live })).body
    expect(whole).toEqual(ofKey)
    expect(whole.data).toHaveLength(30)
    await expectFigures()
    await tasks.webhooks?.run()
    await tasks.analytics?.run()
    const [queued] = await t.database.sql<{ n: number }>('select count(*)::int as n from analytics_queue')
    expect(queued?.n).toBe(0)
    await expectFigures()
  })

  test('AD-167 have 1 to 180 days, and a wrong filter is 422', async () => {
    expect((await read('?days=180&channel=&environment=&tenant_id=')).data).toHaveLength(180)
    for (const query of ['days=0', 'days=181', 'channel=fax', 'environment=moon', 'group_by=day']) {
      expect((await viewer.ask('GET', `${path}?${query}`)).status, query).toBe(422)
    }
  })

  test('AD-167 of another org are not counted', async () => {
    const stranger = await primaryOwner(t, (await t.org()).org.id)
    const { data } = (await stranger.ask('GET', `${path}?group_by=job&tenant_id=${tenantId}`)).body
    expect(data.map((row: Row) => [row.job, row.sent])).toEqual([[null, 0]])
  })
})

describe('the overview', () => {
  const overview = async (who: Member, query = ''): Promise<Reply['body']> => {
    const reply = await who.ask('GET', `/api/internal/overview${query}`)
    expect(reply.status, reply.text).toBe(200)
    return reply.body
  }

  test('AD-168 shows counts, use and spend of the live environment, and what needs attention', async () => {
    const { sql } = t.database
    const at = t.service.clock.now()
    for (const [id, enabled, reason, failures] of [
      ['whe_a', true, null, 0],
      ['whe_b', true, null, 3],
      ['whe_c', false, 'auto', 20],
      ['whe_d', false, 'manual', 5],
    ] as const) {
      await sql(
        `insert into webhook_endpoints (org_id, id, url, events, enabled, disabled_reason, disabled_at, secret,
           consecutive_failures, created_environment, created_at, updated_at)
         values ($1, $2, 'https://example.com', '{*}', $3, $4, case when $3 then null else $6::timestamptz end, 'x', $5,
           'live', $6, $6)`,
        [orgId, id, enabled, reason, failures, at],
      )
    }
    await own.number('+15125550177', { status: 'pending' })
    await own.number('+15125550178', { status: 'pending', environment: 'test' })
    await own.dltTemplate({ status: 'submitted' })
    const body = await overview(viewer)
    const { unhealthy_webhooks: unhealthy, usage, days, ...others } = body
    const nothing = { bounced: 0, failed: 0, complained: 0, opened: 0, clicked: 0, unsubscribed: 0 }
    const counts = { sent: 6, delivered: expect.any(Number), ...nothing }
    expect(others).toEqual({
      today_and_yesterday: counts,
      last_30_days: counts,
      open_setup_steps: expect.any(Array),
      pending_registrations: { brands: 0, campaigns: 0, phone_numbers: 1, dlt: 1 },
    })
    expect(unhealthy.map(({ id }: { id: string }) => id)).toEqual(['whe_c', 'whe_b'])
    expect(usage).toEqual((await t.ask('GET', '/api/v1/usage', { key: own.live })).body)
    expect(days).toEqual((await read()).data)
  })

  test('AD-168 shows the test environment on request', async () => {
    const { last_30_days: month, days, usage } = await overview(viewer, '?environment=test')
    expect([month.sent, days.at(-1).sent]).toEqual([1, 1])
    expect(usage).toEqual((await t.ask('GET', '/api/v1/usage', { key: own.test })).body)
    expect((await viewer.ask('GET', '/api/internal/overview?environment=moon')).status).toBe(422)
  })

  test('AD-168 a new org has open setup steps, and a step that is done disappears', async () => {
    const fresh = await t.org()
    const owner = await primaryOwner(t, fresh.org.id)
    const before: string[] = (await overview(owner)).open_setup_steps
    expect(before).toEqual(expect.arrayContaining(['send_message', 'add_webhook']))
    await t.ask('POST', '/api/v1/emails', { key: fresh.keys.live, body: mail() })
    expect((await overview(owner)).open_setup_steps).toEqual(before.filter((step) => step !== 'send_message'))
  })

  test('AD-168 counts a message of three days ago only in the last 30 days', async () => {
    const fresh = await t.org()
    await t.ask('POST', '/api/v1/emails', { key: fresh.keys.live, body: mail() })
    await tasks.webhooks?.run()
    await tasks.analytics?.run()
    await t.ask('POST', '/api/dev/clock', { body: { advance_seconds: 3 * 86_400 } })
    const { today_and_yesterday: recent, last_30_days: month } = await overview(await primaryOwner(t, fresh.org.id))
    expect([recent.sent, month.sent]).toEqual([0, 1])
  })
})
