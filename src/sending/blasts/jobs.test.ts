/** Jobs: reading and canceling them, and their events. */
import { afterAll, describe, expect, test } from 'vitest'
import { blastClient, email, readers } from '../../../test/clients/blast-client.ts'
import { expectRefusal } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())

const plain = { channel: 'email', subject: 'Hello', text: 'Dear {{name}}' }
const none = { scheduled: 0, sending: 0, sent: 0, delivered: 0, bounced: 0, failed: 0, canceled: 0 }

describe('reads', () => {
  test('SD-92 a job shows its request, its counts and its times', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(3))
    await own.suppress('reader2@reader.test', 'manual', null, 'email')
    const template = await own.template(plain)
    const answer = await own.sent(id, email(template, { ramp_minutes: 10 }))
    const { body } = await own.job(answer.job_id)
    expect(body).toEqual({
      id: answer.job_id,
      audience_id: id,
      channel: 'email',
      status: 'scheduled',
      incomplete: false,
      from: 'News <hello@example.test>',
      template,
      total: 3,
      scheduled: 2,
      suppressed: 1,
      deferred_quiet_hours: 0,
      counts: { ...none, scheduled: 2 },
      winner: null,
      starts_at: answer.starts_at,
      ends_at: answer.ends_at,
      created_at: expect.any(String),
      started_at: null,
      completed_at: null,
      canceled_at: null,
      tenant_id: null,
    })
    await own.fire()
    expect((await own.job(answer.job_id)).body).toMatchObject({
      status: 'running',
      counts: { ...none, scheduled: 1, sent: 1 },
      started_at: expect.any(String),
      completed_at: null,
    })
  })

  test('SD-92 jobs are listed newest first, per environment and tenant', async () => {
    const own = await blastClient(t)
    const tenantId = await t.tenant(own.orgId)
    const key = await t.key(own.orgId, { tenantId })
    const [whole, ofTenant] = [await own.audience(readers(1)), await own.audience(readers(1), tenantId)]
    const body = email(await own.template(plain))
    const ids = [
      (await own.sent(whole, body)).job_id,
      (await own.sent(ofTenant, body)).job_id,
      (await own.sent(whole, body)).job_id,
    ]
    const ofTest = (await own.sent(whole, body, { key: own.test })).job_id
    const first = (await own.jobs('?limit=2')).body
    expect([first.data.map(({ id }: { id: string }) => id), first.has_more]).toEqual([[ids[2], ids[1]], true])
    const rest = (await own.jobs(`?limit=2&cursor=${first.next_cursor}`)).body
    expect([rest.data.map(({ id }: { id: string }) => id), rest.has_more]).toEqual([[ids[0]], false])
    expect((await own.jobs('', key)).body.data.map(({ id }: { id: string }) => id)).toEqual([ids[1]])
    expect((await own.jobs('', own.test)).body.data.map(({ id }: { id: string }) => id)).toEqual([ofTest])
    expectRefusal(await own.job(ofTest), 'NOT_FOUND')
    expectRefusal(await own.job(ids[0], key), 'NOT_FOUND')
    expectRefusal(await own.cancelJob(ids[0], key), 'TENANT_FORBIDDEN')
  })
})

describe('events', () => {
  test('X-117 X-118 R-32 a job starts once and completes once, with the counts of its messages', async () => {
    const own = await blastClient(t)
    const members = [
      { email: 'delivered@simulator.tidings.test' },
      { email: 'bounced@simulator.tidings.test' },
      { email: 'refused@simulator.tidings.test' },
      ...readers(3),
    ]
    const id = await own.audience(members)
    await own.suppress('reader2@reader.test', 'manual', null, 'email')
    const { job_id } = await own.sent(id, email(await own.template(plain), { ramp_minutes: 4 }))
    const rows = await own.rows(job_id)
    const canceled = rows.find(({ to }) => to === 'reader1@reader.test')?.id as string
    await t.ask('DELETE', `/api/v1/emails/${canceled}`, { key: own.live })
    for (let i = 0; i < 6; i++) {
      await own.fire()
      await own.advance(61)
    }
    await t.service.modules.messages.outcomes.drained()
    await own.fire()
    const { body } = await own.job(job_id)
    expect(body).toMatchObject({
      status: 'completed',
      counts: { ...none, delivered: 1, bounced: 1, failed: 1, sent: 1, canceled: 1 },
    })
    expect((await own.jobEvents(job_id)).map(({ event, environment, data }) => [event, environment, data])).toEqual([
      [
        'job.started',
        'live',
        { id: job_id, status: 'sending', audience_id: id, channel: 'email', total: 6, started_at: body.started_at },
      ],
      [
        'job.completed',
        'live',
        {
          id: job_id,
          status: 'completed',
          audience_id: id,
          channel: 'email',
          total: 6,
          sent: 3,
          delivered: 1,
          failed: 1,
          canceled: 1,
          suppressed: 1,
          completed_at: body.completed_at,
        },
      ],
    ])
    const message = 'This job is completed. Only a job that has scheduled messages can be canceled.'
    expectRefusal(await own.cancelJob(job_id), 'NOT_SCHEDULED', { message })
  })

  test('X-117 X-118 many workers at once fire each event once', async () => {
    const own = await blastClient(t)
    const { job_id } = await own.sent(await own.audience(readers(300)), email(await own.template(plain)))
    await Promise.all([own.fire(), own.fire(), own.fire(), own.fire()])
    await own.fire()
    expect((await own.jobEvents(job_id)).map(({ event }) => event)).toEqual(['job.started', 'job.completed'])
    expect((await own.job(job_id)).body.counts).toEqual({ ...none, sent: 300 })
  })

  test('X-117 a start that was not recorded is reported at the end', async () => {
    const own = await blastClient(t)
    const { job_id } = await own.sent(await own.audience(readers(2)), email(await own.template(plain)))
    const { scheduler } = t.service.modules.messages
    const claimed = (await scheduler.claim(200)).filter((row) => row.job_id === job_id)
    await Promise.all(claimed.map((row) => scheduler.fire({ ...row, job_id: null })))
    expect(await own.jobEvents(job_id)).toEqual([])
    await own.fire()
    expect((await own.jobEvents(job_id)).map(({ event }) => event)).toEqual(['job.started', 'job.completed'])
    expect((await own.job(job_id)).body.started_at).toEqual(expect.any(String))
  })
})

