import type { Db } from '../../platform/db/pool.ts'
import type { Channel } from '../../platform/ground/channel.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { timeOfId } from '../../platform/ground/ids.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
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

/** Picks the statement whose index leaves the fewest rows to filter. */
const statementFor = (scope: Scope, { status, tag, to }: Filters) => {
  if (to !== undefined) return listMessages.byRecipient
  if (tag !== undefined) return listMessages.byTag
  if (status !== undefined && status !== 'sent' && status !== 'delivered') return listMessages.byStatus
  if (scope.tenantId !== null) return listMessages.byTenant
  return scope.projectId === null ? listMessages.all : listMessages.byProject
}

export const makeReadMessages = ({ db }: { db: Db }) => ({
  /** Whatever its channel, environment and tenant. */
  findInOrg: (orgId: string, id: string): Promise<MessageRow> =>
    orNotFound(db.row(findInOrg, { orgId, id, createdAt: new Date(timeOfId(id)) })),
  /** The newest events, newest first. */
  eventsOf: (orgId: string, id: string): Promise<MessageEventRow[]> =>
    db.rows(eventsOfMessage, { orgId, id, limit: shownEvents }),
  find: (scope: Scope, channel: Channel, id: string): Promise<MessageRow> =>
    orNotFound(db.row(findMessage, { ...scope, channel, id, createdAt: new Date(timeOfId(id)) })),
  /** Newest first. Returns up to one row more than the limit, which shows whether another page follows. */
  list: (scope: Scope, channel: Channel, filters: Filters, page: PageAsked): Promise<ListedRow[]> => {
    const { orgId } = scope
    const { status = null, tag = null, createdAfter = null, createdBefore = null } = filters
    const to = filters.to?.toLowerCase() ?? null
    return db.rows(statementFor(scope, filters), {
      ...scope,
      channel,
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

export type ReadMessages = ReturnType<typeof makeReadMessages>
