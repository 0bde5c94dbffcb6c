import { Link } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { suppressions } from '../../strings/suppressions.ts'
import { StatusDot, type Tone } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import type { Column } from '../../ui/table.tsx'
import { timeColumn } from '../../ui/time-column.tsx'
import type { ListedSuppression } from './suppression-data.ts'

const tones: Record<ListedSuppression['reason'], Tone> = {
  bounce: 'bad',
  complaint: 'warn',
  unsubscribe: 'neutral',
  stop: 'neutral',
  manual: 'info',
}

type Remove = (row: ListedSuppression) => void

const actionColumn = (remove: Remove): Column<ListedSuppression> => ({
  id: 'actions',
  header: <span className="sr-only">{suppressions.remove}</span>,
  align: 'right',
  className: 'px-1 sm:px-3',
  cell: (row) => (
    <Button
      look="quiet"
      size="small"
      gate="requireDeveloperSession"
      aria-label={suppressions.removeOne(row.value)}
      {...(!row.removable && { reason: suppressions.protected })}
      onClick={() => remove(row)}
    >
      <X aria-hidden className="size-4 sm:hidden" />
      <span className="hidden sm:inline">{suppressions.remove}</span>
    </Button>
  ),
})

const columns: Column<ListedSuppression>[] = [
  {
    id: 'value',
    header: suppressions.value,
    cell: ({ value }) => <span className="block max-w-32 truncate sm:max-w-80">{value}</span>,
  },
  {
    id: 'reason',
    header: suppressions.reason,
    cell: ({ reason }) => <StatusDot tone={tones[reason]}>{suppressions.reasons[reason]}</StatusDot>,
  },
  {
    id: 'scope',
    header: suppressions.blocks,
    className: 'hidden lg:table-cell',
    cell: ({ scope }) => suppressions.scopes[scope],
  },
  {
    id: 'source',
    header: suppressions.source,
    className: 'hidden md:table-cell',
    cell: ({ source, message_id }) =>
      message_id === null ? (
        suppressions.sources[source]
      ) : (
        <Link
          to={'/messages'}
          search={{ open: message_id }}
          title={suppressions.openMessage}
          className="text-accent hover:underline"
        >
          {suppressions.sources[source]}
        </Link>
      ),
  },
  {
    id: 'tenant',
    header: suppressions.tenant,
    className: 'hidden max-w-40 font-mono xl:table-cell',
    cell: ({ tenant_id }) => tenant_id ?? '–',
  },
  timeColumn('created_at', suppressions.added, { className: 'hidden sm:table-cell' }),
]

export const suppressionColumns = (remove: Remove): Column<ListedSuppression>[] => [...columns, actionColumn(remove)]
