import type { z } from 'zod'
import type { Tenant, TenantQuota } from '../tenants/shapes.ts'
import type { TenantRow } from '../tenants/store.ts'

export const shownTenant = (row: TenantRow): z.output<typeof Tenant> => ({
  id: row.id,
  slug: row.slug,
  name: row.name,
  external_ref: row.external_ref,
  status: row.status,
  quotas: { email_monthly: row.email_monthly, sms_monthly: row.sms_monthly },
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  suspended_at: row.suspended_at?.toISOString() ?? null,
  archived_at: row.archived_at?.toISOString() ?? null,
  erased_at: row.erased_at?.toISOString() ?? null,
})

export const shownQuota = (row: TenantRow): z.output<typeof TenantQuota> => ({
  tenant_id: row.id,
  email_monthly: row.email_monthly,
  sms_monthly: row.sms_monthly,
  updated_at: row.updated_at.toISOString(),
})
