/** The child process of a contender that generates its own load: runs a turn on request and reports the result. */
import { percentile } from '../figures.ts'
import type { Skipped, Turn } from '../harness.ts'
import type { Sample } from '../results.ts'
import { serveBench } from './serve.ts'

export type Work = {
  /** One unit of work of one client. The client starts the next unit as soon as it is done. */
  one(client: number): Promise<void>
  /** For units that last longer than a turn: a turn runs this many, one after another, however long they take. */
  units?: number
  /** For work that cannot be repeated: a turn after the warm-up runs it once, and it measures itself. */
  whole?(clients: number): Promise<Sample>
  /** Finishes the work that the units deferred. Its time is included, because deferred work is not saved work. */
  settle?(): Promise<void>
}

export type FromWork = { done: Sample | Skipped } | { failed: string }

/** The figures of long units, which are counted by their own time. */
const takeUnits = async (work: Work, units: number): Promise<Sample> => {
  const took: number[] = []
  for (let n = 0; n < units; n++) {
    const began = performance.now()
    await work.one(0)
    took.push(performance.now() - began)
  }
  const sorted = Float64Array.from(took).sort()
  const elapsedMs = took.reduce((sum, ms) => sum + ms, 0)
  return { perSecond: (units * 1000) / elapsedMs, p50Ms: percentile(sorted, 50), p99Ms: percentile(sorted, 99) }
}

export const takeTurn = async (work: Work, turn: Turn): Promise<Sample | Skipped> => {
  const { clients, warmMs, measureMs } = turn
  if (work.whole && !turn.warmUp) return work.whole(clients)
  if (work.units !== undefined) return takeUnits(work, work.units)
  const took: number[] = []
  const from = performance.now() + warmMs
  const to = from + measureMs
  const client = async (n: number): Promise<void> => {
    for (let began = performance.now(); began < to; ) {
      await work.one(n)
      const ended = performance.now()
      if (ended >= from && ended < to) took.push(ended - began)
      began = ended
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, n) => client(n)))
  const settling = performance.now()
  await work.settle?.()
  // Opening a hundred sessions can take longer than a quick round.
  if (took.length === 0) return { skipped: `no unit finished within the measured ${measureMs} ms` }
  const elapsedMs = measureMs + (performance.now() - settling)
  const sorted = Float64Array.from(took).sort()
  return {
    perSecond: (took.length * 1000) / elapsedMs,
    p50Ms: percentile(sorted, 50),
    p99Ms: percentile(sorted, 99),
  }
}

export const workBench = <Params>(start: (params: Params) => Promise<Work & { close(): Promise<void> }>): void => {
  serveBench(async (params: Params) => {
    const work = await start(params)
    process.on('message', async (turn: Turn) => {
      const answer: FromWork = await takeTurn(work, turn).then(
        (done) => ({ done }),
        (error: unknown) => ({
          failed: error instanceof Error ? (error.stack ?? error.message) : String(error),
        }),
      )
      process.send?.(answer)
    })
    return { ready: {}, close: work.close }
  })
}
