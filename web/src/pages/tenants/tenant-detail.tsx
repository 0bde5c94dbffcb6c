import { tenants } from '../../strings/tenants.ts'
import { Copyable } from '../../ui/copy-button.tsx'
import { DetailList } from '../../ui/detail-list.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { ArchiveTenant, ResumeTenant, TenantRequests } from './tenant-dangers.tsx'
import { type Tenant, TenantStatus } from './tenant-data.tsx'
import { EditTenant, TenantQuotas } from './tenant-forms.tsx'
import { TenantTraffic } from './tenant-traffic.tsx'

const Facts = ({ tenant }: { tenant: Tenant }) => {
  const since = tenant.erased_at ?? tenant.archived_at ?? tenant.suspended_at
  return (
    <DetailList
      facts={[
        { name: tenants.status, value: <TenantStatus status={tenant.status} /> },
        ...(since ? [{ name: tenants.since, value: <RelativeTime at={since} /> }] : []),
        { name: tenants.id, value: <Copyable text={tenant.id} /> },
        { name: tenants.slug, value: <Copyable text={tenant.slug} /> },
        { name: tenants.ref, value: tenant.external_ref && <Copyable text={tenant.external_ref} /> },
        { name: tenants.createdAt, value: <RelativeTime at={tenant.created_at} /> },
      ]}
    />
  )
}

type Props = { tenant: Tenant; tab: string; onTab: (tab: string) => void }

export const TenantDetail = ({ tenant, tab, onTab }: Props) => {
  const { tabs: words } = tenants
  const exists = tenant.status !== 'erased'
  const details = (
    <div className="flex flex-col gap-5">
      <Facts tenant={tenant} />
      <TenantTraffic key={tenant.id} id={tenant.id} />
    </div>
  )
  const tabs = [
    { id: 'details', label: words.details, panel: details },
    ...(exists
      ? [
          { id: 'edit', label: words.edit, panel: <EditTenant key={tenant.updated_at} tenant={tenant} /> },
          { id: 'quotas', label: words.quotas, panel: <TenantQuotas key={tenant.updated_at} tenant={tenant} /> },
        ]
      : []),
    { id: 'api', label: words.api, panel: <TenantRequests tenant={tenant} /> },
  ]
  return (
    <div className="flex flex-col gap-6">
      <Tabs label={tenants.detail} tabs={tabs} value={tab} onValue={onTab} />
      {tenant.status === 'suspended' && <ResumeTenant tenant={tenant} />}
      {(tenant.status === 'active' || tenant.status === 'suspended') && <ArchiveTenant tenant={tenant} />}
    </div>
  )
}
