import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { silentLog } from '../../platform/ground/log.ts'
import type { DeliverWebhooks } from '../../webhooks/deliver.ts'
import { makeWebhookLoop, type WebhookLoop } from './webhook-loop.ts'

let loop: WebhookLoop
let found = 0
const fanOut = vi.fn(async () => ({ events: found, deliveries: made }))
const queue = { org_id: 'org_1', endpoint_id: 'whe_1' }
let due: (typeof queue)[] = []
let made = 0
let finish: (attempts: number) => void
const lease = vi.fn(async () => due.splice(0))
const run = vi.fn(() => ({ queue, wake: () => true, done: new Promise<number>((resolve) => (finish = resolve)) }))

beforeEach(async () => {
  vi.useFakeTimers()
  vi.clearAllMocks()
  found = 0
  made = 0
  due = []
  loop = makeWebhookLoop({ fanOut, deliver: { lease, run } as unknown as DeliverWebhooks, log: silentLog() })
  loop.start()
  await vi.advanceTimersByTimeAsync(0)
  expect(fanOut).toHaveBeenCalledTimes(1)
})
afterEach(async () => {
  vi.useRealTimers()
  await loop.drain()
})

test('An announced event is fanned out at once, without another lease', async () => {
  loop.wakeFanOut()
  await vi.advanceTimersByTimeAsync(0)
  expect(fanOut).toHaveBeenCalledTimes(2)
  expect(lease).toHaveBeenCalledTimes(1)
})

test('While a fan-out finds many events, the next one waits for the poll', async () => {
  found = 50
  loop.wakeFanOut()
  await vi.advanceTimersByTimeAsync(0)
  expect(fanOut).toHaveBeenCalledTimes(2)
  for (let ms = 0; ms < 99; ms++) {
    loop.wakeFanOut()
    await vi.advanceTimersByTimeAsync(1)
  }
  expect(fanOut).toHaveBeenCalledTimes(2)
  found = 0
  await vi.advanceTimersByTimeAsync(1)
  expect(fanOut).toHaveBeenCalledTimes(3)
  loop.wakeFanOut()
  await vi.advanceTimersByTimeAsync(0)
  expect(fanOut).toHaveBeenCalledTimes(4)
})

test.each([
  ['leased again at once', 'some', 1],
  ['not leased again', 'no', 0],
])('A released queue is %s when fan-out has made %s deliveries meanwhile', async (_, __, deliveries) => {
  due = [queue]
  loop.wake()
  await vi.advanceTimersByTimeAsync(0)
  expect([run.mock.calls.length, lease.mock.calls.length]).toEqual([1, 2])
  made = deliveries
  loop.wakeFanOut()
  await vi.advanceTimersByTimeAsync(0)
  made = 0
  const before = lease.mock.calls.length
  finish(1)
  await vi.advanceTimersByTimeAsync(0)
  expect(lease.mock.calls.length - before).toBe(deliveries)
})
