import { RefreshCw } from 'lucide-react'
import { api, unwrap } from '../../../api/client.ts'
import { domains } from '../../../strings/domains.ts'
import { StatusDot } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { Copyable } from '../../../ui/copy-button.tsx'
import { curl } from '../../../ui/curl.ts'
import { DetailList } from '../../../ui/detail-list.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { Tabs } from '../../../ui/tabs.tsx'
import { useSave } from '../../../ui/use-save.ts'
import { DnsRecords } from './dns-records.tsx'
import { type Domain, domainTones } from './domain-data.tsx'
import { DomainSettings } from './domain-settings.tsx'

type Props = { domain: Domain; tab: string; onTab: (tab: string) => void; onRemoved: () => void }

const Head = ({ domain }: { domain: Domain }) => {
  const form = useSave(() => unwrap(api.PATCH('/api/internal/domains', { body: { id: domain.id } })), {
    message: ({ status }) => `${domains.checked}: ${domains.statuses[status]}`,
    refreshes: [['domains']],
  })
  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <StatusDot tone={domainTones[domain.status]}>{domains.statuses[domain.status]}</StatusDot>
          <Copyable text={domain.id} />
        </div>
        <Button
          gate="requireDeveloperSession"
          busy={form.busy}
          icon={<RefreshCw aria-hidden className="size-3.5" />}
          onClick={() => form.save()}
        >
          {domains.check}
        </Button>
      </div>
      <ErrorNote error={form.rest} />
      <DetailList
        facts={[
          { name: domains.facts.created, value: <RelativeTime at={domain.created_at} /> },
          { name: domains.facts.checked, value: <RelativeTime at={domain.last_checked_at} /> },
        ]}
      />
    </>
  )
}

export const DomainDetail = ({ domain, tab, onTab, onRemoved }: Props) => {
  const { tabs: words } = domains
  const tabs = [
    { id: 'records', label: words.records, panel: <DnsRecords records={domain.records} /> },
    { id: 'settings', label: words.settings, panel: <DomainSettings domain={domain} onRemoved={onRemoved} /> },
    { id: 'api', label: words.api, panel: <CodeBlock label="curl" code={curl('GET', `/domains/${domain.id}`)} /> },
  ]
  return (
    <div className="flex flex-col gap-4">
      <Head domain={domain} />
      <Tabs label={domains.tabsLabel} tabs={tabs} value={tab} onValue={onTab} />
    </div>
  )
}
