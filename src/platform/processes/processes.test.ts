import { EventEmitter } from 'node:events'
import { Counter, Gauge, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { openWire } from './process-wire.ts'
import { countForProcesses, makeSharedLimiter } from './shared-limiter.ts'
import { keepMarksForProcesses, makeSharedMarks } from './shared-marks.ts'
import { makeMetricSums, type ProcessMetrics } from './sum-metrics.ts'

/** Both ends of a channel that copies messages as JSON, like the channel of a child process. */
const connect = () => {
  const [left, right] = [new EventEmitter(), new EventEmitter()]
  const sent: unknown[] = []
  const end = (to: EventEmitter, from: EventEmitter) =>
    openWire({
      send: (message) => {
        sent.push(message)
        const copy = JSON.parse(JSON.stringify(message))
        setImmediate(() => to.emit('message', copy))
      },
      onMessage: (listener) => void from.on('message', listener),
    })
  return {
    primary: end(right, left),
    child: end(left, right),
    sent,
    foreign: (it: unknown) => right.emit('message', it),
  }
}

test('A question gets its own answer, and undefined if there is no answer, if it fails or if the other process ends', async () => {
  const { primary, child, foreign } = connect()
  primary.on('double', async (n: number) => n * 2)
  primary.on('broken', () => {
    throw new Error('broken')
  })
  primary.on('slow', () => new Promise(() => undefined))
  foreign({ type: 'from a library' })
  foreign(null)
  expect(await Promise.all([child.ask('double', 2), child.ask('double', 5)])).toEqual([4, 10])
  expect([await child.ask('unknown'), await child.ask('broken')]).toEqual([undefined, undefined])
  const slow = child.ask('slow')
  child.close()
  expect([await slow, await child.ask('double', 1)]).toEqual([undefined, undefined])
})

const bucket = { name: '{org}:key', limit: 5, windowMs: 60_000 }

test('Two processes count in the same windows, and the calls of one turn share a message', async () => {
  const count = countForProcesses()
  const wires = [connect(), connect()]
  const limiters = wires.map(({ primary, child }) => {
    count(primary)
    return makeSharedLimiter(child)
  })
  const at = Date.now()
  const results = await Promise.all(
    Array.from({ length: 8 }, (_, i) =>
      limiters[i % 2]?.take([{ name: '{org}:all', limit: 9, windowMs: 60_000 }, bucket], at),
    ),
  )
  expect(results.filter((result) => result?.allowed)).toHaveLength(5)
  expect(results.filter((result) => result?.allowed === false && result.refusedBy === 1)).toHaveLength(3)
  // A question and an answer.
  for (const { sent } of wires) expect(sent).toHaveLength(2)
  expect(await limiters[0]?.peek(bucket, at)).toEqual({ limit: 5, remaining: 0, resetAt: at + 60_000 })
  expect(await limiters[1]?.take([], at)).toEqual({ allowed: true, states: [] })
  expect(() => limiters[1]?.take([bucket], at, 0)).toThrow(RangeError)
})

test('A call is allowed when the primary has ended', async () => {
  const { child } = connect()
  child.close()
  expect(await makeSharedLimiter(child).take([bucket], Date.now())).toBeNull()
})

test('A process sees the writes of another one at once, and knows nothing when the primary has ended', async () => {
  const keep = keepMarksForProcesses()
  const wires = [connect(), connect()]
  const [one, two] = wires.map(({ primary, child }) => {
    keep(primary)
    return makeSharedMarks(child)
  })
  expect(await two?.age(['org_1'])).toBe(Number.POSITIVE_INFINITY)
  await one?.wrote(['org_1', 'usr_1'])
  const age = (await two?.age(['org_1'])) as number
  expect(age).toBeGreaterThanOrEqual(0)
  expect(age).toBeLessThan(60_000)
  expect(await two?.age(['org_2'])).toBe(Number.POSITIVE_INFINITY)
  wires[1]?.child.close()
  expect(await two?.age(['org_1'])).toBeNull()
})

const metricsWith = async (requests: number, pause: number, bytes: number): Promise<ProcessMetrics> => {
  const registry = new Registry()
  const registers = [registry]
  new Counter({ name: 'requests', help: 'x', labelNames: ['status'], registers }).inc({ status: '200' }, requests)
  new Gauge({ name: 'pause', help: 'x', aggregator: 'max', registers }).set(pause)
  new Gauge({ name: 'bytes', help: 'x', aggregator: 'sum', registers }).set(bytes)
  return JSON.parse(JSON.stringify(await registry.getMetricsAsJSON()))
}

test('Metrics are summed, gauges are the largest value or the sum, and counters of ended processes stay', async () => {
  const sums = makeMetricSums()
  const [one, two] = [await metricsWith(3, 0.5, 10), await metricsWith(4, 0.2, 20)]
  const valuesOf = (text: string) => text.split('\n').filter((line) => line && !line.startsWith('#'))
  expect(valuesOf(await sums.text([one, two]))).toEqual(['requests{status="200"} 7', 'pause 0.5', 'bytes 30'])
  for (let i = 0; i < 20; i++) sums.ended(one)
  await expect
    .poll(async () => valuesOf(await sums.text([two])))
    .toEqual(['requests{status="200"} 64', 'pause 0.2', 'bytes 20'])
})
