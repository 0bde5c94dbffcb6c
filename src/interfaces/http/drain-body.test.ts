import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { drainBody, stopDraining } from './drain-body.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => vi.useRealTimers())

const requestOf = (headers: Record<string, string> = {}) => {
  const body = new PassThrough()
  const request = Object.assign(body, { headers, complete: false }) as unknown as IncomingMessage
  let drained = false
  const drain = () =>
    drainBody(request).then(() => {
      drained = true
    })
  return { body, request, drain, isDrained: () => drained }
}

test('X-333 draining waits for the end of the body, for at most 10 seconds', async () => {
  const whole = requestOf()
  const wait = whole.drain()
  whole.body.end('x')
  await wait

  const slow = requestOf()
  slow.drain()
  await vi.advanceTimersByTimeAsync(9_999)
  expect(slow.isDrained()).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(slow.isDrained()).toBe(true)
  expect(slow.body.listenerCount('data')).toBe(0)
  expect(stopDraining(slow.request)).toBe(false)
})

test('X-333 a body announced as larger than the limit is not drained, nor is that of a client that disconnected', async () => {
  await requestOf({ 'content-length': String(64 * 1_048_576 + 1) }).drain()
  const gone = requestOf()
  const wait = gone.drain()
  gone.body.destroy()
  await wait
})
