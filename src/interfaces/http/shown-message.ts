/** The fields that the messages of all channels show. */
import { isoOrNull } from '../../platform/ground/instant.ts'
import type { MessageRow } from '../../sending/messages/store/message-row.ts'

export const shownTimes = (row: MessageRow) => ({
  created_at: row.created_at.toISOString(),
  scheduled_at: isoOrNull(row.scheduled_at),
  sent_at: isoOrNull(row.sent_at),
  delivered_at: isoOrNull(row.delivered_at),
  canceled_at: isoOrNull(row.canceled_at),
  redacted_at: isoOrNull(row.redacted_at),
})

export const shownOutcome = (row: MessageRow) => ({
  error_message: row.error_message,
  provider_response: row.provider_response && {
    message_id: row.provider_response.message_id ?? null,
    token: row.provider_response.token ?? null,
    bounce_type: row.provider_response.bounce_type ?? null,
    bounce_subtype: row.provider_response.bounce_subtype ?? null,
    detail: row.provider_response.detail ?? null,
  },
  status_history: row.history.map(({ status, at, recipient = null, detail = null }) => ({
    status,
    at,
    recipient,
    detail,
  })),
  job_id: row.job_id,
  tenant_id: row.tenant_id,
})
