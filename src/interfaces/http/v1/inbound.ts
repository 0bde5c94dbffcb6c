import { z } from 'zod'
import { channels } from '../../../platform/ground/channel.ts'
import { inboundKinds } from '../../../sending/inbound/keywords.ts'
import type { ReadInbound } from '../../../sending/inbound/read.ts'
import { InboundItem, inboundAddress } from '../../../sending/inbound/shapes.ts'
import { filteredPage, pageOf, timeRange } from '../page.ts'
import { listed, ok } from '../responses.ts'
import { byKey, defineRoute, type PublicRoute } from '../route.ts'
import { servedAttachment, shownInbound } from '../shown-inbound.ts'

const ListQuery = filteredPage({
  channel: z.enum(channels).optional().describe('Return only messages of this channel.'),
  from: inboundAddress.optional().meta({
    description: 'Return only messages from this exact number or address.',
    examples: ['+14155550100'],
  }),
  to: inboundAddress.optional().meta({
    description: 'Return only messages to this exact number or address.',
    examples: ['+14155550999'],
  }),
  kind: z.enum(inboundKinds).optional().describe('Return only messages of this kind.'),
  ...timeRange('messages stored'),
})

/** Bytes. JSON Schema has no type for them. */
const FileContent = z.string().meta({ format: 'binary' })

export const inboundRoutes = ({ read }: { read: ReadInbound }): PublicRoute[] => [
  defineRoute('GET', '/inbound', byKey('read:inbound'), {
    operationId: 'listInboundMessages',
    tag: 'Inbound',
    summary: 'List inbound messages',
    description: 'Text messages and emails that were received, opt-outs and requests for help included.',
    query: ListQuery,
    responses: { 200: { schema: pageOf(InboundItem), description: 'A page of inbound messages, newest first.' } },
    handle: async ({ caller, query }) => {
      const { created_after: createdAfter, created_before: createdBefore, ...filters } = query
      const rows = await read.list(caller, { ...filters, createdAfter, createdBefore }, query)
      return listed(rows, query.limit, shownInbound)
    },
  }),
  defineRoute('GET', '/inbound/{id}', byKey('read:inbound'), {
    operationId: 'getInboundMessage',
    tag: 'Inbound',
    summary: 'Get an inbound message',
    params: { id: 'inboundSms' },
    responses: { 200: { schema: InboundItem, description: 'The inbound message.' } },
    errors: ['NOT_FOUND'],
    handle: async ({ caller, params }) => ok(shownInbound(await read.find(caller, params.id))),
  }),
  defineRoute('GET', '/inbound/{id}/attachments/{position}', byKey('read:inbound'), {
    operationId: 'getInboundAttachment',
    tag: 'Inbound',
    summary: 'Get an attachment of an inbound email',
    description:
      'The content, as a file to save. `Content-Type` is that of the attachment, or `application/octet-stream` for types ' +
      'that browsers run scripts from, such as HTML.',
    params: { id: 'inboundSms' },
    positions: { position: 'The place of the attachment in `attachments` of the email, from 0.' },
    responses: { 200: { schema: FileContent, description: 'The content of the attachment.', contentType: '*/*' } },
    errors: ['NOT_FOUND'],
    handle: async ({ caller, params }) =>
      servedAttachment(await read.attachment(caller, params.id, Number(params.position))),
  }),
]
