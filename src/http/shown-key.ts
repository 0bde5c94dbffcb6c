import type { z } from 'zod'
import type { CreatedKey, Key } from '../keys/shapes.ts'
import type { KeyRow } from '../keys/store.ts'

/** A key as the API and the dashboard show it. Only the response that creates a key contains its secret. */
export const shownKey = (row: KeyRow): z.output<typeof Key> => ({
  id: row.id,
  name: row.name,
  environment: row.environment,
  prefix: row.prefix,
  last_four: row.last_four,
  scopes: row.scopes,
  tenant_id: row.tenant_id,
  project_id: row.project_id,
  allowed_domain_ids: row.allowed_domain_ids,
  allowed_cidrs: row.allowed_cidrs,
  rate_limit_per_minute: row.rate_limit_per_minute,
  expires_at: row.expires_at?.toISOString() ?? null,
  last_used_at: row.last_used_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
  revoked_at: row.revoked_at?.toISOString() ?? null,
})

export const shownNewKey = ({ row, key }: { row: KeyRow; key: string }): z.output<typeof CreatedKey> => {
  const { id, name, environment, ...rest } = shownKey(row)
  return { id, name, environment, key, ...rest }
}
