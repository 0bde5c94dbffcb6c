/** Sets what the simulated registry reports, for the development tools. */
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { isId } from '../../platform/ground/ids.ts'
import { wholeRegistry } from '../../providers/registry/local-registry.ts'
import { deleteSimulated, writeSimulated } from '../../providers/registry/store.ts'
import { brandStatements } from './store/brand-rows.ts'
import { campaignStatements } from './store/campaign-rows.ts'
import { phoneNumberStatements } from './store/phone-number-rows.ts'

export const simulatedStatuses = ['submitted', 'approved', 'rejected', 'unreachable', 'reachable'] as const
export type SimulatedStatus = (typeof simulatedStatuses)[number]

export type SimulatedReport = {
  id: string
  status: SimulatedStatus
  missingFields: string[] | null
  reason: string | null
}

const existing = [
  ['brand', brandStatements.exists],
  ['campaign', campaignStatements.exists],
  ['phoneNumber', phoneNumberStatements.exists],
] as const

/** Sets what the simulated registry reports about a row. "Reachable" takes back what was set. */
export const setSimulated = async (
  { db, clock }: { db: Db; clock: Clock },
  { id, status, missingFields, reason }: SimulatedReport,
): Promise<void> => {
  if (status === 'reachable') await db.change(deleteSimulated, { ids: [id] })
  else await db.change(writeSimulated, { id, status, missingFields, reason, at: clock.now() })
}

export const makeSimulateRegistration = ({ db, clock }: { db: Db; clock: Clock }) => {
  const statementOf = (id: string) => existing.find(([kind]) => isId(kind, id))?.[1]
  const exists = async (id: string): Promise<boolean> => {
    const find = statementOf(id)
    return id === wholeRegistry || (find !== undefined && (await db.row(find, { id })) !== undefined)
  }
  return {
    /** Whether the id is one of a sender, or the whole registry. */
    accepts: (id: string) => id === wholeRegistry || statementOf(id) !== undefined,
    /** False when the row does not exist. */
    set: async (report: SimulatedReport) => {
      if (!(await exists(report.id))) return false
      await setSimulated({ db, clock }, report)
      return true
    },
  }
}

export type SimulateRegistration = ReturnType<typeof makeSimulateRegistration>
