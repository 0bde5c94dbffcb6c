/** A text message in the send pipeline, and what is handed to the provider. */
import type { Sms } from '../../providers/sms/sms-provider.ts'
import type { Draft } from '../draft.ts'

export type SmsDraft = Draft & {
  channel: 'sms'
  /** A number or a sender id. Null until a member of the pool is chosen. */
  from: string | null
  fromPool: string | null
  to: string
  /** Empty until the template is rendered. */
  body: string
  template: { slug: string; variables: Record<string, unknown> } | null
  mediaUrl: string[]
  dltTemplateId: string | null
  /** The local time and zone of `scheduledAt`, if it was given so. */
  local: { time: string; zone: string } | null
  /** Set by the DLT gate, for messages to India. */
  dlt: Sms['dlt']
  /** Set by the sender gate. */
  messageType: Sms['messageType']
}

export const smsOf = (draft: SmsDraft, at: Date): Sms => ({
  orgId: draft.by.orgId,
  messageId: draft.id,
  from: draft.from ?? '',
  to: draft.to,
  body: draft.body,
  mediaUrl: draft.mediaUrl,
  dlt: draft.dlt,
  messageType: draft.messageType,
  at,
  hasCode: draft.hasCode,
})
