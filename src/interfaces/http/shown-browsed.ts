/** A message of either channel as the dashboard lists it. */

import { z } from 'zod'
import { channels } from '../../platform/ground/channel.ts'
import { isoOrNull } from '../../platform/ground/instant.ts'
import { statusFilter } from '../../sending/messages/shapes.ts'
import type { BrowsedRow } from '../../sending/messages/store/browse-messages.ts'

const instantOrNull = z.iso.datetime().nullable()

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
