/** What the simulated registry was sent, and what the development tools make it report. */
import { columns, type Given, oneOf, type RowOf, text, texts } from '../../platform/db/columns.ts'
import { statement } from '../../platform/db/statement.ts'

/**
 * `submitted`, `approved`, `rejected` and `unreachable` are set by the development tools. `received` is a submission,
 * which is approved or rejected by its missing fields.
 */
type Status = 'received' | 'submitted' | 'approved' | 'rejected' | 'unreachable'
const simulatedColumns = columns({
  id: text,
  status: oneOf<Status>(),
  missing_fields: texts.orNull,
  reason: text.orNull,
})
export type SimulatedRow = RowOf<typeof simulatedColumns>

export const findSimulated = statement<{ ids: string[] }, SimulatedRow>(
  'registry.find_simulated',
  `select ${simulatedColumns} from simulated_registry where id = any(:ids::text[])`,
)

export const writeSimulated = statement<
  Given<SimulatedRow, 'id' | 'status' | 'missing_fields' | 'reason'> & { at: Date }
>(
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
