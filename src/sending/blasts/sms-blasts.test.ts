/** Text messages to an audience stay out of quiet hours, when they are scheduled and when they are put off. */
import { afterAll, expect, test } from 'vitest'
import { type BlastClient, type BlastRow, blastClient, sms } from '../../../test/clients/blast-client.ts'
import { text } from '../../../test/clients/texter.ts'
import { startTestService } from '../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())

const short = { channel: 'sms', text: 'Hello' }
const hour = 3_600_000

/** Japan has one zone without clock changes: 21:00 is 12:00 UTC, and 08:00 is 23:00 UTC of the day before. */
const japan = (n: number) =>
  Array.from({ length: n }, (_, i) => ({ phone: `+8190123456${String(i).padStart(2, '0')}` }))

/** The next instant with this time of day in UTC. */
const next = (time: string): Date => {
  const now = t.service.clock.now()
  const today = new Date(`${now.toISOString().slice(0, 10)}T${time}:00.000Z`)
  return today > now ? today : new Date(today.getTime() + 24 * hour)
}
const advanceTo = async (own: BlastClient, at: Date): Promise<void> => {
  await own.advance(Math.ceil((at.getTime() - t.service.clock.millis()) / 1_000))
}
const local = (at: Date) => ({ scheduled_local: at.toISOString().slice(0, 19), scheduled_at_tz: 'UTC' })
const dueTimes = async (own: BlastClient, jobId: string) =>
  (await own.rows(jobId)).map(({ due_at }) => due_at?.toISOString())

test('S-397 S-398 S-399 R-32 a ramp into the night goes on in the morning, and is counted and can be canceled', async () => {
  const own = await blastClient(t)
  const id = await own.audience(japan(4))
  const start = next('11:30')
  const answer = await own.sent(id, sms(await own.template(short), { ramp_minutes: 60, ...local(start) }))
  const at = (ms: number) => new Date(start.getTime() + ms).toISOString()
  expect(answer).toMatchObject({
    scheduled: 4,
    deferred_quiet_hours: 2,
    starts_at: at(0),
    ends_at: at(12 * hour),
  })
  // 21:00 begins half an hour after the start, and 08:00 is eleven hours later.
  expect(await dueTimes(own, answer.job_id)).toEqual([0, hour / 3, (2 / 3) * hour + 11 * hour, 12 * hour].map(at))
  expect((await own.job(answer.job_id)).body).toMatchObject({ deferred_quiet_hours: 2, counts: { scheduled: 4 } })
  expect((await own.cancelJob(answer.job_id)).body.canceled).toBe(4)
})

test('S-396 S-398 SD-108 a blast that starts at night waits for the morning, in test mode too', async () => {
  const own = await blastClient(t)
  const id = await own.audience(japan(2))
  const night = next('15:00')
  const template = await own.template(short)
  for (const key of [own.live, own.test]) {
    const answer = await own.sent(id, sms(template, local(night)), { key })
    const opening = new Date(night.getTime() + 8 * hour).toISOString()
    expect(answer).toMatchObject({ scheduled: 2, deferred_quiet_hours: 2, starts_at: opening, ends_at: opening })
    await own.cancelJob(answer.job_id, key)
  }
})

test('S-405 SD-108 quiet hours are on for every org, and an org can turn them off', async () => {
  const own = await blastClient(t)
  const id = await own.audience(japan(1))
  const night = next('15:00')
  const template = await own.template(short)
  const [org] = await t.database.sql('select sms_quiet_hours from orgs where id = $1', [own.orgId])
  expect(org).toEqual({ sms_quiet_hours: true })
  await t.database.sql('update orgs set sms_quiet_hours = false where id = $1', [own.orgId])
  const answer = await own.sent(id, sms(template, local(night)))
  expect(answer).toMatchObject({ deferred_quiet_hours: 0, starts_at: night.toISOString() })
  await advanceTo(own, night)
  await own.fire()
  expect((await own.rows(answer.job_id)).map(({ status }) => status)).toEqual(['sent'])
})

test('SD-108 a row that is put off into the night is moved to the morning', async () => {
  const own = await blastClient(t)
  const id = await own.audience(japan(1))
  const evening = next('11:30')
  const { job_id } = await own.sent(id, sms(await own.template(short), local(evening)))
  await advanceTo(own, evening)
  await t.database.sql('update orgs set suspended_at = $2 where id = $1', [own.orgId, t.service.clock.now()])
  await own.fire()
  // An hour later it is 30 minutes after 21:00, so it is due 30 minutes after 08:00.
  const [due] = (await own.rows(job_id)).map(({ due_at }) => (due_at as Date).getTime() - evening.getTime())
  expect(due).toBeGreaterThanOrEqual(12 * hour)
  expect(due).toBeLessThan(12 * hour + 60_000)
})

test('S-396 SD-108 a row that its worker missed in the evening is not sent at night', async () => {
  const own = await blastClient(t)
  const id = await own.audience(japan(1))
  const evening = next('11:59')
  const { job_id } = await own.sent(id, sms(await own.template(short), local(evening)))
  await advanceTo(own, new Date(evening.getTime() + hour))
  await own.fire()
  const [row] = (await own.rows(job_id)) as [BlastRow]
  expect(row.status).toBe('scheduled')
  const dueAt = row.due_at as Date
  expect(dueAt.getTime()).toBeGreaterThanOrEqual(evening.getTime() + 11 * hour)
  await advanceTo(own, dueAt)
  await own.fire()
  expect((await own.rows(job_id)).map(({ status }) => status)).toEqual(['sent'])
})

test('S-404 a single text message is sent at night', async () => {
  const own = await blastClient(t)
  await advanceTo(own, next('15:00'))
  const reply = await own.send(text({ to: '+819012345678' }))
  expect([reply.status, reply.body.status]).toEqual([200, 'sent'])
})
