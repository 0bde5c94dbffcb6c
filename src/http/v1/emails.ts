import { z } from 'zod'
import { Failure } from '../../ground/errors.ts'
import { parseMailbox } from '../../ground/mailbox.ts'
import type { CancelMessage } from '../../messages/cancel.ts'
import { attachedBytes, type FetchAttachments, maxAttachmentBytes } from '../../messages/email/attachments.ts'
import type { DraftEmails } from '../../messages/email/draft-emails.ts'
import type { EmailDraft } from '../../messages/email/email-draft.ts'
import {
  AcceptedEmail,
  BatchAnswer,
  BatchItem,
  BulkEmail,
  Canceled,
  Email,
  EmailItem,
  SendEmail,
  statusFilter,
} from '../../messages/email/shapes.ts'
import type { ReadMessages } from '../../messages/read.ts'
import type { SendMessage } from '../../messages/send.ts'
import type { SendBatch } from '../../messages/send-batch.ts'
import type { ListedRow } from '../../messages/store/list-messages.ts'
import type { MessageRow } from '../../messages/store/message-row.ts'
import { actorOf } from '../actor.ts'
import { page, pageOf, pageQuery } from '../page.ts'
import { validate } from '../read-request.ts'
import { defineRoute, type Route } from '../route.ts'

const megabyte = 1_048_576

const shown = (at: Date | null): string | null => at?.toISOString() ?? null

const showItem = (row: ListedRow): z.output<typeof EmailItem> => ({
  id: row.id,
  channel: 'email',
  status: row.status,
  from: row.from_address,
  to: row.to_addresses[0] ?? null,
  subject: row.subject,
  created_at: row.created_at.toISOString(),
  sent_at: shown(row.sent_at),
  delivered_at: shown(row.delivered_at),
})

const show = (row: MessageRow, withBody: boolean): z.output<typeof Email> => ({
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
  created_at: row.created_at.toISOString(),
  scheduled_at: shown(row.scheduled_at),
  sent_at: shown(row.sent_at),
  delivered_at: shown(row.delivered_at),
  canceled_at: shown(row.canceled_at),
  redacted_at: shown(row.redacted_at),
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
  ...(withBody && { html: row.html, text: row.text }),
})

const instant = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text))
  .optional()

const ListQuery = pageQuery.extend({
  status: statusFilter.optional(),
  tag: z.string().max(128).optional(),
  to: z.string().max(320).optional().meta({ description: 'Any of the To addresses, in full.' }),
  created_after: instant,
  created_before: instant,
})

const GetQuery = z.object({
  include: z.enum(['body']).optional().meta({ description: '`body` adds the rendered html and text.' }),
})

/** Each item is judged alone, so that one that is wrong fails alone. */
const anItem = z.unknown().meta({ description: 'What `POST /emails` takes, without `template` and `scheduled_at`.' })
const Batch = z.union([BulkEmail, z.array(anItem).min(1).max(100)]).meta({ id: 'EmailBatch' })

const oversize = {
  above: 6 * megabyte,
  refuse: (raw: unknown) =>
    new Failure(attachedBytes(raw) > maxAttachmentBytes ? 'ATTACHMENT_TOO_LARGE' : 'PAYLOAD_TOO_LARGE'),
}

/** What any send may be refused with before a provider is asked. */
const sendRefusals = [
  'INVALID_FROM',
  'SENDER_DOMAIN_NOT_VERIFIED',
  'DOMAIN_TENANT_MISMATCH',
  'DOMAIN_NOT_ALLOWED_FOR_KEY',
  'SANDBOX_RECIPIENT_NOT_ALLOWED',
  'SANDBOX_DAILY_LIMIT',
  'ALL_SUPPRESSED',
  'TO_ALL_SUPPRESSED',
  'UNSUBSCRIBE_REQUIRES_BROADCAST',
  'UNSUBSCRIBE_MULTI_RECIPIENT',
  'SCHEDULED_AT_IN_PAST',
  'SCHEDULED_AT_TOO_FAR',
  'SCHEDULED_SINGLE_RECIPIENT',
  'SCHEDULED_NO_ATTACHMENTS',
  'TEMPLATE_MISSING_VARIABLES',
  'TEMPLATE_TENANT_SCOPED',
  'ATTACHMENT_TOO_LARGE',
  'PAYLOAD_TOO_LARGE',
  'IP_POOL_PAUSED',
  'WARMUP_LIMIT_EXCEEDED',
] as const
const quotaRefusals = [
  'USAGE_LIMIT_EXCEEDED',
  'TENANT_QUOTA_EXCEEDED',
  'SPEND_CAP_EXCEEDED',
  'TEST_DAILY_LIMIT',
] as const

