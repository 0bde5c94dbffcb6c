import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { sweepAll } from '../signin/retention.ts'
import { sweepUsedIds } from './store/sign-in-rows.ts'

/** Deletes the ids of requests and assertions that have expired. Returns how many. */
export const makeSweepSso =
  ({ db, clock }: { db: Db; clock: Clock }): (() => Promise<number>) =>
  () =>
    sweepAll(db, sweepUsedIds, clock.now())
