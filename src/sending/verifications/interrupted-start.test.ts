import { afterAll, beforeEach, expect, test } from 'vitest'
import { interrupt } from '../../../test/clients/interrupt.ts'
import { verifier } from '../../../test/clients/verifier.ts'
import { expectRefusal } from '../../../test/expect/refusal.ts'
import { openLogFile } from '../../../test/service/log-file.ts'
import { startTestService, testService } from '../../../test/service/service.ts'
import { derivedId } from '../../platform/ground/ids.ts'
import { HandoverFault } from '../../providers/handover.ts'
import type { Sms } from '../../providers/sms/sms-provider.ts'

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

test('S-015 a start that could not be withdrawn in an outage is taken up when it is repeated, and then stays', async () => {
  const sent: Sms[] = []
  const smsProvider = {
    name: 'stub',
    send: async (sms: Sms) => {
      sent.push(sms)
      if (sent.length === 1) throw new HandoverFault('refused', 'stub', 'not now')
      return { provider: 'stub', providerMessageId: 'x' }
    },
    close: async () => undefined,
  }
  const file = await openLogFile()
  const service = await testService({ smsProvider, log: file.log })
  const alone = await verifier(service)
  await service.database.sql(`create function refuse() returns trigger language plpgsql as $$
    begin raise exception 'read-only' using errcode = '25006'; end $$`)
  await service.database.sql(
    'create trigger refuse before delete on verifications for each row execute function refuse()',
  )
  const to = alone.newNumber()
  expectRefusal(await alone.start({ to }, keyed('outage')), 'SEND_FAILED')
  const second = await alone.start({ to }, keyed('outage'))
  await service.database.sql('drop function refuse cascade')
  const { id } = second.body
  expect([second.status, ...sent.map(({ messageId }) => messageId)]).toEqual([201, id, id])
  await expect
    .poll(() => file.lines('verification taken up by a repeated request'))
    .toMatchObject([{ verification_id: id }])
  expect(await alone.count()).toBe(1)
  expect((await alone.traces()).used['org live sms']).toBe(1)
  const code = /\d{6}/.exec(sent[1]?.body ?? '')?.[0]
  expect((await alone.check(id, code)).body).toEqual({ id, status: 'approved' })
})

test('S-015 a start whose connection was lost as it was stored is taken up when it is repeated', async () => {
  const service = await testService()
  const alone = await verifier(service)
  // A constraint trigger fails at the commit, so the process does not know whether the row is stored.
  await service.database.sql(`create function lose() returns trigger language plpgsql as $$
    begin raise exception 'the database is shutting down' using errcode = '57P01'; end $$`)
  await service.database.sql(
    `create constraint trigger lose after insert on verifications deferrable initially deferred
     for each row execute function lose()`,
  )
  const to = alone.newNumber()
  const first = await alone.start({ to }, keyed('lost'))
  expect(first.status).toBe(503)
  await service.database.sql('drop function lose cascade')
  const [held] = await service.database.sql<{ claim: string; status: number | null }>(
    "select claim, status from idempotency_keys where key = 'lost'",
  )
  expect(held?.status).toBeNull()
  const second = await alone.start({ to }, keyed('lost'))
  expect([second.status, second.body.id]).toEqual([201, derivedId('verification', held?.claim ?? '', 0)])
  expect(await alone.count()).toBe(1)
})

test('S-015 the row of a code is on the disk before the code is sent', async () => {
  const service = await testService()
  const alone = await verifier(service)
  await service.database.sql('create table commits (setting text)')
  await service.database.sql(`create function note_commit() returns trigger language plpgsql as $$
    begin insert into commits values (current_setting('synchronous_commit')); return null; end $$`)
  await service.database.sql(
    `create constraint trigger note_commit after insert on verifications deferrable initially deferred
     for each row execute function note_commit()`,
  )
  await alone.started()
  expect(await service.database.sql('select setting from commits')).toEqual([{ setting: 'on' }])
})
