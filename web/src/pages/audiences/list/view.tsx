import { useNavigate } from '@tanstack/react-router'
import { Users } from 'lucide-react'
import { api, unwrap } from '../../../api/client.ts'
import { audiences } from '../../../strings/audiences.ts'
import { Button } from '../../../ui/button.tsx'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { ListTable } from '../../../ui/list-table.tsx'
import type { Column } from '../../../ui/table.tsx'
import { Tabs } from '../../../ui/tabs.tsx'
import { Page } from '../../../ui/templates.tsx'
import { timeColumn } from '../../../ui/time-column.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { type ListPage, pageOf, usePages } from '../../../ui/use-pages.ts'
import type { Audience } from '../use-contacts.ts'
import { ContactsTab } from './contacts-tab.tsx'
import { CreateAudience } from './create-audience.tsx'

const columns: Column<Audience>[] = [
  { id: 'name', header: audiences.name, cell: ({ name }) => <span className="font-medium">{name}</span> },
  {
    id: 'slug',
    header: audiences.slug,
    className: 'hidden font-mono md:table-cell',
    cell: ({ slug }) => slug,
  },
  {
    id: 'members',
    header: audiences.members,
    className: 'w-28',
    align: 'right',
    cell: ({ member_count }) => member_count.toLocaleString('en'),
  },
  timeColumn('updated_at', audiences.updated, { className: 'hidden w-32 sm:table-cell' }),
]

const AudienceList = () => {
  const navigate = useNavigate()
  const list = usePages(['audiences'], async (cursor) => {
    const params = { query: pageOf(cursor, 50) }
    return (await unwrap(api.GET('/api/internal/audiences', { params }))) as ListPage<Audience>
  })
  return (
    <ListTable
      label={audiences.title}
      list={list}
      columns={columns}
      onOpen={({ id }) => void navigate({ to: `/audiences/${id}` })}
      empty={
        <EmptyState icon={<Users aria-hidden className="size-8" />} title={audiences.empty} curl={audiences.curl}>
          {audiences.emptyHelp}
        </EmptyState>
      }
    />
  )
}

const AudiencesPage = () => {
  const [{ tab, open }, change] = useFilters({ tab: 'audiences', open: '' })
  return (
    <Page
      title={audiences.title}
      description={audiences.help}
      actions={
        tab === 'audiences' && (
          <Button look="primary" gate="requireDeveloperSession" onClick={() => change({ open: 'audience' })}>
            {audiences.create}
          </Button>
        )
      }
    >
      <Tabs
        label={audiences.title}
        value={tab}
        onValue={(id) => change({ tab: id })}
        tabs={[
          { id: 'audiences', label: audiences.tab, panel: <AudienceList /> },
          { id: 'contacts', label: audiences.contacts, panel: <ContactsTab /> },
        ]}
      />
      <CreateAudience open={open === 'audience'} onClose={() => change({ open: '' })} />
    </Page>
  )
}

export default AudiencesPage
