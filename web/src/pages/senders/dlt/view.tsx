import { dlt } from '../../../strings/senders.ts'
import { Tabs } from '../../../ui/tabs.tsx'
import { Page } from '../../../ui/templates.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { CreateButton, SenderList } from '../sender-list.tsx'
import { entityKind, headerKind, templateKind } from './dlt-kinds.ts'

const kinds = { entities: entityKind, headers: headerKind, templates: templateKind }

const DltPage = () => {
  const [{ tab }, change] = useFilters({ tab: 'entities', open: '' })
  return (
    <Page
      title={dlt.title}
      description={dlt.help}
      actions={<CreateButton kind={kinds[tab as keyof typeof kinds] ?? entityKind} />}
    >
      <Tabs
        label={dlt.title}
        value={tab}
        onValue={(id) => change({ tab: id, open: '' })}
        tabs={[
          { id: 'entities', label: dlt.entities, panel: <SenderList kind={entityKind} /> },
          { id: 'headers', label: dlt.headers, panel: <SenderList kind={headerKind} /> },
          { id: 'templates', label: dlt.templates, panel: <SenderList kind={templateKind} /> },
        ]}
      />
    </Page>
  )
}

export default DltPage
