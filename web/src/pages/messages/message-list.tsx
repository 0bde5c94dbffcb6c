import { Clock, Mail, MessageSquare } from 'lucide-react'
import { useMode } from '../../api/mode.ts'
import { serviceNow } from '../../api/service-time.ts'
import { messages } from '../../strings/messages.ts'
import { StatusDot } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { curl } from '../../ui/curl.ts'
import { Drawer } from '../../ui/drawer.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { ListTable } from '../../ui/list-table.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import type { Column } from '../../ui/table.tsx'
import { timeColumn } from '../../ui/time-column.tsx'
import { useFilters } from '../../ui/use-filters.ts'
import { type ListedMessage, noFilters, subjectText, tones, useMessages } from './message-data.ts'
import { MessageDetail } from './message-detail.tsx'
import { MessageFilterBar } from './message-filter-bar.tsx'

/** `narrow` is the width of the column on a phone. */
const toColumn = (narrow: 'max-w-32' | 'max-w-52'): Column<ListedMessage> => ({
  id: 'to',
  header: messages.columns.to,
  cell: ({ to }) =>
    to === null ? (
      <span className="text-faint">{messages.erased}</span>
    ) : (
      <span className={`block ${narrow} truncate sm:max-w-72 xl:max-w-96`}>{to}</span>
    ),
})

const columns: Column<ListedMessage>[] = [
  toColumn('max-w-32'),
  {
    id: 'status',
    header: messages.columns.status,
    cell: ({ status }) => <StatusDot tone={tones[status]}>{messages.statuses[status]}</StatusDot>,
  },
  {
    id: 'subject',
    header: messages.columns.subject,
    className: 'hidden md:table-cell',
    cell: ({ body_preview, ...message }) => subjectText(message) ?? body_preview ?? '–',
  },
  {
    id: 'channel',
    header: messages.columns.channel,
    className: 'hidden lg:table-cell',
    cell: ({ channel }) => (
      <span className="inline-flex items-center gap-1.5 text-muted">
        {channel === 'email' ? (
          <Mail aria-hidden className="size-3.5" />
        ) : (
          <MessageSquare aria-hidden className="size-3.5" />
        )}
        {messages.channels[channel]}
      </span>
    ),
  },
  timeColumn('created_at', messages.columns.created, { align: 'right' }),
]

const scheduledColumns: Column<ListedMessage>[] = [
  toColumn('max-w-52'),
  ...columns.filter(({ id }) => id === 'subject' || id === 'channel'),
  timeColumn('scheduled_at', messages.columns.due, { align: 'right', due: true }),
]

const sample = { from: 'hello@example.com', to: ['ann@example.com'], subject: 'Hello', text: 'Hello, Ann' }

type EmptyProps = { filtered: boolean; scheduled: boolean; onClear: () => void }

const tomorrow = (): string => new Date(serviceNow() + 86_400_000).toISOString()

const Empty = ({ filtered, scheduled, onClear }: EmptyProps) => {
  const mode = useMode()
  if (scheduled && !filtered) {
    return (
      <EmptyState
        icon={<Clock className="size-6" />}
        title={messages.noScheduled}
        curl={curl('POST', '/emails', { ...sample, scheduled_at: tomorrow() })}
      >
        {messages.noScheduledHelp}
      </EmptyState>
    )
  }
  return filtered ? (
    <EmptyState title={messages.noMatch} action={<Button onClick={onClear}>{messages.clear}</Button>}>
      {messages.noMatchHelp}
    </EmptyState>
  ) : (
    <EmptyState
      icon={<Mail className="size-6" />}
      title={messages.emptyTitle(mode)}
      curl={curl('POST', '/emails', sample)}
    >
      {messages.empty}
    </EmptyState>
  )
}

/** A search over many messages stops before it gets slow, and says how far it got. */
const SearchedUntil = ({ at }: { at: string }) => (
  <p role="status" className="text-center text-muted text-sm">
    {messages.searchedUntil} <RelativeTime at={at} />. {messages.searchFurther}
  </p>
)

/** What belongs to an open message. */
const closed = { open: '', tab: '', delivery: '' }

/** @property scheduled Only messages that wait for their time. */
export const MessageList = ({ scheduled = false }: { scheduled?: boolean }) => {
  const mode = useMode()
  const [{ open, tab, delivery: _, ...filters }, change] = useFilters({ ...noFilters, ...closed })
  const list = useMessages(mode, scheduled ? { ...filters, status: 'scheduled' } : filters)
  const filtered = Object.values(filters).some(Boolean)
  const until = list.last?.searched_until
  return (
    <div className="flex flex-col gap-4">
      <MessageFilterBar filters={filters} onChange={change} fixedStatus={scheduled} />
      <ListTable
        label={messages.title}
        list={list}
        columns={scheduled ? scheduledColumns : columns}
        onOpen={({ id }) => change({ ...closed, open: id })}
        openKey={open}
        {...(!until && {
          empty: <Empty filtered={filtered} scheduled={scheduled} onClear={() => change(noFilters)} />,
        })}
      />
      {until && <SearchedUntil at={until} />}
      <Drawer open={open !== ''} onClose={() => change(closed)} title={messages.detail}>
        {open && (
          <MessageDetail
            key={open}
            id={open}
            tab={tab}
            onTab={(now) => change({ tab: now })}
            onOpen={(id) => change({ ...closed, open: id })}
          />
        )}
      </Drawer>
    </div>
  )
}
