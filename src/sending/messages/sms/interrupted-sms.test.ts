import { beforeEach, expect, test } from 'vitest'
import { interrupt } from '../../../../test/clients/interrupt.ts'
import { type Texter, text, texter } from '../../../../test/clients/texter.ts'
import { sharedTestService } from '../../../../test/service/service.ts'

const t = await sharedTestService()

let own: Texter
beforeEach(async () => {
  own = await texter(t)
})

const keyed = (key: string) => ({ headers: { 'idempotency-key': key } })
const handedOver = async () => (await own.outbox()).map(({ message_id }) => message_id)

test('S-015 S-019 an SMS that is repeated after a crash returns the first response, with its segments', async () => {
  const body = text({ body: 'a'.repeat(200) })
  const first = await own.send(body, keyed('sms'))
  expect(first.body.segments).toBe(2)
  await interrupt(t, 'sms')
  const second = await own.send(body, keyed('sms'))
  expect([second.status, second.body]).toEqual([200, first.body])
  expect(await handedOver()).toEqual([first.body.id])
})

test('S-015 SD-47 an SMS that was not stored is sent again under the same id', async () => {
  const first = await own.send(text(), keyed('lost'))
  await interrupt(t, 'lost')
  await t.database.sql('delete from messages where id = $1', [first.body.id])
  const second = await own.send(text(), keyed('lost'))
  expect([second.status, second.body]).toEqual([200, first.body])
  expect(await handedOver()).toEqual([first.body.id, first.body.id])
})

test('S-019 S-021 a batch of SMS that is repeated after a crash sends only what was not stored', async () => {
  const body = { from: 'TIDINGS', body: 'Hi', to: ['+447700900100', '+447700900101', '+447700900102'] }
  const first = await own.batch(body, keyed('batch'))
  const [a, b, c] = first.body.data.map(({ id }: { id: string }) => id)
  await interrupt(t, 'batch')
  await t.database.sql('delete from messages where id = $1', [b])
  const second = await own.batch(body, keyed('batch'))
  expect([second.status, second.body]).toEqual([200, first.body])
  expect((await handedOver()).sort()).toEqual([a, b, b, c].sort())
})
