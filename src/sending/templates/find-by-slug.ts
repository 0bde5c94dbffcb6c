import type { Db } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { findTemplateBySlug, slugOnTenants, type TemplateRow } from './store.ts'

/** Finds the tenant's own template with the slug, or else the org's. */
export const findBySlug = async (db: Db, scope: Scope, slug: string): Promise<TemplateRow | undefined> => {
  const row = await db.row(findTemplateBySlug, { orgId: scope.orgId, tenantId: scope.tenantId, slug })
  // Only a caller without a tenant may learn that other tenants have such a template.
  if (row || scope.tenantId !== null) return row
  const onTenants = await db.row(slugOnTenants, { orgId: scope.orgId, slug })
  if (onTenants?.found) throw new Failure('TEMPLATE_TENANT_SCOPED')
  return undefined
}
