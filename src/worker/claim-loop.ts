/**
 * The engine behind every queue of ours: claim due rows, work on them side by side, claim again. What a row is
 * and what its claim means stays with the slice; this only keeps the loop going and ends it well.
 */
import type { Log } from '../ground/log.ts'

export type ClaimLoopOptions<Row> = {
  name: string
  /** Stamps up to `limit` due rows as ours and returns them: one statement, skipping rows others hold. */
  claim: (limit: number) => Promise<Row[]>
  /** Handles one row and records its outcome under the stamp. A throw leaves the claim to grow stale. */
  work: (row: Row) => Promise<void>
  log: Log
  batch?: number
  concurrency?: number
  /** How long to rest when nothing is due. */
  idleMs?: number
}

export interface ClaimLoop {
  start(): void
  /** Something became due: look now instead of resting on. */
  wake(): void
  /** One pass over all that is due now, to the end; returns how many rows were worked on. */
  pass(): Promise<number>
  /** Claims no more and waits for what is claimed. */
  drain(): Promise<void>
}

const longestBackoffMs = 30_000

export const makeClaimLoop = <Row>(options: ClaimLoopOptions<Row>): ClaimLoop => {
  const { name, claim, work, log, batch = 100, concurrency = 20, idleMs = 500 } = options
  let running: Promise<void> | undefined
  let stopping = false
  let rested: (() => void) | undefined
  let woken = false
  const passes = new Set<Promise<number>>()

  const handle = async (row: Row): Promise<void> => {
    try {
      await work(row)
    } catch (error) {
      log.error({ err: error, queue: name }, 'a claimed row failed; its claim will be taken up again once stale')
    }
  }

  const workAll = async (rows: Row[]): Promise<void> => {
    const waiting = rows.values()
    const lane = async (): Promise<void> => {
      for (const row of waiting) await handle(row)
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, rows.length) }, lane))
  }

  const rest = (ms: number): Promise<void> => {
    if (woken || stopping) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      rested = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  const loop = async (): Promise<void> => {
    let faults = 0
    while (!stopping) {
      woken = false
      try {
        const rows = await claim(batch)
        faults = 0
        await workAll(rows)
        if (rows.length === 0) await rest(idleMs)
      } catch (error) {
        const backoff = Math.min(1_000 * 2 ** faults++, longestBackoffMs)
        log.error({ err: error, queue: name, retry_in_ms: backoff }, 'claiming failed')
        await rest(backoff)
      }
    }
  }

  const passOver = async (): Promise<number> => {
    for (let total = 0; ; ) {
      const rows = stopping ? [] : await claim(batch)
      if (rows.length === 0) return total
      await workAll(rows)
      total += rows.length
    }
  }

  const wake = (): void => {
    woken = true
    rested?.()
  }

  return {
    start: () => {
      if (stopping) throw new Error(`the ${name} loop was drained already`)
      running ??= loop()
    },
    wake,
    pass: async () => {
      const passing = passOver()
      passes.add(passing)
      return passing.finally(() => passes.delete(passing))
    },
    drain: async () => {
      stopping = true
      wake()
      await Promise.allSettled([running, ...passes])
    },
  }
}
