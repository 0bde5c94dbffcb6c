import { expect, test } from 'vitest'
import { makePauseRecorder } from './event-loop.ts'

const record = () => {
  const lines: [object, string][] = []
  let long = 0
  const log = { warn: (fields: object, message: string) => void lines.push([fields, message]) }
  const recorder = makePauseRecorder({ log: log as never, countLong: () => long++ }, { at: 0, cpu: 0 })
  let [at, cpu] = [0, 0]
  /** A tick that is late by so many milliseconds. */
  const late = (ms: number, cpuMs = ms) => {
    at += 20 + ms
    cpu += cpuMs
    recorder.tick({ at, cpu })
  }
  return { recorder, lines, late, count: () => long }
}

test('A window has the longest delay and the 99th percentile, and the next window starts empty', () => {
  const { recorder, late, lines, count } = record()
  for (let i = 0; i < 98; i++) late(1)
  late(100)
  late(200, 150)
  expect(recorder.takeWindow()).toEqual({
    max: expect.closeTo(0.2, 3),
    maxCpu: expect.closeTo(0.15, 3),
    p99: expect.closeTo(0.1, 3),
  })
  expect(recorder.takeWindow()).toEqual({ max: 0, maxCpu: 0, p99: 0 })
  late(3)
  expect(recorder.takeWindow().max).toBeCloseTo(0.003, 4)
  expect([lines, count()]).toEqual([[], 0])
})

test('A pause of 250 ms is not counted, and a longer one is counted and logged with its length and processor time', () => {
  const { lines, late, count } = record()
  late(250)
  expect([lines, count()]).toEqual([[], 0])
  late(251, 12)
  expect(count()).toBe(1)
  expect(lines).toEqual([[{ longest_ms: 251, cpu_ms: 12, pauses: 1 }, 'event loop paused']])
})

test('At most one line is logged in ten seconds, and it names the longest pause since the previous line', () => {
  const { lines, late, count } = record()
  late(300)
  late(400)
  late(900, 850)
  late(500)
  expect([lines.length, count()]).toEqual([1, 4])
  for (let i = 0; i < 500; i++) late(0)
  expect(lines.slice(1)).toEqual([[{ longest_ms: 900, cpu_ms: 850, pauses: 3 }, 'event loop paused']])
  for (let i = 0; i < 1_000; i++) late(0)
  expect(lines.length).toBe(2)
})
