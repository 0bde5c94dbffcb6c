import type { z } from 'zod'
import { attachmentPath } from '../inbound/attachment-path.ts'
import type { InboundItem } from '../inbound/shapes.ts'
import type { InboundRow } from '../inbound/store.ts'

export const shownInbound = (row: InboundRow): z.output<typeof InboundItem> => {
  const { id, kind, keyword, in_reply_to, tenant_id } = row
  const times = { received_at: row.received_at.toISOString(), created_at: row.created_at.toISOString() }
  if (row.channel === 'sms') {
    return {
      id,
      channel: 'sms',
      from: row.from_address,
      to: row.to_addresses[0] ?? '',
      body: row.text,
      media_url: row.media_url ?? [],
      kind,
      keyword,
      in_reply_to,
      tenant_id,
      ...times,
    }
  }
  return {
    id,
    channel: 'email',
    from: row.from_address,
    to: row.to_addresses,
    subject: row.subject,
    text: row.text,
    html: row.html,
    attachments: (row.attachments ?? []).map((file, i) => ({
      ...file,
      url: row.redacted_at ? null : attachmentPath(id, i),
    })),
    kind,
    in_reply_to,
    tenant_id,
    ...times,
  }
}
