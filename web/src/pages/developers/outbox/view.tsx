import { useQuery } from '@tanstack/react-query'
import { Inbox } from 'lucide-react'
import { ApiError } from '../../../api/api-error.ts'
import { type OutboxEntry, readOutbox, readOutboxEntry } from '../../../api/dev-tools.ts'
import { MailFrame } from '../../../mail/mail-frame.tsx'
import { messages } from '../../../strings/messages.ts'
import { outbox } from '../../../strings/outbox.ts'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { Drawer } from '../../../ui/drawer.tsx'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { SearchInput } from '../../../ui/search-input.tsx'
import { optionsOf, Select } from '../../../ui/select.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { Tabs } from '../../../ui/tabs.tsx'
import { FilterBar, Page } from '../../../ui/templates.tsx'
import { timeColumn } from '../../../ui/time-column.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { ClockAndTasks } from './clock-and-tasks.tsx'

const columns: Column<OutboxEntry>[] = [
  { id: 'to', header: outbox.columns.to, className: 'max-sm:max-w-32', cell: ({ to }) => to.join(', ') },
  {
    id: 'subject',
    header: outbox.columns.subject,
    className: 'max-sm:max-w-32',
    cell: ({ subject, body }) => subject ?? body ?? '–',
  },
  timeColumn('at', outbox.columns.at, { align: 'right' }),
]

const Entry = ({ entry, tab, onTab }: { entry: OutboxEntry; tab: string; onTab: (tab: string) => void }) => {
  const text = entry.body ?? entry.text ?? outbox.noText
  const { tabs: words } = outbox
  const tabs = [
    ...(entry.html
      ? [
          {
            id: 'preview',
            label: words.preview,
            panel: <MailFrame of={entry.id} html={entry.html} title={messages.bodyTitle} />,
          },
        ]
      : []),
    { id: 'text', label: words.text, panel: <CodeBlock label={words.text} code={text} /> },
    ...(entry.raw
      ? [{ id: 'source', label: words.source, panel: <CodeBlock label={words.source} code={entry.raw} /> }]
      : []),
  ]
  const shown = tabs.find(({ id }) => id === tab)?.id ?? (tabs[0]?.id as string)
  return <Tabs label={outbox.tabsLabel} tabs={tabs} value={shown} onValue={onTab} />
}

const OutboxPage = () => {
  const [{ to, channel, open, tab }, change] = useFilters({ to: '', channel: '', open: '', tab: '' })
  const { data, error } = useQuery({
    queryKey: ['outbox', channel, to],
    queryFn: () => readOutbox(channel, to),
    refetchInterval: ({ state }) => (state.error ? false : 3_000),
  })
  const known = data?.data.find(({ id }) => id === open)
  // An older entry. The list has the newest only.
  const older = useQuery({
    queryKey: ['outbox', 'one', open],
    queryFn: () => readOutboxEntry({ id: open }),
    enabled: open !== '' && data !== undefined && known === undefined,
  })
  const opened = known ?? older.data ?? undefined
  if (error instanceof ApiError && error.status === 404) {
    return (
      <Page title={outbox.title}>
        <EmptyState title={outbox.missing}>{outbox.missingWhy}</EmptyState>
      </Page>
    )
  }
  return (
    <Page title={outbox.title} description={outbox.about}>
      <ClockAndTasks />
      <FilterBar>
        <SearchInput label={outbox.search} value={to} onValue={(now) => change({ to: now })} />
        <Select
          aria-label={outbox.channel}
          value={channel}
          onValue={(now) => change({ channel: now })}
          options={[{ value: '', label: outbox.both }, ...optionsOf(messages.channels)]}
        />
      </FilterBar>
      <ErrorNote error={error} />
      <Table
        label={outbox.title}
        columns={columns}
        rows={error ? [] : data?.data}
        rowKey={({ id }) => id}
        onOpen={({ id }) => change({ open: id, tab: '' })}
        openKey={open}
        empty={
          <EmptyState icon={<Inbox className="size-6" />} title={outbox.emptyTitle}>
            {outbox.empty}
          </EmptyState>
        }
      />
      <Drawer
        open={opened !== undefined}
        onClose={() => change({ open: '', tab: '' })}
        title={opened?.subject ?? outbox.title}
      >
        {opened && <Entry entry={opened} tab={tab} onTab={(now) => change({ tab: now })} />}
      </Drawer>
    </Page>
  )
}

export default OutboxPage
