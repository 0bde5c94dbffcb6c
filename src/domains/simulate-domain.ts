import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { type DkimStatus, dkimStatuses } from './shapes.ts'
import { simulateDomain } from './store.ts'

/** Words of the dev tools beside the statuses themselves. */
const words: Record<string, DkimStatus> = {
  ...Object.fromEntries(dkimStatuses.map((status) => [status, status])),
  VERIFIED: 'SUCCESS',
  UNVERIFIED: 'FAILED',
  UNREACHABLE: 'TEMPORARY_FAILURE',
}

export const reportable = Object.keys(words).map((word) => word.toLowerCase())

/** Undefined for a word that says nothing of a domain. */
export const dkimStatusOf = (word: string): DkimStatus | undefined => {
  const name = word.toUpperCase()
  return Object.hasOwn(words, name) ? words[name] : undefined
}

/** Sets what the simulated provider reports of a domain from its next check on. False when there is none. */
export type SimulateDomain = (id: string, status: DkimStatus) => Promise<boolean>

export const makeSimulateDomain =
  ({ db, clock }: { db: Db; clock: Clock }): SimulateDomain =>
  async (id, status) =>
    (await db.row(simulateDomain, { id, status, at: clock.now() })) !== undefined
