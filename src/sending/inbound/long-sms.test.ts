/** Long text messages that a message centre delivers in parts over SMPP. */
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { freshNumber, phoneClient } from '../../../test/clients/phone-client.ts'
import { watchTables } from '../../../test/expect/refusal.ts'
import { openSmsc, type Smsc } from '../../../test/servers/smsc.ts'
import { startTestService, type TestService } from '../../../test/service/service.ts'
import { makeLongSms } from './long-sms.ts'

const patient = { timeout: 15_000 }
const smsc = await openSmsc({ until: afterAll })
const start = (centre: Smsc, more: object = {}) =>
  startTestService({ env: { SMS_PROVIDER: 'smpp', SMPP_URL: centre.url, RATE_LIMITER: 'off' }, ...more })
const t = await start(smsc)
afterAll(() => t.stop())
const own = await phoneClient(t)
beforeAll(() => vi.waitFor(() => expect(smsc.binds).not.toEqual([]), patient))
const leavesNoTrace = await watchTables(t.database)

let references = 0
/** A function that delivers the parts of one message. The text of part 1 is the first. */
const longMessage = (from: string, texts: string[], o: { reference?: number; centre?: Smsc; to?: string } = {}) => {
  const reference = o.reference ?? ++references
  return (part: number, text = texts[part - 1] as string) =>
    (o.centre ?? smsc).deliver({
      source_addr: from.slice(1),
      source_addr_ton: 1,
      destination_addr: (o.to ?? own.line).slice(1),
      dest_addr_ton: 1,
      esm_class: 0x40,
      short_message: { udh: Buffer.from([5, 0, 3, reference, texts.length, part]), message: text },
    })
}

const receivedFrom = async (from: string, service: TestService = t) => {
  const { body } = await service.ask('GET', `/api/v1/inbound?from=${encodeURIComponent(from)}`, { key: own.live })
  return (body.data as { kind: string; keyword: string | null; body: string }[]).map(
    ({ kind, keyword, body: text }) => [kind, keyword, text],
  )
}
const eventsFrom = async (from: string) =>
  (await own.inboundEvents()).filter(({ data }) => data.from === from || data.value === from)
const parts = (from: string) =>
  t.database.sql<{ part: number; content: Buffer | null }>(
    'select part, content from inbound_sms_parts where from_address = $1 order by created_at, part',
    [from],
  )
const runTask = async () => (await t.ask('POST', '/api/dev/run', { body: { task: 'long_sms' } })).body.counts

test('S-261 A long message is stored once all its parts are there, in the order of the parts', async () => {
  const from = freshNumber()
  const deliver = longMessage(from, ['Take me off at the bus ', 'stop on Main Street', ', please'])
  expect([await deliver(3), await deliver(2)]).toEqual([0, 0])
  expect([await receivedFrom(from), await eventsFrom(from)]).toEqual([[], []])
  expect(await deliver(1)).toBe(0)
  const body = 'Take me off at the bus stop on Main Street, please'
  expect(await receivedFrom(from)).toEqual([['reply', null, body]])
  expect(await eventsFrom(from)).toMatchObject([{ event: 'inbound.sms', data: { body, to: own.line } }])
  expect((await own.suppressed()).map(({ value }) => value)).not.toContain(from)
  // The text is kept in one place only.
  expect((await parts(from)).map(({ content }) => content)).toEqual([null, null, null])
})

test('S-254 S-261 The keyword is judged on the whole text, before the last part is acknowledged', async () => {
  const from = freshNumber()
  const deliver = longMessage(from, ['Sto', 'p texting me'])
  expect(await deliver(2)).toBe(0)
  expect((await own.suppressed()).map(({ value }) => value)).not.toContain(from)
  expect(await deliver(1)).toBe(0)
  expect(await receivedFrom(from)).toEqual([['opt_out', 'STOP', 'Stop texting me']])
  expect((await own.suppressed()).filter(({ value }) => value === from)).toHaveLength(1)
})

test('Parts with the fields of SMPP 3.4 are put together, also in the middle of a character', async () => {
  const from = freshNumber()
  const deliver = (part: number, message: Buffer) =>
    smsc.deliver({
      source_addr: from.slice(1),
      source_addr_ton: 1,
      destination_addr: own.line.slice(1),
      dest_addr_ton: 1,
      data_coding: 8,
      short_message: { message },
      sar_msg_ref_num: 4_711,
      sar_total_segments: 2,
      sar_segment_seqnum: part,
    })
  const bytes = Buffer.from('Yes 👍 and ü', 'utf16le').swap16()
  expect([await deliver(1, bytes.subarray(0, 10)), await deliver(2, bytes.subarray(10))]).toEqual([0, 0])
  expect(await receivedFrom(from)).toEqual([['reply', null, 'Yes 👍 and ü']])
})

test('R-04 A repeated part changes nothing, before the message is complete and after it', async () => {
  const from = freshNumber()
  const deliver = longMessage(from, ['One ', 'two'])
  expect(await deliver(1)).toBe(0)
  await leavesNoTrace(async () => expect(await deliver(1)).toBe(0))
  expect(await deliver(2)).toBe(0)
  await leavesNoTrace(async () => expect([await deliver(2), await deliver(1)]).toEqual([0, 0]))
  await own.advance(3_600)
  await leavesNoTrace(async () => expect(await deliver(1)).toBe(0))
  expect(await receivedFrom(from)).toEqual([['reply', null, 'One two']])
})

