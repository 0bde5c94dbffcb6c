/** Inserts audit entries as an earlier version could have written them, or someone with access to the database. */
import { sign } from '../../src/journal/audit/sign-entry.ts'
import { newId } from '../../src/platform/ground/ids.ts'
import type { TestDatabase } from '../service/database.ts'

export const draftSecret = 'audit-test-secret'

/** The default cutover. */
export const cutoverMs = Date.parse('2026-08-10T00:00:00Z')
export const beforeCutover = new Date(cutoverMs - 1)
export const atCutover = new Date(cutoverMs)

export type Draft = {
  id?: string
  action?: string
  actor?: string | null
  resourceType?: string | null
  resourceId?: string | null
  metadata?: Record<string, unknown> | null
  at?: Date
  signature?: string | null
}

/** Signed with `draftSecret` unless the draft says otherwise. Returns the id. */
export const insertDraft = async (database: TestDatabase, orgId: string, draft: Draft = {}): Promise<string> => {
  const { action = 'org.updated', actor = null, resourceType = 'org', resourceId = 'x', metadata = null } = draft
  const { id = newId('auditEntry'), at = atCutover } = draft
  const fields = { id, orgId, action, actorUserId: actor, resourceType, resourceId, metadata, createdAt: at }
  const signature = draft.signature === undefined ? sign(draftSecret, fields) : draft.signature
  await database.sql(
    `insert into audit_entries (org_id, id, actor_user_id, action, resource_type, resource_id, metadata, ip_address,
       user_agent, created_at, signature)
     values ($1, $2, $3, $4, $5, $6, $7, '203.0.113.9', 'Firefox', $8, $9)`,
    [orgId, id, actor, action, resourceType, resourceId, metadata, at, signature],
  )
  return id
}
