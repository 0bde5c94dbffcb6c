import { classes } from './classes.ts'
import { pageClasses } from './page-classes.ts'

/** A grey bar in the place of text that is loading. */
export const Skeleton = ({ className = 'h-4 w-full' }: { className?: string }) => (
  <span aria-hidden className={classes('block animate-pulse rounded-sm bg-selected', className)} />
)

const widths = ['w-2/3', 'w-1/2', 'w-3/4', 'w-2/5']

/** The rows of a table that is loading, in the height of the final rows. */
export const SkeletonRows = ({ columns, rows = 8 }: { columns: number; rows?: number }) =>
  Array.from({ length: rows }, (_, row) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the rows have no identity
    <tr key={row} className="border-b">
      {Array.from({ length: columns }, (_, column) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the cells have no identity
        <td key={column} className="h-(--row) px-3">
          <Skeleton className={`h-3 ${widths[(row + column) % widths.length]}`} />
        </td>
      ))}
    </tr>
  ))

export const PageSkeleton = () => (
  <div role="status" aria-label="Loading" className={pageClasses}>
    <Skeleton className="h-7 w-48" />
    <Skeleton className="mt-6 h-8 w-full max-w-md" />
    <Skeleton className="mt-4 h-64 w-full" />
  </div>
)
