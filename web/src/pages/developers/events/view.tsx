import { Link } from '@tanstack/react-router'
import { events } from '../../../strings/events.ts'
import { buttonClasses } from '../../../ui/button.tsx'
import { Drawer } from '../../../ui/drawer.tsx'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { SearchInput } from '../../../ui/search-input.tsx'
import { Select } from '../../../ui/select.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { FilterBar, Page } from '../../../ui/templates.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { hasWords } from '../api-description.ts'
import { type EventName, eventNames, meaningOf } from '../webhooks/event-list.ts'
import { EventDetail } from './event-detail.tsx'

const columns: Column<EventName>[] = [
  {
    id: 'name',
    header: events.columns.name,
    cell: (name) => (
      <>
        <span className="font-mono text-xs">{name}</span>
        <span className="block whitespace-normal pb-1.5 text-muted text-xs sm:hidden">{meaningOf(name)}</span>
      </>
    ),
  },
  { id: 'meaning', header: events.columns.meaning, className: 'hidden sm:table-cell', cell: meaningOf },
]

const subjectOf = (name: EventName): string => name.split('.', 1)[0] as string
const subjects = [...new Set(eventNames.map(subjectOf))]

const isEvent = (name: string): name is EventName => (eventNames as string[]).includes(name)

const EventsPage = () => {
  const [{ q, subject, open, tab }, change] = useFilters({ q: '', subject: '', open: '', tab: 'payload' })
  const rows = eventNames.filter(
    (name) => (subject === '' || subjectOf(name) === subject) && hasWords(`${name} ${meaningOf(name)}`, q),
  )
  return (
    <Page
      title={events.title}
      description={events.about}
      actions={
        <Link to="/webhooks" className={buttonClasses()}>
          {events.endpoints}
        </Link>
      }
    >
      <FilterBar>
        <SearchInput label={events.search} value={q} onValue={(now) => change({ q: now })} />
        <Select
          aria-label={events.subject}
          value={subject}
          onValue={(now) => change({ subject: now })}
          options={[{ value: '', label: events.every }, ...subjects.map((value) => ({ value, label: value }))]}
        />
      </FilterBar>
      <Table
        label={events.title}
        columns={columns}
        rows={rows}
        rowKey={(name) => name}
        onOpen={(name) => change({ open: name, tab: '' })}
        openKey={open}
        empty={<EmptyState title={events.none}>{events.noneHelp}</EmptyState>}
      />
      <Drawer open={open !== ''} onClose={() => change({ open: '', tab: '' })} title={open}>
        {isEvent(open) ? (
          <EventDetail name={open} tab={tab} onTab={(now) => change({ tab: now })} />
        ) : (
          <p className="text-muted text-sm">{events.missing}</p>
        )}
      </Drawer>
    </Page>
  )
}

export default EventsPage
