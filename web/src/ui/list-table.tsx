import { ErrorNote } from './error-note.tsx'
import { Table, type TableProps } from './table.tsx'
import type { List } from './use-pages.ts'

type Props<Row> = Omit<TableProps<Row>, 'rows' | 'rowKey' | 'more'> & { list: List<Row> }

/** A list that the service returns page by page, or why it could not be read. */
export const ListTable = <Row extends { id: string }>({ list: { rows, error, more }, ...table }: Props<Row>) =>
  error ? <ErrorNote error={error} /> : <Table {...table} rows={rows} rowKey={({ id }) => id} more={more} />
