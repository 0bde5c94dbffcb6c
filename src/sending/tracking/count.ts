/**
 * Counts opens and clicks, at most one an hour for each message, caller address and, for clicks, link, and a limited
 * number of them for each message and hour. One statement decides. This process remembers some of its results, so that
 * most repeated hits do not reach the database.
 */
import type { AnnounceEvents } from '../../journal/events/announce-events.ts'
import { makeBatcher } from '../../platform/db/batch.ts'
import { inChunks } from '../../platform/db/in-chunks.ts'
import { listsOf } from '../../platform/db/lists.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { sha256 } from '../../platform/ground/crypto.ts'
import { newId, timeOfId } from '../../platform/ground/ids.ts'
import { countedNetworks } from '../../platform/ground/ip-address.ts'
import { hourMs } from '../../platform/ground/units.ts'
import { countHits, type HitRow, sweepOldMarks, sweepOldWindows } from './store.ts'
import type { ClickRef, MessageRef } from './tokens.ts'

type Hit = Omit<HitRow, 'id' | 'createdAt'>

/** Counted opens and clicks of one message in an hour. */
export const maxHitsPerHour = 10_000

/** About 15 MB for each process. */
const rememberedHits = 100_000
const rememberedMessages = 10_000

/** How many hits wait for a slow database. Further ones are lost. */
const maxWaiting = 10_000

/** Identifies a repeated open or click. All callers of an IPv6 /64, or without a readable address, share a mark. */
const markOf = (kind: string, address: string | null, url: string | null): Buffer =>
  sha256(`${kind} ${countedNetworks(address)[0].name} ${url ?? ''}`).subarray(0, 16)

const messageName = ({ orgId, messageId }: Hit): string => `${orgId} ${messageId}`
const hitName = (hit: Hit): string => `${messageName(hit)} ${hit.mark.toString('latin1')}`

/** Remembers names until an instant, in the memory of this process. At its capacity it forgets the oldest name. */
export const makeRecent = (capacity: number) => {
  const untilByName = new Map<string, number>()
  return {
    has: (name: string, now: number): boolean => {
      const until = untilByName.get(name)
      if (until === undefined) return false
      if (now < until) return true
      untilByName.delete(name)
      return false
    },
    add: (name: string, until: number): void => {
      // A name that is added again moves to the end.
      untilByName.delete(name)
      untilByName.set(name, until)
      if (untilByName.size <= capacity) return
      const [oldest] = untilByName.keys()
      untilByName.delete(oldest as string)
    },
    size: () => untilByName.size,
  }
}

type Needs = { db: Pick<Db, 'rows' | 'change'>; clock: Clock; announce: AnnounceEvents }

export const makeCountHits = ({ db, clock, announce }: Needs) => {
  const repeated = makeRecent(rememberedHits)
  const full = makeRecent(rememberedMessages)
  const waiting = new Map<string, Promise<boolean>>()

  const run = async (hits: Hit[]): Promise<boolean[]> => {
    const now = clock.now()
    const rows = hits.map((hit): HitRow => {
      return { ...hit, id: newId('event', now.getTime()), createdAt: new Date(timeOfId(hit.messageId)) }
    })
    const results = await db.rows(countHits, {
      ...listsOf(rows, ['orgId', 'messageId', 'createdAt', 'kind', 'mark', 'url', 'address', 'id']),
      now,
      anHourAgo: new Date(now.getTime() - hourMs),
      limit: maxHitsPerHour,
    })
    announce(results.filter(({ counted }) => counted).length)
    const byId = new Map(results.map((result) => [result.id, result]))
    return rows.map((hit) => {
      const { counted = false, marked_at = null, full_since = null } = byId.get(hit.id) ?? {}
      const markedAt = counted ? now : marked_at
      if (markedAt) repeated.add(hitName(hit), markedAt.getTime() + hourMs)
      if (full_since) full.add(messageName(hit), full_since.getTime() + hourMs)
      return counted
    })
  }
  const batcher = makeBatcher<Hit, boolean>({ name: 'tracking.count_hits', run })

  const sweep = (statement: typeof sweepOldMarks): Promise<number> => {
    const chunk = 1_000
    // Twice as long as a row is needed, so that none is deleted while a count uses it.
    const before = new Date(clock.millis() - 2 * hourMs)
    return inChunks(chunk, () => db.change(statement, { before, limit: chunk }))
  }

  const count = async (hit: Hit): Promise<boolean> => {
    const name = hitName(hit)
    const now = clock.millis()
    if (repeated.has(name, now) || full.has(messageName(hit), now)) return false
    // The same hit waits only once, because a statement cannot write the same mark twice.
    const first = waiting.get(name)
    if (first) return first.then(() => false)
    if (waiting.size >= maxWaiting) throw new Error('too many opens and clicks are waiting to be counted')
    const counting = batcher.submit(hit).finally(() => waiting.delete(name))
    waiting.set(name, counting)
    return counting
  }

  return {
    /**
     * Whether the open counted. It does not when it repeats within an hour, when its message has reached the limit of
     * the hour, or when the message does not track opens.
     */
    opened: ({ orgId, messageId }: MessageRef, address: string | null): Promise<boolean> => {
      const mark = markOf('opened', address, null)
      return count({ orgId, messageId, kind: 'opened', url: null, address, mark })
    },
    /** Whether the click counted, by the same rule. */
    clicked: ({ orgId, messageId, url }: ClickRef, address: string | null): Promise<boolean> => {
      const mark = markOf('clicked', address, url)
      return count({ orgId, messageId, kind: 'clicked', url, address, mark })
    },
    /** Deletes expired marks in chunks and returns how many. */
    sweepMarks: () => sweep(sweepOldMarks),
    /** Deletes expired counters of messages in chunks and returns how many. */
    sweepWindows: () => sweep(sweepOldWindows),
    drained: (): Promise<void> => batcher.drained(),
  }
}

export type CountHits = ReturnType<typeof makeCountHits>
