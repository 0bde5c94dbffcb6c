import { useNavigate } from '@tanstack/react-router'
import { Radio } from 'lucide-react'
import { messages } from '../../strings/messages.ts'
import { Button } from '../../ui/button.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Page } from '../../ui/templates.tsx'
import { useFilters } from '../../ui/use-filters.ts'
import { InboundList } from './inbound/inbound-list.tsx'
import { JobList } from './jobs/job-list.tsx'
import { noFilters } from './message-data.ts'
import { MessageList } from './message-list.tsx'

const { views } = messages

/** What a view keeps in the URL means nothing in another one. */
const cleared = { ...noFilters, open: '', tab: '', delivery: '', from: '', kind: '' }

const MessagesPage = () => {
  const navigate = useNavigate()
  const [{ view }, change] = useFilters({ view: '', ...cleared })
  const shown = view in views ? view : ''
  return (
    <Page
      title={messages.title}
      actions={
        <>
          <span className="inline-flex items-center gap-1.5 text-muted text-xs">
            <Radio aria-hidden className="size-3.5 text-ok" />
            {messages.live}
          </span>
          <Button look="primary" gate="requireDeveloperSession" onClick={() => void navigate({ to: '/messages/new' })}>
            {messages.compose}
          </Button>
        </>
      }
    >
      <Tabs
        label={messages.viewsLabel}
        value={shown || 'all'}
        onValue={(next) => change({ ...cleared, view: next === 'all' ? '' : next })}
        tabs={[
          { id: 'all', label: views[''], panel: <MessageList /> },
          { id: 'scheduled', label: views.scheduled, panel: <MessageList scheduled /> },
          { id: 'inbound', label: views.inbound, panel: <InboundList /> },
          { id: 'jobs', label: views.jobs, panel: <JobList /> },
        ]}
      />
    </Page>
  )
}

export default MessagesPage
