import { KeyRound } from 'lucide-react'
import { useMode } from '../../../api/mode.ts'
import { sendingScopes } from '../../../parts/scope-list.ts'
import { apiKeys } from '../../../strings/api-keys.ts'
import { AddButton } from '../../../ui/button.tsx'
import { curl } from '../../../ui/curl.ts'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { ResourceList } from '../../../ui/resource-list.tsx'
import { Page } from '../../../ui/templates.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { CreateKey } from './create-key.tsx'
import { keyList } from './key-data.tsx'
import { KeyDetail } from './key-detail.tsx'

const ApiKeysPage = () => {
  const mode = useMode()
  const [{ open, tab, create }, change] = useFilters({ open: '', tab: 'details', create: '' })
  const createButton = (
    <AddButton gate="requireOwnerSession" onClick={() => change({ create: '1' })}>
      {apiKeys.create}
    </AddButton>
  )
  return (
    <Page title={apiKeys.title} description={apiKeys.about} actions={createButton}>
      <ResourceList
        resource={keyList}
        open={open}
        onOpen={(id) => change({ open: id, tab: '' })}
        onClose={() => change({ open: '', tab: '' })}
        empty={
          <EmptyState
            icon={<KeyRound className="size-6" />}
            title={apiKeys.emptyTitle(mode)}
            action={createButton}
            curl={curl('POST', '/keys', { name: 'Shop', scopes: sendingScopes })}
          >
            {apiKeys.empty}
          </EmptyState>
        }
      >
        {(key) => <KeyDetail apiKey={key} tab={tab} onTab={(now) => change({ tab: now })} />}
      </ResourceList>
      <CreateKey open={create !== ''} onClose={() => change({ create: '' })} />
    </Page>
  )
}

export default ApiKeysPage
