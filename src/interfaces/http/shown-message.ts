/** Messages as the API and the dashboard show them. */
import { z } from 'zod'
import { channels } from '../../platform/ground/channel.ts'
import { isoOrNull } from '../../platform/ground/instant.ts'
import type { Email } from '../../sending/messages/email/shapes.ts'
import { statusFilter } from '../../sending/messages/shapes.ts'
import type { SmsDetail } from '../../sending/messages/sms/shapes.ts'
import { localDueAt } from '../../sending/messages/sms/sms-draft.ts'
import type { BrowsedRow } from '../../sending/messages/store/browse-messages.ts'
import type { MessageRow } from '../../sending/messages/store/message-row.ts'

const shownTimes = (row: MessageRow) => ({
  created_at: row.created_at.toISOString(),
  scheduled_at: isoOrNull(row.scheduled_at),
  sent_at: isoOrNull(row.sent_at),
  delivered_at: isoOrNull(row.delivered_at),
  canceled_at: isoOrNull(row.canceled_at),
  redacted_at: isoOrNull(row.redacted_at),
})

const shownOutcome = (row: MessageRow) => ({
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

export const shownEmail = (row: MessageRow, withBody: boolean): z.output<typeof Email> => ({
  id: row.id,
  channel: 'email',
  status: row.status,
  stream: row.stream,
  from: row.from_address,
  from_name: row.from_name,
  to: row.to_addresses,
  cc: row.cc,
  bcc: row.bcc,
  reply_to: row.reply_to,
  subject: row.subject,
  headers: row.headers ?? {},
  attachments: row.attachments ?? [],
  track_opens: row.track_opens,
  track_clicks: row.track_clicks,
  tags: row.tags,
  metadata: row.metadata ?? {},
  ...shownTimes(row),
  ...shownOutcome(row),
  ...(withBody && { html: row.html, text: row.text }),
})

/** A message that waits for a local time shows the instant by the present rules of its zone. */
const scheduledAt = (row: MessageRow): string | null =>
  isoOrNull((row.status === 'scheduled' ? localDueAt(row) : null) ?? row.scheduled_at)

export const shownSms = (row: MessageRow): z.output<typeof SmsDetail> => ({
  id: row.id,
  channel: 'sms',
  status: row.status,
  from: row.from_address,
  from_pool: row.sms?.from_pool ?? null,
  to: row.to_addresses[0] ?? null,
  body: row.text,
  segments: row.sms?.segments ?? 1,
  media_url: row.sms?.media_url ?? [],
  dlt_template_id: row.sms?.dlt_template_id ?? null,
  tags: row.tags,
  metadata: row.metadata ?? {},
  ...shownTimes(row),
  scheduled_at: scheduledAt(row),
  scheduled_local: row.sms?.scheduled_local ?? null,
  scheduled_at_tz: row.sms?.scheduled_at_tz ?? null,
  ...shownOutcome(row),
})

const instantOrNull = z.iso.datetime().nullable()

/** A message of either channel as the dashboard lists it. */
export const BrowsedMessage = z.strictObject({
  id: z.string(),
  channel: z.enum(channels),
  status: statusFilter,
  environment: z.enum(['live', 'test']),
  from: z.string(),
  /** The first recipient. Null after an erasure. */
  to: z.string().nullable(),
  subject: z.string().nullable(),
  /** The subjects that the message can get, while the best one of its job is not chosen. */
  possible_subjects: z.array(z.string()).optional(),
  /** The beginning of the text of an SMS. */
  body_preview: z.string().nullable(),
  segments: z.int().nullable(),
  tenant_id: z.string().nullable(),
  job_id: z.string().nullable(),
  tags: z.array(z.string()),
  error_message: z.string().nullable(),
  created_at: z.iso.datetime(),
  scheduled_at: instantOrNull,
  sent_at: instantOrNull,
  delivered_at: instantOrNull,
})

const previewCharacters = 160

/** Counted in characters, so that none is cut in half. */
const previewOf = (text: string): string =>
  [...text.slice(0, 2 * previewCharacters)].slice(0, previewCharacters).join('')

export const shownBrowsed = (row: BrowsedRow, possibleSubjects?: string[]): z.output<typeof BrowsedMessage> => ({
  id: row.id,
  channel: row.channel,
  status: row.status,
  environment: row.environment,
  from: row.from_address,
  to: row.to_addresses[0] ?? null,
  subject: row.subject,
  ...(possibleSubjects && { possible_subjects: possibleSubjects }),
  body_preview: row.body === null ? null : previewOf(row.body),
  segments: row.channel === 'sms' ? (row.sms?.segments ?? 1) : null,
  tenant_id: row.tenant_id,
  job_id: row.job_id,
  tags: row.tags,
  error_message: row.error_message,
  created_at: row.created_at.toISOString(),
  scheduled_at: isoOrNull(row.scheduled_at),
  sent_at: isoOrNull(row.sent_at),
  delivered_at: isoOrNull(row.delivered_at),
})
