/** Sets what the simulated registry reports about a DLT registration, for the development tools. */
import type { Db } from '../../../platform/db/pool.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import { type SimulatedReport, setSimulated } from '../simulate-registration.ts'
import { dltReports, findDltInAnyOrg } from '../store/dlt-rows.ts'
import { dltKindOf } from './dlt-status.ts'

export const simulatedDltStatuses = [...dltReports, 'reachable'] as const

export const makeSimulateDlt = ({ db, clock }: { db: Db; clock: Clock }) => ({
  /** Whether the id is one of a DLT registration. */
  accepts: (id: string) => dltKindOf(id) !== undefined,
  /** False when the row does not exist. */
  set: async (report: SimulatedReport) => {
    if (!(await db.row(findDltInAnyOrg, { id: report.id }))) return false
    await setSimulated({ db, clock }, report)
    return true
  },
})

export type SimulateDlt = ReturnType<typeof makeSimulateDlt>
