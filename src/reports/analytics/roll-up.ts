/** Adds what happened to messages to the figures of their days. */
import { inChunks } from '../../platform/db/in-chunks.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { dayMs, minuteMs } from '../../platform/ground/units.ts'
import { maxDays } from './shapes.ts'
import { rollUpCounts, rollUpEvents, sweepDays, sweepFirsts } from './store.ts'

const perStatement = 2_000
const sweptAtOnce = 1_000

/** Longer than a claim on a message lasts. Its worker has died, and the message will not be recorded as sent. */
const staleMs = 10 * minuteMs

export const makeRollUp = ({ db, clock }: { db: Db; clock: Clock }) => {
  const sweepDaysBefore = (statement: typeof sweepDays, before: string): Promise<number> =>
    inChunks(sweptAtOnce, () => db.change(statement, { before, limit: sweptAtOnce }))

  const addQueue = (): Promise<number> =>
    inChunks(perStatement, async () => {
      const staleBefore = new Date(clock.millis() - staleMs)
      return (await db.row(rollUpEvents, { limit: perStatement, staleBefore }))?.events ?? 0
    })

  const addCounts = async (): Promise<number> => {
    for (let total = 0; ; ) {
      const added = await db.row(rollUpCounts, { limit: perStatement })
      total += added?.messages ?? 0
      if ((added?.rows ?? 0) < perStatement) return total
    }
  }

  return {
    /** Empties the queue and the counts, and returns the number of events. Several workers can do this at the same time. */
    run: async () => (await addQueue()) + (await addCounts()),
    /** Deletes figures of days that are no longer shown. Returns the number of rows. */
    sweep: async () => {
      // A day longer than shown, because a read can begin before midnight and end after it.
      const before = new Date(clock.millis() - (maxDays + 1) * dayMs).toISOString().slice(0, 10)
      return (await sweepDaysBefore(sweepDays, before)) + (await sweepDaysBefore(sweepFirsts, before))
    },
  }
}

export type RollUp = ReturnType<typeof makeRollUp>
