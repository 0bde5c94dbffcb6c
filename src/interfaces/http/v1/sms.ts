import { z } from 'zod'
import { isoOrNull } from '../../../platform/ground/instant.ts'
import { megabyte } from '../../../platform/ground/units.ts'
import type { CancelMessage } from '../../../sending/messages/cancel.ts'
import type { ReadMessages } from '../../../sending/messages/read.ts'
import type { SendMessage } from '../../../sending/messages/send.ts'
import type { SendBatch } from '../../../sending/messages/send-batch.ts'
import { BatchResponse, statusFilter } from '../../../sending/messages/shapes.ts'
import type { DraftSms } from '../../../sending/messages/sms/draft-sms.ts'
import {
  AcceptedSms,
  assertMedia,
  BulkSms,
  CanceledSms,
  SendSms,
  SmsBatchItem,
  SmsDetail,
  SmsItem,
} from '../../../sending/messages/sms/shapes.ts'
import type { SmsDraft } from '../../../sending/messages/sms/sms-draft.ts'
import type { ListedRow } from '../../../sending/messages/store/list-messages.ts'
import { maxVariableValues } from '../../../sending/templates/variables.ts'
import { actorOf } from '../actor.ts'
import { maxBatch, quotaErrors, readItems } from '../batch-items.ts'
import { filteredPage, pageOf, timeRange } from '../page.ts'
import { validate } from '../read-request.ts'
import { listed, ok } from '../responses.ts'
import { byKey, defineRoute, type PublicRoute } from '../route.ts'
import { shownSms } from '../shown-message.ts'

const showItem = (row: ListedRow): z.output<typeof SmsItem> => ({
  id: row.id,
  channel: 'sms',
  status: row.status,
  from: row.from_address,
  to: row.to_addresses[0] ?? null,
  segments: row.sms?.segments ?? 1,
  created_at: row.created_at.toISOString(),
  sent_at: isoOrNull(row.sent_at),
  delivered_at: isoOrNull(row.delivered_at),
})

const ListQuery = filteredPage({
  status: statusFilter.optional().describe('Return only messages with this status.'),
  tag: z
    .string()
    .max(128)
    .optional()
    .meta({ description: 'Return only messages with this tag.', examples: ['order'] }),
  to: z
    .string()
    .max(320)
    // A plus sign that is not encoded in a URL arrives as a space.
    .transform((text) => text.replace(/^ /, '+'))
    .optional()
    .meta({ description: 'Return only messages to this exact number.', examples: ['+447700900100'] }),
  ...timeRange('messages created'),
})

const batchOf = <I extends z.ZodType>(item: I) => z.union([BulkSms, z.array(item).min(1).max(maxBatch)])

/** Each item is validated separately, so an invalid item fails without failing the batch. */
const Batch = batchOf(z.unknown())
const from = 'TIDINGS'
const DescribedBatch = batchOf(SmsBatchItem).meta({
  id: 'SmsBatch',
  examples: [
    [
      { from, to: '+447700900100', body: 'Hello, Ada' },
      { from, to: '+447700900101', body: 'Hello, Grace' },
    ],
    { from, to: ['+447700900100', '+447700900101'], body: 'Hello!' },
  ],
})

/** Errors of a single send before the message is handed to a provider. */
const sendErrors = [
  'MMS_TOO_MANY_ATTACHMENTS',
  'MMS_INVALID_MEDIA_URI',
  'SCHEDULED_AT_IN_PAST',
  'SCHEDULED_AT_TOO_FAR',
  'TEMPLATE_MISSING_VARIABLES',
  'TEMPLATE_TENANT_SCOPED',
  'PAYLOAD_TOO_LARGE',
  'HIGH_COST_DESTINATION',
  'SMS_DESTINATION_NOT_ALLOWED',
  'DLT_TEMPLATE_REQUIRED',
  'DLT_TEMPLATE_NOT_FOUND',
  'DLT_TEMPLATE_NOT_APPROVED',
  'DLT_TEMPLATE_NOT_PROVISIONED',
  'SENDER_NOT_REGISTERED',
  'SENDER_NOT_VERIFIED',
  'SUPPRESSED',
] as const

