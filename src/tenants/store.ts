import { statement } from '../db/statement.ts'
import type { Environment } from '../ground/scope.ts'

export type TenantRef = { id: string; status: 'active' | 'suspended' | 'archived' }

export const findTenantByRef = statement<[orgId: string, ref: string], TenantRef>(
  'tenants.find_by_ref',
  'select id, status from tenants where org_id = $1 and external_ref = lower($2)',
)

/** Nothing when the reference or the slug was taken meanwhile. */
export const insertTenantByRef = statement<
  [orgId: string, id: string, slug: string, name: string, ref: string, environment: Environment, at: Date],
  { id: string }
>(
  'tenants.insert_by_ref',
  `insert into tenants (org_id, id, slug, name, external_ref, status, created_environment, created_at, updated_at)
   values ($1, $2, $3, $4, lower($5), 'active', $6, $7, $7)
   on conflict do nothing
   returning id`,
)
