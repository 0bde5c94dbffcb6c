import pg from 'pg'
import { describe, expect, test, vi } from 'vitest'
import { postOf } from '../../../test/clients/post-client.ts'
import { text, texter } from '../../../test/clients/texter.ts'
import { testService } from '../../../test/service/service.ts'

/** The statements of the pipeline. Others fill caches or run in the background, at any moment. */
const steps = new Set(['suppressions.find_blocked', 'usage.reserve', 'usage.release', 'messages.insert'])

/** The names of the steps that run during `work`, in order. */
const statementsOf = async (work: () => Promise<unknown>): Promise<string[]> => {
  const query = vi.spyOn(pg.Client.prototype, 'query')
  try {
    await work()
    const names = query.mock.calls.map(([config]) => (config as unknown as { name?: string }).name ?? '')
    return names.filter((name) => steps.has(name))
  } finally {
    query.mockRestore()
  }
}

const setUp = async () => {
  const t = await testService()
  const created = await t.org()
  const post = postOf(t, created)
  await post.sent()
  return {
    post,
    suppress: (value: string) =>
      t.ask('POST', '/api/v1/suppressions', { key: created.keys.live, body: { channel: 'email', value } }),
  }
}

test('X-305 a send waits for two statements: one reserves usage and one records the message', async () => {
  const { post } = await setUp()
  expect(await statementsOf(() => post.sent())).toEqual(['usage.reserve', 'messages.insert'])
  expect(await post.used()).toBe(2)
})

test('X-305 a suppressed recipient spends nothing: usage is reserved for the others with a second statement', async () => {
  const { post, suppress } = await setUp()
  await suppress('cc@reader.test')
  const cc = ['cc@reader.test', 'dee@reader.test']
  expect(await statementsOf(() => post.sent({ cc }))).toEqual(['usage.reserve', 'usage.reserve', 'messages.insert'])
  expect(await post.used()).toBe(3)
})

test('S-098 a send to suppressed recipients only runs one statement, and leaves neither usage nor a reservation', async () => {
  const { post, suppress } = await setUp()
  await suppress('bob@reader.test')
  const statements = await statementsOf(async () => {
    const { status, body } = await post.send({ to: ['bob@reader.test'] })
    expect([status, body.error.code]).toEqual([422, 'ALL_SUPPRESSED'])
  })
  expect([statements, await post.used(), await post.statuses()]).toEqual([['usage.reserve'], 1, { sent: 1 }])
})

describe('a key that sends many messages a second', () => {
  const busy = async () => {
    const set = await setUp()
    // The clock of the service does not move, so all sends are in one second.
    await Promise.all(Array.from({ length: 30 }, () => set.post.sent()))
    await expect
      .poll(() => statementsOf(() => set.post.sent()))
      .toEqual(['suppressions.find_blocked', 'messages.insert'])
    return { ...set, used: await set.post.used() }
  }

  test('X-305 reserves nothing for a single message: its record counts it', async () => {
    const { post, used } = await busy()
    const { sent } = await post.statuses()
    expect(used).toBe(sent)
    await post.sent({ cc: ['dee@reader.test'] })
    expect([await post.used(), await post.statuses()]).toEqual([used + 2, { sent: (sent ?? 0) + 1 }])
  })

  test('X-305 counts only the recipients that are not suppressed', async () => {
    const { post, used, suppress } = await busy()
    await suppress('cc@reader.test')
    await post.sent({ cc: ['cc@reader.test', 'dee@reader.test'] })
    expect(await post.used()).toBe(used + 2)
    const { status, body } = await post.send({ to: ['cc@reader.test'] })
    expect([status, body.error.code, await post.used()]).toEqual([422, 'ALL_SUPPRESSED', used + 2])
  })

  test('X-305 counts nothing for a message that its provider refuses', async () => {
    const { post, used } = await busy()
    const { status } = await post.send({ to: ['refused@simulator.tidings.test'] })
    expect([status, await post.used()]).toEqual([500, used])
  })
})

test('X-305 a text message of a busy key looks its recipient up once, at the handover', async () => {
  const t = await testService()
  const own = await texter(t, { plan: 'enterprise' })
  await Promise.all(Array.from({ length: 30 }, () => own.send(text())))
  await expect
    .poll(() => statementsOf(() => own.send(text())))
    .toEqual(['suppressions.find_blocked', 'messages.insert'])
  const used = await own.used()
  await own.suppress('+15125550100', 'manual')
  const { status, body } = await own.send(text())
  expect([status, body.error.code, await own.used()]).toEqual([422, 'SUPPRESSED', used])
})
