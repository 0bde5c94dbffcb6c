import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { silentLog } from '../ground/log.ts'
import type { DeliverWebhooks } from '../webhooks/deliver.ts'
import { makeWebhookLoop, type WebhookLoop } from './webhook-loop.ts'

let loop: WebhookLoop
let found = 0
const fanOut = vi.fn(async () => ({ events: found, deliveries: 0 }))
const lease = vi.fn(async () => [])

beforeEach(async () => {
  vi.useFakeTimers()
  vi.clearAllMocks()
  found = 0
  loop = makeWebhookLoop({ fanOut, deliver: { lease } as unknown as DeliverWebhooks, log: silentLog() })
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
