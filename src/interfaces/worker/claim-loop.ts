/**
 * The loop behind every queue in our own tables: claim due rows, work on them concurrently, claim again. The module
 * that owns the table decides what a row and a claim are.
 */
import type { Log } from '../../platform/ground/log.ts'

export type ClaimLoopOptions<Row> = {
  name: string
  /** Claims up to `limit` due rows and returns them. One statement, which skips rows that other workers hold. */
  claim: (limit: number) => Promise<Row[]>
  /** Handles one row and records its outcome under the claim. A row that throws is due again when its claim expires. */
  work: (row: Row) => Promise<void>
  log: Log
  batch?: number
  concurrency?: number
  /** How long to wait before the next claim when nothing is due. */
  idleMs?: number
}

const longestBackoffMs = 30_000

export const makeClaimLoop = <Row>(options: ClaimLoopOptions<Row>) => {
  const { name, claim, work, log, batch = 100, concurrency = 20, idleMs = 500 } = options
  let running: Promise<void> | undefined
  let stopping = false
  let endWait: (() => void) | undefined
  let woken = false
  const passes = new Set<Promise<number>>()

  const handle = async (row: Row): Promise<void> => {
    try {
      await work(row)
    } catch (error) {
      log.error({ err: error, queue: name }, 'claimed row failed')
    }
  }

  const workAll = async (rows: Row[]): Promise<void> => {
    const waiting = rows.values()
    const worker = async (): Promise<void> => {
      for (const row of waiting) await handle(row)
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, rows.length) }, worker))
  }

  const wait = (ms: number): Promise<void> => {
    if (woken || stopping) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      endWait = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  const loop = async (): Promise<void> => {
    let failures = 0
    while (!stopping) {
      woken = false
      try {
        const rows = await claim(batch)
        failures = 0
        await workAll(rows)
        if (rows.length === 0) await wait(idleMs)
      } catch (error) {
        const backoff = Math.min(1_000 * 2 ** failures++, longestBackoffMs)
        log.error({ err: error, queue: name, retry_in_ms: backoff }, 'claim failed')
        await wait(backoff)
      }
    }
  }

  const workUntilEmpty = async (): Promise<number> => {
    for (let total = 0; ; ) {
      const rows = stopping ? [] : await claim(batch)
      if (rows.length === 0) return total
      await workAll(rows)
      total += rows.length
    }
  }

  /** Claims now instead of waiting, because something became due. */
  const wake = (): void => {
    woken = true
    endWait?.()
  }

  return {
    start: (): void => {
      if (stopping) throw new Error(`the ${name} loop has been drained and cannot be started again`)
      running ??= loop()
    },
    wake,
    /** Claims and works until nothing is due. Returns the number of rows worked on. */
    pass: async (): Promise<number> => {
      const passing = workUntilEmpty()
      passes.add(passing)
      return passing.finally(() => passes.delete(passing))
    },
    /** Stops claiming and waits for the rows that are claimed. */
    drain: async (): Promise<void> => {
      stopping = true
      wake()
      await Promise.allSettled([running, ...passes])
    },
  }
}

export type ClaimLoop = ReturnType<typeof makeClaimLoop>

type PassLoopOptions = Pick<ClaimLoopOptions<never>, 'name' | 'log' | 'idleMs'> & {
  /** Does everything that is due. */
  pass: () => Promise<unknown>
}

/** A loop without rows: it calls `pass` at least every `idleMs`. */
export const makePassLoop = ({ name, log, idleMs = 1_000, pass }: PassLoopOptions): ClaimLoop =>
  makeClaimLoop<never>({
    name,
    log,
    idleMs,
    claim: async () => {
      await pass()
      return []
    },
    work: async () => undefined,
  })
