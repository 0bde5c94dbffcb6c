import type { RegistryReport } from '../../providers/registry/sms-registry.ts'
import type { RegistrationStatus } from '../store/registration-rows.ts'

export type StatusChange = { status: RegistrationStatus; reason: string | null }

type Standing = { status: RegistrationStatus; status_reason: string | null }

/**
 * The status after a report. `lost` says why the row cannot be verified although the registry approves it: what it
 * depends on is not. A review changes nothing, because an approval stays valid while a later version is reviewed.
 */
export const statusAfterReport = (row: Standing, report: RegistryReport, lost: string | null): StatusChange => {
  if (report.verdict === 'review') return { status: row.status, reason: row.status_reason }
  if (report.verdict !== 'approved') return { status: 'unverified', reason: report.reason }
  return lost === null ? { status: 'verified', reason: null } : { status: 'unverified', reason: lost }
}
