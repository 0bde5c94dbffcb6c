/** A table with a sticky header, rows that open a detail, and "Load more" paging. */
import { memo, type ReactNode, useCallback, useRef } from 'react'
import { ui } from '../strings/ui.ts'
import { Button } from './button.tsx'
import { classes } from './classes.ts'
import { SkeletonRows } from './skeleton.tsx'

export type Column<Row> = {
  id: string
  header: ReactNode
  cell: (row: Row) => ReactNode
  /** Such as `w-40` or `hidden md:table-cell`. */
  className?: string
  align?: 'right'
}

export type TableProps<Row> = {
  label: string
  columns: readonly Column<Row>[]
  /** Undefined while the first page loads. */
  rows: readonly Row[] | undefined
  rowKey: (row: Row) => string
  onOpen?: (row: Row) => void
  /** Marks the row whose detail is open. */
  openKey?: string | undefined
  empty?: ReactNode
  more?: Paging & { earlier?: Paging }
}

type Paging = { has: boolean; busy: boolean; load: () => void }

const PageButton = ({ paging, children }: { paging: Paging | undefined; children: string }) =>
  paging?.has ? (
    <div className="flex justify-center">
      <Button onClick={paging.load} busy={paging.busy}>
        {children}
      </Button>
    </div>
  ) : null

type RowProps<Row> = Pick<TableProps<Row>, 'columns' | 'onOpen'> & { row: Row; selected: boolean }

const PlainRow = <Row,>({ row, columns, onOpen, selected }: RowProps<Row>) => (
  <tr
    tabIndex={onOpen ? 0 : undefined}
    onClick={(event) => {
      if (!(event.target as Element).closest('a, button, input, select')) onOpen?.(row)
    }}
    onKeyDown={(event) => {
      if (event.key === 'Enter' && event.target === event.currentTarget) onOpen?.(row)
    }}
    aria-current={selected || undefined}
    className={classes(
      'border-b last:border-b-0',
      onOpen && 'cursor-pointer outline-offset-[-2px] hover:bg-hover',
      selected && 'bg-selected',
    )}
  >
    {columns.map(({ id, cell, className, align }) => (
      <td
        key={id}
        className={classes('h-(--row) max-w-80 truncate px-3', align && 'text-right tabular-nums', className)}
      >
        {cell(row)}
      </td>
    ))}
  </tr>
)

/** A row is drawn again only when it has changed: a list of many rows asks for news every few seconds. */
const TableRow = memo(PlainRow) as typeof PlainRow

/** The same function in every render, which calls the latest one. */
const useStable = <Row,>(onOpen: ((row: Row) => void) | undefined): ((row: Row) => void) | undefined => {
  const latest = useRef(onOpen)
  latest.current = onOpen
  const stable = useCallback((row: Row) => latest.current?.(row), [])
  return onOpen && stable
}

export const Table = <Row,>(props: TableProps<Row>) => {
  const { label, columns, rows, rowKey, openKey, empty, more } = props
  const onOpen = useStable(props.onOpen)
  if (rows?.length === 0 && empty) return empty
  return (
    <div className="@container flex flex-col gap-3">
      <PageButton paging={more?.earlier}>{ui.loadEarlier}</PageButton>
      {/* With enough space nothing scrolls in here, so that the header sticks to the top of the page. */}
      <div className="@4xl:overflow-clip overflow-auto rounded-md border">
        <table aria-label={label} aria-busy={rows === undefined} className="w-full border-collapse text-sm">
          <thead className="sticky top-0 z-10 bg-surface">
            <tr className="border-b">
              {columns.map(({ id, header, className, align }) => (
                <th
                  key={id}
                  scope="col"
                  className={classes(
                    'h-8 whitespace-nowrap px-3 text-left font-medium font-sans! normal-case! text-muted text-xs',
                    align && 'text-right',
                    className,
                  )}
                >
                  {header}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows === undefined ? (
              <SkeletonRows columns={columns.length} />
            ) : (
              rows.map((row) => {
                const key = rowKey(row)
                return (
                  <TableRow
                    key={key}
                    row={row}
                    columns={columns}
                    selected={key === openKey}
                    {...(onOpen && { onOpen })}
                  />
                )
              })
            )}
          </tbody>
        </table>
      </div>
      <PageButton paging={more}>{ui.loadMore}</PageButton>
    </div>
  )
}
