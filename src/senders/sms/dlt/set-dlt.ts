/** Records what an operator's portal decided about a DLT registration. */
import type { Audit } from '../../../journal/audit/append.ts'
import { entryAbout } from '../../../journal/audit/entry-about.ts'
import type { AppendEvents } from '../../../journal/events/append-events.ts'
import type { Db } from '../../../platform/db/pool.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import { type DltResult, type DltRow, isDltTemplate, lockDlt, recordDltResult } from './dlt-status.ts'

type DltDecision = {
  status: 'submitted' | 'approved' | 'rejected'
  /** Undefined keeps the template id of a template that stays approved. */
  templateId: string | undefined
  reason: string | undefined
  operator: string
}

const resultOf = (row: DltRow, { status, templateId, reason }: DltDecision): DltResult => {
  const kept = isDltTemplate(row) && row.status === 'approved' ? row.provider_template_id : null
  return {
    status,
    reason: status === 'rejected' ? (reason ?? null) : null,
    templateId: status === 'approved' ? (templateId ?? kept) : null,
  }
}

/** Undefined when the org has no such row. */
export const makeSetDlt =
  ({ db, clock, audit, appendEvents }: { db: Db; clock: Clock; audit: Audit; appendEvents: AppendEvents }) =>
  (orgId: string, id: string, decision: DltDecision): Promise<{ changed: boolean; row: DltRow } | undefined> =>
    db.tx(async (tx) => {
      const row = await lockDlt(tx, orgId, id)
      if (!row) return undefined
      const result = resultOf(row, decision)
      const changed = await recordDltResult(tx, { appendEvents, row, result, at: clock.now() })
      if (changed) {
        const { status, reason, templateId } = result
        const metadata = { status, reason, provider_template_id: templateId, operator: decision.operator }
        await audit(tx, { ...entryAbout(orgId, { kind: 'system' }, 'dlt', id), action: 'dlt.updated', metadata })
      }
      return { changed, row: (await lockDlt(tx, orgId, id)) as DltRow }
    })
