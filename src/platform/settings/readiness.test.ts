import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Db } from '../db/pool.ts'
import { makeRefusedWrites } from '../db/refused-writes.ts'
import { systemClock } from '../ground/clock.ts'
import { makeReadiness } from './readiness.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const coded = (code: string) => Object.assign(new Error(code), { code })

/** A database whose answers the test decides. */
const setUp = () => {
  const refusedWrites = makeRefusedWrites()
  const change = vi.fn(async () => 1)
  const query = vi.fn(async (_text: string) => undefined)
  const connect = vi.fn(async () => ({ query, end: async () => undefined }))
  const db = { change, connect } as unknown as Db
  const ready = makeReadiness({
    db,
    clock: systemClock,
    refusedWrites,
    workerRuns: () => true,
    stopping: () => false,
  })
  const isReady = () =>
    ready().then(
      () => true,
      () => false,
    )
  return { refusedWrites, change, connect, query, isReady }
}

test('Any number of questions causes one probe, and its result is shared for half a second', async () => {
  const { change, connect, isReady } = setUp()
  expect(new Set(await Promise.all(Array.from({ length: 500 }, isReady)))).toEqual(new Set([true]))
  vi.advanceTimersByTime(499)
  await isReady()
  expect(change).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(1)
  await Promise.all(Array.from({ length: 500 }, isReady))
  expect(change).toHaveBeenCalledTimes(2)
  expect(connect).not.toHaveBeenCalled()
})

test('After a write was refused for want of room, the service is ready once a probe that takes room succeeds', async () => {
  const { refusedWrites, query, connect, isReady } = setUp()
  query.mockRejectedValue(coded('53100'))
  expect(await isReady()).toBe(true)
  for (const code of ['23505', '53300', '57P01', 'ECONNREFUSED']) refusedWrites.note(coded(code))
  vi.advanceTimersByTime(500)
  expect([await isReady(), connect.mock.calls.length]).toEqual([true, 0])
  refusedWrites.note(coded('53100'))
  vi.advanceTimersByTime(500)
  expect(new Set(await Promise.all(Array.from({ length: 500 }, isReady)))).toEqual(new Set([false]))
  expect(connect).toHaveBeenCalledTimes(1)
  query.mockResolvedValue(undefined)
  vi.advanceTimersByTime(500)
  expect([await isReady(), connect.mock.calls.length]).toEqual([true, 2])
  vi.advanceTimersByTime(500)
  expect([await isReady(), connect.mock.calls.length]).toEqual([true, 2])
})

test('A write that is refused while a probe runs is followed by another probe', async () => {
  const { refusedWrites, query, connect, isReady } = setUp()
  refusedWrites.note(coded('53100'))
  query.mockImplementationOnce(async () => void refusedWrites.note(coded('53100')))
  expect(await isReady()).toBe(true)
  vi.advanceTimersByTime(500)
  await isReady()
  vi.advanceTimersByTime(500)
  await isReady()
  expect(connect).toHaveBeenCalledTimes(2)
})

test('A role that must not create temporary tables does not make the service unready', async () => {
  const { refusedWrites, query, isReady } = setUp()
  refusedWrites.note(coded('53100'))
  query.mockRejectedValue(coded('42501'))
  expect(await isReady()).toBe(true)
})

test('Nobody waits longer than five seconds for a probe, and a dead one neither blocks nor decides later', async () => {
  const { change, isReady } = setUp()
  const hung = Promise.withResolvers<number>()
  change.mockReturnValueOnce(hung.promise)
  const asked = Promise.all(Array.from({ length: 100 }, isReady))
  await vi.advanceTimersByTimeAsync(5_000)
  expect(new Set(await asked)).toEqual(new Set([false]))
  expect(change).toHaveBeenCalledTimes(1)
  expect(await isReady()).toBe(true)
  hung.reject(new Error('Query read timeout'))
  expect(await isReady()).toBe(true)
  expect(change).toHaveBeenCalledTimes(2)
})
