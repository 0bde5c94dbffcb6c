/** Builds the message that carries a code. */
import { parseMailbox } from '../ground/mailbox.ts'
import { needsDlt } from '../ground/phone-number.ts'
import type { SentBy } from '../messages/draft.ts'
import type { EmailDraft } from '../messages/email/email-draft.ts'
import { noSender } from '../messages/email/shapes.ts'
import type { SmsDraft } from '../messages/sms/sms-draft.ts'
import { escapeHtml } from '../templates/language.ts'
import { renderCode } from './code-template.ts'
import type { StartVerification } from './shapes.ts'

type Given = { id: string; createdAt: Date; by: SentBy; code: string }

const common = ({ id, createdAt, by }: Given) => ({
  id,
  createdAt,
  by,
  tags: [],
  metadata: {},
  scheduledAt: null,
  jobId: null,
  template: null,
  hasCode: true,
})

export const smsOfCode = (given: Given, body: StartVerification): SmsDraft => ({
  ...common(given),
  channel: 'sms',
  from: body.from ?? null,
  fromPool: null,
  to: body.to,
  body: renderCode(body.template, given.code),
  mediaUrl: [],
  dltTemplateId: (needsDlt(body.to) ? body.dlt_template_id : undefined) ?? null,
  local: null,
  dlt: null,
  messageType: 'transactional',
})

export const emailOfCode = (given: Given, body: StartVerification): EmailDraft => {
  const text = renderCode(body.template, given.code)
  const address = parseMailbox(body.to)?.address ?? body.to
  return {
    ...common(given),
    channel: 'email',
    from: parseMailbox(body.from ?? '') ?? noSender,
    to: [{ address, name: null }],
    cc: [],
    bcc: [],
    replyTo: [],
    requested: [address],
    subject: body.subject,
    html: escapeHtml(text),
    text,
    stream: 'transactional',
    headers: {},
    attachments: [],
    trackOpens: false,
    trackClicks: false,
    unsubscribeUrl: null,
    pages: {},
    sender: null,
  }
}
