/**
 * Search in contacts. A statement reads at most `window` contacts, newest first, so that its cost does not depend on how
 * many there are. It returns those that match, and the last contact of a full window, where the next search goes on.
 */
import { afterCursor } from '../../../platform/db/after-cursor.ts'
import { statement } from '../../../platform/db/statement.ts'
import type { Keyset } from '../../../platform/ground/cursor.ts'
import type { Searched } from '../../../platform/ground/search-page.ts'
import { type ContactRow, contactColumns } from './contact-rows.ts'

/** `ends` marks the end of the window. The row itself was searched like all others. */
export type SearchedRow = Searched<ContactRow>

type Search = Keyset & { orgId: string; q: string; window: number }

const contains = (column: string): string => `coalesce(strpos(lower(${column}), lower(:q)) > 0, false)`

const matches = ['c.name', 'c.email', 'c.phone'].map(contains).join(' or ')

/** Metadata can be large, so it is read only for the contacts that are returned. */
const searchSql = (scan: string): string =>
  `with scanned as materialized (${scan}),
   found as (
     (select id, place, false as ends from scanned where matches order by place limit :limit)
     union all
     (select id, place, true as ends from scanned where place = :window)
   )
   select ${contactColumns.of('c')}, found.ends
   from found cross join lateral (
     select ${contactColumns.of('contacts')} from contacts where org_id = :orgId and id = found.id limit 1
   ) c
   order by found.place, found.ends`

const newestFirst = 'order by c.created_at desc, c.id desc'

const scanSql = (where: string): string =>
  `select c.id, ${matches} as matches, row_number() over (${newestFirst}) as place
   from contacts c
   where c.org_id = :orgId${where} and ${afterCursor('c.')}
   ${newestFirst}
   limit :window`

export const searchContacts = {
  all: statement<Search, SearchedRow>('audiences.search_contacts', searchSql(scanSql(''))),
  byTenant: statement<Search & { tenantId: string }, SearchedRow>(
    'audiences.search_tenant_contacts',
    searchSql(scanSql(' and c.tenant_id = :tenantId')),
  ),
  /** In the order of ids, as the members of an audience are listed. */
  byAudience: statement<Omit<Search, 'afterAt'> & { audienceId: string }, SearchedRow>(
    'audiences.search_members',
    searchSql(`select c.id, ${matches} as matches, m.place
     from (
       select contact_id, row_number() over (order by contact_id desc) as place
       from audience_members
       where org_id = :orgId and audience_id = :audienceId and contact_id < coalesce(:afterId::text, 'zzz')
       order by contact_id desc
       limit :window
     ) m cross join lateral (
       select id, name, email, phone from contacts where org_id = :orgId and id = m.contact_id limit 1
     ) c`),
  ),
}
