import type { z } from 'zod'
import { isoOrNull } from '../../platform/ground/instant.ts'
import type { SmsDetail } from '../../sending/messages/sms/shapes.ts'
import { localDueAt } from '../../sending/messages/sms/sms-draft.ts'
import type { MessageRow } from '../../sending/messages/store/message-row.ts'
import { shownOutcome, shownTimes } from './shown-message.ts'

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
