/** What an invited person does with the link in the mail: look at it, accept it or decline it. */
import { assertOpenTo } from '../../customers/accounts/sso-enforcement.ts'
import type { Audit, UserActor } from '../../journal/audit/append.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { sha256 } from '../../platform/ground/crypto.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { Invitee, JoinByInvitation } from './join-by-invitation.ts'
import { endInvitation, findInvitationByToken, type InvitationRow } from './store/invitation-rows.ts'
import { findInvitee, hasAccount } from './store/team-rows.ts'

export type OpenInvitation = InvitationRow & { org_name: string; account_exists: boolean }
export type JoinedTeam = { orgId: string; orgName: string; role: string }

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

type Needs = { db: Db; clock: Clock; audit: Audit; join: JoinByInvitation }

export const makeAnswerInvitation = ({ db, clock, audit, join }: Needs) => {
  const find = async (from: Pick<Tx, 'row'>, token: string): Promise<InvitationRow & { org_name: string }> => {
    const found = await from.row(findInvitationByToken, { tokenHash: sha256(token) })
    if (!found) throw new Failure('NOT_FOUND')
    return found
  }

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
        const ended = await tx.row(endInvitation, { orgId, id, tokenHash: sha256(token), at: clock.now() })
        if (!ended) throw new Failure('NOT_FOUND')
        const entry = { orgId, actor, action: 'member.invitation_revoked', resourceType: 'invitation' } as const
        await audit(tx, { ...entry, resourceId: id, metadata: { email, role, declined: true } })
        return { id }
      }),
  }
}

export type AnswerInvitation = ReturnType<typeof makeAnswerInvitation>
