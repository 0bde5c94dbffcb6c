/** A noun of the API in the dashboard: its list, and one of its rows that is open. */
import { type QueryKey, useQuery } from '@tanstack/react-query'
import { ApiError } from '../api/api-error.ts'
import type { Mode } from '../api/mode.ts'
import type { Column } from './table.tsx'
import type { ListPage } from './use-pages.ts'

export type ReadById<Row> = {
  /** Of all its queries: whatever refreshes it refreshes the list and the open row. */
  key: QueryKey
  read: (id: string) => Promise<Row>
  /** For rows that change by themselves. */
  refetchInterval?: number
}

export type Resource<Row extends { id: string }> = ReadById<Row> & {
  title: string
  titleOf: (row: Row) => string
  columns: readonly Column<Row>[]
  load: (cursor: string | undefined, mode: Mode) => Promise<ListPage<Row>>
  /** What to say about a row that is not there any more. */
  gone: string
}

export type Opened<Row> = { row: Row | undefined; error: unknown; gone: boolean }

/**
 * The open row, read by its id: the list may not have come as far as it. Until it is read, that of the list is shown.
 * Nothing is open with an empty id.
 */
export const useOpened = <Row extends { id: string }>(
  { key, read, refetchInterval }: ReadById<Row>,
  id: string,
  rows?: readonly Row[],
): Opened<Row> => {
  const { data, error } = useQuery({
    queryKey: [...key, 'one', id],
    queryFn: () => read(id),
    enabled: id !== '',
    ...(refetchInterval !== undefined && { refetchInterval }),
  })
  // A row that was deleted since it was read is still in the cache. After another fault it stays, with a form in it.
  const gone = error instanceof ApiError && error.status === 404
  const listed = error ? undefined : rows?.find((row) => row.id === id)
  return { row: gone ? undefined : (data ?? listed), error, gone }
}
