/** /api/internal/team: members and invitations. */
import type { z } from 'zod'
import { stepUpRequired } from '../../../customers/accounts/sso-enforcement.ts'
import type { AnswerInvitation } from '../../../people/team/answer-invitation.ts'
import type { ManageInvitations } from '../../../people/team/manage-invitations.ts'
import type { LeaveTeam, ListTeam, ManageTeam } from '../../../people/team/manage-team.ts'
import {
  ById,
  ByToken,
  ChangeMember,
  DeclinedInvitation,
  DeletedRow,
  Invitation,
  InviteMember,
  JoinedOrg,
  LeftOrg,
  LeftTeam,
  Member,
  ReceivedInvitation,
  RepeatInvitation,
} from '../../../people/team/shapes.ts'
import type { InvitationRow } from '../../../people/team/store/invitation-rows.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { isId } from '../../../platform/ground/ids.ts'
import { userActor } from '../actor.ts'
import { activeOrgCookie, type Cookies, cookieOf, sessionCookie } from '../cookies.ts'
import { created, listed, ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'
import { shownAs } from '../shown-resource.ts'
import { listOf, listQuery } from './list-query.ts'
import { memberRoutes } from './member-routes.ts'
import { activeOrg } from './orgs.ts'

type TeamRouteNeeds = {
  list: ListTeam
  clock: Clock
  members: ManageTeam
  leave: LeaveTeam
  invitations: ManageInvitations
  answer: AnswerInvitation
  cookies: Cookies
}

const memberResource = { kind: 'membership', item: Member, show: shownAs(Member) } as const

/** Never shows the token, which the service does not have. */
const shownInvitation = (row: InvitationRow, now: Date): z.output<typeof Invitation> => ({
  id: row.id,
  email: row.email,
  role: row.role,
  sso_exempt: row.sso_exempt,
  status: row.expires_at > now ? 'pending' : 'expired',
  invited_by: row.invited_by === null ? null : { id: row.invited_by, name: row.inviter_name ?? '' },
  created_at: row.created_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
})

const membershipRoutes = ({ list, members }: TeamRouteNeeds): DashboardRoute[] => [
  memberRoutes(memberResource, { path: '/api/internal/team/members' }).list({
    action: ({ orgId }, query) => list.members(orgId, query),
  }),
  defineRoute('PATCH', '/api/internal/team/members', bySession('requireOwnerSession'), {
    body: ChangeMember,
    responses: { 200: Member },
    handle: async (call) => {
      const member = await members.change(call.session.orgId, userActor(call), call.body)
      return ok(memberResource.show(member))
    },
  }),
  defineRoute('DELETE', '/api/internal/team/members', bySession('requireOwnerSession'), {
    query: ById,
    responses: { 200: DeletedRow },
    handle: async (call) => {
      await members.remove(call.session.orgId, userActor(call), call.query.id)
      return ok({ deleted: true, id: call.query.id })
    },
  }),
]

/** A member may leave an org that is closed to their session too. The session must be theirs, or one of that org. */
const leaveRoutes = ({ leave, cookies }: TeamRouteNeeds): DashboardRoute[] => [
  defineRoute('DELETE', '/api/internal/team/membership', bySession('requireUserSession'), {
    query: LeftOrg,
    responses: { 200: LeftTeam },
    handle: async (call) => {
      const { ownFactors, ssoOrgId } = call.session
      // A remembered org that the user does not belong to must not become another one of theirs.
      const orgId = call.query.org_id ?? cookieOf(call.headers.cookie, activeOrgCookie) ?? call.session.orgId
      if (orgId === null || !isId('org', orgId)) throw new Failure('NOT_FOUND')
      if (!ownFactors && orgId !== ssoOrgId) throw stepUpRequired()
      await leave(orgId, userActor(call))
      const cleared = [
        ...(cookieOf(call.headers.cookie, activeOrgCookie) === orgId ? [cookies.clear(activeOrgCookie)] : []),
        // The sessions that the identity provider of the org opened have ended.
        ...(ssoOrgId === orgId ? [cookies.clear(sessionCookie)] : []),
      ]
      return { status: 200, body: { deleted: true }, cookies: cleared }
    },
  }),
]

const invitationRoutes = ({ list, clock, invitations }: TeamRouteNeeds): DashboardRoute[] => [
  defineRoute('GET', '/api/internal/team/invite', bySession('requireSession'), {
    query: listQuery(),
    responses: { 200: listOf(Invitation) },
    handle: async ({ session, query }) => {
      const rows = await list.invitations(session.orgId, query)
      return listed(rows, query.limit, (row) => shownInvitation(row, clock.now()))
    },
  }),
  defineRoute('POST', '/api/internal/team/invite', bySession('requireOwnerSession'), {
    body: InviteMember,
    responses: { 201: Invitation },
    handle: async (call) => {
      const invitation = await invitations.invite(call.session.orgId, userActor(call), call.body)
      return created(shownInvitation(invitation, clock.now()))
    },
  }),
  defineRoute('PATCH', '/api/internal/team/invite', bySession('requireOwnerSession'), {
    body: RepeatInvitation,
    responses: { 200: Invitation },
    handle: async (call) => {
      const invitation = await invitations.resend(call.session.orgId, userActor(call), call.body.id)
      return ok(shownInvitation(invitation, clock.now()))
    },
  }),
  defineRoute('DELETE', '/api/internal/team/invite', bySession('requireOwnerSession'), {
    query: ById,
    responses: { 200: DeletedRow },
    handle: async (call) => {
      await invitations.revoke(call.session.orgId, userActor(call), call.query.id)
      return ok({ deleted: true, id: call.query.id })
    },
  }),
]

/** Routes of the invited person, who does not belong to the org yet. */
const answerRoutes = ({ answer, cookies }: TeamRouteNeeds): DashboardRoute[] => [
  defineRoute('GET', '/api/auth/invitation', bySession('public'), {
    query: ByToken,
    responses: { 200: ReceivedInvitation },
    handle: async ({ query }) => {
      const found = await answer.read(query.token)
      const body = {
        org_name: found.org_name,
        email: found.email,
        role: found.role,
        invited_by: found.inviter_name,
        expires_at: found.expires_at.toISOString(),
        account_exists: found.account_exists,
      }
      return ok(body)
    },
  }),
  defineRoute('POST', '/api/internal/team/accept', bySession('requireUserSession'), {
    body: ByToken,
    responses: { 200: JoinedOrg },
    handle: async (call) => {
      const { orgId, orgName, role } = await answer.accept(userActor(call), call.session.sessionId, call.body.token)
      const body = { org_id: orgId, org_name: orgName, role }
      return { status: 200, body, cookies: [activeOrg(cookies, orgId)] }
    },
  }),
  defineRoute('POST', '/api/internal/team/decline', bySession('requireUserSession'), {
    body: ByToken,
    responses: { 200: DeclinedInvitation },
    handle: async (call) => {
      const { id } = await answer.decline(userActor(call), call.body.token)
      return ok({ declined: true, id })
    },
  }),
]

export const teamRoutes = (needs: TeamRouteNeeds): DashboardRoute[] => [
  ...membershipRoutes(needs),
  ...leaveRoutes(needs),
  ...invitationRoutes(needs),
  ...answerRoutes(needs),
]
