import { CreateButton, FormResourceList } from '../../../parts/resource/form-resource-list.tsx'
import { brands } from '../../../strings/senders.ts'
import { Tabs } from '../../../ui/tabs.tsx'
import { Page } from '../../../ui/templates.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { brandKind } from './brand-kind.ts'
import { campaignKind } from './campaign-kind.ts'

const BrandsPage = () => {
  const [{ tab }, change] = useFilters({ tab: 'brands', open: '' })
  return (
    <Page
      title={brands.title}
      description={brands.help}
      actions={<CreateButton resource={tab === 'campaigns' ? campaignKind : brandKind} />}
    >
      <Tabs
        label={brands.title}
        value={tab}
        onValue={(id) => change({ tab: id, open: '' })}
        tabs={[
          { id: 'brands', label: brands.brands, panel: <FormResourceList resource={brandKind} /> },
          { id: 'campaigns', label: brands.campaigns, panel: <FormResourceList resource={campaignKind} /> },
        ]}
      />
    </Page>
  )
}

export default BrandsPage
