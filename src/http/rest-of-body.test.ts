import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { endRest, letRestPass } from './rest-of-body.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => vi.useRealTimers())

const requestOf = (headers: Record<string, string> = {}) => {
  const body = new PassThrough()
  const request = Object.assign(body, { headers, complete: false }) as unknown as IncomingMessage
  let passed = false
  const pass = () =>
    letRestPass(request).then(() => {
      passed = true
    })
  return { body, request, pass, passed: () => passed }
}

test('X-333 the rest is waited for until its end, for 10 seconds at most', async () => {
  const whole = requestOf()
  const wait = whole.pass()
  whole.body.end('x')
  await wait

  const slow = requestOf()
  slow.pass()
  await vi.advanceTimersByTimeAsync(9_999)
  expect(slow.passed()).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(slow.passed()).toBe(true)
  expect(slow.body.listenerCount('data')).toBe(0)
  expect(endRest(slow.request)).toBe(false)
})

test('X-333 what is announced as more than is ever read is not waited for, nor is a client that left', async () => {
  await requestOf({ 'content-length': String(64 * 1_048_576 + 1) }).pass()
  const left = requestOf()
  const wait = left.pass()
  left.body.destroy()
  await wait
})
