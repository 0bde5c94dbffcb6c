/** Compares the figures with a count over all messages and their events, at random moments of random histories. */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { startTestService } from '../../../test/service/service.ts'
import { newId, timeOfId } from '../../platform/ground/ids.ts'
import { makeCountHits } from '../../sending/tracking/count.ts'
import { makeUnsubscribe } from '../../sending/tracking/unsubscribe.ts'
import { makeFanOut } from '../../webhooks/fan-out.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const { db, clock, tasks } = t.service
const { appendEvents, suppress, messages } = t.service.modules
const fanOut = makeFanOut({ db, clock })
const unsubscribe = makeUnsubscribe({ db, clock, suppress, appendEvents })
const hour = 3_600_000

/**
 * Counts without the queue and the days: from the rows of messages and of what recipients and providers did. A bounce or
 * complaint about a message that has failed changes nothing. The first of the two decides whether a message bounced.
 */
const bruteForce = `with flags as (
  select to_char(m.sent_at at time zone 'UTC', 'YYYY-MM-DD') as date, m.tenant_id, m.environment, m.job_id as job,
    m.metadata ->> 'subject_variant' as variant,
    (m.sent_at is not null)::int as sent,
    (m.delivered_at is not null)::int as delivered,
    (m.status = 'bounced' and (select e.kind = 'bounced' from message_events e
      where e.message_id = m.id and e.kind in ('bounced', 'complained') order by e.at, e.id limit 1))::int as bounced,
    (m.status = 'failed')::int as failed,
    (m.status = 'bounced' and exists (select from message_events e
      where e.message_id = m.id and e.kind = 'complained'))::int as complained,
    (exists (select from message_events e where e.message_id = m.id and e.kind = 'opened'))::int as opened,
    (exists (select from message_events e where e.message_id = m.id and e.kind = 'clicked'))::int as clicked,
    (exists (select from message_events e where e.message_id = m.id and e.kind = 'unsubscribed'))::int as unsubscribed
  from messages m where m.org_id = $1 and m.environment = $2 and ($3::text is null or m.tenant_id = $3)
    and m.status not in ('scheduled', 'sending')
)`
const sums = ['sent', 'delivered', 'bounced', 'failed', 'complained', 'opened', 'clicked', 'unsubscribed']
  .map((figure) => `sum(${figure})::int as ${figure}`)
  .join(', ')

type Step =
  | { do: 'send'; job: 0 | 1 | null; variant: 'A' | 'B' | null; tenant: boolean; test: boolean }
  | { do: 'report'; which: number; kind: 'delivered' | 'hard_bounce' | 'complaint' | 'failed'; who: 0 | 1 }
  | { do: 'open' | 'click'; which: number; from: number }
  | { do: 'unsubscribe'; which: number }
  | { do: 'wait'; hours: number }
  | { do: 'listen' }
  | { do: 'fan out' }
  | { do: 'roll up' }

const which = fc.nat(20)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('send' as const),
      job: fc.constantFrom(0 as const, 1 as const, null),
      variant: fc.constantFrom('A' as const, 'B' as const, null),
      tenant: fc.boolean(),
      test: fc.nat(5).map((n) => n === 0),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('report' as const),
      which,
      kind: fc.constantFrom('delivered', 'hard_bounce', 'complaint', 'failed'),
      who: fc.constantFrom(0 as const, 1 as const),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('open', 'click'), which, from: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('unsubscribe' as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), hours: fc.integer({ min: 1, max: 30 }) }) },
  { weight: 3, arbitrary: fc.constantFrom<Step>({ do: 'fan out' }, { do: 'roll up' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'listen' }) },
)

type Sending = Extract<Step, { do: 'send' }>

type Sent = { id: string; addresses: readonly [string, string]; tenantId: string | null; environment: 'live' | 'test' }

