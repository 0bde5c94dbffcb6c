import { senders } from '../../strings/senders.ts'
import { StatusDot } from '../../ui/badge.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import type { Column } from '../../ui/table.tsx'
import { toneOf } from './sender-kind.ts'

type Status = keyof typeof senders.statuses

export const SenderStatus = ({ status }: { status: string }) => (
  <StatusDot tone={toneOf(status)}>{senders.statuses[status as Status] ?? status}</StatusDot>
)

export const statusColumn = <Row extends { status: string }>(): Column<Row> => ({
  id: 'status',
  header: senders.status,
  className: 'w-32',
  cell: ({ status }) => <SenderStatus status={status} />,
})

export const createdColumn = <Row extends { created_at: string }>(): Column<Row> => ({
  id: 'created',
  header: senders.created,
  className: 'hidden w-28 md:table-cell',
  cell: ({ created_at }) => <RelativeTime at={created_at} />,
})
