import { CreateButton, FormResourceList } from '../../../parts/resource/form-resource-list.tsx'
import { dlt } from '../../../strings/senders.ts'
import { Tabs } from '../../../ui/tabs.tsx'
import { Page } from '../../../ui/templates.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { entityKind, headerKind, templateKind } from './dlt-kinds.ts'

const kinds = { entities: entityKind, headers: headerKind, templates: templateKind }

const DltPage = () => {
  const [{ tab }, change] = useFilters({ tab: 'entities', open: '' })
  return (
    <Page
      title={dlt.title}
      description={dlt.help}
      actions={<CreateButton resource={kinds[tab as keyof typeof kinds] ?? entityKind} />}
    >
      <Tabs
        label={dlt.title}
        value={tab}
        onValue={(id) => change({ tab: id, open: '' })}
        tabs={[
          { id: 'entities', label: dlt.entities, panel: <FormResourceList resource={entityKind} /> },
          { id: 'headers', label: dlt.headers, panel: <FormResourceList resource={headerKind} /> },
          { id: 'templates', label: dlt.templates, panel: <FormResourceList resource={templateKind} /> },
        ]}
      />
    </Page>
  )
}

export default DltPage
