import type { Db } from '../../platform/db/pool.ts'
import type { Channel } from '../../platform/ground/channel.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { timeOfId } from '../../platform/ground/ids.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { recipientMark, tagMark } from './marks.ts'
import { eventsOfMessage, findInOrg, type MessageEventRow } from './store/browse-messages.ts'
import { findMessage, type ListedRow, listMessages } from './store/list-messages.ts'
import type { MessageRow, Status } from './store/message-row.ts'

export type Filters = {
  status?: Status | undefined
  tag?: string | undefined
  /** Case is ignored. */
  to?: string | undefined
  createdAfter?: Date | undefined
  createdBefore?: Date | undefined
}

/** As many events of a message as its page shows. */
const shownEvents = 200

export interface ReadMessages {
  /** Whatever its channel, environment and tenant. */
  findInOrg(orgId: string, id: string): Promise<MessageRow>
  /** The newest events, newest first. */
  eventsOf(orgId: string, id: string): Promise<MessageEventRow[]>
  find(scope: Scope, channel: Channel, id: string): Promise<MessageRow>
  /** Newest first. Returns up to one row more than the limit, which shows whether another page follows. */
  list(scope: Scope, channel: Channel, filters: Filters, page: PageAsked): Promise<ListedRow[]>
}

/** Picks the statement whose index leaves the fewest rows to filter. */
const statementFor = (scope: Scope, { status, tag, to }: Filters) => {
  if (to !== undefined) return listMessages.byRecipient
  if (tag !== undefined) return listMessages.byTag
  if (status !== undefined && status !== 'sent' && status !== 'delivered') return listMessages.byStatus
  if (scope.tenantId !== null) return listMessages.byTenant
  return scope.projectId === null ? listMessages.all : listMessages.byProject
}

export const makeReadMessages = ({ db }: { db: Db }): ReadMessages => ({
  findInOrg: async (orgId, id) => {
    const row = await db.row(findInOrg, { orgId, id, createdAt: new Date(timeOfId(id)) })
    if (!row) throw new Failure('NOT_FOUND')
    return row
  },
  eventsOf: (orgId, id) => db.rows(eventsOfMessage, { orgId, id, limit: shownEvents }),
  find: async ({ orgId, tenantId, environment, projectId }, channel, id) => {
    const createdAt = new Date(timeOfId(id))
    const row = await db.row(findMessage, { orgId, tenantId, environment, projectId, channel, id, createdAt })
    if (!row) throw new Failure('NOT_FOUND')
    return row
  },
  list: (scope, channel, filters, page) => {
    const { orgId, environment, tenantId, projectId } = scope
    const { status = null, tag = null, createdAfter = null, createdBefore = null } = filters
    const to = filters.to?.toLowerCase() ?? null
    return db.rows(statementFor(scope, filters), {
      orgId,
      environment,
      channel,
      tenantId,
      projectId,
      status,
      tag,
      tagMark: tag === null ? null : tagMark(orgId, tag),
      to,
      toMark: to === null ? null : recipientMark(orgId, to),
      createdAfter,
      createdBefore,
      ...keysetOf(page),
    })
  },
})
