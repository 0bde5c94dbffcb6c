/** The sandbox sender: the org's own people only, a hundred a day. */
import { afterAll, expect, test } from 'vitest'
import { advance } from '../../../test/clients/key-client.ts'
import { type Body, type Mailer, mail, mailer } from '../../../test/clients/mailer.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'
import { newId } from '../../ground/ids.ts'

const t = await startTestService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

/** Somebody of the org who signs in with that address; proven unless said otherwise. */
const addMember = async ({ orgId }: Mailer, email: string, proven = true) => {
  const id = newId('user')
  const at = t.service.clock.now()
  await t.database.sql(
    `insert into users (id, email, name, password_hash, email_verified_at, created_at, updated_at)
     values ($1, $2, 'Member', 'x', $3, $4, $4)`,
    [id, email, proven ? at : null, at],
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

test('S-101 S-102 X-193 it reaches proven addresses of members in to, cc and bcc, and nobody else', async () => {
  const own = await mailer(t)
  const unproven = await addMember(own, 'unproven@example.com', false)
  const foreign = await addMember(await mailer(t), 'foreign@example.com')
  const mate = await addMember(own, 'mate@example.com')
  const from = own.sandbox
  const good = mail({ from, to: [own.owner.email.toUpperCase()], cc: [mate] })
  expect((await own.send(good)).status).toBe(200)
  for (const more of [
    { to: [unproven] },
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

test('S-103 S-125 a suppressed stranger is no matter for a single send, and one for a batch', async () => {
  const own = await mailer(t)
  await own.suppress('stranger@example.com')
  const body = mail({ from: own.sandbox, to: [own.owner.email, 'stranger@example.com'] })
  const single = await own.send(body)
  expect(single.status).toBe(200)
  expect((await own.handed(single.body.id)).to).toEqual([own.owner.email])
  const batch = await own.batch([body, { ...body, to: [own.owner.email] }])
  expect(codes(batch)).toEqual(['SANDBOX_RECIPIENT_NOT_ALLOWED', 'sent'])
})

test('S-104 S-105 S-107 S-124 X-282 X-311 a hundred recipients a UTC day; the next waits for midnight and is told no hour', async () => {
  const own = await mailer(t)
  const [a, b, c] = (await members(own, 3)) as [string, string, string]
  const from = own.sandbox
  const three = mail({ from, to: [a], cc: [b], bcc: [c] })
  // Away from midnight, so that the day does not turn in between.
  const intoDay = Math.floor(t.service.clock.millis() / 1000) % 86_400
  await advance(t, 86_400 - intoDay + 60)
  const filled = await own.batch(new Array(33).fill(three))
  expect(filled.body).toMatchObject({ succeeded: 33, failed: 0 })
  const over = await leavesNoTrace(() => own.send(mail({ from, to: [a], cc: [b] })))
  expectRefusal(over, 'SANDBOX_DAILY_LIMIT')
  expect(over.headers['retry-after']).toBeUndefined()
  const perItem = await own.batch([three, mail({ from: 'x@example.test' }), mail({ from, to: [a] })])
  expect(codes(perItem)).toEqual(['SANDBOX_DAILY_LIMIT', 'sent', 'sent'])
  expect((await own.used())['org live sandbox']).toBe(100)
  expectRefusal(await own.send(mail({ from, to: [a] })), 'SANDBOX_DAILY_LIMIT')
  const free = await own.send(mail({ from, to: ['x@example.com', a] }), { key: own.test })
  expect(free.status).toBe(200)
  await advance(t, 86_400 - 120)
  expectRefusal(await own.send(mail({ from, to: [a] })), 'SANDBOX_DAILY_LIMIT')
  await advance(t, 61)
  expect((await own.send(mail({ from, to: [a] }))).status).toBe(200)
})

test('S-106 what is scheduled counts on the day it is asked for', async () => {
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
