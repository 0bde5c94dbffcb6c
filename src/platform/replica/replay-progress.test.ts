import { expect, test } from 'vitest'
import { makeReplayProgress } from './replay-progress.ts'

test('What was written before a sample is replayed once the replica has passed the position of that sample', () => {
  const progress = makeReplayProgress()
  expect([progress.upTo(), progress.isLevel()]).toEqual([Number.NEGATIVE_INFINITY, true])
  progress.written(10, 500)
  progress.written(20, 600)
  progress.replayed(499)
  expect([progress.upTo(), progress.isLevel()]).toEqual([Number.NEGATIVE_INFINITY, false])
  progress.replayed(599)
  expect([progress.upTo(), progress.isLevel()]).toEqual([10, false])
  progress.replayed(600)
  expect([progress.upTo(), progress.isLevel()]).toEqual([20, true])
})

test('While nothing is written, a later sample moves the moment and adds nothing to wait for', () => {
  const progress = makeReplayProgress()
  for (const at of [10, 20, 30]) progress.written(at, 500)
  progress.replayed(500)
  expect([progress.upTo(), progress.isLevel()]).toEqual([30, true])
})

test('A replica that is far behind looks further behind when samples are dropped, never less far', () => {
  const progress = makeReplayProgress()
  for (let at = 1; at <= 3_000; at++) progress.written(at, at)
  progress.replayed(2_000)
  expect(progress.upTo()).toBe(Number.NEGATIVE_INFINITY)
  progress.replayed(2_500)
  expect(progress.upTo()).toBe(2_500)
  progress.forget()
  expect([progress.upTo(), progress.isLevel()]).toEqual([Number.NEGATIVE_INFINITY, true])
})
