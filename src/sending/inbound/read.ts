import type { Db } from '../../platform/db/pool.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { isE164 } from '../../platform/ground/phone-number.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { type AttachmentRow, findAttachment, findInbound, type InboundRow, listInbound } from './store/inbound-rows.ts'

export type InboundFilters = {
  channel?: string | undefined
  from?: string | undefined
  to?: string | undefined
  kind?: string | undefined
  createdAfter?: Date | undefined
  createdBefore?: Date | undefined
}

export interface ReadInbound {
  find(scope: Scope, id: string): Promise<InboundRow>
  /** Not found if the message is hidden from the caller or redacted, or has no attachment at that position. */
  attachment(scope: Scope, id: string, position: number): Promise<AttachmentRow>
  /** Newest first. Returns up to one row more than the limit, which shows whether another page follows. */
  list(scope: Scope, filters: InboundFilters, page: PageAsked): Promise<InboundRow[]>
}

export const makeReadInbound = ({ db }: { db: Db }): ReadInbound => ({
  find: async ({ orgId, tenantId }, id) => {
    const row = await db.row(findInbound, { orgId, tenantId, id })
    if (!row) throw new Failure('NOT_FOUND')
    return row
  },
  attachment: async ({ orgId, tenantId }, id, position) => {
    const row = await db.row(findAttachment, { orgId, tenantId, id, position })
    if (!row) throw new Failure('NOT_FOUND')
    return row
  },
  /** Uses the index that leaves the fewest rows to filter. A sender writes less than a number receives. */
  list: async ({ orgId, tenantId }, filters, page) => {
    const { channel = null, from = null, to = null, kind = null } = filters
    const { createdAfter = null, createdBefore = null } = filters
    const params = { orgId, tenantId, from, to, kind, createdAfter, createdBefore, ...keysetOf(page) }
    if (from !== null) return db.rows(listInbound.fromSender, { ...params, channel })
    // Only text messages are sent to a number.
    if (to !== null && isE164(to)) return channel === 'email' ? [] : db.rows(listInbound.toNumber, params)
    return db.rows(tenantId === null ? listInbound.all : listInbound.ofTenant, { ...params, channel })
  },
})
