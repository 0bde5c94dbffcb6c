import { audit } from '../../../strings/audit.ts'
import { Tabs } from '../../../ui/tabs.tsx'
import { Page } from '../../../ui/templates.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { AuditFilterBar, noFilters } from './audit-filters.tsx'
import { Entries } from './entries.tsx'
import { Verification } from './verification.tsx'

const AuditPage = () => {
  const [{ tab, entry, ...filters }, change] = useFilters({ tab: 'entries', entry: '', ...noFilters })
  const log = (
    <div className="flex flex-col gap-4">
      <AuditFilterBar filters={filters} onChange={change} />
      <Entries filters={filters} openId={entry} onOpen={(id) => change({ entry: id })} />
    </div>
  )
  return (
    <Page title={audit.title} description={audit.help}>
      <Tabs
        label={audit.title}
        value={tab}
        onValue={(id) => change({ tab: id })}
        tabs={[
          { id: 'entries', label: audit.entries, panel: log },
          { id: 'verification', label: audit.verification, panel: <Verification /> },
        ]}
      />
    </Page>
  )
}

export default AuditPage
