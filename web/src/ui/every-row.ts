/** Reads the pages of a list one after the other, for choices in forms. */
import { type ListPage, pageOf } from './use-pages.ts'

type Load<Row> = (cursor: string | undefined) => Promise<ListPage<Row>>

/** The first rows, or all of them. A search can have pages without rows. */
export const readRows = async <Row>(
  load: Load<Row>,
  atMost = Number.POSITIVE_INFINITY,
): Promise<{ rows: Row[]; more: boolean }> => {
  const rows: Row[] = []
  let cursor: string | undefined
  do {
    const { data, next_cursor } = await load(cursor)
    rows.push(...data)
    cursor = next_cursor ?? undefined
  } while (cursor !== undefined && rows.length < atMost)
  return { rows: rows.slice(0, atMost), more: cursor !== undefined || rows.length > atMost }
}

/** For lists that a plan or the registry limits to some thousand rows. */
export const everyRow = async <Row>(load: Load<Row>): Promise<Row[]> => (await readRows(load)).rows

/** The query of a page that is as long as possible. */
export const longPage = (cursor: string | undefined) => ({ params: { query: pageOf(cursor, 100) } })
