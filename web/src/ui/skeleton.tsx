import type { ReactNode } from 'react'
import { ui } from '../strings/ui.ts'
import { classes } from './classes.ts'
import { pageClasses } from './page-classes.ts'

/** A grey bar in the place of text that is loading. */
export const Bar = ({ className }: { className: string }) => (
  <span aria-hidden className={classes('block animate-pulse rounded-sm bg-selected', className)} />
)

/** Bars in the place of a part that is loading. Screen readers say so. */
export const Loading = ({ className, children }: { className?: string; children: ReactNode }) => (
  <div role="status" aria-label={ui.loading} className={className}>
    {children}
  </div>
)

/** A part that is loading, as one bar. */
export const Skeleton = ({ className = 'h-4 w-full' }: { className?: string }) => (
  <Loading>
    <Bar className={className} />
  </Loading>
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
          <Bar className={`h-3 ${widths[(row + column) % widths.length]}`} />
        </td>
      ))}
    </tr>
  ))

export const PageSkeleton = () => (
  <Loading className={pageClasses}>
    <Bar className="h-7 w-48" />
    <Bar className="mt-6 h-8 w-full max-w-md" />
    <Bar className="mt-4 h-64 w-full" />
  </Loading>
)
