/** A list that the service returns page by page, for the `Table`. */
import { useInfiniteQuery } from '@tanstack/react-query'

export type ListPage<Row> = { data: Row[]; has_more: boolean; next_cursor: string | null }

/** `load` gets the cursor of a page, which is undefined for the first one. */
export const usePages = <Row, Last extends ListPage<Row> = ListPage<Row>>(
  key: readonly unknown[],
  load: (cursor: string | undefined) => Promise<Last & ListPage<Row>>,
  options: { enabled?: boolean; refetchInterval?: number } = {},
) => {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => load(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => (last.has_more ? (last.next_cursor ?? undefined) : undefined),
    ...options,
  })
  return {
    rows: query.data?.pages.flatMap((page) => page.data),
    /** The page that was loaded last, for what a list has besides its rows. */
    last: query.data?.pages.at(-1),
    error: query.error,
    more: {
      has: query.hasNextPage,
      busy: query.isFetchingNextPage,
      load: () => void query.fetchNextPage(),
    },
  }
}