describe('cancel', () => {
  test('S-351 X-119 SD-93 scheduled rows are canceled once, and sent rows stay', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(4))
    const { job_id } = await own.sent(id, email(await own.template(plain), { ramp_minutes: 60 }))
    await own.fire()
    const reply = await own.cancelJob(job_id)
    expect([reply.status, reply.body]).toEqual([200, { id: job_id, status: 'canceled', canceled: 3 }])
    expect((await own.cancelJob(job_id)).body).toEqual({ id: job_id, status: 'canceled', canceled: 0 })
    await own.advance(3_700)
    await own.fire()
    const { body } = await own.job(job_id)
    expect(body).toMatchObject({ status: 'canceled', completed_at: null, counts: { ...none, sent: 1, canceled: 3 } })
    expect((await own.jobEvents(job_id)).map(({ event, data }) => [event, data])).toEqual([
      ['job.started', expect.anything()],
      [
        'job.canceled',
        {
          id: job_id,
          status: 'canceled',
          audience_id: id,
          channel: 'email',
          total: 4,
          sent: 1,
          canceled: 3,
          canceled_at: body.canceled_at,
        },
      ],
    ])
    expect(await own.audited('message.canceled')).toEqual([
      { resource_type: 'job', resource_id: job_id, metadata: expect.objectContaining({ count: 3 }) },
    ])
  })

  test('SD-93 S-351 a cancellation that races with dispatch leaves every row either sent or canceled', async () => {
    const own = await blastClient(t)
    const { job_id } = await own.sent(await own.audience(readers(400)), email(await own.template(plain)))
    const [, reply] = await Promise.all([own.fire(), own.cancelJob(job_id), own.fire()])
    await own.fire()
    const { body } = await own.job(job_id)
    const events = (await own.jobEvents(job_id)).map(({ event }) => event)
    if (reply.status === 200) {
      expect(body.counts).toEqual({ ...none, sent: 400 - reply.body.canceled, canceled: reply.body.canceled })
      expect(body.status).toBe('canceled')
      expect(events.filter((event) => event !== 'job.started')).toEqual(['job.canceled'])
    } else {
      expect([reply.status, body.status, body.counts]).toEqual([409, 'completed', { ...none, sent: 400 }])
      expect(events).toEqual(['job.started', 'job.completed'])
    }
    expect((await own.events()).filter(({ event }) => event === 'message.sent').length).toBe(body.counts.sent)
  })

  test('SD-93 a row that was being sent when its job was canceled, and is put off, is canceled when it is due', async () => {
    const own = await blastClient(t)
    const { job_id } = await own.sent(await own.audience(readers(1)), email(await own.template(plain)))
    const { scheduler } = t.service.modules.messages
    const [row] = (await scheduler.claim(200)).filter((claimed) => claimed.job_id === job_id)
    expect((await own.cancelJob(job_id)).body.canceled).toBe(0)
    if (row) await scheduler.fire({ ...row, org_suspended: true })
    expect((await own.rows(job_id)).map(({ status }) => status)).toEqual(['scheduled'])
    await own.advance(3_700)
    await own.fire()
    expect((await own.rows(job_id)).map(({ status, error_message }) => [status, error_message])).toEqual([
      ['canceled', 'Job canceled'],
    ])
    expect(await own.events()).toEqual([])
  })

  test('SD-94 rows of a deleted audience and deleted contacts are still sent', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(2))
    const { job_id } = await own.sent(id, email(await own.template(plain), { ramp_minutes: 1 }))
    await t.database.sql('delete from audiences where id = $1', [id])
    await t.database.sql('delete from contacts where org_id = $1', [own.orgId])
    await own.advance(61)
    await own.fire()
    expect((await own.job(job_id)).body).toMatchObject({ audience_id: id, status: 'completed', counts: { sent: 2 } })
  })
})

describe('scheduling that was cut off', () => {
  test('S-371 SD-92 a job that nobody schedules any more becomes incomplete, and its rows are sent', async () => {
    const own = await blastClient(t)
    const { job_id } = await own.sent(await own.audience(readers(2)), email(await own.template(plain)))
    await t.database.sql("update jobs set status = 'scheduling', scheduled = 0 where id = $1", [job_id])
    await own.fire()
    expect((await own.job(job_id)).body).toMatchObject({ status: 'scheduling', counts: { sent: 2 } })
    await own.advance(331)
    await own.fire()
    expect((await own.job(job_id)).body).toMatchObject({ status: 'completed', incomplete: true, scheduled: 2 })
    expect((await own.jobEvents(job_id)).map(({ event }) => event)).toEqual(['job.started', 'job.completed'])
  })
})
