import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { testService } from '../../test/service/service.ts'
import { postOf } from './harness.ts'

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
