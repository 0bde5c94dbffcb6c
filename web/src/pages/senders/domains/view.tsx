import { Globe, Plus } from 'lucide-react'
import { domains } from '../../../strings/domains.ts'
import { StatusDot } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { curl } from '../../../ui/curl.ts'
import { Drawer } from '../../../ui/drawer.tsx'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { OpenedDetail } from '../../../ui/opened-detail.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { Page } from '../../../ui/templates.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { useOpened } from '../../../ui/use-opened.ts'
import { AddDomain } from './add-domain.tsx'
import { checkedAgainMs, type Domain, domainTones, readDomain, useDomains } from './domain-data.ts'
import { DomainDetail } from './domain-detail.tsx'

const columns: Column<Domain>[] = [
  { id: 'name', header: domains.columns.name, cell: ({ name }) => <span className="font-medium">{name}</span> },
  {
    id: 'status',
    header: domains.columns.status,
    cell: ({ status }) => <StatusDot tone={domainTones[status]}>{domains.statuses[status]}</StatusDot>,
  },
  {
    id: 'region',
    header: domains.columns.region,
    className: 'hidden md:table-cell',
    cell: ({ region }) => domains.regions[region],
  },
  {
    id: 'warmup',
    header: domains.columns.warmup,
    className: 'hidden lg:table-cell',
    cell: ({ warmup }) => (warmup ? domains.warmupState(warmup.day, warmup.days) : '–'),
  },
  {
    id: 'checked',
    header: domains.columns.checked,
    className: 'hidden sm:table-cell',
    align: 'right',
    cell: ({ last_checked_at }) => <RelativeTime at={last_checked_at} />,
  },
]

const closed = { open: '', tab: '' }

const DomainsPage = () => {
  const [{ open, tab, create }, change] = useFilters({ open: '', tab: 'records', create: '' })
  const { rows, error, more } = useDomains()
  const opened = useOpened(['domains'], readDomain, { id: open, rows, refetchInterval: checkedAgainMs })
  const createButton = (
    <Button
      look="primary"
      gate="requireDeveloperSession"
      icon={<Plus aria-hidden className="size-4" />}
      onClick={() => change({ create: '1' })}
    >
      {domains.create}
    </Button>
  )
  return (
    <Page title={domains.title} description={domains.about} actions={createButton}>
      <ErrorNote error={error} />
      <Table
        label={domains.title}
        columns={columns}
        rows={error ? [] : rows}
        rowKey={({ id }) => id}
        onOpen={({ id }) => change({ ...closed, open: id })}
        openKey={open}
        more={more}
        empty={
          <EmptyState
            icon={<Globe className="size-6" />}
            title={domains.emptyTitle}
            action={createButton}
            curl={curl('POST', '/domains', { name: 'example.com' })}
          >
            {domains.empty}
          </EmptyState>
        }
      />
      <AddDomain
        open={create !== ''}
        onClose={() => change({ create: '' })}
        onAdded={(id) => change({ ...closed, create: '', open: id })}
      />
      <Drawer open={open !== ''} onClose={() => change(closed)} title={opened.row?.name ?? domains.title}>
        <OpenedDetail opened={opened} goneText={domains.gone}>
          {(domain) => (
            <DomainDetail
              key={domain.id}
              domain={domain}
              tab={tab}
              onTab={(now) => change({ tab: now })}
              onRemoved={() => change(closed)}
            />
          )}
        </OpenedDetail>
      </Drawer>
    </Page>
  )
}

export default DomainsPage
