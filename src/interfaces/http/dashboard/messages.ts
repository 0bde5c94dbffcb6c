/** /api/internal/messages: the list with its search, one message with what happened to it, canceling and sending again. */
import { z } from 'zod'
import { channels } from '../../../platform/ground/channel.ts'
import { encodeCursor } from '../../../platform/ground/cursor.ts'
import { isoOrNull } from '../../../platform/ground/instant.ts'
import { refusing } from '../../../platform/ground/refused-fields.ts'
import type { ReadJobs } from '../../../sending/blasts/read.ts'
import type { BrowseMessages } from '../../../sending/messages/browse.ts'
import type { CancelMessage } from '../../../sending/messages/cancel.ts'
import { Email } from '../../../sending/messages/email/shapes.ts'
import type { ReadMessages } from '../../../sending/messages/read.ts'
import type { ResendMessage } from '../../../sending/messages/resend.ts'
import { maxTagLength, statusFilter } from '../../../sending/messages/shapes.ts'
import { SmsDetail } from '../../../sending/messages/sms/shapes.ts'
import type { MessageEventRow } from '../../../sending/messages/store/browse-messages.ts'
import type { MessageRow } from '../../../sending/messages/store/message-row.ts'
import { scopeOf, userActor } from '../actor.ts'
import { created, ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'
import { BrowsedMessage, shownBrowsed, shownEmail, shownSms } from '../shown-message.ts'
import { shownAs } from '../shown-resource.ts'
import {
  environmentFilter,
  listOf,
  listQuery,
  optionalFilter,
  searchFilter,
  tenantFilter,
  timeFilters,
} from './list-query.ts'

const ListQuery = refusing(
  listQuery().extend({
    q: searchFilter,
    channel: optionalFilter(z.enum(channels)),
    status: optionalFilter(statusFilter),
    environment: environmentFilter,
    tenant_id: tenantFilter,
    tag: optionalFilter(z.string().max(maxTagLength)),
    job_id: optionalFilter(z.string().max(100)),
    ...timeFilters,
  }),
  { to: 'Search with q.' },
)

const MessageList = listOf(BrowsedMessage).extend({
  /** How far back the search got, if it ended before the page was full. `next_cursor` continues there. */
  searched_until: z.iso.datetime().nullable(),
})

const MessageEvent = z.strictObject({
  id: z.string(),
  kind: z.string(),
  recipient: z.string().nullable(),
  url: z.string().nullable(),
  at: z.iso.datetime(),
})

const more = {
  environment: z.enum(['live', 'test']),
  project_id: z.string(),
  /** The key that sent the message. Null for a message that a person sent. */
  key_id: z.string().nullable(),
  provider: z.string().nullable(),
  body_preview: z.string().nullable(),
  segments: z.int().nullable(),
  possible_subjects: BrowsedMessage.shape.possible_subjects,
  events: z.array(MessageEvent),
}

const ShownMessage = z.union([Email.extend(more), SmsDetail.extend({ ...more, subject: z.null() })])

const Resent = z.strictObject({
  id: z.string(),
  status: z.literal('scheduled'),
  scheduled_at: z.iso.datetime(),
  resent_from: z.string(),
})

const CanceledMessage = z.strictObject({
  id: z.string(),
  channel: z.enum(channels),
  status: z.literal('canceled'),
  canceled_at: z.iso.datetime(),
})

const shownEvent = shownAs(MessageEvent)

/** What the list shows, then what the public API shows, which has all recipients, then the rest. */
const shownMessage = (row: MessageRow, events: MessageEventRow[], possibleSubjects: string[] | undefined) => ({
  ...shownBrowsed({ ...row, body: row.channel === 'sms' ? row.text : null }, possibleSubjects),
  ...(row.channel === 'email' ? shownEmail(row, true) : shownSms(row)),
  project_id: row.project_id,
  key_id: row.key_id,
  provider: row.provider,
  events: events.map(shownEvent),
})

type MessageRouteNeeds = {
  browse: BrowseMessages
  read: Pick<ReadMessages, 'findInOrg' | 'eventsOf'>
  cancel: CancelMessage
  resend: ResendMessage
  possibleSubjects: ReadJobs['possibleSubjects']
}

const readRoutes = ({ browse, read, possibleSubjects }: MessageRouteNeeds): DashboardRoute[] => [
  defineRoute('GET', '/api/internal/messages', bySession('requireSession'), {
    query: ListQuery,
    responses: { 200: MessageList },
    handle: async ({ session, query }) => {
      const { q, channel, status, environment, tag, ...others } = query
      const filters = {
        q,
        channel,
        status,
        environment,
        tag,
        tenantId: others.tenant_id,
        jobId: others.job_id,
        createdAfter: others.created_after,
        createdBefore: others.created_before,
      }
      const { rows, next, searchedUntil } = await browse(session.orgId, filters, query)
      const subjects = await possibleSubjects(session.orgId, rows)
      return ok({
        data: rows.map((row) => shownBrowsed(row, subjects.get(row.id))),
        has_more: next !== undefined,
        next_cursor: next ? encodeCursor(next) : null,
        searched_until: isoOrNull(searchedUntil),
      })
    },
  }),
  defineRoute('GET', '/api/internal/messages/{id}', bySession('requireSession'), {
    params: { id: 'message' },
    responses: { 200: ShownMessage },
    handle: async ({ session: { orgId }, params }) => {
      const id = params.id
      const [row, events] = await Promise.all([read.findInOrg(orgId, id), read.eventsOf(orgId, id)])
      const subjects = await possibleSubjects(orgId, [row])
      return ok(shownMessage(row, events, subjects.get(id)))
    },
  }),
]

export const messageRoutes = (needs: MessageRouteNeeds): DashboardRoute[] => [
  ...readRoutes(needs),
  defineRoute('POST', '/api/internal/messages/{id}/resend', bySession('requireDeveloperSession'), {
    params: { id: 'message' },
    responses: { 201: Resent },
    handle: async (call) => {
      const row = await needs.read.findInOrg(call.session.orgId, call.params.id)
      const { id, scheduled_at } = await needs.resend(row, userActor(call))
      return created({ id, status: 'scheduled', scheduled_at, resent_from: row.id })
    },
  }),
  defineRoute('POST', '/api/internal/messages/{id}/cancel', bySession('requireDeveloperSession'), {
    params: { id: 'message' },
    responses: { 200: CanceledMessage },
    handle: async (call) => {
      const { channel, environment, id } = await needs.read.findInOrg(call.session.orgId, call.params.id)
      const canceled = await needs.cancel(scopeOf(call.session, environment), userActor(call), channel, id)
      const canceledAt = canceled.canceled_at.toISOString()
      return ok({ id, channel, status: 'canceled', canceled_at: canceledAt })
    },
  }),
]
