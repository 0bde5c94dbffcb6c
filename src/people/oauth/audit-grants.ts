/** The audit entries of grants. */
import type { Actor, Audit } from '../../journal/audit/append.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { EndedGrantRow } from './store/grant-rows.ts'

/** Why a grant ended. */
export type GrantEnd =
  | 'user'
  | 'owner'
  | 'client'
  | 'member_removed'
  | 'member_left'
  | 'password_changed'
  | 'signed_out'
  | 'account_deleted'
  | 'replaced'
  | 'code_reused'
  | 'refresh_token_reused'

export const auditEndedGrants = async (
  audit: Audit,
  tx: Tx,
  actor: Actor,
  reason: GrantEnd,
  ended: readonly EndedGrantRow[],
): Promise<void> => {
  const entries = ended.map((grant) => ({
    orgId: grant.org_id,
    actor,
    action: 'oauth.revoked' as const,
    resourceType: 'oauth_grant',
    resourceId: grant.id,
    // A deleted person stays in no entry.
    metadata: {
      client_id: grant.client_id,
      reason,
      ...(reason !== 'account_deleted' && { user_id: grant.user_id }),
    },
  }))
  await audit(tx, ...entries)
}