const makeWorld = async () => {
  const { org, keys } = await t.org()
  const orgId = org.id
  const tenantId = await t.tenant(orgId)
  const callers = {
    live: { key: keys.live, environment: 'live', tenantId: null },
    test: { key: keys.test, environment: 'test', tenantId: null },
    tenant: { key: await t.key(orgId, { tenantId }), environment: 'live', tenantId },
    tenantTest: { key: await t.key(orgId, { tenantId, environment: 'test' }), environment: 'test', tenantId },
  }
  const jobs = [newId('job', clock.millis()), newId('job', clock.millis())]
  const sent: Sent[] = []
  const hits = makeCountHits({ db, clock, announce: () => undefined })

  const addressesOf = (name: string) => [`${name}-0@reader.test`, `${name}-1@reader.test`] as const

  const sendByKey = async (name: string, { tenant, test: inTest }: Sending): Promise<string> => {
    const { key } = tenant ? (inTest ? callers.tenantTest : callers.tenant) : inTest ? callers.test : callers.live
    const tracked = { html: '<p>Hi</p>', track_opens: true, track_clicks: true }
    const mail = { from: 'hello@example.test', to: addressesOf(name), subject: 'Hi', ...tracked }
    const { body } = await t.ask('POST', '/api/v1/emails', { key, body: mail })
    return body.id
  }

  /** As a job would: its messages wait for the scheduler. */
  const sendInJob = async (name: string, jobId: string | undefined, { variant, tenant, test: inTest }: Sending) => {
    const id = newId('message', clock.millis())
    await t.database.sql(
      `insert into messages (org_id, id, created_at, tenant_id, environment, project_id, channel, status, from_address,
         to_addresses, subject, text, due_at, history, job_id, metadata, track_opens, track_clicks)
       values ($1, $2, $3, $4, $5, (select id from projects where org_id = $1 and is_default), 'email', 'scheduled',
         'hello@example.test', $6, 'Hi', 'Hi', $7, '[]', $8, $9, true, true)`,
      [
        orgId,
        id,
        new Date(timeOfId(id)),
        tenant ? tenantId : null,
        inTest ? 'test' : 'live',
        addressesOf(name),
        clock.now(),
        jobId,
        variant === null ? null : { subject_variant: variant },
      ],
    )
    await tasks.scheduler?.run()
    return id
  }

  const send = async (sending: Sending): Promise<void> => {
    const { job, tenant, test: inTest } = sending
    const name = `reader${sent.length}`
    const id = job === null ? await sendByKey(name, sending) : await sendInJob(name, jobs[job], sending)
    const environment = inTest ? 'test' : 'live'
    sent.push({ id, addresses: addressesOf(name), tenantId: tenant ? tenantId : null, environment })
  }

  const report = (message: Sent, { kind, who }: Extract<Step, { do: 'report' }>) =>
    messages.outcomes.take({
      provider: 'test',
      id: newId('event'),
      orgId,
      messageId: message.id,
      report: {
        kind,
        at: clock.now(),
        recipients: [message.addresses[who]],
        detail: null,
        bounceType: null,
        bounceSubtype: null,
      },
    })

  const run = async (one: Step): Promise<unknown> => {
    if (one.do === 'send') return send(one)
    if (one.do === 'wait') {
      return t.ask('POST', '/api/dev/clock', { body: { advance_seconds: (one.hours * hour) / 1000 } })
    }
    // From then on, new messages write events in place of counts.
    if (one.do === 'listen') return t.endpoint(orgId)
    if (one.do === 'fan out') return fanOut()
    if (one.do === 'roll up') return tasks.analytics?.run()
    const message = sent[one.which % Math.max(sent.length, 1)]
    if (!message) return
    const ref = { orgId, messageId: message.id }
    if (one.do === 'report') return report(message, one)
    if (one.do === 'open') return hits.opened(ref, `192.0.2.${one.from}`)
    if (one.do === 'click') return hits.clicked({ ...ref, url: 'https://example.com' }, `192.0.2.${one.from}`)
    const { tenantId: ofTenant, environment, addresses } = message
    return unsubscribe.take({ ...ref, tenantId: ofTenant, environment, address: addresses[0] }, 'one_click')
  }

  const read = async (key: string, query: string) => {
    const reply = await t.ask('GET', `/api/v1/analytics?days=180${query}`, { key })
    if (reply.status !== 200) throw new Error(reply.text)
    type Row = { sent: number; failed: number; job: string | null }
    return reply.body.data
      .map((row: Row) => Object.fromEntries(Object.entries(row).filter(([name]) => !name.endsWith('_rate'))))
      .filter((row: Row) => row.sent + row.failed > 0)
  }

  const compare = async () => {
    for (const { key, environment, tenantId: ofTenant } of Object.values(callers)) {
      const params = [orgId, environment, ofTenant]
      const count = (columns: string, where = 'true') =>
        t.database.sql(
          `${bruteForce} select ${columns}, ${sums} from flags where ${where} group by 1, 2, 3
           order by 1, 2 desc nulls last, 3`,
          params,
        )
      const byDay = 'date, null::text as job, null::text as variant'
      expect(await read(key, '')).toEqual(await count(byDay))
      expect(await read(key, '&group_by=job')).toEqual(await count('null::text as date, job, null::text as variant'))
      expect(await read(key, '&group_by=variant')).toEqual(
        await count('null::text as date, job, variant', 'variant is not null'),
      )
      expect(await read(key, `&job=${jobs[0]}`)).toEqual(await count(byDay, `job = '${jobs[0]}'`))
      expect(await read(key, '&variant=A')).toEqual(await count(byDay, "variant = 'A'"))
      expect(await read(key, `&group_by=variant&job=${jobs[1]}&variant=B`)).toEqual(
        await count('null::text as date, job, variant', `job = '${jobs[1]}' and variant = 'B'`),
      )
    }
  }
  return { run, compare }
}

test('S-406 S-411 R-33 SD-109 the figures equal a count over all messages at any moment', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 45 }), async (steps) => {
      const world = await makeWorld()
      for (const [i, one] of steps.entries()) {
        await world.run(one)
        if (i % 12 === 11) await world.compare()
      }
      await world.compare()
      await fanOut()
      await world.compare()
      await tasks.analytics?.run()
      await world.compare()
    }),
    { numRuns: 4, endOnFailure: true },
  )
}, 120_000)
