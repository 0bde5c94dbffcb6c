/** What an invited person does with the link in the mail: look at it, accept it or decline it. */
import { assertOpenTo } from '../../customers/accounts/sso-enforcement.ts'
import { endExcessSessions } from '../../customers/accounts/store/session-rows.ts'
import type { Actor, Audit, AuditedNeeds, UserActor } from '../../journal/audit/append.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { sha256 } from '../../platform/ground/crypto.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import { endInvitation, findInvitationByToken, type InvitationRow } from './store/invitation-rows.ts'
import { findInvitee, findRole, hasAccount, joinTeam, lockTeam, setFirstDefaultOrg } from './store/team-rows.ts'

type Invitee = { userId: string; email: string }

type Joined =
  | { outcome: 'joined'; orgId: string; orgName: string; role: string }
  /** `not_found`: unknown, used, revoked or replaced. */
  | { outcome: 'not_found' | 'expired' | 'other_address' | 'already_member' }

/**
 * Ends the invitation and adds the membership in the transaction of the caller. The address of the invitee must be
 * verified. Any outcome but `joined` changes nothing.
 */
type JoinByInvitation = (tx: Tx, invitee: Invitee, tokenHash: Buffer, actor: Actor) => Promise<Joined>

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

const refusals = {
  not_found: 'NOT_FOUND',
  expired: 'INVITATION_EXPIRED',
  other_address: 'INVITATION_EMAIL_MISMATCH',
  already_member: 'ALREADY_MEMBER',
} as const

/** The signed-in user, whose address must be verified: otherwise anyone could claim the invited one. */
const inviteeOf = async (tx: Tx, userId: string): Promise<Invitee> => {
  const user = await tx.row(findInvitee, { userId })
  if (!user?.verified) throw new Failure('INVITATION_EMAIL_MISMATCH')
  return { userId, email: user.email }
}

export const makeAnswerInvitation = ({ db, clock, audit, join }: AuditedNeeds & { join: JoinByInvitation }) => {
  const find = (from: Pick<Tx, 'row'>, token: string): Promise<InvitationRow & { org_name: string }> =>
    orNotFound(from.row(findInvitationByToken, { tokenHash: sha256(token) }))

  return {
    read: async (token: string) => {
      const found = await find(db, token)
      if (found.expires_at <= clock.now()) throw new Failure('INVITATION_EXPIRED')
      return { ...found, account_exists: (await db.row(hasAccount, { email: found.email })) !== undefined }
    },

    accept: (actor: UserActor, sessionId: string, token: string) =>
      db.tx(async (tx) => {
        await find(tx, token)
        const joined = await join(tx, await inviteeOf(tx, actor.userId), sha256(token), actor)
        if (joined.outcome !== 'joined') throw new Failure(refusals[joined.outcome])
        // Nobody joins an org that would then be closed to the session.
        await assertOpenTo(tx, { userId: actor.userId, sessionId }, joined.orgId)
        return { orgId: joined.orgId, orgName: joined.orgName, role: joined.role }
      }),

    decline: (actor: UserActor, token: string) =>
      db.tx(async (tx) => {
        const { org_id: orgId, id, email, role, expires_at } = await find(tx, token)
        const invitee = await inviteeOf(tx, actor.userId)
        if (email !== invitee.email) throw new Failure('INVITATION_EMAIL_MISMATCH')
        if (expires_at <= clock.now()) throw new Failure('INVITATION_EXPIRED')
        await orNotFound(tx.row(endInvitation, { orgId, id, tokenHash: sha256(token), at: clock.now() }))
        const entry = { orgId, actor, action: 'member.invitation_revoked', resourceType: 'invitation' } as const
        await audit(tx, { ...entry, resourceId: id, metadata: { email, role, declined: true } })
        return { id }
      }),
  }
}

export type AnswerInvitation = ReturnType<typeof makeAnswerInvitation>
