/** Chooses the best subject of a test, and sends it to the recipients that wait for it. */
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { iso } from '../../platform/ground/instant.ts'
import type { Log } from '../../platform/ground/log.ts'
import { countReactions, listUndecided, markDecided, releaseWaiting, type WaitingJob } from './store/winner-rows.ts'

type Reactions = { variant: string; sent: number; reacted: number }

/** The variant with the highest share of reactions. Of equal ones, the first. */
export const bestVariant = (counted: readonly Reactions[]): string => {
  const rate = ({ sent, reacted }: Reactions): number => (sent === 0 ? 0 : reacted / sent)
  const first = { variant: 'A', sent: 0, reacted: 0 }
  const ordered = counted.toSorted((a, b) => (a.variant < b.variant ? -1 : 1))
  return ordered.reduce((best, one) => (rate(one) > rate(best) ? one : best), first).variant
}

const atOnce = 100

type Needs = { db: Db; clock: Clock; log: Log }

export const makeChooseWinner = ({ db, clock, log }: Needs): (() => Promise<void>) => {
  const decide = async ({ org_id: orgId, id, winner }: WaitingJob): Promise<void> => {
    const variant = bestVariant(await db.rows(countReactions, { orgId, jobId: id, kind: winner.by }))
    const released = await db.tx(async (tx) => {
      const at = clock.now()
      if (!(await tx.row(markDecided, { orgId, id, variant, decidedAt: iso(at) }))) return 0
      // Arrays in SQL begin at 1, and letters at A.
      const index = variant.charCodeAt(0) - 64
      return tx.change(releaseWaiting, { orgId, jobId: id, index, variant, at })
    })
    log.info({ job_id: id, variant, released }, 'best subject chosen')
  }

  return async () => {
    for (;;) {
      const waiting = await db.rows(listUndecided, { now: clock.now(), limit: atOnce })
      for (const job of waiting) await decide(job)
      if (waiting.length < atOnce) return
    }
  }
}
