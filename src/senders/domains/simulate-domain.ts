import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { type DkimStatus, dkimStatuses } from './shapes.ts'
import { simulateDomain } from './store/domain-checks.ts'

/** The statuses, and shorter names for some of them. */
const statusByName: Record<string, DkimStatus> = {
  ...Object.fromEntries(dkimStatuses.map((status) => [status, status])),
  VERIFIED: 'SUCCESS',
  UNVERIFIED: 'FAILED',
  UNREACHABLE: 'TEMPORARY_FAILURE',
}

/** The names that `dkimStatusOf` accepts, in lower case. */
export const reportable = Object.keys(statusByName).map((name) => name.toLowerCase())

/** Undefined for an unknown name. */
export const dkimStatusOf = (text: string): DkimStatus | undefined => {
  const name = text.toUpperCase()
  return Object.hasOwn(statusByName, name) ? statusByName[name] : undefined
}

/** Sets the status that the simulated provider reports from the next check on. False when the domain does not exist. */
export type SimulateDomain = (id: string, status: DkimStatus) => Promise<boolean>

export const makeSimulateDomain =
  ({ db, clock }: { db: Db; clock: Clock }): SimulateDomain =>
  async (id, status) =>
    (await db.row(simulateDomain, { id, status, at: clock.now() })) !== undefined
