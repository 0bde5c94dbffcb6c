import type { Db } from '../db/pool.ts'
import { type Keyset, keysetOf } from '../ground/cursor.ts'
import { Failure } from '../ground/errors.ts'
import { isE164 } from '../ground/phone-number.ts'
import type { Scope } from '../ground/scope.ts'
import { findInbound, type InboundRow, listInbound } from './store.ts'

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
  /** Newest first. Returns up to one row more than the limit, which shows whether another page follows. */
  list(scope: Scope, filters: InboundFilters, page: Parameters<typeof keysetOf>[0]): Promise<InboundRow[]>
}

/** Picks the statement whose index leaves the fewest rows to filter. A sender writes less than a number receives. */
const statementFor = (tenantId: string | null, { from, to }: InboundFilters) => {
  if (from !== undefined) return listInbound.fromSender
  if (to !== undefined && isE164(to)) return listInbound.toNumber
  return tenantId === null ? listInbound.all : listInbound.ofTenant
}

export const makeReadInbound = ({ db }: { db: Db }): ReadInbound => ({
  find: async ({ orgId, tenantId }, id) => {
    const row = await db.row(findInbound, { orgId, tenantId, id })
    if (!row) throw new Failure('NOT_FOUND')
    return row
  },
  list: async ({ orgId, tenantId }, filters, page) => {
    const { channel = null, from = null, to = null, kind = null } = filters
    const { createdAfter = null, createdBefore = null } = filters
    const keyset: Keyset = keysetOf(page)
    const statement = statementFor(tenantId, filters)
    // That index has no email, so the statement cannot have the filter too.
    if (statement === listInbound.toNumber && channel === 'email') return []
    return db.rows(statement, { orgId, tenantId, channel, from, to, kind, createdAfter, createdBefore, ...keyset })
  },
})
