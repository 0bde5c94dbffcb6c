/** Repeated sends to an audience, and sends that stop part way. */
import { afterAll, describe, expect, test } from 'vitest'
import { type BlastClient, blastClient, email, readers } from '../../../test/clients/blast-client.ts'
import type { Body } from '../../../test/clients/mailer.ts'
import { expectRefusal } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'
import { newId } from '../../platform/ground/ids.ts'

const t = await startTestService()
afterAll(() => t.stop())

const plain = { channel: 'email', subject: 'Hello', text: 'Dear {{name}}' }

/** Makes the database reject rows to one address, which is in the second portion of 1,000. */
const breakAt = async (address: string): Promise<() => Promise<unknown>> => {
  const name = `break_${newId('request').slice(4)}`
  await t.database.sql(
    `create function ${name}() returns trigger language plpgsql as $$
     begin
       if new.to_addresses[1] = '${address}' then raise exception 'broken'; end if;
       return new;
     end $$`,
  )
  await t.database.sql(`create trigger ${name} before insert on messages for each row execute function ${name}()`)
  return () => t.database.sql(`drop trigger ${name} on messages`)
}

const keyed = (own: BlastClient, id: string, body: Body, key: string) =>
  own.post(id, body, { headers: { 'idempotency-key': key } })

describe('a repeated request', () => {
  test('S-020 S-367 a retry under the same key returns the same job and schedules nothing more', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(2))
    const body = email(await own.template(plain))
    const first = await keyed(own, id, body, 'k1')
    const second = await keyed(own, id, body, 'k1')
    expect([second.status, second.text]).toEqual([200, first.text])
    expect(second.headers['idempotent-replayed']).toBe('true')
    expect(await own.stored()).toEqual({ messages: 2, jobs: 1 })
  })

  test('S-366 X-211 the key is bound to its audience', async () => {
    const own = await blastClient(t)
    const [one, two] = [await own.audience(readers(1)), await own.audience([{ email: 'two@reader.test' }])]
    const body = email(await own.template(plain))
    expect((await keyed(own, one, body, 'k1')).status).toBe(200)
    expectRefusal(await keyed(own, two, body, 'k1'), 'IDEMPOTENCY_MISMATCH')
    expect(await own.stored()).toEqual({ messages: 1, jobs: 1 })
  })

  test('S-367 X-214 while the first request schedules, a retry is in flight', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(2))
    const body = email(await own.template(plain))
    const release = await holdMessages()
    const first = keyed(own, id, body, 'k1')
    await expect.poll(async () => (await own.stored())?.jobs).toBe(1)
    expectRefusal(await keyed(own, id, body, 'k1'), 'IDEMPOTENCY_IN_FLIGHT')
    await release()
    expect((await first).status).toBe(200)
    expect((await keyed(own, id, body, 'k1')).text).toBe((await first).text)
    expect(await own.stored()).toEqual({ messages: 2, jobs: 1 })
  })

  test('S-368 a refusal frees the key', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(1))
    const template = await own.template({ ...plain, text: '{{code}}' })
    expectRefusal(await keyed(own, id, email('none'), 'k1'), 'VALIDATION_ERROR', {
      errors: [{ path: ['template'], code: 'custom', message: 'There is no such template.' }],
    })
    expect((await keyed(own, id, email(template), 'k1')).body.error.code).toBe('TEMPLATE_MISSING_VARIABLES')
    expect((await keyed(own, id, email(template, { variables: { code: '1' } }), 'k1')).status).toBe(200)
  })

  test('S-372 without a key a repeated request schedules everything again', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(2))
    const body = email(await own.template(plain))
    const [first, second] = [await own.sent(id, body), await own.sent(id, body)]
    expect(first.job_id).not.toBe(second.job_id)
    expect(await own.stored()).toEqual({ messages: 4, jobs: 2 })
  })
})

/** Holds inserts of messages until the returned function is called. */
const holdMessages = async (): Promise<() => Promise<void>> => {
  const client = await t.service.db.connect()
  await client.query('begin; lock table messages in share mode')
  return async () => {
    await client.query('commit')
    await client.end()
  }
}

describe('a send that stops part way', () => {
  test('S-369 S-370 X-291 SD-105 the answer names the job, its rows are sent, and a retry replays the answer', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(1_200, (i) => ({ email: `part${i}@reader.test` })))
    const repair = await breakAt('part1100@reader.test')
    const body = email(await own.template(plain))
    const reply = await keyed(own, id, body, 'k1')
    await repair()
    const { job_id } = reply.body.error
    expectRefusal(reply, 'AUDIENCE_SEND_INCOMPLETE', { job_id } as object)
    expect(await own.stored()).toEqual({ messages: 1_000, jobs: 1 })
    expect((await own.job(job_id)).body).toMatchObject({
      status: 'scheduled',
      incomplete: true,
      total: 1_200,
      scheduled: 1_000,
    })
    const again = await keyed(own, id, body, 'k1')
    expectRefusal(again, 'AUDIENCE_SEND_INCOMPLETE', { job_id } as object)
    expect(again.headers['x-request-id']).not.toBe(reply.headers['x-request-id'])
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(await own.stored()).toEqual({ messages: 1_000, jobs: 1 })
    await own.fire()
    expect((await own.job(job_id)).body).toMatchObject({ status: 'completed', counts: { sent: 1_000 } })
  })

  test('S-370 canceling the job stops the rows that landed', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(1_001, (i) => ({ email: `stop${i}@reader.test` })))
    const repair = await breakAt('stop1000@reader.test')
    const reply = await own.post(id, email(await own.template(plain)))
    await repair()
    const { job_id } = reply.body.error
    expect((await own.cancelJob(job_id)).body).toEqual({ id: job_id, status: 'canceled', canceled: 1_000 })
    await own.fire()
    expect(await own.events()).toEqual([])
  })

  test('S-369 a job that is canceled while it is scheduled gets no more rows', async () => {
    const own = await blastClient(t)
    const id = await own.audience(readers(3))
    const release = await holdMessages()
    const sending = keyed(own, id, email(await own.template(plain)), 'k1')
    await expect.poll(async () => (await own.stored())?.jobs).toBe(1)
    const [job] = (await own.jobs()).body.data
    expect(job).toMatchObject({ status: 'scheduling', incomplete: false })
    const canceling = own.cancelJob(job.id)
    await release()
    const { canceled } = (await canceling).body
    const { status, body } = await sending
    const rows = await own.rows(job.id)
    // Either the rows came first and were canceled, or the job was canceled first and got none.
    expect(rows.filter((row) => row.status !== 'canceled')).toEqual([])
    expect(rows.length).toBe(canceled)
    // The last step of the send may come before the cancellation too.
    expect([status, body.error?.code]).toEqual(status === 200 ? [200, undefined] : [500, 'AUDIENCE_SEND_INCOMPLETE'])
    expect((await own.jobEvents(job.id)).map(({ event }) => event)).toEqual(['job.canceled'])
  })
})
