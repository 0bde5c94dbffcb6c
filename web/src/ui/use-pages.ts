/** A list that the service returns page by page, for the `Table`. */
import { useInfiniteQuery } from '@tanstack/react-query'

export type ListPage<Row> = { data: Row[]; has_more: boolean; next_cursor: string | null }

/** The query of a page, for a list without filters of its own. */
export const pageOf = (cursor: string | undefined, limit: number) => ({
  limit: String(limit),
  ...(cursor && { cursor }),
})

/** A list keeps this many pages. Older ones are dropped, so that a long list takes no more memory than a short one. */
const maxPages = 10

/** Where a page begins, and where those before it do. */
type Start = { cursor: string | undefined; before: Start | undefined }

const first: Start = { cursor: undefined, before: undefined }

type Paging = { has: boolean; busy: boolean; load: () => void }

/** `rows` are undefined while the first page loads. */
export type List<Row> = { rows: Row[] | undefined; error: unknown; more: Paging & { earlier: Paging } }

/**
 * `load` gets the cursor of a page, which is undefined for the first one. `last` is the page that was loaded last, for what
 * a list has besides its rows.
 */
export const usePages = <Row, Last extends ListPage<Row> = ListPage<Row>>(
  key: readonly unknown[],
  load: (cursor: string | undefined) => Promise<Last & ListPage<Row>>,
  options: { enabled?: boolean; refetchInterval?: number } = {},
): List<Row> & { last: Last | undefined } => {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => load(pageParam.cursor),
    initialPageParam: first,
    getNextPageParam: (last, _pages, before): Start | undefined =>
      last.has_more && last.next_cursor !== null ? { cursor: last.next_cursor, before } : undefined,
    getPreviousPageParam: (_page, _pages, { before }) => before,
    maxPages,
    ...options,
  })
  return {
    rows: query.data?.pages.flatMap((page) => page.data),
    last: query.data?.pages.at(-1),
    error: query.error,
    more: {
      has: query.hasNextPage,
      busy: query.isFetchingNextPage,
      load: () => void query.fetchNextPage(),
      earlier: {
        has: query.hasPreviousPage,
        busy: query.isFetchingPreviousPage,
        load: () => void query.fetchPreviousPage(),
      },
    },
  }
}
