/** The best subject of a test is sent to the other recipients. */
import { afterAll, describe, expect, test } from 'vitest'
import {
  type BlastClient,
  type BlastRow,
  blastClient,
  email,
  readers,
  sms,
} from '../../../test/clients/blast-client.ts'
import { person } from '../../../test/clients/team-client.ts'
import { startTestService } from '../../../test/service/service.ts'
import { bestVariant } from './choose-winner.ts'
import { testShare, variantOf } from './variants.ts'

const t = await startTestService()
afterAll(() => t.stop())

const html = '<a href="https://example.com/">x</a>'
const linked = { channel: 'email', subject: 'Hello', html }
const subject_variants = ['One {{name}}', 'Two {{name}}']
const winner = { test_percent: 20, wait_minutes: 30, by: 'opened' }

const open = async (row: BlastRow, kind: 'o' | 'c' = 'o'): Promise<void> => {
  const found = new RegExp(`"([^"]+/t/${kind}/[^"]+)"`).exec(row.html as string)?.[1] as string
  await t.ask('GET', new URL(found).pathname)
  const event = kind === 'o' ? 'opened' : 'clicked'
  await expect
    .poll(() =>
      t.database.sql('select 1 as n from message_events where message_id = $1 and kind = $2', [row.id, event]),
    )
    .toHaveLength(1)
}

const letters = (rows: BlastRow[]) => rows.map(({ metadata }) => metadata?.subject_variant ?? null)

const started = async (own: BlastClient, n: number, more: object = {}) => {
  const members = readers(n, (i) => ({ id: `con_01k9${String(i).padStart(22, '0')}` }))
  const id = await own.audience(members)
  const answer = await own.sent(id, email(await own.template(linked), { subject_variants, winner, ...more }))
  return { answer, jobId: answer.job_id as string }
}

test('The dashboard shows the subject of a tested message, and the possible ones of a message that waits', async () => {
  const own = await blastClient(t)
  const { jobId } = await started(own, 40)
  const viewer = await person(t, { orgId: own.orgId, role: 'viewer' })
  const shown = async () =>
    (await viewer.ask('GET', `/api/internal/messages?limit=100&job_id=${jobId}`)).body.data as {
      id: string
      subject: string | null
      possible_subjects?: string[]
    }[]
  const tested = (await shown()).filter(({ subject }) => subject !== null)
  expect(tested).toHaveLength(8)
  for (const { subject, possible_subjects } of tested) {
    expect([subject, possible_subjects]).toEqual([expect.stringMatching(/^(One|Two) Reader/), undefined])
  }
  const waiting = (await shown()).filter(({ subject }) => subject === null)
  expect(waiting).toHaveLength(32)
  for (const { possible_subjects } of waiting) {
    expect(possible_subjects).toEqual([expect.stringMatching(/^One Reader/), expect.stringMatching(/^Two Reader/)])
  }
  const one = await viewer.ask('GET', `/api/internal/messages/${waiting[0]?.id}`)
  expect([one.status, one.body.subject, one.body.possible_subjects]).toEqual([200, null, waiting[0]?.possible_subjects])
  await own.fire()
  await own.advance(31 * 60)
  await own.fire()
  await own.fire()
  const subjects = (await shown()).map(({ subject, possible_subjects }) => [subject?.slice(0, 3), possible_subjects])
  expect(new Set(subjects.map(String))).toEqual(new Set(['One,', 'Two,']))
})

