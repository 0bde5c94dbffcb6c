import type { StoreNeeds } from '../../platform/db/pool.ts'
import { dayMs } from '../../platform/ground/units.ts'
import { sweepClients } from './store/client-rows.ts'
import { sweepAccessTokens, sweepGrants } from './store/grant-rows.ts'
import { sweepRequests } from './store/request-rows.ts'

/** Deletes expired requests, grants and tokens, and clients that nobody uses. Returns how many rows. */
export const makeSweepOAuth =
  ({ db, clock }: StoreNeeds) =>
  async (): Promise<number> => {
    const at = clock.now()
    const before = (days: number): Date => new Date(at.getTime() - days * dayMs)
    let swept = 0
    for (const sweep of [sweepRequests, sweepAccessTokens, sweepGrants]) swept += await db.change(sweep, { at })
    return swept + (await db.change(sweepClients, { unusedBefore: before(1), usedBefore: before(90) }))
  }
