/** Erasing the rows of a tenant, a part at a time. */

/** The parameters of a statement that erases at most `limit` rows. */
export type ErasedRows = { orgId: string; tenantId: string; limit: number }

export const deleteOfTenant = (table: string): string =>
  `delete from ${table} where (org_id, id) in (
     select org_id, id from ${table} where org_id = :orgId and tenant_id = :tenantId limit :limit)`
