/** Records the status of a DLT registration, with the event of a template. */
import type { AppendEvents } from '../../../journal/events/append-events.ts'
import type { Tx } from '../../../platform/db/pool.ts'
import { type IdKind, isId } from '../../../platform/ground/ids.ts'
import {
  type DltEntityRow,
  type DltHeaderRow,
  type DltStatus,
  type DltTemplate,
  dltEntities,
  dltHeaders,
  dltTemplates,
} from '../store/dlt-rows.ts'

export type DltRow = DltEntityRow | DltHeaderRow | DltTemplate
type DltKind = Extract<IdKind, 'dltEntity' | 'dltHeader' | 'dltTemplate'>

export type DltResult = { status: DltStatus; reason: string | null; templateId: string | null }

const dltKinds: DltKind[] = ['dltEntity', 'dltHeader', 'dltTemplate']

/** Undefined when the text is not the id of a DLT row. */
export const dltKindOf = (id: string): DltKind | undefined => dltKinds.find((kind) => isId(kind, id))

export const isDltTemplate = (row: DltRow): row is DltTemplate => 'provider_template_id' in row

const lockStatements = { dltEntity: dltEntities.lock, dltHeader: dltHeaders.lock, dltTemplate: dltTemplates.lock }

export const lockDlt = (tx: Tx, orgId: string, id: string): Promise<DltRow | undefined> => {
  const kind = dltKindOf(id)
  return kind
    ? tx.row<{ orgId: string; id: string }, DltRow>(lockStatements[kind], { orgId, id })
    : Promise.resolve(undefined)
}

export const dltResultOf = (row: DltRow): DltResult => ({
  status: row.status,
  reason: row.rejection_reason,
  templateId: isDltTemplate(row) ? row.provider_template_id : null,
})

const isSame = (a: DltResult, b: DltResult): boolean =>
  a.status === b.status && a.reason === b.reason && a.templateId === b.templateId

const eventOf = ({ id, name, entity_id }: DltTemplate, { status, reason, templateId }: DltResult) =>
  status === 'approved'
    ? ({
        event: 'dlt.template_approved',
        data: { id, status, name, entity_id, provider_template_id: templateId },
      } as const)
    : ({ event: 'dlt.template_rejected', data: { id, status, name, entity_id, reason } } as const)

type Recording = { appendEvents: AppendEvents; row: DltRow; result: DltResult; at: Date }

/** The caller has locked the row. False when the row already has this result. */
export const recordDltResult = async (tx: Tx, { appendEvents, row, result, at }: Recording): Promise<boolean> => {
  if (isSame(dltResultOf(row), result)) return false
  const { org_id: orgId, id } = row
  const { status, reason, templateId } = result
  const change = { orgId, id, status, reason, at }
  if (!isDltTemplate(row)) {
    await tx.change('legal_name' in row ? dltEntities.setStatus : dltHeaders.setStatus, change)
    return true
  }
  await tx.change(dltTemplates.setStatus, { ...change, templateId })
  if (status !== row.status && (status === 'approved' || status === 'rejected')) {
    await appendEvents(tx, { orgId, tenantId: null, environment: null, ...eventOf(row, result) })
  }
  return true
}
