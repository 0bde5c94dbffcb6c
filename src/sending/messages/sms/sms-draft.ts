/**
 * A text message in the send pipeline: made from a request or from a stored message, stored as a message, and handed to
 * the provider.
 */
import { timeOfId } from '../../../platform/ground/ids.ts'
import { instantOfLocal } from '../../../platform/ground/local-time.ts'
import { needsDlt } from '../../../platform/ground/phone-number.ts'
import { segmentsOf } from '../../../platform/ground/segments.ts'
import type { Sms } from '../../../providers/sms/sms-provider.ts'
import type { MessageContent } from '../channel-adapter.ts'
import { type Draft, type SentBy, sentByOf } from '../draft.ts'
import type { MessageRow, SmsFields } from '../store/message-row.ts'
import type { SendSms } from './shapes.ts'

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

export type SmsContent = Pick<SendSms, 'from' | 'body' | 'tags' | 'metadata' | 'media_url' | 'dlt_template_id'>

/** A new message without the fields that only single messages have. */
export const newSmsDraft = (id: string, by: SentBy, given: SmsContent, to: string): SmsDraft => ({
  id,
  createdAt: new Date(timeOfId(id)),
  by,
  channel: 'sms',
  tags: given.tags,
  metadata: given.metadata,
  scheduledAt: null,
  jobId: null,
  from: given.from ?? null,
  fromPool: null,
  to,
  body: given.body ?? '',
  template: null,
  mediaUrl: given.media_url,
  // Ignored for other countries, so that it does not keep the template in use.
  dltTemplateId: (needsDlt(to) ? given.dlt_template_id : undefined) ?? null,
  local: null,
  dlt: null,
  messageType: 'transactional',
})

/** An MMS is billed as one message, whatever its length. */
export const billedSegments = ({ body, mediaUrl }: SmsDraft): number => (mediaUrl.length > 0 ? 1 : segmentsOf(body))

const smsFields = (draft: SmsDraft): SmsFields => ({
  segments: billedSegments(draft),
  ...(draft.fromPool !== null && { from_pool: draft.fromPool }),
  ...(draft.mediaUrl.length > 0 && { media_url: draft.mediaUrl }),
  ...(draft.dltTemplateId !== null && { dlt_template_id: draft.dltTemplateId }),
  ...(draft.local && { scheduled_local: draft.local.time, scheduled_at_tz: draft.local.zone }),
})

const localOf = ({ scheduled_local: time, scheduled_at_tz: zone }: Partial<SmsFields>): SmsDraft['local'] =>
  time === undefined || zone === undefined ? null : { time, zone }

/** When a message for a local time is due, by the present rules of the zone. Null for any other message. */
export const localDueAt = ({ sms }: Pick<MessageRow, 'sms'>): Date | null => {
  const local = localOf(sms ?? {})
  return local && instantOfLocal(local.time, local.zone)
}

export const contentOfSms = (draft: SmsDraft): MessageContent => ({
  stream: 'transactional',
  // Never empty here: a draft that uses a pool gets its sender before its content is read.
  from_address: draft.from ?? '',
  to_addresses: [draft.to],
  text: draft.body,
  sms: smsFields(draft),
})

export const smsDraftOf = (row: MessageRow): SmsDraft => {
  const { media_url = [], dlt_template_id, from_pool = null, ...fields } = row.sms ?? { segments: 1 }
  const { from_address: from, tags } = row
  const content = { from, body: row.text ?? '', tags, metadata: row.metadata ?? {}, media_url, dlt_template_id }
  return {
    ...newSmsDraft(row.id, sentByOf(row), content, row.to_addresses[0] ?? ''),
    createdAt: row.created_at,
    scheduledAt: row.scheduled_at,
    jobId: row.job_id,
    fromPool: from_pool,
    local: localOf(fields),
  }
}

export const smsOf = ({ by, id, from, to, body, mediaUrl, dlt, messageType, hasCode }: SmsDraft, at: Date): Sms => {
  return { orgId: by.orgId, messageId: id, from: from ?? '', to, body, mediaUrl, dlt, messageType, at, hasCode }
}
