import { expect, onTestFinished, test } from 'vitest'
import { makeJsonThread } from './json-thread.ts'

const threadWith = (limits: Parameters<typeof makeJsonThread>[0] = {}) => {
  const thread = makeJsonThread(limits)
  onTestFinished(() => thread.close())
  return thread
}

test('The thread parses JSON, and reports text that is not JSON', async () => {
  const { parse } = threadWith()
  const value = { a: [1, 'é', null], b: { c: true } }
  const texts = [JSON.stringify(value), '{', '', 'null', 'undefined']
  const parsed = await Promise.all(texts.map((text) => parse(Buffer.from(text))))
  expect(parsed).toEqual([{ value }, undefined, undefined, { value: null }, undefined])
})

test('A text is refused when too many are waiting, and accepted again afterwards', async () => {
  const { parse } = threadWith({ maxWaiting: 2 })
  const texts = ['1', '2', '3'].map((text) => parse(Buffer.from(text)))
  await expect(parse(Buffer.from('4'))).rejects.toMatchObject({ code: 'UNAVAILABLE', detail: { retryAfter: 5 } })
  expect(await Promise.all(texts)).toEqual([{ value: 1 }, { value: 2 }, { value: 3 }])
  expect(await parse(Buffer.from('5'))).toEqual({ value: 5 })
})

test('The thread runs only while it is needed: not before the first text, and not after a pause or the end', async () => {
  const thread = threadWith({ idleMs: 1 })
  expect(thread.isRunning()).toBe(false)
  for (const text of ['1', '2']) {
    expect(await thread.parse(Buffer.from(text))).toEqual({ value: Number(text) })
    await expect.poll(thread.isRunning).toBe(false)
  }
  const abandoned = thread.parse(Buffer.from('3'))
  await thread.close()
  expect([await abandoned, thread.isRunning()]).toEqual([undefined, false])
})
