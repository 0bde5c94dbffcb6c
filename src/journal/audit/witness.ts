/**
 * Copies of chain heads that are kept outside the database. A signature cannot show that a database went back to an
 * earlier state, because the earlier head was signed too. A copy of a later head can.
 */
import { z } from 'zod'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Log } from '../../platform/ground/log.ts'

/** The newest link of a chain at some time. `org_id` is `register` for the newest row of the register. */
const headShape = z.object({
  org_id: z.string().max(64),
  seq: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  signature: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
})
export type WitnessedHead = z.infer<typeof headShape>

/** `org:seq:digest:signature`, for the command line. */
export const headToken = ({ org_id, seq, digest, signature }: WitnessedHead): string =>
  [org_id, seq, digest, signature ?? ''].join(':')

export const parseHeadToken = (token: string): WitnessedHead | undefined => {
  const [org_id, seq, digest, signature] = token.trim().split(':')
  const parsed = headShape.safeParse({ org_id, seq: Number(seq), digest, signature })
  return parsed.success ? parsed.data : undefined
}

/** A head and the time at which it was new. */
export type NotedHead = WitnessedHead & { at: string }

/**
 * Where heads are written. `written` is called for each head that is stored; the others are written again later. The
 * promise rejects if some head is not stored.
 */
interface HeadWriter {
  write(heads: NotedHead[], written: (head: NotedHead) => void): Promise<void>
  close(): void
}

const writeEveryMs = 60_000

type Needs = {
  writer: HeadWriter
  clock: Clock
  log: Log
  /** Whether `flushDue` returns before the heads are written, because the writer can be slow. */
  inBackground: boolean
}

export const makeWitness = ({ writer, clock, log, inBackground }: Needs) => {
  const pending = new Map<string, { head: NotedHead; since: number }>()
  let triedAt = Number.NEGATIVE_INFINITY
  let isFailing = false
  let flushing: Promise<void> | undefined

  const forget = (head: NotedHead): void => {
    const newest = pending.get(head.org_id)
    if (newest?.head === head) pending.delete(head.org_id)
    else if (newest) newest.since = clock.millis()
  }

  const writePending = async (): Promise<void> => {
    if (pending.size === 0) return
    triedAt = clock.millis()
    const heads = [...pending.values()].map(({ head }) => head)
    try {
      await writer.write(heads, forget)
      if (isFailing) log.info({ heads: heads.length }, 'audit witness written again')
      isFailing = false
    } catch (error) {
      // Logged once. The metric shows for how long it lasts.
      if (!isFailing) log.error({ err: error, heads: pending.size }, 'audit witness write failed')
      isFailing = true
    }
  }

  const flush = async (): Promise<void> => {
    await flushing
    flushing = writePending().finally(() => {
      flushing = undefined
    })
    await flushing
  }

  return {
    /** Remembers the newest head of an org until it is written. */
    note: (head: WitnessedHead): void => {
      const at = clock.now().toISOString()
      const since = pending.get(head.org_id)?.since ?? clock.millis()
      pending.set(head.org_id, { head: { ...head, at }, since })
    },
    /** Writes the remembered heads if the last write is a minute ago. A failed write is logged and tried again. */
    flushDue: async (): Promise<void> => {
      if (pending.size === 0 || flushing || clock.millis() - triedAt < writeEveryMs) return
      const done = flush()
      if (!inBackground) await done
    },
    flush,
    /** For how long the oldest remembered head has not been written. */
    unwrittenMs: (): number => {
      const now = clock.millis()
      return [...pending.values()].reduce((oldest, { since }) => Math.max(oldest, now - since), 0)
    },
    /** Writes what is left. */
    close: async (): Promise<void> => {
      await flush()
      writer.close()
    },
  }
}

export type Witness = ReturnType<typeof makeWitness>

/**
 * A line of a witness file, or an object and its number in the order of names. `head` is undefined if it is not a head,
 * as after a write that was cut short.
 */
export type WitnessLine = { line: number; head: WitnessedHead | undefined }

export const parseWitnessLine = (text: string): WitnessedHead | undefined => {
  try {
    const parsed = headShape.safeParse(JSON.parse(text))
    return parsed.success ? parsed.data : undefined
  } catch {
    return undefined
  }
}
