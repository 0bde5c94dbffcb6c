/** Lists suppressions for people, and searches in their addresses and numbers. */
import type { Db } from '../../platform/db/pool.ts'
import { keysetOf, type Position } from '../../platform/ground/cursor.ts'
import { pageOfRows, pageOfSearch, type SearchPage } from '../../platform/ground/search-page.ts'
import { listSuppressions, listTenantSuppressions, type SuppressionRow, searchSuppressions } from './store.ts'

type ListedSuppressions = {
  /** A text in the address or the number. Case does not matter. */
  q?: string | undefined
  channel?: SuppressionRow['channel'] | undefined
  reason?: SuppressionRow['reason'] | undefined
  tenantId?: string | undefined
  limit: number
  cursor?: Position | undefined
}

export type FindSuppressions = (orgId: string, query: ListedSuppressions) => Promise<SearchPage<SuppressionRow>>

/** `window` is how many suppressions one request searches. */
type Needs = { db: Db; window?: number }

export const makeFindSuppressions =
  ({ db, window = 10_000 }: Needs): FindSuppressions =>
  async (orgId, { q, channel = null, reason = null, tenantId, ...query }) => {
    const filters = { orgId, channel, reason, ...keysetOf(query) }
    if (q === undefined) {
      const listed = { ...filters, value: null }
      const rows =
        tenantId === undefined
          ? await db.rows(listSuppressions, listed)
          : await db.rows(listTenantSuppressions, { ...listed, tenantId })
      return pageOfRows(rows, query.limit)
    }
    const searched = { ...filters, q, window }
    const rows =
      tenantId === undefined
        ? await db.rows(searchSuppressions.all, searched)
        : await db.rows(searchSuppressions.byTenant, { ...searched, tenantId })
    return pageOfSearch(rows, query.limit)
  }
