/** The row of an open detail, read by its id: the list may not have come as far as it. */
import { type QueryClient, useQuery } from '@tanstack/react-query'
import { ApiError } from '../api/api-error.ts'

type Identified = { id: string }

export type Opened<Row> = { row: Row | undefined; error: unknown; gone: boolean }

type Options<Row> = {
  /** Nothing is open with an empty id. */
  id: string
  /** Shown until the row is read. */
  rows?: readonly Row[] | undefined
  refetchInterval?: number
}

/** `key` is that of the list, so that whatever refreshes the list refreshes the detail. */
export const useOpened = <Row extends Identified>(
  key: readonly unknown[],
  load: (id: string) => Promise<Row>,
  { id, rows, refetchInterval }: Options<Row>,
): Opened<Row> => {
  const { data, error } = useQuery({
    queryKey: [...key, 'one', id],
    queryFn: (): Promise<Row> => load(id),
    enabled: id !== '',
    placeholderData: () => rows?.find((row) => row.id === id) as never,
    ...(refetchInterval !== undefined && { refetchInterval }),
  })
  // A row that was deleted since it was read is still in the cache. After another fault it stays, with a form in it.
  const gone = error instanceof ApiError && error.status === 404
  return { row: gone ? undefined : (data as Row | undefined), error, gone }
}

/** Refreshes the lists of a row that was deleted, without reading the row itself. */
export const refreshWithout = (client: QueryClient, key: readonly unknown[], id: string): Promise<void> =>
  client.invalidateQueries({ queryKey: key, predicate: ({ queryKey }) => queryKey.at(-1) !== id })
