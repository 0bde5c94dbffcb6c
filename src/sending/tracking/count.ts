/**
 * Counts opens and clicks, at most one an hour for each message, caller address and, for clicks, link, and a limited
 * number of them for each message and hour. One statement decides. This process remembers some of its results, so that
 * most repeated hits do not reach the database.
 */

import type { AnnounceEvents } from '../../journal/events/announce-events.ts'
import { makeBatcher } from '../../platform/db/batch.ts'
import { inChunks } from '../../platform/db/in-chunks.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { sha256 } from '../../platform/ground/crypto.ts'
import { newId, timeOfId } from '../../platform/ground/ids.ts'
import { countedNetworks } from '../../platform/ground/ip-address.ts'
import { hourMs } from '../../platform/ground/units.ts'
import { makeRecent } from './recent.ts'
import { countHits, sweepOldMarks, sweepOldWindows } from './store.ts'
import type { ClickRef, MessageRef } from './tokens.ts'

export interface CountHits {
  /**
   * Whether the open counted. It does not when it repeats within an hour, when its message has reached the limit of the
   * hour, or when the message does not track opens.
   */
  opened(ref: MessageRef, address: string | null): Promise<boolean>
  /** Whether the click counted, by the same rule. */
  clicked(ref: ClickRef, address: string | null): Promise<boolean>
  /** Deletes expired marks in chunks and returns how many. */
  sweepMarks(): Promise<number>
  /** Deletes expired counters of messages in chunks and returns how many. */
  sweepWindows(): Promise<number>
  /** Resolves when all pending counts are written. */
  drained(): Promise<void>
}

type Hit = MessageRef & {
  kind: 'opened' | 'clicked'
  url: string | null
  address: string | null
  mark: Buffer
}

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

type Needs = { db: Pick<Db, 'rows' | 'change'>; clock: Clock; announce: AnnounceEvents }

/** Runs the statement. Calls `onRepeated` and `onFull` with the end of the hour in which such a hit does not count. */
const makeRun =
  (
    { db, clock, announce }: Needs,
    onRepeated: (hit: Hit, until: number) => void,
    onFull: (hit: Hit, until: number) => void,
  ) =>
  async (hits: Hit[]): Promise<boolean[]> => {
    const now = clock.now()
    const ids = hits.map(() => newId('event', now.getTime()))
    const rows = await db.rows(countHits, {
      orgIds: hits.map((hit) => hit.orgId),
      messageIds: hits.map((hit) => hit.messageId),
      createdAt: hits.map((hit) => new Date(timeOfId(hit.messageId))),
      kinds: hits.map((hit) => hit.kind),
      marks: hits.map((hit) => hit.mark),
      urls: hits.map((hit) => hit.url),
      addresses: hits.map((hit) => hit.address),
      ids,
      now,
      anHourAgo: new Date(now.getTime() - hourMs),
      limit: maxHitsPerHour,
    })
    announce(rows.filter(({ counted }) => counted).length)
    const byId = new Map(rows.map((row) => [row.id, row]))
    return hits.map((hit, i) => {
      const { counted = false, marked_at = null, full_since = null } = byId.get(ids[i] as string) ?? {}
      const markedAt = counted ? now : marked_at
      if (markedAt) onRepeated(hit, markedAt.getTime() + hourMs)
      if (full_since) onFull(hit, full_since.getTime() + hourMs)
      return counted
    })
  }

const makeSweep =
  ({ db, clock }: Pick<Needs, 'db' | 'clock'>, statement: typeof sweepOldMarks) =>
  async (): Promise<number> => {
    const chunk = 1_000
    // Twice as long as a row is needed, so that none is deleted while a count uses it.
    const before = new Date(clock.millis() - 2 * hourMs)
    return inChunks(chunk, () => db.change(statement, { before, limit: chunk }))
  }

export const makeCountHits = (needs: Needs): CountHits => {
  const { clock } = needs
  const repeated = makeRecent(rememberedHits)
  const full = makeRecent(rememberedMessages)
  const waiting = new Map<string, Promise<boolean>>()
  const batcher = makeBatcher<Hit, boolean>({
    name: 'tracking.count_hits',
    run: makeRun(
      needs,
      (hit, until) => repeated.add(hitName(hit), until),
      (hit, until) => full.add(messageName(hit), until),
    ),
  })

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
    opened: ({ orgId, messageId }, address) => {
      const mark = markOf('opened', address, null)
      return count({ orgId, messageId, kind: 'opened', url: null, address, mark })
    },
    clicked: ({ orgId, messageId, url }, address) => {
      const mark = markOf('clicked', address, url)
      return count({ orgId, messageId, kind: 'clicked', url, address, mark })
    },
    sweepMarks: makeSweep(needs, sweepOldMarks),
    sweepWindows: makeSweep(needs, sweepOldWindows),
    drained: () => batcher.drained(),
  }
}
