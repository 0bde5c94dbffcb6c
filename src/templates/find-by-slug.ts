import type { Db } from '../db/pool.ts'
import { Failure } from '../ground/errors.ts'
import type { Scope } from '../ground/scope.ts'
import { findTemplateBySlug, slugOnTenants, type TemplateRow } from './store.ts'

/** The template a slug names in the scope: the tenant's own, then the org's. */
export const findBySlug = async (db: Db, scope: Scope, slug: string): Promise<TemplateRow | undefined> => {
  const row = await db.row(findTemplateBySlug, { orgId: scope.orgId, tenantId: scope.tenantId, slug })
  // Of tenants' templates only a caller of the whole org hears.
  if (row || scope.tenantId !== null) return row
  const elsewhere = await db.row(slugOnTenants, { orgId: scope.orgId, slug })
  if (elsewhere?.found) throw new Failure('TEMPLATE_TENANT_SCOPED')
  return undefined
}
