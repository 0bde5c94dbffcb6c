import { deleteExpired, type Sweep } from '../../../customers/accounts/store/session-rows.ts'
import type { Given } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'
import { type Keyset, newestPageOf } from '../../../platform/ground/cursor.ts'

export type InvitationRow = {
  org_id: string
  id: string
  email: string
  role: string
  sso_exempt: boolean
  invited_by: string | null
  inviter_name: string | null
  created_at: Date
  expires_at: Date
}

const columns = `i.org_id, i.id, i.email, i.role, i.sso_exempt, i.invited_by,
     (select u.name from users u where u.id = i.invited_by) as inviter_name, i.created_at, i.expires_at`

/** An address has at most one open invitation to an org. A second one replaces it, and the former link stops working. */
export const putInvitation = statement<
  Given<InvitationRow, 'id' | 'email' | 'role' | 'sso_exempt' | 'invited_by' | 'expires_at'> & {
    orgId: string
    tokenHash: Buffer
    at: Date
  },
  InvitationRow & { resent: boolean }
>(
  'team.put_invitation',
  `insert into invitations as i (org_id, id, email, role, sso_exempt, token_hash, invited_by, created_at, expires_at)
   values (:orgId, :id, :email, :role, :ssoExempt, :tokenHash, :invitedBy, :at, :expiresAt)
   on conflict (org_id, email) where ended_at is null
   do update set role = excluded.role, sso_exempt = excluded.sso_exempt, token_hash = excluded.token_hash,
     invited_by = excluded.invited_by, expires_at = excluded.expires_at
   returning ${columns}, i.id <> :id as resent`,
)

/** Replaces the token of an open invitation. */
export const renewInvitation = statement<
  { orgId: string; id: string; tokenHash: Buffer; expiresAt: Date },
  InvitationRow
>(
  'team.renew_invitation',
  `update invitations i set token_hash = :tokenHash, expires_at = :expiresAt
   where i.org_id = :orgId and i.id = :id and i.ended_at is null
   returning ${columns}`,
)

export const findOpenInvitation = statement<{ orgId: string; id: string }, InvitationRow>(
  'team.find_open_invitation',
  `select ${columns} from invitations i where i.org_id = :orgId and i.id = :id and i.ended_at is null`,
)

export const revokeInvitation = statement<{ orgId: string; id: string; at: Date }, InvitationRow>(
  'team.revoke_invitation',
  `update invitations i set ended_at = :at
   where i.org_id = :orgId and i.id = :id and i.ended_at is null
   returning ${columns}`,
)

export const listInvitations = statement<{ orgId: string } & Keyset, InvitationRow>(
  'team.list_invitations',
  `select ${columns} from invitations i
   where i.org_id = :orgId and i.ended_at is null
     ${newestPageOf('i')}`,
)

/** The open invitation with this token, whatever its age. The token identifies the org. */
export const findInvitationByToken = statement<{ tokenHash: Buffer }, InvitationRow & { org_name: string }>(
  'team.find_invitation_by_token',
  `select ${columns}, o.name as org_name
   from invitations i join orgs o on o.id = i.org_id and o.deleted_at is null
   where i.token_hash = :tokenHash and i.ended_at is null`,
)

/** Returns a row to the one call that ends the invitation. A link that was replaced meanwhile ends nothing. */
export const endInvitation = statement<{ orgId: string; id: string; tokenHash: Buffer; at: Date }, { id: string }>(
  'team.end_invitation',
  `update invitations set ended_at = :at
   where org_id = :orgId and id = :id and token_hash = :tokenHash and ended_at is null and expires_at > :at
   returning id`,
)

export const deleteInvitationsTo = statement<{ email: string }>(
  'team.delete_invitations_to',
  'delete from invitations where email = :email',
)

export const deleteOldInvitations = statement<Sweep>(
  'team.delete_old_invitations',
  deleteExpired('invitations', 'org_id, id'),
)
