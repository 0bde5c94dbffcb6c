import type { ReactNode } from 'react'
import { audiences, contacts } from '../../strings/audiences.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { ListTable } from '../../ui/list-table.tsx'
import { SearchInput } from '../../ui/search-input.tsx'
import type { Column } from '../../ui/table.tsx'
import { FilterBar } from '../../ui/templates.tsx'
import { timeColumn } from '../../ui/time-column.tsx'
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
  timeColumn('created_at', contacts.createdAt, { className: 'hidden w-28 sm:table-cell' }),
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
  const list = useContacts(query)
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
      <ListTable
        label={label}
        list={list}
        columns={columns}
        openKey={openId}
        onOpen={({ id }) => onOpen(id)}
        empty={q ? <EmptyState title={audiences.noMatch}>{audiences.noMatchHelp}</EmptyState> : empty}
      />
    </div>
  )
}
