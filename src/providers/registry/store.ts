/** What the simulated registry was sent, and what the development tools make it report. */
import { statement } from '../../platform/db/statement.ts'

/**
 * `submitted`, `approved`, `rejected` and `unreachable` are set by the development tools. `received` is a submission,
 * which is approved or rejected by its missing fields.
 */
export type SimulatedRow = {
  id: string
  status: 'received' | 'submitted' | 'approved' | 'rejected' | 'unreachable'
  missing_fields: string[] | null
  reason: string | null
}

export const findSimulated = statement<{ ids: string[] }, SimulatedRow>(
  'registry.find_simulated',
  'select id, status, missing_fields, reason from simulated_registry where id = any(:ids::text[])',
)

export const writeSimulated = statement<{
  id: string
  status: SimulatedRow['status']
  missingFields: string[] | null
  reason: string | null
  at: Date
}>(
  'registry.write_simulated',
  `insert into simulated_registry (id, status, missing_fields, reason, at)
   values (:id, :status, :missingFields, :reason, :at)
   on conflict (id) do update set status = excluded.status, missing_fields = excluded.missing_fields,
     reason = excluded.reason, at = excluded.at`,
)

export const deleteSimulated = statement<{ ids: string[] }>(
  'registry.delete_simulated',
  'delete from simulated_registry where id = any(:ids::text[])',
)
