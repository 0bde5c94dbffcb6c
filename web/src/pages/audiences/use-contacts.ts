import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.gen.ts'
import { type ListPage, pageOf, usePages } from '../../ui/use-pages.ts'

export type Contact = components['schemas']['Contact']
export type Audience = components['schemas']['Audience']

export const labelOf = ({ name, email, phone, id }: Contact): string => name ?? email ?? phone ?? id

type Query = { q?: string; audience_id?: string }

const loadPage = async (query: Query, cursor: string | undefined) => {
  const params = { query: { ...query, ...pageOf(cursor, 100) } }
  return (await unwrap(api.GET('/api/internal/contacts', { params }))) as ListPage<Contact>
}

/** A search reads a bounded part of the contacts at a time, so a page can be empty although there are more. */
const loadFound = async (query: Query, cursor: string | undefined): Promise<ListPage<Contact>> => {
  let page = await loadPage(query, cursor)
  while (page.data.length === 0 && page.next_cursor) page = await loadPage(query, page.next_cursor)
  return page
}

export const useContacts = (query: Query) => usePages(['contacts', query], (cursor) => loadFound(query, cursor))
