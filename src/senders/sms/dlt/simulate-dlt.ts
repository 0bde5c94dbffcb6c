/** Sets what the simulated registry reports about a DLT registration, for the development tools. */
import type { Db } from '../../../platform/db/pool.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import { type SimulatedReport, setSimulated } from '../simulate-registration.ts'
import { dltReports, findDltInAnyOrg } from '../store/dlt-rows.ts'
import { dltKindOf } from './dlt-status.ts'

export const simulatedDltStatuses = [...dltReports, 'reachable'] as const

export interface SimulateDlt {
  /** Whether the id is one of a DLT registration. */
  accepts(id: string): boolean
  /** False when the row does not exist. */
  set(report: SimulatedReport): Promise<boolean>
}

export const makeSimulateDlt = ({ db, clock }: { db: Db; clock: Clock }): SimulateDlt => ({
  accepts: (id) => dltKindOf(id) !== undefined,
  set: async (report) => {
    if (!(await db.row(findDltInAnyOrg, { id: report.id }))) return false
    await setSimulated({ db, clock }, report)
    return true
  },
})
