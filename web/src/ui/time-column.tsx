import { RelativeTime } from './relative-time.tsx'
import type { Column } from './table.tsx'

type Options = Pick<Column<never>, 'className' | 'align'> & {
  /** It may be in the future. */
  due?: boolean
}

/** A column with a time of each row. */
export const timeColumn = <Name extends string>(
  name: Name,
  header: string,
  { due, ...options }: Options = {},
): Column<{ [N in Name]: string | null }> => ({
  id: name,
  header,
  ...options,
  cell: (row) => <RelativeTime due={due} at={row[name]} />,
})
