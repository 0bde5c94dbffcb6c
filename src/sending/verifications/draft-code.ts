/** Builds the message that carries a code. */
import { parseMailbox } from '../../platform/ground/mailbox.ts'
import type { SentBy } from '../messages/draft.ts'
import { type EmailDraft, newEmailDraft } from '../messages/email/email-draft.ts'
import { noSender } from '../messages/email/shapes.ts'
import { newSmsDraft, type SmsDraft } from '../messages/sms/sms-draft.ts'
import { escapeHtml } from '../templates/language.ts'
import { renderCode } from './code-template.ts'
import type { StartVerification } from './shapes.ts'

type Given = { id: string; by: SentBy; code: string }

/** A code has neither tags nor metadata. */
const plain = { tags: [], metadata: {} }

export const smsOfCode = ({ id, by, code }: Given, body: StartVerification): SmsDraft => {
  const from = body.from ?? undefined
  const dlt_template_id = body.dlt_template_id ?? undefined
  const content = { ...plain, from, body: renderCode(body.template, code), media_url: [], dlt_template_id }
  return { ...newSmsDraft(id, by, content, body.to), hasCode: true }
}

export const emailOfCode = ({ id, by, code }: Given, body: StartVerification): EmailDraft => {
  const text = renderCode(body.template, code)
  const content = {
    ...plain,
    from: parseMailbox(body.from ?? '') ?? noSender,
    reply_to: [],
    subject: body.subject,
    html: escapeHtml(text),
    text,
    stream: 'transactional' as const,
    headers: {},
    track_opens: false,
    track_clicks: false,
  }
  const to = [{ address: parseMailbox(body.to)?.address ?? body.to, name: null }]
  return { ...newEmailDraft(id, by, content, { to, cc: [], bcc: [], attachments: [] }), hasCode: true }
}
