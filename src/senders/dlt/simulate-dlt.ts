/** Sets what the simulated registry reports about a DLT registration, for the development tools. */
import type { Db } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import { deleteSimulated, writeSimulated } from '../../providers/registry/store.ts'
import { dltReports, findDltInAnyOrg } from '../store/dlt-status-rows.ts'
import { dltKindOf } from './dlt-status.ts'

export const simulatedDltStatuses = [...dltReports, 'reachable'] as const

type Report = {
  id: string
  status: (typeof simulatedDltStatuses)[number]
  missingFields: string[] | null
  reason: string | null
}

export interface SimulateDlt {
  /** Whether the id is one of a DLT registration. */
  accepts(id: string): boolean
  /** False when the row does not exist. */
  set(report: Report): Promise<boolean>
}

export const makeSimulateDlt = ({ db, clock }: { db: Db; clock: Clock }): SimulateDlt => ({
  accepts: (id) => dltKindOf(id) !== undefined,
  set: async ({ id, status, missingFields, reason }) => {
    if (!(await db.row(findDltInAnyOrg, { id }))) return false
    if (status === 'reachable') await db.change(deleteSimulated, { ids: [id] })
    else await db.change(writeSimulated, { id, status, missingFields, reason, at: clock.now() })
    return true
  },
})