test('Parts that arrive at the same time are one message', async () => {
  const from = freshNumber()
  const texts = Array.from({ length: 20 }, (_, i) => `${i} `)
  const deliver = longMessage(from, texts)
  const order = texts.map((_, i) => ((i * 7) % 20) + 1)
  const statuses = await Promise.all([...order, ...order].map((part) => deliver(part)))
  expect(new Set(statuses)).toEqual(new Set([0]))
  expect(await receivedFrom(from)).toEqual([['reply', null, texts.join('')]])
  expect(await eventsFrom(from)).toHaveLength(1)
})

test('A reference that is used again belongs to another message, and so do other senders and sizes', async () => {
  const [from, other] = [freshNumber(), freshNumber()]
  const reference = ++references
  const first = longMessage(from, ['a', 'b'], { reference })
  const second = longMessage(from, ['c', 'd'], { reference })
  const larger = longMessage(from, ['e', 'f', 'g'], { reference })
  const elsewhere = longMessage(other, ['h', 'i'], { reference })
  for (const deliver of [first, elsewhere, larger]) await deliver(1)
  await first(2)
  for (const deliver of [second, elsewhere, larger]) await deliver(2)
  await second(1)
  await larger(3)
  expect((await receivedFrom(from)).map(([, , body]) => body).toSorted()).toEqual(['ab', 'cd', 'efg'])
  expect((await receivedFrom(other)).map(([, , body]) => body)).toEqual(['hi'])
})

test('After 10 minutes, parts whose rest did not come are taken as they are, and only the first can be an opt-out', async () => {
  const [from, stopping] = [freshNumber(), freshNumber()]
  const deliver = longMessage(from, ['One ', 'two ', 'three ', 'stop here', 'five'])
  for (const part of [4, 2, 1]) expect(await deliver(part)).toBe(0)
  expect(await longMessage(stopping, ['STOP writing ', 'to me'])(1)).toBe(0)
  await own.advance(9 * 60)
  expect([await runTask(), await receivedFrom(from)]).toEqual([{ incomplete_sms_taken: 0 }, []])
  await own.advance(61)
  expect(await runTask()).toEqual({ incomplete_sms_taken: 2 })
  expect(await receivedFrom(from)).toEqual([
    ['reply', null, 'stop here'],
    ['reply', null, 'One two '],
  ])
  expect(await receivedFrom(stopping)).toEqual([['opt_out', 'STOP', 'STOP writing ']])
  expect((await own.suppressed()).map(({ value }) => value)).toContain(stopping)
  await leavesNoTrace(async () => {
    expect(await runTask()).toEqual({ incomplete_sms_taken: 0 })
    expect(await deliver(1)).toBe(0)
  })
  // A part that comes too late is not lost either.
  expect(await deliver(3)).toBe(0)
  await own.advance(601)
  expect(await runTask()).toEqual({ incomplete_sms_taken: 1 })
  expect((await receivedFrom(from))[0]).toEqual(['reply', null, 'three '])
})

test('Parts are deleted a day after the message is stored', async () => {
  const from = freshNumber()
  const deliver = longMessage(from, ['a', 'b'])
  for (const part of [1, 2]) await deliver(part)
  await own.advance(86_000)
  await runTask()
  expect(await parts(from)).toHaveLength(2)
  await own.advance(500)
  await runTask()
  expect(await parts(from)).toEqual([])
})

test('A part to a number that nobody has is rejected, and not stored', async () => {
  const deliver = longMessage(freshNumber(), ['a', 'b'], { to: freshNumber() })
  await leavesNoTrace(async () => expect(await deliver(1)).not.toBe(0))
})

test('R-04 A complete message that could not be stored is stored when its last part comes again, or by the task', async () => {
  const { db, clock } = t.service
  const log = { warn() {}, info() {}, error() {} } as never
  let bodies: string[] = []
  let fails = true
  const { takeSmsPart, takeOverdue } = makeLongSms({
    db,
    clock,
    log,
    takeSms: async ({ body }) => {
      if (fails) throw new Error('not now')
      bodies.push(body)
      return { status: 'repeated' }
    },
  })
  const takes = (from: string) => (part: number) =>
    takeSmsPart({
      provider: 'smpp',
      id: null,
      from,
      to: own.line,
      body: `${part}`,
      mediaUrl: [],
      part: { reference: 'x', parts: 2, part },
      at: clock.now(),
    })
  const [again, byTask] = [takes(freshNumber()), takes(freshNumber())]
  for (const take of [again, byTask]) {
    expect(await take(1)).toEqual({ status: 'waiting' })
    await expect(take(2)).rejects.toThrow('not now')
  }
  await own.advance(601)
  expect(await takeOverdue()).toBe(0)
  fails = false
  await again(2)
  expect(bodies).toEqual(['12'])
  bodies = []
  expect(await takeOverdue()).toBe(1)
  expect(bodies).toEqual(['12'])
  await byTask(2)
  expect(bodies).toEqual(['12'])
})

test('A part that was acknowledged survives a restart of the service', async () => {
  const centre = await openSmsc()
  const from = freshNumber()
  const deliver = longMessage(from, ['Before ', 'after'], { centre })
  const first = await start(centre, { database: t.database })
  await expect.poll(() => centre.binds.length, patient).toBe(1)
  expect(await deliver(1)).toBe(0)
  await first.stop()
  const second = await start(centre, { database: t.database })
  onTestFinished(() => second.stop())
  await expect.poll(() => centre.binds.length, patient).toBe(2)
  expect(await deliver(2)).toBe(0)
  expect(await receivedFrom(from, second)).toEqual([['reply', null, 'Before after']])
})
