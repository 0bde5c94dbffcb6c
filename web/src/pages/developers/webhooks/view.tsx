import { Plus, Webhook } from 'lucide-react'
import { webhooks } from '../../../strings/webhooks.ts'
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
import { CreateEndpoint } from './create-endpoint.tsx'
import { EndpointDetail } from './endpoint-detail.tsx'
import { type Endpoint, endpointState, readEndpoint, useEndpoints } from './webhook-data.ts'

const columns: Column<Endpoint>[] = [
  { id: 'url', header: webhooks.columns.url, cell: ({ url }) => <span className="font-mono text-xs">{url}</span> },
  {
    id: 'state',
    header: webhooks.columns.state,
    cell: (endpoint) => {
      const { tone, word } = endpointState(endpoint)
      return <StatusDot tone={tone}>{word}</StatusDot>
    },
  },
  {
    id: 'events',
    header: webhooks.columns.events,
    className: 'hidden md:table-cell',
    cell: ({ events }) => (events.includes('*') ? webhooks.everyEvent : webhooks.someEvents(events.length)),
  },
  {
    id: 'failures',
    header: webhooks.columns.failures,
    className: 'hidden lg:table-cell',
    align: 'right',
    cell: ({ consecutive_failures }) => consecutive_failures,
  },
  {
    id: 'created',
    header: webhooks.columns.created,
    className: 'hidden sm:table-cell',
    align: 'right',
    cell: ({ created_at }) => <RelativeTime at={created_at} />,
  },
]

const closed = { open: '', tab: '', delivery: '', status: '' }

const WebhooksPage = () => {
  const [{ open, tab, create }, change] = useFilters({ ...closed, tab: 'deliveries', create: '' })
  const { rows, error, more } = useEndpoints()
  const opened = useOpened(['webhooks'], readEndpoint, { id: open, rows })
  const createButton = (
    <Button
      look="primary"
      gate="requireDeveloperSession"
      icon={<Plus aria-hidden className="size-4" />}
      onClick={() => change({ create: '1' })}
    >
      {webhooks.create}
    </Button>
  )
  return (
    <Page title={webhooks.title} description={webhooks.about} actions={createButton}>
      <ErrorNote error={error} />
      <Table
        label={webhooks.title}
        columns={columns}
        rows={error ? [] : rows}
        rowKey={({ id }) => id}
        onOpen={({ id }) => change({ ...closed, open: id })}
        openKey={open}
        more={more}
        empty={
          <EmptyState
            icon={<Webhook className="size-6" />}
            title={webhooks.emptyTitle}
            action={createButton}
            curl={curl('POST', '/webhooks', { url: 'https://example.com/hooks', events: ['*'] })}
          >
            {webhooks.empty}
          </EmptyState>
        }
      />
      <CreateEndpoint open={create !== ''} onClose={() => change({ create: '' })} />
      <Drawer open={open !== ''} onClose={() => change(closed)} title={opened.row?.url ?? webhooks.title}>
        <OpenedDetail opened={opened} goneText={webhooks.gone}>
          {(endpoint) => (
            <EndpointDetail
              key={endpoint.id}
              endpoint={endpoint}
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

export default WebhooksPage
