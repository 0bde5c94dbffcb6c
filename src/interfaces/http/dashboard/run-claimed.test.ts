/** A send to an audience whose button is clicked twice. */
import { afterAll, expect, test } from 'vitest'
import { trailOf } from '../../../../test/audit/trail.ts'
import { type BlastClient, blastClient, email, readers } from '../../../../test/clients/blast-client.ts'
import { type Member, person } from '../../../../test/clients/team-client.ts'
import { watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { catalogue } from '../../../platform/ground/errors.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const plain = { channel: 'email', subject: 'Hello', text: 'Dear {{name}}' }

/** An org with an audience of two, a template, and a developer who sends with an Idempotency-Key. */
const prepared = async (size = 2) => {
  const own: BlastClient = await blastClient(t)
  const sender: Member = await person(t, { orgId: own.orgId, role: 'developer' })
  const id = await own.audience(readers(size))
  const body = email(await own.template(plain))
  const send = (key: string, sent: object = body, who = sender) =>
    who.ask('POST', `/api/internal/audiences/${id}/send`, sent, { headers: { 'idempotency-key': key } })
  const sends = async () => (await trailOf(t.database, own.orgId)).filter(({ action }) => action === 'audience.sent')
  return { own, id, body, send, sends }
}

test('AD-155 S-367 two clicks at once send one job, and a third gets its answer', async () => {
  const { own, send, sends } = await prepared()
  const both = await Promise.all([send('click'), send('click')])
  for (const { status, body } of both) {
    expect([status, body.code]).toEqual(status === 200 ? [200, undefined] : [409, 'IDEMPOTENCY_IN_FLIGHT'])
  }
  const [sent] = both.filter(({ status }) => status === 200)
  const again = await leavesNoTrace(() => send('click'))
  expect([again.status, again.body, again.headers['idempotent-replayed']]).toEqual([200, sent?.body, 'true'])
  expect(again.headers['cache-control']).toBe('no-store')
  expect(await own.stored()).toEqual({ messages: 2, jobs: 1 })
  expect(await sends()).toHaveLength(1)
})

test('AD-155 S-372 another key sends again, and so does a request without one', async () => {
  const { own, send, sends } = await prepared()
  const jobs = [await send('one'), await send('two'), await send('')].map(({ body }) => body.job_id)
  expect(new Set(jobs).size).toBe(3)
  expect(await own.stored()).toEqual({ messages: 6, jobs: 3 })
  expect(await sends()).toHaveLength(3)
})

test('AD-155 X-211 a key belongs to one request, on one surface', async () => {
  const { own, id, body, send } = await prepared()
  expect((await send('once')).status).toBe(200)
  await leavesNoTrace(async () => {
    const other = await send('once', { ...body, tags: ['other'] })
    expect([other.status, other.body.code]).toEqual([409, 'IDEMPOTENCY_MISMATCH'])
    const byKey = await own.post(id, body, { headers: { 'idempotency-key': 'once' } })
    expect([byKey.status, byKey.body.error.code]).toEqual([409, 'IDEMPOTENCY_MISMATCH'])
    const long = await send('x'.repeat(256))
    expect([long.status, long.body.code, long.body.errors[0].path]).toEqual([
      422,
      'VALIDATION_ERROR',
      ['headers', 'Idempotency-Key'],
    ])
  })
})

test('AD-155 S-368 a refusal frees the key, and a viewer cannot claim one', async () => {
  const { own, body, send } = await prepared()
  const viewer = await person(t, { orgId: own.orgId, role: 'viewer' })
  await leavesNoTrace(async () => {
    expect((await send('k', body, viewer)).status).toBe(403)
    expect((await send('k', email('none'))).body.code).toBe('VALIDATION_ERROR')
  })
  expect((await send('k')).status).toBe(200)
  expect(await own.stored()).toEqual({ messages: 2, jobs: 1 })
})

test('AD-155 S-370 a send that stopped part way is repeated with the same flat answer', async () => {
  const { own, send } = await prepared(1_100)
  await t.database.sql(
    `create function break_send() returns trigger language plpgsql as $$
     begin
       if new.to_addresses[1] = 'reader1050@reader.test' then raise exception 'broken'; end if;
       return new;
     end $$`,
  )
  await t.database.sql('create trigger break_send before insert on messages for each row execute function break_send()')
  const first = await send('part')
  await t.database.sql('drop trigger break_send on messages')
  const { job_id } = first.body
  const { text } = catalogue.AUDIENCE_SEND_INCOMPLETE
  expect([first.status, first.body]).toEqual([500, { error: text, code: 'AUDIENCE_SEND_INCOMPLETE', job_id }])
  const again = await leavesNoTrace(() => send('part'))
  expect([again.status, again.body, again.headers['idempotent-replayed']]).toEqual([500, first.body, 'true'])
  expect(again.headers['x-request-id']).not.toBe(first.headers['x-request-id'])
  expect(await own.stored()).toEqual({ messages: 1_000, jobs: 1 })
})
