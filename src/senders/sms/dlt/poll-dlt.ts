/**
 * Reads the status of DLT registrations from the simulated registry. Real registrations are made at the portal of an
 * Indian operator, and no provider reports them: an operator command records their status.
 */
import { randomInt } from 'node:crypto'
import type { AppendEvents } from '../../../journal/events/append-events.ts'
import type { Db } from '../../../platform/db/pool.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import { dltEntities, dltHeaders, dltTemplates, type PolledDlt, registryIsOff } from '../store/dlt-rows.ts'
import { type DltResult, type DltRow, dltResultOf, isDltTemplate, lockDlt, recordDltResult } from './dlt-status.ts'

type DltPollCounts = { dlt_polled: number; dlt_approved: number; dlt_rejected: number }

const digits = (count: number): string => String(randomInt(10 ** count)).padStart(count, '0')

/** Template ids have 19 digits and begin with 1007. */
const newTemplateId = (): string => `1007${digits(8)}${digits(7)}`

const approvalOf = (row: DltRow, missingFields: string[] | null): DltResult => {
  const provisioned = isDltTemplate(row) && (missingFields ?? []).length === 0
  const templateId = provisioned ? (row.provider_template_id ?? newTemplateId()) : null
  return { status: 'approved', reason: null, templateId }
}

/** The result after the report. Without a report, what waits for an approval gets it. */
export const dltResultAfter = (row: DltRow, { reported, missing_fields, reason }: PolledDlt): DltResult => {
  switch (reported) {
    case 'approved':
      return approvalOf(row, missing_fields)
    case 'rejected':
      return { status: 'rejected', reason: reason ?? 'The registry rejected the registration.', templateId: null }
    case 'submitted':
      return { status: 'submitted', reason: null, templateId: null }
    case 'unreachable':
      return dltResultOf(row)
    default:
      return row.status === 'pending' || row.status === 'submitted' ? approvalOf(row, null) : dltResultOf(row)
  }
}

type Needs = {
  db: Db
  clock: Clock
  appendEvents: AppendEvents
  /** Whether the SMS provider is simulated. Rows of test keys always are. */
  simulated: boolean
  forget: (orgId: string) => void
  batch?: number
}

export const makePollDlt = ({ db, clock, appendEvents, simulated, forget, batch = 500 }: Needs) => {
  const apply = async (polled: PolledDlt, counts: DltPollCounts): Promise<void> => {
    counts.dlt_polled++
    const became = await db.tx(async (tx) => {
      const row = await lockDlt(tx, polled.org_id, polled.id)
      if (!row) return undefined
      const result = dltResultAfter(row, polled)
      const recorded = await recordDltResult(tx, { appendEvents, row, result, at: clock.now() })
      return recorded ? { changed: result.status !== row.status, status: result.status } : undefined
    })
    if (!became) return
    forget(polled.org_id)
    if (became.changed && became.status === 'approved') counts.dlt_approved++
    if (became.changed && became.status === 'rejected') counts.dlt_rejected++
  }

  const pollAll = async ({ poll }: Pick<typeof dltTemplates, 'poll'>, counts: DltPollCounts): Promise<void> => {
    let after = { afterOrgId: '', afterId: '' }
    for (;;) {
      const rows = await db.rows(poll, { ...after, live: simulated, limit: batch })
      for (const row of rows) await apply(row, counts)
      const last = rows.at(-1)
      if (!last || rows.length < batch) return
      after = { afterOrgId: last.org_id, afterId: last.id }
    }
  }

  /** One pass over all rows. */
  return async () => {
    const counts: DltPollCounts = { dlt_polled: 0, dlt_approved: 0, dlt_rejected: 0 }
    if ((await db.row(registryIsOff))?.off) return counts
    await pollAll(dltEntities, counts)
    await pollAll(dltHeaders, counts)
    await pollAll(dltTemplates, counts)
    return counts
  }
}
