import { afterAll, beforeEach, expect, test } from 'vitest'
import { interrupt } from '../../test/clients/interrupt.ts'
import { verifier } from '../../test/clients/verifier.ts'
import { startTestService } from '../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())

let own: Awaited<ReturnType<typeof verifier>>
beforeEach(async () => {
  own = await verifier(t)
})

const keyed = (key: string) => ({ headers: { 'idempotency-key': key } })
const codesTo = async (to: string) =>
  (await own.codesSent(`to=${encodeURIComponent(to)}&limit=200`)).map(({ verification_id, body }) => [
    verification_id,
    /\d{6}/.exec(body ?? '')?.[0],
  ])

test('S-015 S-020 S-057 a start that is repeated after a crash sends the same code under the same id and counts once', async () => {
  const to = own.newNumber()
  const first = await own.start({ to }, keyed('start'))
  expect(first.status).toBe(201)
  const { id } = first.body
  await interrupt(t, 'start')
  const second = await own.start({ to }, keyed('start'))
  expect([second.status, second.body]).toEqual([201, first.body])
  const codes = await codesTo(to)
  expect(codes).toEqual([codes[0], codes[0]])
  expect(codes[0]?.[0]).toBe(id)
  expect(await own.count()).toBe(1)
  const { used } = await own.traces()
  expect(used['org live sms']).toBe(1)
  expect((await own.check(id, codes[0]?.[1])).body).toEqual({ id, status: 'approved' })
})

test('S-015 a start that died before it stored anything starts once', async () => {
  const to = own.newNumber()
  const first = await own.start({ to }, keyed('early'))
  await interrupt(t, 'early')
  await t.database.sql('delete from verifications where id = $1', [first.body.id])
  const second = await own.start({ to }, keyed('early'))
  expect([second.status, second.body]).toEqual([201, first.body])
  expect(await own.count()).toBe(1)
})

test('a start that is repeated after its code expired sends a code that works', async () => {
  const to = own.newNumber()
  const first = await own.start({ to, ttl_seconds: 60 }, keyed('late'))
  const { id } = first.body
  await interrupt(t, 'late')
  await own.advance(120)
  const second = await own.start({ to, ttl_seconds: 60 }, keyed('late'))
  expect(second.body.id).toBe(id)
  const left = Date.parse(second.body.expires_at) - t.service.clock.millis()
  expect(left > 0 && left <= 60_000).toBe(true)
  const [[, code] = []] = await codesTo(to)
  expect((await own.check(id, code)).body).toEqual({ id, status: 'approved' })
})
