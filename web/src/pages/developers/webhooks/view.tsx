import { Webhook } from 'lucide-react'
import { webhooks } from '../../../strings/webhooks.ts'
import { AddButton } from '../../../ui/button.tsx'
import { curl } from '../../../ui/curl.ts'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { ResourceList } from '../../../ui/resource-list.tsx'
import { Page } from '../../../ui/templates.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { CreateEndpoint } from './create-endpoint.tsx'
import { EndpointDetail } from './endpoint-detail.tsx'
import { endpoints } from './webhook-data.tsx'

const closed = { open: '', tab: '', delivery: '', status: '' }

const WebhooksPage = () => {
  const [{ open, tab, create }, change] = useFilters({ ...closed, tab: 'deliveries', create: '' })
  const createButton = (
    <AddButton gate="requireDeveloperSession" onClick={() => change({ create: '1' })}>
      {webhooks.create}
    </AddButton>
  )
  return (
    <Page title={webhooks.title} description={webhooks.about} actions={createButton}>
      <ResourceList
        resource={endpoints}
        open={open}
        onOpen={(id) => change({ ...closed, open: id })}
        onClose={() => change(closed)}
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
      >
        {(endpoint) => (
          <EndpointDetail
            key={endpoint.id}
            endpoint={endpoint}
            tab={tab}
            onTab={(now) => change({ tab: now })}
            onRemoved={() => change(closed)}
          />
        )}
      </ResourceList>
      <CreateEndpoint open={create !== ''} onClose={() => change({ create: '' })} />
    </Page>
  )
}

export default WebhooksPage
