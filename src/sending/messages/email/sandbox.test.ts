/** The sandbox sender: only to members of the org, at most 100 recipients a day. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { advance } from '../../../../test/clients/key-client.ts'
import { type Body, type Mailer, mail, mailer } from '../../../../test/clients/mailer.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startTestService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

/** Adds a member of the org. The address is verified unless `verified` is false. */
const addMember = async ({ orgId }: Mailer, email: string, verified = true) => {
  const id = newId('user')
  const at = t.service.clock.now()
  await t.database.sql(
    `insert into users (id, email, name, password_hash, email_verified_at, created_at, updated_at)
     values ($1, $2, 'Member', 'x', $3, $4, $4)`,
    [id, email, verified ? at : null, at],
  )
  await t.database.sql(
    `insert into memberships (org_id, id, user_id, role, created_at) values ($1, $2, $3, 'member', $4)`,
    [orgId, newId('membership'), id, at],
  )
  return email
}
const members = async (org: Mailer, count: number): Promise<string[]> => {
  const names = Array.from({ length: count }, (_, i) => `m${i}.${org.org.slug}@example.com`)
  for (const name of names) await addMember(org, name)
  return names
}
const codes = (reply: { body: { data: { error: Body | null }[] } }) =>
  reply.body.data.map(({ error }) => error?.code ?? 'sent')

test('S-101 S-102 X-193 every recipient in to, cc and bcc must be a verified address of a member', async () => {
  const own = await mailer(t)
  const unverified = await addMember(own, 'unverified@example.com', false)
  const foreign = await addMember(await mailer(t), 'foreign@example.com')
  const mate = await addMember(own, 'mate@example.com')
  const from = own.sandbox
  const good = mail({ from, to: [own.owner.email.toUpperCase()], cc: [mate] })
  expect((await own.send(good)).status).toBe(200)
  for (const more of [
    { to: [unverified] },
    { to: [foreign] },
    { to: ['x@example.com'] },
    { to: [mate, 'x@example.com'] },
    { to: [mate], cc: ['x@example.com'] },
    { to: [mate], bcc: ['x@example.com'] },
  ]) {
    const reply = await leavesNoTrace(() => own.send(mail({ from, ...more })))
    expectRefusal(reply, 'SANDBOX_RECIPIENT_NOT_ALLOWED', {}, JSON.stringify(more))
  }
  expect(await own.used()).toMatchObject({ 'org live sandbox': 2, 'org live email': 2 })
})

test('S-103 S-125 a suppressed recipient who is not a member is ignored in a single send and rejected in a batch', async () => {
  const own = await mailer(t)
  await own.suppress('stranger@example.com')
  const body = mail({ from: own.sandbox, to: [own.owner.email, 'stranger@example.com'] })
  const single = await own.send(body)
  expect(single.status).toBe(200)
  expect((await own.handed(single.body.id)).to).toEqual([own.owner.email])
  const batch = await own.batch([body, { ...body, to: [own.owner.email] }])
  expect(codes(batch)).toEqual(['SANDBOX_RECIPIENT_NOT_ALLOWED', 'sent'])
})

// These tests run in order: each continues with the count that the one before it left.
describe('the daily limit of 100 recipients', () => {
  let own: Mailer
  let people: string[]
  const toOne = () => mail({ from: own.sandbox, to: people.slice(0, 1) })
  const toTwo = () => mail({ from: own.sandbox, to: people.slice(0, 1), cc: people.slice(1, 2) })
  const toThree = () => mail({ ...toTwo(), bcc: people.slice(2) })

  beforeAll(async () => {
    own = await mailer(t)
    people = await members(own, 3)
    // A minute after midnight, so that the UTC day does not change during the tests.
    const intoDay = Math.floor(t.service.clock.millis() / 1000) % 86_400
    await advance(t, 86_400 - intoDay + 60)
    const filled = await own.batch(new Array(33).fill(toThree()))
    expect(filled.body).toMatchObject({ succeeded: 33, failed: 0 })
  })

  test('S-105 X-282 X-311 a send beyond it is rejected without Retry-After', async () => {
    const over = await leavesNoTrace(() => own.send(toTwo()))
    expectRefusal(over, 'SANDBOX_DAILY_LIMIT')
    expect(over.headers['retry-after']).toBeUndefined()
  })

  test('S-104 S-124 X-311 batch items are checked one by one, up to the hundredth recipient', async () => {
    const perItem = await own.batch([toThree(), mail({ from: 'x@example.test' }), toOne()])
    expect(codes(perItem)).toEqual(['SANDBOX_DAILY_LIMIT', 'sent', 'sent'])
    expect((await own.used())['org live sandbox']).toBe(100)
    expectRefusal(await own.send(toOne()), 'SANDBOX_DAILY_LIMIT')
  })

  test('S-107 test keys are exempt from it', async () => {
    const to = ['x@example.com', ...people.slice(0, 1)]
    const free = await own.send(mail({ from: own.sandbox, to }), { key: own.test })
    expect(free.status).toBe(200)
  })

  test('S-105 X-311 the count starts again at midnight UTC', async () => {
    await advance(t, 86_400 - 120)
    expectRefusal(await own.send(toOne()), 'SANDBOX_DAILY_LIMIT')
    await advance(t, 61)
    expect((await own.send(toOne())).status).toBe(200)
  })
})

test('S-106 a scheduled message counts on the day of the request', async () => {
  const own = await mailer(t)
  const scheduled_at = new Date(t.service.clock.millis() + 3 * 86_400_000).toISOString()
  const later = mail({ from: own.sandbox, to: [own.owner.email], scheduled_at })
  expect((await own.send(later)).body.status).toBe('scheduled')
  expect(await own.used()).toEqual({ 'org live sandbox': 1 })
  const [today] = await t.database.sql<{ period: string }>(
    "select period from usage_counters where org_id = $1 and measure = 'sandbox'",
    [own.orgId],
  )
  expect(today?.period).toBe(t.service.clock.now().toISOString().slice(0, 10))
  await advance(t, 3 * 86_400 + 60)
  await t.ask('POST', '/api/dev/run', { body: { task: 'scheduler' } })
  expect(await own.traces()).toMatchObject({ messages: ['sent'], outbox: 1 })
  expect(await own.used()).toMatchObject({ 'org live sandbox': 1, 'org live email': 1 })
})
