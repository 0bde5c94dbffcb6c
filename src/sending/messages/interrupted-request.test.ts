import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { trailOf } from '../../../test/audit/trail.ts'
import { interrupt } from '../../../test/clients/interrupt.ts'
import { type Post, postOf } from '../../../test/clients/post-client.ts'
import { type Reply, startTestService } from '../../../test/service/service.ts'
import type { CreatedOrg } from '../../app/operator/create-org.ts'

const t = await startTestService()
afterAll(() => t.stop())

let acme: CreatedOrg
let post: Post
beforeEach(async () => {
  acme = await t.org()
  post = postOf(t, acme)
})

const mayRepeat = 'An earlier attempt was interrupted, so the provider may have received this message twice.'

const single = (key: string, more = {}) => post.send(more, acme.keys.live, { 'idempotency-key': key })
const itemTo = (to: string) => ({ from: 'hello@example.test', to: [to], subject: 'A subject', text: 'Hi' })
const batch = (key: string, body: unknown): Promise<Reply> =>
  t.ask('POST', '/api/v1/emails/batch', { key: acme.keys.live, headers: { 'idempotency-key': key }, body })
const lose = (...ids: string[]) =>
  t.database.sql('delete from messages where org_id = $1 and id = any($2)', [acme.org.id, ids])
/** Drops what the message wrote, as if the process had died between the handover and the record. */
const loseRecord = async (...ids: string[]): Promise<void> => {
  await lose(...ids)
  await t.database.sql(`delete from events where org_id = $1 and data ->> 'message_id' = any($2)`, [acme.org.id, ids])
}
const handovers = async (id: string): Promise<number> => (await post.handed(id)).length
const ids = async (): Promise<string[]> =>
  (await t.database.sql<{ id: string }>('select id from messages where org_id = $1 order by id', [acme.org.id])).map(
    ({ id }) => id,
  )
const auditedCounts = async (): Promise<unknown[]> =>
  (await trailOf(t.database, acme.org.id))
    .filter(({ action }) => action === 'message.sent')
    .map(({ metadata }) => metadata?.count)

