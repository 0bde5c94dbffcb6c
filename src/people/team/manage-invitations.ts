/** Invitations to an org, as its owners manage them. The token exists only in the mail; the database has its hash. */
import { randomBytes } from 'node:crypto'
import type { Role } from '../../customers/accounts/sessions.ts'
import { findOrg } from '../../customers/orgs/store.ts'
import type { AuditedNeeds, UserActor } from '../../journal/audit/append.ts'
import type { Db } from '../../platform/db/pool.ts'
import { sha256 } from '../../platform/ground/crypto.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import { dayMs, hourMs } from '../../platform/ground/units.ts'
import type { Limiter } from '../../platform/limits/limiter.ts'
import type { HandOverMail } from '../signin/hand-over-mail.ts'
import { composeMail, type MailContent } from '../signin/mail-templates.ts'
import { sweepAll } from '../signin/retention.ts'
import { asOwner, spend } from './change-team.ts'
import {
  deleteOldInvitations,
  findOpenInvitation,
  type InvitationRow,
  putInvitation,
  renewInvitation,
  revokeInvitation,
} from './store/invitation-rows.ts'
import { findMemberByEmail, findUserName } from './store/team-rows.ts'

const validMs = 7 * dayMs
const keptMs = 90 * dayMs
const perHour = 50

/** What the mail of an invitation says. */
type InvitationMail = {
  orgId: string
  to: string
  orgName: string
  inviterName: string
  role: string
  token: string
  expiresAt: Date
}

/** `sso_exempt`: the person may open the org without its identity provider. */
type NewInvitation = { email: string; role: Role; sso_exempt: boolean }

type Needs = AuditedNeeds & {
  limiter: Limiter | undefined
  /** Throws a `Failure` when the mail cannot be sent. */
  mail: (mail: InvitationMail) => Promise<void>
}

type Sent = { token: string; expiresAt: Date }

export const makeManageInvitations = ({ db, clock, audit, limiter, mail }: Needs) => {
  /** The mail goes out before anything is stored: if it fails, no invitation exists that nobody knows of. */
  const send = async (orgId: string, actor: UserActor, to: string, role: string): Promise<Sent> => {
    const bucket = { name: `{${orgId}}:invitations`, limit: perHour, windowMs: hourMs }
    await spend({ limiter, clock }, bucket, 'Too many invitations. Try again later.')
    const token = randomBytes(32).toString('base64url')
    const expiresAt = new Date(clock.millis() + validMs)
    const org = await db.row(findOrg, { orgId })
    const inviter = await db.row(findUserName, { userId: actor.userId })
    const inviterName = inviter?.name || inviter?.email || ''
    await mail({ orgId, to, orgName: org?.name ?? '', inviterName, role, token, expiresAt })
    return { token, expiresAt }
  }

  const assertNotMember = async (from: Pick<Db, 'row'>, orgId: string, email: string): Promise<void> => {
    if (await from.row(findMemberByEmail, { orgId, email })) throw new Failure('ALREADY_MEMBER')
  }

  const entry = (row: InvitationRow, actor: UserActor, resent: boolean) => ({
    orgId: row.org_id,
    actor,
    action: 'member.invited' as const,
    resourceType: 'invitation',
    resourceId: row.email,
    metadata: { email: row.email, role: row.role, resent, ...(row.sso_exempt && { sso_exempt: true }) },
  })

  return {
    invite: async (orgId: string, actor: UserActor, { email, role, sso_exempt: ssoExempt }: NewInvitation) => {
      await assertNotMember(db, orgId, email)
      const { token, expiresAt } = await send(orgId, actor, email, role)
      return asOwner(db, orgId, actor, async (tx) => {
        await assertNotMember(tx, orgId, email)
        const at = clock.now()
        const id = newId('invitation', at.getTime())
        const invited = { orgId, id, email, role, ssoExempt, invitedBy: actor.userId }
        const stored = { ...invited, tokenHash: sha256(token), at, expiresAt }
        const { resent, ...row } = (await tx.row(putInvitation, stored)) as InvitationRow & { resent: boolean }
        await audit(tx, entry(row, actor, resent))
        return row
      })
    },

    resend: async (orgId: string, actor: UserActor, id: string) => {
      const open = await orNotFound(db.row(findOpenInvitation, { orgId, id }))
      const { token, expiresAt } = await send(orgId, actor, open.email, open.role)
      return asOwner(db, orgId, actor, async (tx) => {
        const row = await orNotFound(tx.row(renewInvitation, { orgId, id, tokenHash: sha256(token), expiresAt }))
        await audit(tx, entry(row, actor, true))
        return row
      })
    },

    revoke: (orgId: string, actor: UserActor, id: string) =>
      asOwner(db, orgId, actor, async (tx) => {
        const row = await orNotFound(tx.row(revokeInvitation, { orgId, id, at: clock.now() }))
        const entry = { orgId, actor, action: 'member.invitation_revoked', resourceType: 'invitation' } as const
        await audit(tx, { ...entry, resourceId: id, metadata: { email: row.email, role: row.role } })
      }),

    /** Deletes invitations that expired long ago. Returns how many. */
    sweep: () => sweepAll(db, deleteOldInvitations, new Date(clock.millis() - keptMs)),
  }
}

export type ManageInvitations = ReturnType<typeof makeManageInvitations>

/** Names are the customers' own words. A header takes one line, and a subject that is too long is cut by clients. */
const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, 80)

export const invitationContent = (baseUrl: string, mail: InvitationMail): MailContent => {
  const org = oneLine(mail.orgName)
  const until = mail.expiresAt.toUTCString()
  return composeMail(`Invitation to ${org}`, [
    { say: `${oneLine(mail.inviterName)} invites you to join ${org} as ${mail.role}.` },
    { button: 'Open the invitation', url: `${baseUrl}/invite?token=${mail.token}` },
    { small: `The link works until ${until}, for ${mail.to} only. If you do not know the sender, ignore this mail.` },
  ])
}

export const makeMailInvitation =
  ({ handOver, baseUrl }: { handOver: HandOverMail; baseUrl: () => string }) =>
  (mail: InvitationMail): Promise<void> =>
    handOver(mail.to, mail.orgId, invitationContent(baseUrl(), mail))