type Needs = {
  drafts: DraftEmails
  send: SendMessage<EmailDraft>
  sendBatch: SendBatch<EmailDraft>
  cancel: CancelMessage
  read: ReadMessages
  fetchAttachments: FetchAttachments
}

const canceling = (cancel: CancelMessage): Omit<Route, 'method' | 'path'> => ({
  tag: 'Emails',
  summary: 'Cancel a scheduled email',
  scope: 'send:email',
  params: { id: 'message' },
  answers: { 200: { schema: Canceled, about: 'Canceled: it never fires.' } },
  refuses: ['NOT_FOUND', 'NOT_SCHEDULED', 'TENANT_FORBIDDEN'],
  handle: async (call) => {
    const { id, canceled_at } = await cancel(call.caller, actorOf(call), 'email', call.params.id as string)
    const canceledAt = canceled_at.toISOString()
    return { status: 200, body: { id, channel: 'email', status: 'canceled', canceled_at: canceledAt } }
  },
})

export const emailRoutes = ({ drafts, send, sendBatch, cancel, read, fetchAttachments }: Needs): Route[] => [
  defineRoute({
    method: 'POST',
    path: '/emails',
    tag: 'Emails',
    summary: 'Send an email',
    about: 'Sent at once, or stored as `scheduled` when `scheduled_at` is more than a second ahead.',
    scope: 'send:email',
    idempotent: true,
    body: SendEmail,
    bodyLimit: 16 * megabyte,
    oversize,
    answers: { 200: { schema: AcceptedEmail, about: 'Accepted.' } },
    refuses: [...sendRefusals, ...quotaRefusals],
    handle: async (call) => {
      const draft = await drafts.single(call.caller, call.body)
      const body = await send.single(draft, actorOf(call), call.claim)
      return { status: 200, body, ...(call.claim && { recorded: true }) }
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/emails/batch',
    tag: 'Emails',
    summary: 'Send up to 100 emails',
    about:
      'An array of emails, or one email whose `to` names up to 100 recipients who each get an envelope of their own. The answer is 200 even when every item failed.',
    scope: 'send:email',
    idempotent: true,
    body: Batch,
    bodyLimit: 10 * megabyte,
    answers: { 200: { schema: BatchAnswer, about: 'What became of each item, in the order given.' } },
    refuses: [...quotaRefusals, 'ATTACHMENT_TOO_LARGE'],
    handle: async (call) => {
      const { caller, body } = call
      const itemOf = async (raw: unknown) => {
        try {
          return await drafts.item(caller, validate(BatchItem, raw))
        } catch (error) {
          if (error instanceof Failure) return error
          throw error
        }
      }
      // One after the other, so that ids grow in the order given and lists show it.
      const itemsOf = async (list: unknown[]) => {
        const items: Awaited<ReturnType<typeof itemOf>>[] = []
        for (const raw of list) items.push(await itemOf(raw))
        return items
      }
      const items = async () =>
        Array.isArray(body) ? itemsOf(body) : drafts.bulk(caller, body, await fetchAttachments(body.attachments))
      return { status: 200, body: await sendBatch(items, actorOf(call)) }
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/emails',
    tag: 'Emails',
    summary: 'List emails',
    scope: 'read:messages',
    query: ListQuery,
    answers: { 200: { schema: pageOf(EmailItem), about: 'A page, newest first.' } },
    handle: async ({ caller, query }) => {
      const { limit, cursor, status, tag, to, created_after, created_before } = query
      // As it is kept; what is no address is looked for as it stands, and found nowhere.
      const kept = to === undefined ? undefined : (parseMailbox(to)?.address ?? to)
      const filters = { status, tag, to: kept, createdAfter: created_after, createdBefore: created_before }
      const rows = await read.list(caller, 'email', filters, { cursor, limit })
      return { status: 200, body: page(rows, limit, showItem) }
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/emails/{id}',
    tag: 'Emails',
    summary: 'Get an email',
    scope: 'read:messages',
    params: { id: 'message' },
    query: GetQuery,
    answers: { 200: { schema: Email, about: 'The email and everything that happened to it.' } },
    refuses: ['NOT_FOUND'],
    handle: async ({ caller, params, query }) => {
      const row = await read.find(caller, 'email', params.id as string)
      return { status: 200, body: show(row, query.include === 'body') }
    },
  }),
  { method: 'DELETE', path: '/emails/{id}', ...canceling(cancel) },
  {
    method: 'POST',
    path: '/emails/{id}/cancel',
    about: 'The same as `DELETE /emails/{id}`, for clients written for another service.',
    ...canceling(cancel),
  },
]