type Needs = {
  drafts: DraftSms
  send: SendMessage<SmsDraft>
  sendBatch: SendBatch<SmsDraft>
  cancel: CancelMessage
  read: ReadMessages
}

export const smsRoutes = ({ drafts, send, sendBatch, cancel, read }: Needs): PublicRoute[] => [
  defineRoute('POST', '/sms', byKey('send:sms'), {
    operationId: 'sendSms',
    tag: 'SMS',
    summary: 'Send an SMS or MMS',
    description:
      'Sends the message immediately, or at `scheduled_at` or `scheduled_local` if that is more than one second in the future. With `media_url` it is an MMS.',
    idempotent: true,
    body: SendSms,
    bounds: { values: maxVariableValues + 1_000 },
    check: ({ body }) => assertMedia(body.media_url),
    responses: { 200: { schema: AcceptedSms, description: 'The message was accepted.' } },
    errors: [...sendErrors, ...quotaErrors],
    handle: async (call) => {
      const draft = await drafts.single(call.caller, call.body, call.claim)
      const body = await send.single(draft, actorOf(call), call.claim)
      return { status: 200, body, ...(call.claim && { recorded: true }) }
    },
  }),
  defineRoute('POST', '/sms/batch', byKey('send:sms'), {
    operationId: 'sendSmsBatch',
    tag: 'SMS',
    summary: 'Send up to 100 SMS',
    description:
      'Send an array of messages, or one message with up to 100 `to` numbers. The response is 200 even if every item fails; check the result of each item.',
    idempotent: true,
    body: Batch,
    describedBody: DescribedBatch,
    bodyLimit: 10 * megabyte,
    bounds: { values: maxVariableValues + 1_000, elements: maxBatch },
    check: ({ body }) => {
      if (!Array.isArray(body)) assertMedia(body.media_url)
    },
    responses: { 200: { schema: BatchResponse, description: 'The result of each item, in request order.' } },
    errors: [...quotaErrors, 'MMS_TOO_MANY_ATTACHMENTS', 'MMS_INVALID_MEDIA_URI'],
    handle: async (call) => {
      const { caller, body, claim } = call
      const draftOf = (raw: unknown, index: number) => {
        const given = validate(SmsBatchItem, raw)
        assertMedia(given.media_url)
        return drafts.item(caller, given, { claim, index })
      }
      const items = () => (Array.isArray(body) ? readItems(body, draftOf) : drafts.bulk(caller, body, claim))
      return { status: 200, ...(await sendBatch(items, actorOf(call), claim)) }
    },
  }),
  defineRoute('GET', '/sms', byKey('read:messages'), {
    operationId: 'listSms',
    tag: 'SMS',
    summary: 'List SMS',
    query: ListQuery,
    responses: { 200: { schema: pageOf(SmsItem), description: 'A page of messages, newest first.' } },
    handle: async ({ caller, query }) => {
      const { limit, cursor, status, tag, to, created_after, created_before } = query
      const filters = { status, tag, to, createdAfter: created_after, createdBefore: created_before }
      const rows = await read.list(caller, 'sms', filters, { cursor, limit })
      return listed(rows, limit, showItem)
    },
  }),
  defineRoute('GET', '/sms/{id}', byKey('read:messages'), {
    operationId: 'getSms',
    tag: 'SMS',
    summary: 'Get an SMS',
    params: { id: 'message' },
    responses: { 200: { schema: SmsDetail, description: 'The message and its status history.' } },
    errors: ['NOT_FOUND'],
    handle: async ({ caller, params }) => ok(shownSms(await read.find(caller, 'sms', params.id))),
  }),
  defineRoute('DELETE', '/sms/{id}', byKey('send:sms'), {
    operationId: 'cancelSms',
    tag: 'SMS',
    summary: 'Cancel a scheduled SMS',
    params: { id: 'message' },
    responses: { 200: { schema: CanceledSms, description: 'The message was canceled and will not be sent.' } },
    errors: ['NOT_FOUND', 'NOT_SCHEDULED', 'TENANT_FORBIDDEN'],
    handle: async (call) => {
      const { id, canceled_at } = await cancel(call.caller, actorOf(call), 'sms', call.params.id)
      const canceledAt = canceled_at.toISOString()
      return ok({ id, channel: 'sms', status: 'canceled', canceled_at: canceledAt })
    },
  }),
]
