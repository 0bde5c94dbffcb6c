import { z } from 'zod'
import { Failure } from '../../../platform/ground/errors.ts'
import { isoOrNull } from '../../../platform/ground/instant.ts'
import { parseMailbox } from '../../../platform/ground/mailbox.ts'
import { megabyte } from '../../../platform/ground/units.ts'
import type { CancelMessage } from '../../../sending/messages/cancel.ts'
import {
  attachedBytes,
  type FetchAttachments,
  maxAttachmentBytes,
} from '../../../sending/messages/email/attachments.ts'
import type { DraftEmails } from '../../../sending/messages/email/draft-emails.ts'
import type { EmailDraft } from '../../../sending/messages/email/email-draft.ts'
import {
  AcceptedEmail,
  BatchItem,
  BulkEmail,
  Canceled,
  Email,
  EmailItem,
  SendEmail,
} from '../../../sending/messages/email/shapes.ts'
import type { ReadMessages } from '../../../sending/messages/read.ts'
import type { SendMessage } from '../../../sending/messages/send.ts'
import type { SendBatch } from '../../../sending/messages/send-batch.ts'
import { BatchResponse, statusFilter } from '../../../sending/messages/shapes.ts'
import type { ListedRow } from '../../../sending/messages/store/list-messages.ts'
import { maxVariableValues } from '../../../sending/templates/variables.ts'
import { actorOf } from '../actor.ts'
import { maxBatch, quotaErrors, readItems } from '../batch-items.ts'
import { bodyTooLarge } from '../envelope.ts'
import { filteredPage, pageOf, timeRange } from '../page.ts'
import { validate } from '../read-request.ts'
import { listed, ok } from '../responses.ts'
import { byKey, defineRoute, type PublicRoute } from '../route.ts'
import { shownEmail } from '../shown-message.ts'

const showItem = (row: ListedRow): z.output<typeof EmailItem> => ({
  id: row.id,
  channel: 'email',
  status: row.status,
  from: row.from_address,
  to: row.to_addresses[0] ?? null,
  subject: row.subject,
  created_at: row.created_at.toISOString(),
  sent_at: isoOrNull(row.sent_at),
  delivered_at: isoOrNull(row.delivered_at),
})

const ListQuery = filteredPage({
  status: statusFilter.optional().describe('Return only emails with this status.'),
  tag: z
    .string()
    .max(128)
    .optional()
    .meta({ description: 'Return only emails with this tag.', examples: ['order'] }),
  to: z
    .string()
    .max(320)
    .optional()
    .meta({ description: 'Return only emails with this exact address in `to`.', examples: ['ada@example.com'] }),
  ...timeRange('emails created'),
})

const GetQuery = z.object({
  include: z
    .enum(['body'])
    .optional()
    .meta({ description: 'Set to `body` to include the rendered `html` and `text`.' }),
})

const batchOf = <I extends z.ZodType>(item: I) => z.union([BulkEmail, z.array(item).min(1).max(maxBatch)])

/** Each item is validated separately, so an invalid item fails without failing the batch. */
const Batch = batchOf(z.unknown())
const hello = { from: 'hello@example.test', subject: 'Hello' }
const DescribedBatch = batchOf(BatchItem).meta({
  id: 'EmailBatch',
  examples: [
    [
      { ...hello, to: ['ada@example.com'], text: 'Hello, Ada' },
      { ...hello, to: ['grace@example.com'], text: 'Hello, Grace' },
    ],
    { ...hello, to: ['ada@example.com', 'grace@example.com'], text: 'Hello!' },
  ],
})

/** Other fields than the variables have a few hundred values at most. */
const valuesPerEmail = maxVariableValues + 1_000

const oversize = {
  above: 6 * megabyte,
  failure: (raw: unknown) =>
    attachedBytes(raw) > maxAttachmentBytes ? new Failure('ATTACHMENT_TOO_LARGE') : bodyTooLarge(6 * megabyte),
}