describe('the choice', () => {
  test('R-34 the test goes out first, the rest waits and then gets the best subject', async () => {
    const own = await blastClient(t)
    const { answer, jobId } = await started(own, 40)
    const end = Date.parse(answer.ends_at) - Date.parse(answer.starts_at)
    expect([answer.scheduled, end]).toEqual([40, 30 * 60_000])
    const inTest = (await own.rows(jobId)).filter(({ due_at }) => due_at !== null)
    expect(letters(inTest).sort()).toEqual([...'AAAABBBB'])
    expect((await own.job(jobId)).body.winner).toEqual({
      ...winner,
      decides_at: answer.ends_at,
      variant: null,
      decided_at: null,
    })
    await own.fire()
    const second = inTest.find(({ metadata }) => metadata?.subject_variant === 'B') as BlastRow
    await open(second)
    await own.advance(29 * 60)
    await own.fire()
    expect((await own.job(jobId)).body).toMatchObject({ status: 'running', counts: { sent: 8, scheduled: 32 } })
    await own.advance(61)
    await own.fire()
    await own.fire()
    const { body } = await own.job(jobId)
    expect(body).toMatchObject({ status: 'completed', counts: { sent: 40, scheduled: 0 } })
    expect(body.winner).toMatchObject({ variant: 'B', decided_at: expect.any(String) })
    const rest = (await own.rows(jobId)).filter(({ id }) => !inTest.some((row) => row.id === id))
    expect(rest.map(({ subject, to }) => subject === `Two Reader ${/\d+/.exec(to)?.[0]}`)).toEqual(rest.map(() => true))
    expect(new Set(letters(rest))).toEqual(new Set(['B']))
    expect((await own.jobEvents(jobId)).map(({ event }) => event)).toEqual(['job.started', 'job.completed'])
    expect(await t.database.sql('select 1 as n from job_subjects where job_id = $1', [jobId])).toEqual([])
  })

  test('R-34 clicks decide if they are asked for, and opens do not count', async () => {
    const own = await blastClient(t)
    const { jobId } = await started(own, 20, { winner: { ...winner, by: 'clicked' } })
    await own.fire()
    const inTest = (await own.rows(jobId)).filter(({ due_at, status }) => due_at !== null || status === 'sent')
    for (const row of inTest) await open(row, row.metadata?.subject_variant === 'A' ? 'o' : 'c')
    await own.advance(31 * 60)
    await own.fire()
    expect((await own.job(jobId)).body.winner.variant).toBe('B')
  })

  test('R-34 a tie goes to the first subject', async () => {
    const own = await blastClient(t)
    const { jobId } = await started(own, 10)
    await own.fire()
    await own.advance(31 * 60)
    await own.fire()
    expect((await own.job(jobId)).body.winner.variant).toBe('A')
    expect(bestVariant([])).toBe('A')
    const equal = { sent: 10, reacted: 5 }
    expect(
      bestVariant([
        { variant: 'C', ...equal },
        { variant: 'B', ...equal },
      ]),
    ).toBe('B')
    expect(
      bestVariant([
        { variant: 'A', sent: 10, reacted: 5 },
        { variant: 'B', sent: 9, reacted: 5 },
      ]),
    ).toBe('B')
  })

  test('R-34 S-351 a canceled job chooses nothing and sends nothing more', async () => {
    const own = await blastClient(t)
    const { jobId } = await started(own, 20)
    await own.fire()
    const { sent } = (await own.job(jobId)).body.counts
    expect((await own.cancelJob(jobId)).body.canceled).toBe(20 - sent)
    await own.advance(31 * 60)
    await own.fire()
    expect((await own.job(jobId)).body).toMatchObject({
      winner: { variant: null },
      counts: { sent, canceled: 20 - sent },
    })
    expect(await t.database.sql('select 1 as n from job_subjects where job_id = $1', [jobId])).toEqual([])
  })
})

test('R-34 a job whose waiting messages are all canceled completes without a choice and keeps no subjects', async () => {
  const own = await blastClient(t)
  const { jobId } = await started(own, 20)
  await own.fire()
  await t.database.sql(
    "update messages set status = 'canceled', due_at = null where job_id = $1 and status = 'scheduled'",
    [jobId],
  )
  await own.fire()
  expect((await own.job(jobId)).body).toMatchObject({
    status: 'completed',
    winner: { variant: null, decided_at: null },
  })
  expect(await t.database.sql('select 1 as n from job_subjects where job_id = $1', [jobId])).toEqual([])
})

describe('the share of the test', () => {
  test('R-34 every variant has the same number of contacts, and a contact keeps its variant', () => {
    const ids = Array.from({ length: 1_000 }, (_, i) => `con_${i}`)
    for (const variants of [2, 3, 5]) {
      for (const percent of [5, 20, 50]) {
        const share = testShare(ids, variants, percent)
        const counts = Array.from({ length: variants }, () => 0)
        for (const id of share) counts[variantOf(id, variants)] = (counts[variantOf(id, variants)] ?? 0) + 1
        expect(new Set(counts).size, `${variants} variants, ${percent} %`).toBe(1)
        expect(share.size).toBe(Math.ceil((1_000 * percent) / 100 / variants) * variants)
      }
    }
  })
})

describe('refusals', () => {
  test.each([
    ['a text message', { channel: 'sms', from: 'TIDINGS' }, ['winner']],
    ['no subjects', { subject_variants: undefined }, ['subject_variants']],
    ['opens that are not tracked', { track_opens: false }, ['winner', 'by']],
    ['clicks that are not tracked', { track_clicks: false, winner: { ...winner, by: 'clicked' } }, ['winner', 'by']],
    ['4 percent', { winner: { ...winner, test_percent: 4 } }, ['winner', 'test_percent']],
    ['51 percent', { winner: { ...winner, test_percent: 51 } }, ['winner', 'test_percent']],
    ['14 minutes', { winner: { ...winner, wait_minutes: 14 } }, ['winner', 'wait_minutes']],
    ['1441 minutes', { winner: { ...winner, wait_minutes: 1441 } }, ['winner', 'wait_minutes']],
  ])('R-34 %s with a winner is refused', async (_, more, path) => {
    const own = await blastClient(t)
    const body = { ...email('news', { subject_variants, winner }), ...more }
    const reply = await own.post(await own.audience(readers(1)), body)
    expect([reply.status, reply.body.error.errors[0].path]).toEqual([422, path])
  })

  test('SD-99 subject_variants are ignored on a text message', async () => {
    const own = await blastClient(t)
    const id = await own.audience([{ phone: '+12025550101' }])
    const template = await own.template({ channel: 'sms', text: 'Hello' })
    const { job_id } = await own.sent(id, sms(template, { subject_variants: ['One {{gone}}', 'Two'] }))
    expect((await own.rows(job_id)).map(({ subject, metadata }) => [subject, metadata])).toEqual([[null, null]])
  })
})
