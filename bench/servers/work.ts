/** The child process of a contender that generates its own load: runs a turn on request and reports the result. */
import { percentile } from '../figures.ts'
import type { Skipped, Turn } from '../harness.ts'
import type { Sample } from '../results.ts'
import { serveBench } from './serve.ts'

export type Work = {
  /** One unit of work of one client. The client starts the next unit as soon as it is done. */
  one(client: number): Promise<void>
  /** Finishes the work that the units deferred. Its time is included, because deferred work is not saved work. */
  settle?(): Promise<void>
}

export type FromWork = { done: Sample | Skipped } | { failed: string }

export const takeTurn = async (work: Work, { clients, warmMs, measureMs }: Turn): Promise<Sample | Skipped> => {
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
