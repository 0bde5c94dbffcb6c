import { Building2 } from 'lucide-react'
import { api, unwrap } from '../../api/client.ts'
import { tenants } from '../../strings/tenants.ts'
import { Button } from '../../ui/button.tsx'
import { curl } from '../../ui/curl.ts'
import { Drawer } from '../../ui/drawer.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { ErrorNote } from '../../ui/error-note.tsx'
import { ListTable } from '../../ui/list-table.tsx'
import { SearchInput } from '../../ui/search-input.tsx'
import { optionsOf, Select } from '../../ui/select.tsx'
import { PageSkeleton } from '../../ui/skeleton.tsx'
import type { Column } from '../../ui/table.tsx'
import { FilterBar, Page } from '../../ui/templates.tsx'
import { useTenant } from '../../ui/tenant-filter.tsx'
import { timeColumn } from '../../ui/time-column.tsx'
import { useFilters } from '../../ui/use-filters.ts'
import { pageOf, usePages } from '../../ui/use-pages.ts'
import { CreateTenant } from './create-tenant.tsx'
import { type Tenant, TenantStatus } from './tenant-data.tsx'
import { TenantDetail } from './tenant-detail.tsx'

const quotaText = (quota: number | null): string => quota?.toLocaleString('en') ?? '–'

const columns: Column<Tenant>[] = [
  { id: 'name', header: tenants.name, cell: ({ name }) => <span className="font-medium">{name}</span> },
  { id: 'status', header: tenants.status, className: 'w-32', cell: ({ status }) => <TenantStatus status={status} /> },
  {
    id: 'ref',
    header: tenants.ref,
    className: 'hidden font-mono sm:table-cell',
    cell: ({ external_ref }) => external_ref ?? '–',
  },
  {
    id: 'email',
    header: tenants.emailQuota,
    className: 'hidden w-40 lg:table-cell',
    align: 'right',
    cell: ({ quotas }) => quotaText(quotas.email_monthly),
  },
  {
    id: 'sms',
    header: tenants.smsQuota,
    className: 'hidden w-44 lg:table-cell',
    align: 'right',
    cell: ({ quotas }) => quotaText(quotas.sms_monthly),
  },
  timeColumn('created_at', tenants.createdAt, { className: 'hidden w-32 md:table-cell' }),
]

const everyStatus = { value: '', label: tenants.everyStatus }
const defaults = { ref: '', status: '', open: '', tab: 'details' }

const Empty = ({ filtered }: { filtered: boolean }) =>
  filtered ? (
    <EmptyState title={tenants.noMatch}>{tenants.noMatchHelp}</EmptyState>
  ) : (
    <EmptyState
      icon={<Building2 aria-hidden className="size-8" />}
      title={tenants.empty}
      curl={curl('POST', '/tenants', { name: 'Globex', external_ref: 'customer-17' })}
    >
      {tenants.emptyHelp}
    </EmptyState>
  )

const TenantsPage = () => {
  const [{ ref, status, open, tab }, change] = useFilters(defaults)
  const tenant = useTenant(open)
  const list = usePages(['tenants', 'list', ref, status], (cursor) => {
    const query = {
      ...pageOf(cursor, 50),
      ...(ref && { external_ref: ref }),
      ...(status && { status: status as Tenant['status'] }),
    }
    return unwrap(api.GET('/api/internal/tenants', { params: { query } }))
  })
  const close = () => change({ open: '', tab: defaults.tab })
  return (
    <Page
      title={tenants.title}
      description={tenants.help}
      actions={
        <Button look="primary" gate="requireOwnerSession" onClick={() => change({ open: 'new' })}>
          {tenants.create}
        </Button>
      }
    >
      <FilterBar>
        <SearchInput label={tenants.findRef} value={ref} onValue={(text) => change({ ref: text })} />
        <Select
          aria-label={tenants.status}
          value={status}
          onValue={(value) => change({ status: value })}
          options={[everyStatus, ...optionsOf(tenants.statuses)]}
        />
      </FilterBar>
      <ListTable
        label={tenants.title}
        list={list}
        columns={columns}
        openKey={open}
        onOpen={({ id }) => change({ open: id, tab: defaults.tab })}
        empty={<Empty filtered={ref !== '' || status !== ''} />}
      />
      <CreateTenant open={open === 'new'} onClose={close} onCreated={(id) => change({ open: id, tab: defaults.tab })} />
      <Drawer open={open.startsWith('ten_')} onClose={close} title={tenant.data?.name ?? tenants.detail}>
        <ErrorNote error={tenant.error} />
        {tenant.isPending && <PageSkeleton />}
        {tenant.data && <TenantDetail tenant={tenant.data} tab={tab} onTab={(id) => change({ tab: id })} />}
      </Drawer>
    </Page>
  )
}

export default TenantsPage
