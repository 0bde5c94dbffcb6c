/** Reads the audit log of an org directly from the database. */
import { expect } from 'vitest'
import type { TestDatabase } from '../service/database.ts'

export type TrailEntry = {
  id: string
  actor_user_id: string | null
  action: string
  resource_type: string | null
  resource_id: string | null
  metadata: Record<string, unknown> | null
  ip_address: string | null
  user_agent: string
  created_at: Date
  signature: string | null
}

/** The entries in the order in which they were written, because the ids of one process increase. */
export const trailOf = (database: TestDatabase, orgId: string, afterId = ''): Promise<TrailEntry[]> =>
  database.sql<TrailEntry>(
    `select id, actor_user_id, action, resource_type, resource_id, metadata, ip_address, user_agent, created_at,
       signature
     from audit_entries where org_id = $1 and id > $2 order by id`,
    [orgId, afterId],
  )

/** Runs `work` and returns its result with the audit entries that it wrote. */
export const withTrail = async <T>(
  database: TestDatabase,
  orgId: string,
  work: () => Promise<T>,
): Promise<{ result: T; trail: TrailEntry[] }> => {
  const last = (await trailOf(database, orgId)).at(-1)?.id ?? ''
  const result = await work()
  return { result, trail: await trailOf(database, orgId, last) }
}

/** The expected entry for an action of a key on a tenant. */
export const tenantEntry = (action: string, resourceId: string, metadata: object) =>
  expect.objectContaining({
    action,
    resource_type: 'tenant',
    resource_id: resourceId,
    actor_user_id: null,
    metadata,
  })
