import type { z } from 'zod'
import type { Email } from '../../sending/messages/email/shapes.ts'
import type { MessageRow } from '../../sending/messages/store/message-row.ts'
import { shownOutcome, shownTimes } from './shown-message.ts'

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
