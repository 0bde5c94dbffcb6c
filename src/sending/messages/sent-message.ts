/** What every way of sending shares: the usage of a message, its audit entry, and its response. */
import type { Actor, AuditEntry } from '../../journal/audit/append.ts'
import type { IdempotencyClaim } from '../../platform/idempotency/claims.ts'
import type { HandoverFault, Report } from '../../providers/handover.ts'
import type { Draft } from './draft.ts'
import type { Recording } from './record.ts'

export type AcceptedMessage = {
  id: string
  channel: string
  status: 'sent' | 'scheduled'
  segments?: number
  created_at: string
  scheduled_at?: string
}

/** Applies reports that came with the handover. They are handled like reports that a provider sends later. */
export type ApplyReports = (orgId: string, messageId: string, reports: Report[]) => void

export const spendBy = ({ by, channel }: Pick<Draft, 'by' | 'channel'>) => ({
  orgId: by.orgId,
  tenantId: by.tenantId,
  environment: by.environment,
  keyId: by.keyId,
  channel,
})

/** Usage is released when the message was certainly not sent. When that is uncertain, it stays counted. */
export const releasesUsage = (fault: HandoverFault): boolean => fault.kind !== 'uncertain'

/** Returned when the provider accepted a message that could not be stored afterwards. */
export const notRecorded = 'Accepted by the provider but not stored. Do not send it again.'

/** Says that the recipients are the reason, when the provider accepted the message for nobody because of them. */
export const recipientRefusal = ({ kind, refusedRecipients }: HandoverFault): string | undefined => {
  if (kind !== 'refused' || refusedRecipients.length === 0) return undefined
  return refusedRecipients.length === 1 ? 'The recipient was refused' : 'The recipients were refused'
}

export const sentEntry = (draft: Draft, actor: Actor, resourceId: string | null, count: number): AuditEntry => ({
  orgId: draft.by.orgId,
  actor,
  action: 'message.sent',
  resourceType: 'message',
  resourceId,
  metadata: { channel: draft.channel, count, environment: draft.by.environment },
})

export const idempotentAnswer = (
  claim: IdempotencyClaim | undefined,
  answer: AcceptedMessage,
): Pick<Recording, 'answer'> | undefined => claim && { answer: { claim, status: 200, body: JSON.stringify(answer) } }
