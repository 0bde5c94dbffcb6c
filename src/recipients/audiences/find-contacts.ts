/** Lists contacts for people, and searches in their names, addresses and numbers. */
import type { Db } from '../../platform/db/pool.ts'
import { type Keyset, keysetOf, type Position } from '../../platform/ground/cursor.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { pageOfRows, pageOfSearch, type SearchPage } from '../../platform/ground/search-page.ts'
import { findAudience } from './store/audience-rows.ts'
import { type ContactRow, listContacts } from './store/contact-rows.ts'
import { type SearchedRow, searchContacts } from './store/contact-search.ts'
import { listMembers } from './store/member-rows.ts'

/** How many contacts one request searches. An audience that can be sent to is searched in one request. */
const searchWindow = 10_000

type ContactQuery = {
  /** A text in the name, the address or the number. Case does not matter. */
  q?: string | undefined
  tenantId?: string | undefined
  audienceId?: string | undefined
  limit: number
  cursor?: Position | undefined
}

export type FindContacts = (scope: Scope, query: ContactQuery) => Promise<SearchPage<ContactRow>>

export const makeFindContacts = ({ db, window = searchWindow }: { db: Db; window?: number }): FindContacts => {
  type Where = Keyset & { orgId: string; tenantId: string | undefined; audienceId: string | undefined }

  const list = ({ tenantId, audienceId, ...given }: Where): Promise<ContactRow[]> => {
    if (audienceId !== undefined) return db.rows(listMembers, { ...given, audienceId })
    return tenantId === undefined
      ? db.rows(listContacts.all, given)
      : db.rows(listContacts.byTenant, { ...given, tenantId })
  }

  const search = ({ tenantId, audienceId, ...given }: Where, q: string): Promise<SearchedRow[]> => {
    const searched = { ...given, q, window }
    if (audienceId !== undefined) return db.rows(searchContacts.byAudience, { ...searched, audienceId })
    return tenantId === undefined
      ? db.rows(searchContacts.all, searched)
      : db.rows(searchContacts.byTenant, { ...searched, tenantId })
  }

  return async ({ orgId }, { q, tenantId, audienceId, ...query }) => {
    const audience = audienceId === undefined ? undefined : await db.row(findAudience, { orgId, id: audienceId })
    if (audienceId !== undefined && !audience) throw new Failure('NOT_FOUND')
    // All members of an audience belong to its tenant.
    if (audience && tenantId !== undefined && audience.tenant_id !== tenantId) return { rows: [], next: null }
    const where = { orgId, tenantId, audienceId, ...keysetOf(query) }
    if (q === undefined) return pageOfRows(await list(where), query.limit)
    return pageOfSearch(await search(where, q), query.limit)
  }
}
