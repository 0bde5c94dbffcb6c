/** /api/internal/inbound-sms, /api/internal/inbound-emails and /api/internal/inbound: received messages. */
import { z } from 'zod'
import type { Channel } from '../../ground/channel.ts'
import { dashboardAttachmentPath } from '../../inbound/attachment-path.ts'
import { inboundKinds } from '../../inbound/keywords.ts'
import type { ReadInbound } from '../../inbound/read.ts'
import { InboundDetailItem, InboundEmailItem, InboundSmsItem, inboundAddress } from '../../inbound/shapes.ts'
import type { InboundRow } from '../../inbound/store.ts'
import { page } from '../page.ts'
import { servedAttachment, shownInboundDetail, shownInboundEmail, shownInboundSms } from '../shown-inbound.ts'
import { type DashboardRoute, defineDashboardRoute, type MemberSession } from './dashboard-route.ts'
import { optionalFilter, tenantFilter, timeFilters } from './filters.ts'
import { listOf, listQuery } from './list-query.ts'
import { scopeOf } from './member-scope.ts'

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
    defineDashboardRoute({
      method: 'GET',
      path: '/api/internal/inbound-sms',
      gate: 'requireSession',
      query: ListQuery,
      responses: { 200: listOf(InboundSmsItem) },
      handle: async ({ session, query }) => ({
        status: 200,
        body: page(await list(session, 'sms', query), query.limit, shownInboundSms),
      }),
    }),
    defineDashboardRoute({
      method: 'GET',
      path: '/api/internal/inbound-emails',
      gate: 'requireSession',
      query: ListQuery,
      responses: { 200: listOf(InboundEmailItem) },
      handle: async ({ session, query }) => ({
        status: 200,
        body: page(await list(session, 'email', query), query.limit, shownEmail),
      }),
    }),
    defineDashboardRoute({
      method: 'GET',
      path: '/api/internal/inbound/{id}',
      gate: 'requireSession',
      // The ids of emails are accepted too.
      params: { id: 'inboundSms' },
      responses: { 200: InboundDetailItem },
      handle: async ({ session, params }) => ({
        status: 200,
        body: shownInboundDetail(await read.find(scopeOf(session), params.id as string)),
      }),
    }),
    defineDashboardRoute({
      method: 'GET',
      path: '/api/internal/inbound-emails/{id}/attachments/{position}',
      gate: 'requireSession',
      params: { id: 'inboundEmail' },
      positions: ['position'],
      responses: { 200: 'file' },
      handle: async ({ session, params }) =>
        servedAttachment(await read.attachment(scopeOf(session), params.id as string, Number(params.position))),
    }),
  ]
}
