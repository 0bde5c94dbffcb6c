import type { ReactNode } from 'react'
import { ErrorNote } from './error-note.tsx'
import { Skeleton } from './skeleton.tsx'
import type { Opened } from './use-opened.ts'

type Props<Row> = {
  opened: Opened<Row>
  /** What to say when there is no such row. */
  goneText: string
  children: (row: Row) => ReactNode
}

export const OpenedDetail = <Row,>({ opened: { row, error, gone }, goneText, children }: Props<Row>) => {
  if (row !== undefined) return children(row)
  if (gone) return <p className="text-muted text-sm">{goneText}</p>
  return error ? <ErrorNote error={error} /> : <Skeleton className="h-64 w-full" />
}
