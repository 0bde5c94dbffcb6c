/** Counts opens and clicks, at most one an hour for each message, caller address and, for clicks, link. */
import { makeBatcher } from '../db/batch.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { sha256 } from '../ground/crypto.ts'
import { newId, timeOfId } from '../ground/ids.ts'
import { countHits, sweepOldMarks } from './store.ts'
import type { ClickRef, MessageRef } from './tokens.ts'

export interface CountHits {
  /** Whether the open counted. It does not when it repeats within an hour or when the message does not track opens. */
  opened(ref: MessageRef, address: string | null): Promise<boolean>
  /** Whether the click counted, by the same rule. */
  clicked(ref: ClickRef, address: string | null): Promise<boolean>
  /** Deletes expired marks in chunks and returns how many. */
  sweepMarks(): Promise<number>
  /** Resolves when all pending counts are written. */
  drained(): Promise<void>
}

type Hit = MessageRef & {
  kind: 'opened' | 'clicked'
  url: string | null
  address: string | null
  mark: Buffer
}

const hour = 3_600_000

/** Identifies a repeated open or click. All callers without a readable address share a mark. */
const markOf = (kind: string, address: string | null, url: string | null): Buffer =>
  sha256(`${kind} ${address ?? ''} ${url ?? ''}`).subarray(0, 16)

export const makeCountHits = ({ db, clock }: { db: Db; clock: Clock }): CountHits => {
  const run = async (hits: Hit[]): Promise<boolean[]> => {
    const now = clock.now()
    const ids = hits.map(() => newId('event', now.getTime()))
    const counted = await db.rows(countHits, {
      orgIds: hits.map((hit) => hit.orgId),
      messageIds: hits.map((hit) => hit.messageId),
      createdAt: hits.map((hit) => new Date(timeOfId(hit.messageId))),
      kinds: hits.map((hit) => hit.kind),
      marks: hits.map((hit) => hit.mark),
      urls: hits.map((hit) => hit.url),
      addresses: hits.map((hit) => hit.address),
      ids,
      now,
      anHourAgo: new Date(now.getTime() - hour),
    })
    const countedIds = new Set(counted.map(({ id }) => id))
    return ids.map((id) => countedIds.has(id))
  }

  const batcher = makeBatcher<Hit, boolean>({
    name: 'tracking.count_hits',
    run,
    // A statement cannot write the same mark twice.
    caller: ({ messageId, mark }) => messageId + mark.toString('latin1'),
    onePerCaller: true,
  })

  return {
    opened: ({ orgId, messageId }, address) => {
      const mark = markOf('opened', address, null)
      return batcher.submit({ orgId, messageId, kind: 'opened', url: null, address, mark })
    },
    clicked: ({ orgId, messageId, url }, address) => {
      const mark = markOf('clicked', address, url)
      return batcher.submit({ orgId, messageId, kind: 'clicked', url, address, mark })
    },
    sweepMarks: async () => {
      const chunk = 1_000
      // Twice as long as a mark is needed, so that no mark is deleted while a count uses it.
      const before = new Date(clock.millis() - 2 * hour)
      for (let total = 0; ; ) {
        const deleted = await db.change(sweepOldMarks, { before, limit: chunk })
        total += deleted
        if (deleted < chunk) return total
      }
    },
    drained: () => batcher.drained(),
  }
}
