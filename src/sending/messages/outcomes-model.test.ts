/** Compares random sequences of reports, including repeated and concurrent ones, with a small model. */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { postOf } from '../../../test/clients/post-client.ts'
import { startTestService } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Report } from '../../providers/handover.ts'

const t = await startTestService()
afterAll(() => t.stop())

const kinds = ['delivered', 'hard_bounce', 'soft_bounce', 'complaint'] as const
const names = ['ann', 'jo', 'kim']
type Step = { kind: Report['kind']; who: string[]; notification: number }

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(...kinds),
  who: fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 }),
  // Few numbers, so that some notifications repeat, with different content.
  notification: fc.nat(12),
})

const modelOf = (steps: Step[]) => {
  const seen = new Set<number>()
  const entries = new Set<string>()
  const reasons = new Map<string, string>()
  const events: string[] = []
  let status = 'sent'
  for (const { kind, who, notification } of steps) {
    if (seen.has(notification)) continue
    seen.add(notification)
    const next = kind === 'delivered' ? 'delivered' : 'bounced'
    for (const name of who) {
      if (kind === 'complaint') reasons.set(name, 'complaint')
      else if (kind === 'hard_bounce' && !reasons.has(name)) reasons.set(name, 'bounce')
    }
    const added = who.filter((name) => !entries.has(`${next} ${name}`))
    for (const name of added) entries.add(`${next} ${name}`)
    if (added.length === 0) continue
    const changes = status === 'sent' || (status === 'delivered' && next === 'bounced')
    if (kind === 'complaint') events.push(...added.map(() => 'message.complained'))
    else if (changes) events.push(`message.${next}`)
    if (changes) status = next
  }
  return { status, entries: [...entries].sort(), reasons: Object.fromEntries([...reasons].sort()), events }
}

const resultOf = async (orgId: string, id: string, domain: string) => {
  const post = postOf(t, { org: { id: orgId, slug: '' }, keys: { live: '', test: '' } })
  const row = await post.row(id)
  const suppressions = await t.database.sql<{ value: string; reason: string }>(
    `select value, reason from suppressions where org_id = $1 and value like '%@' || $2 order by value`,
    [orgId, domain],
  )
  const localPart = (address: string | undefined) => address?.split('@')[0] ?? ''
  const entries = row.history.slice(1).map(({ status, recipient }) => `${status} ${localPart(recipient)}`)
  const messageEvents = await t.database.sql('select 1 from message_events where message_id = $1', [id])
  expect(messageEvents).toHaveLength(entries.length)
  return {
    status: row.status,
    entries: entries.sort(),
    reasons: Object.fromEntries(suppressions.map(({ value, reason }) => [localPart(value), reason])),
    events: (await post.events(id)).map(({ event }) => event).slice(1),
  }
}

let runs = 0
const sendOne = async () => {
  const domain = `run${runs++}.test`
  const id = await post.sent({ to: names.map((name) => `${name}@${domain}`) })
  const take = ({ kind, who, notification }: Step) =>
    t.service.modules.messages.outcomes.take({
      provider: 'model',
      id: `${domain} ${notification}`,
      orgId: created.org.id,
      messageId: id,
      report: {
        kind,
        at: t.service.clock.now(),
        detail: null,
        bounceType: null,
        bounceSubtype: null,
        recipients: who.map((name) => `${name}@${domain}`),
      },
    })
  return { id, domain, take }
}

const created = await t.org()
const post = postOf(t, created)

test('SD-61 SD-62 SD-65 R-17 any sequence of reports has the same result as the model', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const { id, domain, take } = await sendOne()
      for (const one of steps) await take(one)
      expect(await resultOf(created.org.id, id, domain)).toEqual(modelOf(steps))
    }),
    { numRuns: 60 },
  )
}, 60_000)

test('SD-61 SD-62 R-17 concurrent reports have the same result as some sequence of them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 6 }), async (generated) => {
      const steps = generated.map((one, notification) => ({ ...one, notification }))
      const { id, domain, take } = await sendOne()
      // Each twice: a repeated notification has no further effect.
      await Promise.all([...steps, ...steps].map(take))
      const end = await resultOf(created.org.id, id, domain)
      const bounced = steps.some(({ kind }) => kind !== 'delivered')
      expect(end.status).toBe(bounced ? 'bounced' : 'delivered')
      const { entries, reasons } = modelOf(steps)
      expect([end.entries, end.reasons]).toEqual([entries, reasons])
      const times = (name: string) => end.events.filter((event) => event === name).length
      const complainers = new Set(steps.flatMap(({ kind, who }) => (kind === 'complaint' ? who : []))).size
      expect([times('message.delivered') <= 1, times('message.bounced') <= 1]).toEqual([true, true])
      expect(times('message.complained')).toBeLessThanOrEqual(complainers)
      expect(times('message.bounced') + times('message.complained') > 0).toBe(bounced)
    }),
    { numRuns: 30 },
  )
}, 60_000)

test('concurrent bounces of several messages to the same recipients do not deadlock', async () => {
  const to = Array.from({ length: 10 }, (_, i) => `r${i}@deadlock.test`)
  const ids = await Promise.all(Array.from({ length: 8 }, () => post.sent({ to })))
  const reports = ids.map((messageId, i) =>
    t.service.modules.messages.outcomes.take({
      provider: 'deadlock',
      id: newId('request'),
      orgId: created.org.id,
      messageId,
      report: {
        kind: 'hard_bounce',
        at: t.service.clock.now(),
        detail: null,
        bounceType: null,
        bounceSubtype: null,
        recipients: i % 2 === 0 ? to : [...to].reverse(),
      },
    }),
  )
  await Promise.all(reports)
  for (const id of ids) expect((await post.row(id)).history).toHaveLength(11)
})