describe('a single send that is repeated after a crash', () => {
  test('S-015 S-019 of a message that was stored returns the first response and sends nothing', async () => {
    const first = await single('stored')
    await interrupt(t, 'stored')
    const second = await single('stored')
    expect([second.status, second.body]).toEqual([200, first.body])
    expect(second.headers['idempotent-replayed']).toBeUndefined()
    expect(await ids()).toEqual([first.body.id])
    expect(await handovers(first.body.id)).toBe(1)
    expect(await post.used()).toBe(1)
    const third = await single('stored')
    expect([third.status, third.body, third.headers['idempotent-replayed']]).toEqual([200, first.body, 'true'])
  })

  test('S-015 of a scheduled message returns the first response and stores no second message', async () => {
    const scheduled_at = post.inSeconds(600)
    const first = await single('scheduled', { scheduled_at })
    await interrupt(t, 'scheduled')
    const second = await single('scheduled', { scheduled_at })
    expect([second.status, second.body]).toEqual([200, first.body])
    expect(await ids()).toEqual([first.body.id])
  })

  test('S-015 SD-47 of a message that was not stored sends it again under the same id, and its history says so', async () => {
    const first = await single('sent')
    await interrupt(t, 'sent')
    await loseRecord(first.body.id)
    const second = await single('sent')
    expect([second.status, second.body]).toEqual([200, first.body])
    expect(await handovers(first.body.id)).toBe(2)
    const { body } = await post.get(first.body.id)
    expect(body.status_history).toEqual([expect.objectContaining({ status: 'sent', detail: mayRepeat })])
    expect((await post.events(first.body.id)).map(({ event }) => event)).toEqual(['message.sent'])
  })

  test('S-015 of a message that was refused for good returns the stored failure, and then frees the key', async () => {
    const body = { to: ['refused@simulator.tidings.test'] }
    // Dies after it has stored the failure, before it frees the key.
    await t.database.sql(`create function keep_key() returns trigger language plpgsql as 'begin return null; end'`)
    await t.database.sql(
      'create trigger keep before delete on idempotency_keys for each row execute function keep_key()',
    )
    const first = await single('refused', body)
    await t.database.sql('drop function keep_key cascade')
    await interrupt(t, 'refused')
    const second = await single('refused', body)
    expect([second.status, second.body.error.code, second.body.error.message_id]).toEqual([
      500,
      'INTERNAL_ERROR',
      first.body.error.message_id,
    ])
    expect(await post.statuses()).toEqual({ failed: 1 })
    const third = await single('refused', body)
    expect([third.status, third.body.error.message_id === first.body.error.message_id]).toEqual([500, false])
    expect(await post.statuses()).toEqual({ failed: 2 })
  })

  test('S-016 with another body is 409 and sends nothing', async () => {
    const first = await single('other')
    await interrupt(t, 'other')
    await loseRecord(first.body.id)
    const second = await single('other', { text: 'Another text' })
    expect([second.status, second.body.error.code]).toEqual([409, 'IDEMPOTENCY_MISMATCH'])
    expect(await ids()).toEqual([])
  })

  test('S-015 keeps its id when a gate refuses the second attempt and the third is accepted', async () => {
    const first = await single('gate')
    await interrupt(t, 'gate')
    await loseRecord(first.body.id)
    const suppressed = { key: acme.keys.live, body: { channel: 'email', value: 'ann@reader.test' } }
    const { body: suppression } = await t.ask('POST', '/api/v1/suppressions', suppressed)
    const second = await single('gate')
    expect([second.status, second.body.error.code]).toEqual([422, 'ALL_SUPPRESSED'])
    await t.ask('DELETE', `/api/v1/suppressions/${suppression.id}`, { key: acme.keys.live })
    const third = await single('gate')
    expect([third.status, third.body]).toEqual([200, first.body])
    expect(await handovers(first.body.id)).toBe(2)
  })

  test('a refusal after an interruption frees the key for another body, which gets its own id', async () => {
    const first = await single('corrected')
    await interrupt(t, 'corrected')
    await loseRecord(first.body.id)
    await t.ask('POST', '/api/v1/suppressions', {
      key: acme.keys.live,
      body: { channel: 'email', value: 'ann@reader.test' },
    })
    expect((await single('corrected')).status).toBe(422)
    const second = await single('corrected', { to: ['bob@reader.test'] })
    expect(second.status).toBe(200)
    expect(second.body.id).not.toBe(first.body.id)
  })
})

test('a request whose key another process may have taken over sends nothing', async () => {
  const { processes } = t.service.modules
  const { isTrusted } = processes
  processes.isTrusted = () => false
  try {
    const { status, body, headers } = await single('untrusted')
    expect([status, body.error.code, headers['retry-after']]).toEqual([503, 'UNAVAILABLE', '1'])
    const { body: answer } = await batch('untrusted batch', [itemTo('reader@reader.test')])
    expect(answer.data[0].error.message).toBe('Not sent. It is safe to try again.')
  } finally {
    processes.isTrusted = isTrusted
  }
  expect(await ids()).toEqual([])
  expect(await post.used()).toBe(0)
  expect((await single('untrusted')).status).toBe(200)
})

