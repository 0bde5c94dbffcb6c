import type { Db } from '../../platform/db/pool.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import { isE164 } from '../../platform/ground/phone-number.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { type AttachmentRow, findAttachment, findInbound, type InboundRow, listInbound } from './store/inbound-rows.ts'

type InboundFilters = {
  channel?: string | undefined
  from?: string | undefined
  to?: string | undefined
  kind?: string | undefined
  createdAfter?: Date | undefined
  createdBefore?: Date | undefined
}

export const makeReadInbound = ({ db }: { db: Db }) => ({
  find: ({ orgId, tenantId }: Scope, id: string): Promise<InboundRow> =>
    orNotFound(db.row(findInbound, { orgId, tenantId, id })),
  /** Not found if the message is hidden from the caller or redacted, or has no attachment at that position. */
  attachment: ({ orgId, tenantId }: Scope, id: string, position: number): Promise<AttachmentRow> =>
    orNotFound(db.row(findAttachment, { orgId, tenantId, id, position })),
  /**
   * Newest first. Returns up to one row more than the limit, which shows whether another page follows. Uses the index
   * that leaves the fewest rows to filter. A sender writes less than a number receives.
   */
  list: async ({ orgId, tenantId }: Scope, filters: InboundFilters, page: PageAsked): Promise<InboundRow[]> => {
    const { channel = null, from = null, to = null, kind = null } = filters
    const { createdAfter = null, createdBefore = null } = filters
    const params = { orgId, tenantId, from, to, kind, createdAfter, createdBefore, ...keysetOf(page) }
    if (from !== null) return db.rows(listInbound.fromSender, { ...params, channel })
    // Only text messages are sent to a number.
    if (to !== null && isE164(to)) return channel === 'email' ? [] : db.rows(listInbound.toNumber, params)
    return db.rows(tenantId === null ? listInbound.all : listInbound.ofTenant, { ...params, channel })
  },
})

export type ReadInbound = ReturnType<typeof makeReadInbound>
