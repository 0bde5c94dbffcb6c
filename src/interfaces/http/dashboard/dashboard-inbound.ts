/** /api/internal/inbound-sms, /api/internal/inbound-emails and /api/internal/inbound: received messages. */
import { z } from 'zod'
import type { Channel } from '../../../platform/ground/channel.ts'
import { dashboardAttachmentPath } from '../../../sending/inbound/attachment-path.ts'
import { inboundKinds } from '../../../sending/inbound/keywords.ts'
import type { ReadInbound } from '../../../sending/inbound/read.ts'
import { InboundDetailItem, InboundEmailItem, InboundSmsItem, inboundAddress } from '../../../sending/inbound/shapes.ts'
import type { InboundRow } from '../../../sending/inbound/store/inbound-rows.ts'
import { scopeOf } from '../actor.ts'
import { page } from '../page.ts'
import { ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute, type MemberSession } from '../route.ts'
import { servedAttachment, shownInboundDetail, shownInboundEmail, shownInboundSms } from '../shown-inbound.ts'
import { listOf, listQuery, optionalFilter, tenantFilter, timeFilters } from './list-query.ts'

const ListQuery = listQuery().extend({
  from: optionalFilter(inboundAddress),
  to: optionalFilter(inboundAddress),
  kind: optionalFilter(z.enum(inboundKinds)),
  tenant_id: tenantFilter,
  ...timeFilters,
})

const shownEmail = (row: InboundRow) => shownInboundEmail(row, dashboardAttachmentPath)

export const dashboardInboundRoutes = ({ read }: { read: ReadInbound }): DashboardRoute[] => {
  const list = (session: MemberSession, channel: Channel, query: z.output<typeof ListQuery>) => {
    const { tenant_id: tenantId = null, created_after: createdAfter, created_before: createdBefore } = query
    const { from, to, kind } = query
    const filters = { channel, from, to, kind, createdAfter, createdBefore }
    return read.list({ ...scopeOf(session), tenantId }, filters, query)
  }
  return [
    defineRoute('GET', '/api/internal/inbound-sms', bySession('requireSession'), {
      query: ListQuery,
      responses: { 200: listOf(InboundSmsItem) },
      handle: async ({ session, query }) => ok(page(await list(session, 'sms', query), query.limit, shownInboundSms)),
    }),
    defineRoute('GET', '/api/internal/inbound-emails', bySession('requireSession'), {
      query: ListQuery,
      responses: { 200: listOf(InboundEmailItem) },
      handle: async ({ session, query }) => ok(page(await list(session, 'email', query), query.limit, shownEmail)),
    }),
    defineRoute('GET', '/api/internal/inbound/{id}', bySession('requireSession'), {
      // The ids of emails are accepted too.
      params: { id: 'inboundSms' },
      responses: { 200: InboundDetailItem },
      handle: async ({ session, params }) => ok(shownInboundDetail(await read.find(scopeOf(session), params.id))),
    }),
    defineRoute('GET', '/api/internal/inbound-emails/{id}/attachments/{position}', bySession('requireSession'), {
      params: { id: 'inboundEmail' },
      positions: { position: 'The place of the attachment, from 0.' },
      responses: { 200: 'file' },
      handle: async ({ session, params }) =>
        servedAttachment(await read.attachment(scopeOf(session), params.id, Number(params.position))),
    }),
  ]
}
