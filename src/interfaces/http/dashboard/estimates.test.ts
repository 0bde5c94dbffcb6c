/** Estimates of sends to audiences. */
import { afterAll, expect, test } from 'vitest'
import { blastClient, email, readers } from '../../../../test/clients/blast-client.ts'
import { person, primaryOwner } from '../../../../test/clients/team-client.ts'
import { expectOutOfReach } from '../../../../test/dashboard/foreign-rows.ts'
import { watchTables } from '../../../../test/expect/refusal.ts'
import { type Reply, startTestService } from '../../../../test/service/service.ts'
import { emailPrice, segmentPrice } from '../../../customers/usage/plan-limits.ts'
import { newId } from '../../../platform/ground/ids.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const own = await blastClient(t, { plan: 'payg' })
const developer = await person(t, { orgId: own.orgId, role: 'developer' })
const pathOf = (id: string) => `/api/internal/audiences/${id}/estimate`
const answer = ({ status, body }: Reply) => [status, body]
const estimated = (id: string, body: object) => leavesNoTrace(() => developer.ask('POST', pathOf(id), body))

/** The spend of the month, in dollars. */
const spend = async (): Promise<string> => (await t.ask('GET', '/api/v1/usage', { key: own.live })).body.spend.used
const micros = (amount: string): number => Math.round(Number(amount) * 1_000_000)

test('shows what the send of emails will do and cost, and stores nothing', async () => {
  const id = await own.audience(readers(4))
  await own.suppress('reader2@reader.test', 'manual', null, 'email')
  const body = email(await own.template({ channel: 'email', subject: 'Hi', text: 'Dear {{name}}' }))
  const reply = await estimated(id, body)
  expect(answer(reply)).toEqual([
    200,
    {
      audience_id: id,
      channel: 'email',
      total: 4,
      recipients: 3,
      suppressed: 1,
      segments: null,
      bytes: expect.any(Number),
      cost: { currency: 'USD', amount: expect.stringMatching(/^0\.\d{6}$/) },
      deferred_quiet_hours: 0,
      starts_at: expect.any(String),
      ends_at: expect.any(String),
    },
  ])
  expect(reply.body.bytes).toBeGreaterThan(0)
  const before = micros(await spend())
  const sent = await own.sent(id, body)
  expect([sent.total, sent.scheduled, sent.suppressed]).toEqual([4, 3, 1])
  await own.fire()
  expect(micros(await spend()) - before).toBe(micros(reply.body.cost.amount))
  expect(micros(reply.body.cost.amount)).toBe(3 * emailPrice.payg)
})

test('counts the segments of text messages, each with the values of its recipient', async () => {
  const numbers = ['+15125550111', '+447700900111', '+447700900112']
  const names = ['Ann', 'x'.repeat(200), 'Bob']
  const id = await own.audience(numbers.map((phone, i) => ({ phone, name: names[i] as string })))
  const template = await own.template({ channel: 'sms', text: 'Dear {{name}}' })
  const body = { channel: 'sms', from: 'TIDINGS', template }
  const reply = await estimated(id, body)
  expect(reply.body).toMatchObject({ recipients: 3, suppressed: 0, segments: 4 })
  const price = segmentPrice('payg', 'US') + 3 * segmentPrice('payg', 'GB')
  expect(micros(reply.body.cost.amount)).toBe(price)
})

test('an audience that nobody can be reached in costs nothing', async () => {
  const id = await own.audience([{ email: 'nobody@reader.test' }])
  const template = await own.template({ channel: 'sms', text: 'Dear {{name}}' })
  const reply = await estimated(id, { channel: 'sms', from: 'TIDINGS', template })
  expect(reply.body).toMatchObject({
    recipients: 0,
    segments: 0,
    bytes: 0,
    cost: { currency: 'USD', amount: '0.000000' },
  })
})

test('refuses what the send refuses', async () => {
  const id = await own.audience([{ email: 'one@reader.test' }])
  const template = await own.template({ channel: 'email', subject: 'Hi', text: 'Dear {{title}}' })
  const given = email(template)
  for (const body of [given, { ...given, template: 'nowhere' }, { ...given, from: 'a@unverified.example' }]) {
    const refused = await leavesNoTrace(() => own.post(id, body))
    const { code, message } = refused.body.error
    const reply = await estimated(id, body)
    expect([reply.status, reply.body.code]).toEqual([refused.status, code])
    if (code !== 'VALIDATION_ERROR') expect(reply.body.error).toBe(message)
  }
  const invalid = await estimated(id, { channel: 'email' })
  expect([invalid.status, invalid.body.code]).toEqual([422, 'VALIDATION_ERROR'])
})

test('AD-04 the audience of another org is not found', async () => {
  const stranger = await primaryOwner(t, (await t.org()).org.id)
  const foreign = { table: 'audiences', orgId: own.orgId, id: await own.audience([]), unknownId: newId('audience') }
  const body = email('any')
  await expectOutOfReach(t, stranger, foreign, (id) => [['POST', pathOf(id), body]])
})
