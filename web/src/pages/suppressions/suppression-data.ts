import { api, unwrap } from '../../api/client.ts'
import type { paths } from '../../api/schema.gen.ts'
import { suppressions } from '../../strings/suppressions.ts'
import { pageOf, usePages } from '../../ui/use-pages.ts'

type Route = paths['/api/internal/suppressions']
type SuppressionPage = Route['get']['responses'][200]['content']['application/json']
type Query = NonNullable<Route['get']['parameters']['query']>
export type ListedSuppression = SuppressionPage['data'][number]

export const noSuppressionFilters = { q: '', channel: '', reason: '', tenant: '' }
export type SuppressionFilters = typeof noSuppressionFilters

/** A filter in the URL that nobody offers is no filter. */
const queryOf = ({ q, channel, reason, tenant }: SuppressionFilters): Query => ({
  ...(q && { q }),
  ...(channel in suppressions.channels && { channel: channel as NonNullable<Query['channel']> }),
  ...(reason in suppressions.reasons && { reason: reason as NonNullable<Query['reason']> }),
  ...(tenant && { tenant_id: tenant }),
})

const loadPage = (query: Query, cursor: string | undefined): Promise<SuppressionPage> =>
  unwrap(api.GET('/api/internal/suppressions', { params: { query: { ...query, ...pageOf(cursor, 50) } } }))

/** A search reads a bounded part of the list at a time, so a page can be empty although there are more. */
const loadFound = async (query: Query, cursor: string | undefined): Promise<SuppressionPage> => {
  let page = await loadPage(query, cursor)
  while (page.data.length === 0 && page.next_cursor) page = await loadPage(query, page.next_cursor)
  return page
}

export const useSuppressions = (filters: SuppressionFilters) => {
  const query = queryOf(filters)
  return usePages(['suppressions', query], (cursor) => loadFound(query, cursor))
}

/** The form of the value decides: only phone numbers begin with a plus sign and contain no at sign. */
export const targetOf = (value: string): { channel: 'email' | 'sms'; value: string } =>
  value.includes('@') || !/^\+?[\d\s().-]+$/.test(value)
    ? { channel: 'email', value }
    : { channel: 'sms', value: value.replace(/[\s().-]/g, '') }

export const addSuppression = (value: string, tenantId: string | null) =>
  unwrap(
    api.POST('/api/internal/suppressions', {
      body: { ...targetOf(value.trim()), ...(tenantId && { tenant_id: tenantId }) },
    }),
  )

export const removeSuppression = (id: string) =>
  unwrap(api.DELETE('/api/internal/suppressions', { params: { query: { id } } }))
