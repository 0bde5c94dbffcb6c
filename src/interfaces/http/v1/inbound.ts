import { z } from 'zod'
import { givenInstant } from '../../ground/bounded-text.ts'
import { channels } from '../../ground/channel.ts'
import { inboundKinds } from '../../inbound/keywords.ts'
import type { ReadInbound } from '../../inbound/read.ts'
import { InboundItem, inboundAddress } from '../../inbound/shapes.ts'
import { filteredPage, page, pageOf } from '../page.ts'
import { defineRoute, type Route } from '../route.ts'
import { servedAttachment, shownInbound } from '../shown-inbound.ts'

const instant = givenInstant.transform((text) => new Date(text)).optional()

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
  created_after: instant.meta({
    description: 'Return only messages stored at or after this time, in ISO 8601 with an offset.',
    examples: ['2026-01-01T00:00:00Z'],
  }),
  created_before: instant.meta({
    description: 'Return only messages stored at or before this time, in ISO 8601 with an offset.',
    examples: ['2027-01-01T00:00:00Z'],
  }),
})

/** Bytes. JSON Schema has no type for them. */
const FileContent = z.string().meta({ format: 'binary' })

export const inboundRoutes = ({ read }: { read: ReadInbound }): Route[] => [
  defineRoute({
    method: 'GET',
    path: '/inbound',
    operationId: 'listInboundMessages',
    tag: 'Inbound',
    summary: 'List inbound messages',
    description: 'Text messages and emails that were received, opt-outs and requests for help included.',
    scope: 'read:inbound',
    query: ListQuery,
    responses: { 200: { schema: pageOf(InboundItem), description: 'A page of inbound messages, newest first.' } },
    handle: async ({ caller, query }) => {
      const { created_after: createdAfter, created_before: createdBefore, ...filters } = query
      const rows = await read.list(caller, { ...filters, createdAfter, createdBefore }, query)
      return { status: 200, body: page(rows, query.limit, shownInbound) }
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/inbound/{id}',
    operationId: 'getInboundMessage',
    tag: 'Inbound',
    summary: 'Get an inbound message',
    scope: 'read:inbound',
    params: { id: 'inboundSms' },
    responses: { 200: { schema: InboundItem, description: 'The inbound message.' } },
    errors: ['NOT_FOUND'],
    handle: async ({ caller, params }) => ({
      status: 200,
      body: shownInbound(await read.find(caller, params.id as string)),
    }),
  }),
  defineRoute({
    method: 'GET',
    path: '/inbound/{id}/attachments/{position}',
    operationId: 'getInboundAttachment',
    tag: 'Inbound',
    summary: 'Get an attachment of an inbound email',
    description:
      'The content, as a file to save. `Content-Type` is that of the attachment, or `application/octet-stream` for types ' +
      'that browsers run scripts from, such as HTML.',
    scope: 'read:inbound',
    params: { id: 'inboundSms' },
    positions: { position: 'The place of the attachment in `attachments` of the email, from 0.' },
    responses: { 200: { schema: FileContent, description: 'The content of the attachment.', contentType: '*/*' } },
    errors: ['NOT_FOUND'],
    handle: async ({ caller, params }) =>
      servedAttachment(await read.attachment(caller, params.id as string, Number(params.position))),
  }),
]
