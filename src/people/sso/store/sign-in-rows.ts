/** What a sign-in through an identity provider uses once, and the invitation that it accepts. */
import { deleteExpired, type Sweep } from '../../../customers/accounts/store/session-rows.ts'
import { statement } from '../../../platform/db/statement.ts'

/** Returns no row if the id was used before. */
export const spendId = statement<{ orgId: string; idHash: Buffer; expiresAt: Date }, { org_id: string }>(
  'sso.spend_id',
  `insert into sso_used_ids (org_id, id_hash, expires_at) values (:orgId, :idHash, :expiresAt)
   on conflict (org_id, id_hash) do nothing
   returning org_id`,
)

export const sweepUsedIds = statement<Sweep>('sso.sweep_used_ids', deleteExpired('sso_used_ids', 'org_id, id_hash'))

/** The grants of the member are open again, if the org enforces single sign-on. */
export const markMemberSignedIn = statement<{ orgId: string; userId: string; at: Date }>(
  'sso.mark_member_signed_in',
  'update memberships set sso_signed_in_at = :at where org_id = :orgId and user_id = :userId',
)

/** Ends the open invitation of the address to the org. */
export const acceptInvitationTo = statement<{ orgId: string; email: string; at: Date }, { role: string }>(
  'sso.accept_invitation_to',
  `update invitations set ended_at = :at
   where org_id = :orgId and email = :email and ended_at is null and expires_at > :at
   returning role`,
)
