import type { z } from 'zod'
import { attachmentPath, dashboardAttachmentPath } from '../../sending/inbound/attachment-path.ts'
import type { InboundDetailItem, InboundEmailItem, InboundItem, InboundSmsItem } from '../../sending/inbound/shapes.ts'
import type { AttachmentRow, InboundRow } from '../../sending/inbound/store/inbound-rows.ts'
import { downloadHeaders } from './download-headers.ts'

const commonOf = ({ id, kind, in_reply_to, tenant_id, received_at, created_at }: InboundRow) => ({
  id,
  kind,
  in_reply_to,
  tenant_id,
  received_at: received_at.toISOString(),
  created_at: created_at.toISOString(),
})

export const shownInboundSms = (row: InboundRow): z.output<typeof InboundSmsItem> => ({
  ...commonOf(row),
  channel: 'sms',
  from: row.from_address,
  to: row.to_addresses[0] ?? '',
  body: row.text,
  media_url: row.media_url ?? [],
  keyword: row.keyword,
})

export const shownInboundEmail = (
  row: InboundRow,
  pathOf: typeof attachmentPath,
): z.output<typeof InboundEmailItem> => ({
  ...commonOf(row),
  channel: 'email',
  from: row.from_address,
  to: row.to_addresses,
  subject: row.subject,
  text: row.text,
  html: row.html,
  attachments: (row.attachments ?? []).map(({ filename, content_type, size }, i) => ({
    filename,
    content_type,
    size,
    url: row.redacted_at ? null : pathOf(row.id, i),
  })),
})

export const shownInbound = (row: InboundRow): z.output<typeof InboundItem> =>
  row.channel === 'sms' ? shownInboundSms(row) : shownInboundEmail(row, attachmentPath)

/** For the dashboard, which shows the pictures that the HTML refers to. */
export const shownInboundDetail = (row: InboundRow): z.output<typeof InboundDetailItem> => {
  if (row.channel === 'sms') return shownInboundSms(row)
  const { attachments, ...email } = shownInboundEmail(row, dashboardAttachmentPath)
  const contentIdAt = (i: number): string | null => row.attachments?.[i]?.content_id ?? null
  return { ...email, attachments: attachments.map((file, i) => ({ ...file, content_id: contentIdAt(i) })) }
}

/** The response that has the content of an attachment. */
export const servedAttachment = ({ content, filename, content_type: type }: AttachmentRow) => {
  const { 'content-type': contentType, ...headers } = downloadHeaders({ filename, type })
  return { status: 200, body: undefined, headers, file: { contentType, content } }
}
