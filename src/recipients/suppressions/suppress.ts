import type { Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { newId } from '../../platform/ground/ids.ts'
import { comparable } from '../../platform/ground/mailbox.ts'
import type { Environment } from '../../platform/ground/scope.ts'
import { findByTarget, putSuppression, type SuppressionRow } from './store.ts'

export type Cause = {
  orgId: string
  tenantId: string | null
  channel: SuppressionRow['channel']
  /** An address in any case, or a phone number in E.164 format. */
  value: string
  reason: SuppressionRow['reason']
  source: SuppressionRow['source']
  messageId: string | null
  environment: Environment
}

/** The current row. `changed` is true when the cause created the row, set its reason, or added an unsubscribe to it. */
export type Suppressed = { id: string; changed: boolean; reason: SuppressionRow['reason']; createdAt: Date }

/** Suppresses a recipient after a report of the recipient or a provider, in the transaction of the report. */
export type Suppress = (tx: Tx, cause: Cause) => Promise<Suppressed>

export const makeSuppress = ({ clock }: { clock: Clock }): Suppress => {
  const suppress: Suppress = async (tx, cause) => {
    const { orgId, tenantId, channel, reason, source, messageId, environment } = cause
    const value = channel === 'email' ? comparable(cause.value) : cause.value
    const now = clock.now()
    const put = await tx.row(putSuppression, {
      orgId,
      id: newId('suppression', now.getTime()),
      tenantId,
      channel,
      value,
      reason,
      source,
      messageId,
      environment,
      at: now,
    })
    if (put) return { id: put.id, changed: true, reason: put.reason, createdAt: put.created_at }
    const current = await tx.row(findByTarget, { orgId, tenantId, channel, value })
    if (current) return { id: current.id, changed: false, reason: current.reason, createdAt: current.created_at }
    // The row was removed between the two statements, so this cause creates it again.
    return suppress(tx, cause)
  }
  return suppress
}
