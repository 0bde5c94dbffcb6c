import { senders } from '../../strings/senders.ts'
import { StatusDot, type Tone } from '../../ui/badge.tsx'
import type { Column } from '../../ui/table.tsx'
import { timeColumn } from '../../ui/time-column.tsx'

type Status = keyof typeof senders.statuses

const toneOf = (status: string): Tone => {
  if (status === 'verified' || status === 'approved') return 'ok'
  if (status === 'failed' || status === 'rejected' || status === 'unverified') return 'bad'
  return 'info'
}

export const RowStatus = ({ status }: { status: string }) => (
  <StatusDot tone={toneOf(status)}>{senders.statuses[status as Status] ?? status}</StatusDot>
)

export const statusColumn = <Row extends { status: string }>(): Column<Row> => ({
  id: 'status',
  header: senders.status,
  className: 'w-32',
  cell: ({ status }) => <RowStatus status={status} />,
})

export const createdColumn = <Row extends { created_at: string }>(): Column<Row> =>
  timeColumn('created_at', senders.created, { className: 'hidden w-28 md:table-cell' })
