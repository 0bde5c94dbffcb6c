/**
 * Copies of chain heads that are kept outside the database. A signature cannot show that a database went back to an
 * earlier state, because the earlier head was signed too. A copy of a later head can.
 */
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import type { Clock } from '../ground/clock.ts'
import type { Log } from '../ground/log.ts'

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

export interface Witness {
  /** Remembers the newest head of an org until it is written. */
  note(head: WitnessedHead): void
  /** Writes the remembered heads if the last write is a minute ago. A failed write is logged and tried again. */
  flushDue(): Promise<void>
  flush(): Promise<void>
}

const writeEveryMs = 60_000

type Needs = { path: string; clock: Clock; log: Log }

/** Appends a line per head to a file. Each write starts on a new line, so that a torn line spoils no other. */
export const makeFileWitness = ({ path, clock, log }: Needs): Witness => {
  const pending = new Map<string, WitnessedHead>()
  let writtenAt = Number.NEGATIVE_INFINITY

  const append = async (heads: WitnessedHead[]): Promise<void> => {
    const at = clock.now().toISOString()
    const lines = heads.map((head) => `${JSON.stringify({ ...head, at })}\n`)
    const file = await open(path, 'a', 0o600)
    try {
      const { size } = await file.stat()
      await file.appendFile((size > 0 ? '\n' : '') + lines.join(''))
      await file.sync()
    } finally {
      await file.close()
    }
  }

  const flush = async (): Promise<void> => {
    if (pending.size === 0) return
    const heads = [...pending.values()]
    pending.clear()
    writtenAt = clock.millis()
    try {
      await append(heads)
    } catch (error) {
      for (const head of heads) if (!pending.has(head.org_id)) pending.set(head.org_id, head)
      log.error({ err: error, heads: heads.length }, 'audit witness write failed')
    }
  }

  return {
    note: (head) => {
      pending.set(head.org_id, head)
    },
    flushDue: async () => {
      if (clock.millis() - writtenAt >= writeEveryMs) await flush()
    },
    flush,
  }
}

/** A line of a witness file. `head` is undefined if the line is not a head, as after a write that was cut short. */
export type WitnessLine = { line: number; head: WitnessedHead | undefined }

const parseLine = (text: string): WitnessedHead | undefined => {
  try {
    const parsed = headShape.safeParse(JSON.parse(text))
    return parsed.success ? parsed.data : undefined
  } catch {
    return undefined
  }
}

export async function* readWitness(path: string): AsyncGenerator<WitnessLine> {
  let line = 0
  for await (const text of createInterface({ input: createReadStream(path, 'utf8'), crlfDelay: Infinity })) {
    line++
    if (text.trim() !== '') yield { line, head: parseLine(text) }
  }
}