/** Errors that any send can return before the email is handed to a provider. */
const sendErrors = [
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

type Needs = {
  drafts: DraftEmails
  send: SendMessage<EmailDraft>
  sendBatch: SendBatch<EmailDraft>
  cancel: CancelMessage
  read: ReadMessages
  fetchAttachments: FetchAttachments
}

const cancelRoute = (cancel: CancelMessage): Omit<PublicRoute, 'method' | 'path'> => ({
  tag: 'Emails',
  summary: 'Cancel a scheduled email',
  access: byKey('send:email'),
  params: { id: 'message' },
  responses: { 200: { schema: Canceled, description: 'The email was canceled and will not be sent.' } },
  errors: ['NOT_FOUND', 'NOT_SCHEDULED', 'TENANT_FORBIDDEN'],
  handle: async (call) => {
    const { id, canceled_at } = await cancel(call.caller, actorOf(call), 'email', call.params.id)
    const canceledAt = canceled_at.toISOString()
    return ok({ id, channel: 'email', status: 'canceled', canceled_at: canceledAt })
  },
})

export const emailRoutes = ({ drafts, send, sendBatch, cancel, read, fetchAttachments }: Needs): PublicRoute[] => [
  defineRoute('POST', '/emails', byKey('send:email'), {
    operationId: 'sendEmail',
    tag: 'Emails',
    summary: 'Send an email',
    description:
      'Sends the email immediately. If `scheduled_at` is more than one second in the future, the email is stored with status `scheduled` and sent at that time. An email that no provider can take at the moment is stored in the same way if the operator has set `ON_PROVIDER_OUTAGE=queue`.',
    idempotent: true,
    body: SendEmail,
    bodyLimit: 16 * megabyte,
    bounds: { values: valuesPerEmail },
    oversize,
    responses: { 200: { schema: AcceptedEmail, description: 'The email was accepted.' } },
    errors: [...sendErrors, ...quotaErrors],
    handle: async (call) => {
      const draft = await drafts.single(call.caller, call.body, call.claim)
      const body = await send.single(draft, actorOf(call), call.claim)
      return { status: 200, body, ...(call.claim && { recorded: true }) }
    },
  }),
  defineRoute('POST', '/emails/batch', byKey('send:email'), {
    operationId: 'sendEmailBatch',
    tag: 'Emails',
    summary: 'Send up to 100 emails',
    description:
      'Send an array of emails, or one email with up to 100 `to` recipients who each receive a separate message. The response is 200 even if every item fails; check the result of each item.',
    idempotent: true,
    body: Batch,
    describedBody: DescribedBatch,
    bodyLimit: 10 * megabyte,
    bounds: { values: valuesPerEmail, elements: maxBatch },
    responses: { 200: { schema: BatchResponse, description: 'The result of each item, in request order.' } },
    errors: [...quotaErrors, 'ATTACHMENT_TOO_LARGE'],
    handle: async (call) => {
      const { caller, body, claim } = call
      const draftOf = (raw: unknown, index: number) => drafts.item(caller, validate(BatchItem, raw), { claim, index })
      const items = async () =>
        Array.isArray(body)
          ? readItems(body, draftOf)
          : drafts.bulk(caller, body, await fetchAttachments(body.attachments), claim)
      return { status: 200, ...(await sendBatch(items, actorOf(call), claim)) }
    },
  }),
  defineRoute('GET', '/emails', byKey('read:messages'), {
    operationId: 'listEmails',
    tag: 'Emails',
    summary: 'List emails',
    query: ListQuery,
    responses: { 200: { schema: pageOf(EmailItem), description: 'A page of emails, newest first.' } },
    handle: async ({ caller, query }) => {
      const { limit, cursor, status, tag, to, created_after, created_before } = query
      // Normalized like stored addresses. A value that is not an address matches nothing.
      const normalized = to === undefined ? undefined : (parseMailbox(to)?.address ?? to)
      const filters = { status, tag, to: normalized, createdAfter: created_after, createdBefore: created_before }
      const rows = await read.list(caller, 'email', filters, { cursor, limit })
      return listed(rows, limit, showItem)
    },
  }),
  defineRoute('GET', '/emails/{id}', byKey('read:messages'), {
    operationId: 'getEmail',
    tag: 'Emails',
    summary: 'Get an email',
    params: { id: 'message' },
    query: GetQuery,
    responses: { 200: { schema: Email, description: 'The email and its status history.' } },
    errors: ['NOT_FOUND'],
    handle: async ({ caller, params, query }) => {
      const row = await read.find(caller, 'email', params.id)
      return ok(shownEmail(row, query.include === 'body'))
    },
  }),
  { method: 'DELETE', path: '/emails/{id}', operationId: 'cancelEmail', ...cancelRoute(cancel) },
  {
    method: 'POST',
    path: '/emails/{id}/cancel',
    operationId: 'cancelEmailByPost',
    description:
      'Equivalent to `DELETE /emails/{id}`. Provided for compatibility with clients of other email services.',
    ...cancelRoute(cancel),
  },
]
