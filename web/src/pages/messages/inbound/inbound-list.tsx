import { Inbox } from 'lucide-react'
import { inbound } from '../../../strings/inbound.ts'
import { StatusDot } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { curl } from '../../../ui/curl.ts'
import { Drawer } from '../../../ui/drawer.tsx'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { ListTable } from '../../../ui/list-table.tsx'
import { SearchInput } from '../../../ui/search-input.tsx'
import { optionsOf, Select } from '../../../ui/select.tsx'
import type { Column } from '../../../ui/table.tsx'
import { FilterBar } from '../../../ui/templates.tsx'
import { timeColumn } from '../../../ui/time-column.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { type Inbound, kindTones, useInboundList } from './inbound-data.ts'
import { InboundDetail } from './inbound-detail.tsx'

const columns: Column<Inbound>[] = [
  {
    id: 'from',
    header: inbound.columns.from,
    cell: ({ from }) => <span className="block max-w-36 truncate sm:max-w-72">{from}</span>,
  },
  {
    id: 'kind',
    header: inbound.columns.kind,
    cell: ({ kind }) => <StatusDot tone={kindTones[kind]}>{inbound.kinds[kind]}</StatusDot>,
  },
  {
    id: 'subject',
    header: inbound.columns.subject,
    className: 'hidden md:table-cell',
    cell: (message) => (message.channel === 'sms' ? message.body : message.subject) ?? '–',
  },
  timeColumn('received_at', inbound.columns.received, { align: 'right' }),
]

const none = { from: '', kind: '' }

export const InboundList = () => {
  const [{ open, tab, ...filters }, change] = useFilters({ channel: 'email', ...none, open: '', tab: '' })
  const list = useInboundList(filters)
  const channel = filters.channel === 'sms' ? 'sms' : 'email'
  const empty =
    filters.from || filters.kind ? (
      <EmptyState title={inbound.noMatch} action={<Button onClick={() => change(none)}>{inbound.clear}</Button>}>
        {inbound.noMatchHelp}
      </EmptyState>
    ) : (
      <EmptyState
        icon={<Inbox className="size-6" />}
        title={inbound.empty}
        curl={curl('GET', `/inbound?channel=${channel}`)}
      >
        {inbound.emptyHelp[channel]}
      </EmptyState>
    )
  return (
    <div className="flex flex-col gap-4">
      <FilterBar>
        <SearchInput label={inbound.from} value={filters.from} onValue={(from) => change({ from })} />
        <Select
          aria-label={inbound.channel}
          value={channel}
          onValue={(value) => change({ ...none, channel: value })}
          options={optionsOf(inbound.channels)}
        />
        <Select
          aria-label={inbound.kind}
          value={filters.kind}
          onValue={(kind) => change({ kind })}
          options={[{ value: '', label: inbound.everyKind }, ...optionsOf(inbound.kinds)]}
        />
      </FilterBar>
      <ListTable
        label={inbound.title}
        list={list}
        columns={columns}
        onOpen={({ id }) => change({ open: id, tab: '' })}
        openKey={open}
        empty={empty}
      />
      <Drawer open={open !== ''} onClose={() => change({ open: '', tab: '' })} title={inbound.detail}>
        {open && <InboundDetail key={open} id={open} tab={tab} onTab={(now) => change({ tab: now })} />}
      </Drawer>
    </div>
  )
}
