import type { ReactNode } from 'react'
import { audiences, contacts } from '../../strings/audiences.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { ErrorNote } from '../../ui/error-note.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { SearchInput } from '../../ui/search-input.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { FilterBar } from '../../ui/templates.tsx'
import { type Contact, useContacts } from './use-contacts.ts'

const columns: Column<Contact>[] = [
  { id: 'email', header: contacts.email, cell: ({ email, phone }) => email ?? phone ?? '–' },
  { id: 'name', header: contacts.name, className: 'hidden sm:table-cell', cell: ({ name }) => name ?? '–' },
  {
    id: 'phone',
    header: contacts.phone,
    className: 'hidden w-40 font-mono lg:table-cell',
    cell: ({ phone }) => phone ?? '–',
  },
  {
    id: 'created',
    header: contacts.createdAt,
    className: 'hidden w-28 sm:table-cell',
    cell: ({ created_at }) => <RelativeTime at={created_at} />,
  },
]

type Props = {
  label: string
  q: string
  onSearch: (q: string) => void
  audienceId?: string
  openId: string
  onOpen: (id: string) => void
  empty: ReactNode
  actions: ReactNode
}

export const ContactTable = ({ label, q, onSearch, audienceId, openId, onOpen, empty, actions }: Props) => {
  const query = { ...(q && { q }), ...(audienceId && { audience_id: audienceId }) }
  const { rows, error, more } = useContacts(query)
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <div className="grow">
          <FilterBar>
            <SearchInput label={audiences.search} value={q} onValue={onSearch} />
          </FilterBar>
        </div>
        {actions}
      </div>
      <ErrorNote error={error} />
      {!error && (
        <Table
          label={label}
          columns={columns}
          rows={rows}
          rowKey={({ id }) => id}
          openKey={openId}
          onOpen={({ id }) => onOpen(id)}
          more={more}
          empty={q ? <EmptyState title={audiences.noMatch}>{audiences.noMatchHelp}</EmptyState> : empty}
        />
      )}
    </div>
  )
}
