/** Makes a user a member through an invitation. */
import { endExcessSessions } from '../../customers/accounts/store/session-rows.ts'
import type { Actor, Audit } from '../../journal/audit/append.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { newId } from '../../platform/ground/ids.ts'
import { endInvitation, findInvitationByToken } from './store/invitation-rows.ts'
import { findRole, joinTeam, lockTeam, setFirstDefaultOrg } from './store/team-rows.ts'

export type Invitee = { userId: string; email: string }

export type Joined =
  | { outcome: 'joined'; orgId: string; orgName: string; role: string }
  /** `not_found`: unknown, used, revoked or replaced. */
  | { outcome: 'not_found' | 'expired' | 'other_address' | 'already_member' }

/**
 * Ends the invitation and adds the membership in the transaction of the caller. The address of the invitee must be
 * verified. Any outcome but `joined` changes nothing.
 */
export type JoinByInvitation = (tx: Tx, invitee: Invitee, tokenHash: Buffer, actor: Actor) => Promise<Joined>

export const makeJoinByInvitation =
  ({ clock, audit }: { clock: Clock; audit: Audit }): JoinByInvitation =>
  async (tx, { userId, email }, tokenHash, actor) => {
    const found = await tx.row(findInvitationByToken, { tokenHash })
    if (!found) return { outcome: 'not_found' }
    if (found.email !== email.toLowerCase()) return { outcome: 'other_address' }
    const at = clock.now()
    if (found.expires_at <= at) return { outcome: 'expired' }
    const { org_id: orgId, role, sso_exempt: ssoExempt } = found
    // The deletion of the org waits for this lock, or has ended the invitation.
    if (!(await tx.row(lockTeam, { orgId }))) return { outcome: 'not_found' }
    if (await tx.row(findRole, { orgId, userId })) {
      // Of two concurrent calls with one token, the second finds the invitation used.
      return { outcome: (await tx.row(findInvitationByToken, { tokenHash })) ? 'already_member' : 'not_found' }
    }
    if (!(await tx.row(endInvitation, { orgId, id: found.id, tokenHash, at }))) return { outcome: 'not_found' }
    const id = newId('membership', at.getTime())
    await tx.change(joinTeam, { orgId, id, userId, role, source: 'invitation', ssoExempt, at })
    await tx.change(setFirstDefaultOrg, { orgId, userId, at })
    // The org may allow fewer sessions than the user has.
    await tx.rows(endExcessSessions, { orgId: null, userId })
    const metadata = { role, via: 'invitation' }
    await audit(tx, { orgId, actor, action: 'member.joined', resourceType: 'membership', resourceId: id, metadata })
    return { outcome: 'joined', orgId, orgName: found.org_name, role }
  }