describe('a batch that is repeated after a crash', () => {
  const five = Array.from({ length: 5 }, (_, n) => itemTo(`reader${n}@reader.test`))

  test('S-019 S-021 sends only what was not stored, under the same ids, and answers as the first would have', async () => {
    const first = await batch('half', five)
    const [a, b, c, d, e] = first.body.data.map(({ id }: { id: string }) => id)
    await interrupt(t, 'half')
    await loseRecord(b, e)
    const second = await batch('half', five)
    expect([second.status, second.body]).toEqual([200, first.body])
    expect(await ids()).toEqual([a, b, c, d, e])
    expect(await Promise.all([a, b, c, d, e].map(handovers))).toEqual([1, 2, 1, 1, 2])
    const histories = await Promise.all(
      [a, b].map(async (id) => (await post.get(id)).body.status_history[0].detail ?? null),
    )
    expect(histories).toEqual([null, mayRepeat])
    const third = await batch('half', five)
    expect([third.body, third.headers['idempotent-replayed']]).toEqual([first.body, 'true'])
  })

  test('S-019 of which everything was stored sends nothing', async () => {
    const body = { ...itemTo('x'), to: ['one@reader.test', 'two@reader.test', 'refused@simulator.tidings.test'] }
    const first = await batch('whole', body)
    expect(first.body).toMatchObject({ total: 3, succeeded: 2, failed: 1 })
    await interrupt(t, 'whole')
    const second = await batch('whole', body)
    expect([second.status, second.body]).toEqual([200, first.body])
    expect(await post.statuses()).toEqual({ sent: 2, failed: 1 })
    expect(await auditedCounts()).toEqual([2])
    expect(await post.used()).toBe(2)
  })

  test('A-167 AD-96 writes an audit entry about the messages that each attempt stored', async () => {
    const first = await batch('audited', five)
    const [a, b] = first.body.data.map(({ id }: { id: string }) => id)
    await interrupt(t, 'audited')
    await loseRecord(a, b)
    await batch('audited', five)
    expect(await auditedCounts()).toEqual([5, 2])
  })

  test('the usage of the first attempt is settled before the second reserves its own', async () => {
    const first = await batch('usage', five)
    const [a] = first.body.data.map(({ id }: { id: string }) => id)
    const [{ claim } = { claim: '' }] = await t.database.sql<{ claim: string }>(
      "select claim from idempotency_keys where key = 'usage'",
    )
    await interrupt(t, 'usage')
    await loseRecord(a)
    // As the first attempt left it: five emails are reserved, and the reservation of the batch is open.
    const part = { tenantId: null, environment: 'live', keyId: null, channel: 'email', units: 1 }
    const parts = Object.fromEntries(first.body.data.map(({ id }: { id: string }) => [id, part]))
    const at = t.service.clock.now()
    await t.database.sql(
      `insert into usage_reservations (org_id, id, reserved_at, expires_at, parts) values ($1, $2, $3, $4, $5)`,
      [acme.org.id, claim, at, new Date(at.getTime() + 900_000), JSON.stringify(parts)],
    )
    expect(await post.used()).toBe(5)
    const second = await batch('usage', five)
    expect(second.body).toEqual(first.body)
    expect(await post.used()).toBe(5)
    expect(await t.database.sql('select id from usage_reservations where org_id = $1', [acme.org.id])).toEqual([])
  })

  test('an item that is refused now may have been sent before, and its error says so', async () => {
    const first = await batch('unsure', five)
    const [a] = first.body.data.map(({ id }: { id: string }) => id)
    await interrupt(t, 'unsure')
    await loseRecord(a)
    await t.database.sql('alter table suppressions rename to suppressions_away')
    const second = await batch('unsure', five).finally(() =>
      t.database.sql('alter table suppressions_away rename to suppressions'),
    )
    expect(second.body.data[0]).toEqual({
      index: 0,
      id: null,
      status: 'failed',
      error: {
        code: 'PROVIDER_ERROR',
        message: 'Not sent, but an earlier attempt was interrupted and may have sent it.',
      },
    })
    expect(second.body.data.slice(1)).toEqual(first.body.data.slice(1))
  })
})

test('SD-47 a scheduled message that a dead worker had claimed is sent under its id, and its history says so', async () => {
  const id = await post.scheduled()
  await post.advance(61)
  const [row] = await t.service.modules.messages.scheduler.claim(1)
  expect(row?.id).toBe(id)
  await post.advance(301)
  expect(await post.fire()).toBe(1)
  expect(await handovers(id)).toBe(1)
  const { body } = await post.get(id)
  expect(body.status_history.at(-1)).toMatchObject({ status: 'sent', detail: mayRepeat })
})
