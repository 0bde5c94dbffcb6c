import type { ReactNode } from 'react'
import { useMode } from '../api/mode.ts'
import { Drawer } from './drawer.tsx'
import { ErrorNote } from './error-note.tsx'
import { ListTable } from './list-table.tsx'
import { type Opened, type Resource, useOpened } from './resource.ts'
import { Skeleton } from './skeleton.tsx'
import { usePages } from './use-pages.ts'

type DetailProps<Row> = {
  opened: Opened<Row>
  /** What to say when there is no such row. */
  goneText: string
  children: (row: Row) => ReactNode
}

export const OpenedDetail = <Row,>({ opened: { row, error, gone }, goneText, children }: DetailProps<Row>) => {
  if (row !== undefined) return children(row)
  if (gone) return <p className="text-muted text-sm">{goneText}</p>
  return error ? <ErrorNote error={error} /> : <Skeleton className="h-64 w-full" />
}

type Props<Row extends { id: string }> = {
  resource: Resource<Row>
  /** What the list is filtered by. */
  filters?: unknown
  /** The id of the open row, which is in the URL. */
  open: string
  onOpen: (id: string) => void
  onClose: () => void
  empty: ReactNode
  /** The detail of a row. */
  children: (row: Row) => ReactNode
}

/** The list of a resource. A row opens its detail in a drawer. */
export const ResourceList = <Row extends { id: string }>(props: Props<Row>) => {
  const { resource, filters, open, onOpen, onClose, empty, children } = props
  const { key, load, refetchInterval, title, titleOf, columns, gone } = resource
  const mode = useMode()
  const list = usePages(
    [...key, 'list', mode, filters],
    (cursor) => load(cursor, mode),
    refetchInterval === undefined ? {} : { refetchInterval },
  )
  const opened = useOpened(resource, open, list.rows)
  return (
    <>
      <ListTable
        label={title}
        list={list}
        columns={columns}
        openKey={open}
        onOpen={({ id }) => onOpen(id)}
        empty={empty}
      />
      <Drawer open={open !== ''} onClose={onClose} title={opened.row ? titleOf(opened.row) : title}>
        <OpenedDetail opened={opened} goneText={gone}>
          {children}
        </OpenedDetail>
      </Drawer>
    </>
  )
}
