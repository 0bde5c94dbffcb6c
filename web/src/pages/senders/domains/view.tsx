import { Globe } from 'lucide-react'
import { domains } from '../../../strings/domains.ts'
import { AddButton } from '../../../ui/button.tsx'
import { curl } from '../../../ui/curl.ts'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { ResourceList } from '../../../ui/resource-list.tsx'
import { Page } from '../../../ui/templates.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { AddDomain } from './add-domain.tsx'
import { domainList } from './domain-data.tsx'
import { DomainDetail } from './domain-detail.tsx'

const closed = { open: '', tab: '' }

const DomainsPage = () => {
  const [{ open, tab, create }, change] = useFilters({ open: '', tab: 'records', create: '' })
  const createButton = (
    <AddButton gate="requireDeveloperSession" onClick={() => change({ create: '1' })}>
      {domains.create}
    </AddButton>
  )
  return (
    <Page title={domains.title} description={domains.about} actions={createButton}>
      <ResourceList
        resource={domainList}
        open={open}
        onOpen={(id) => change({ ...closed, open: id })}
        onClose={() => change(closed)}
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
      >
        {(domain) => (
          <DomainDetail
            key={domain.id}
            domain={domain}
            tab={tab}
            onTab={(now) => change({ tab: now })}
            onRemoved={() => change(closed)}
          />
        )}
      </ResourceList>
      <AddDomain
        open={create !== ''}
        onClose={() => change({ create: '' })}
        onAdded={(id) => change({ ...closed, create: '', open: id })}
      />
    </Page>
  )
}

export default DomainsPage
