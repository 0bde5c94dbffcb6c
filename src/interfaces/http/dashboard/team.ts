/** /api/internal/team: members and invitations. */
import type { z } from 'zod'
import { stepUpRequired } from '../../accounts/sso-enforcement.ts'
import type { Db } from '../../db/pool.ts'
import type { Clock } from '../../ground/clock.ts'
import { keysetOf } from '../../ground/cursor.ts'
import { Failure } from '../../ground/errors.ts'
import { isId } from '../../ground/ids.ts'
import type { AnswerInvitation } from '../../team/answer-invitation.ts'
import type { LeaveTeam } from '../../team/leave-team.ts'
import type { ManageInvitations } from '../../team/manage-invitations.ts'
import type { ManageTeam } from '../../team/manage-team.ts'
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
} from '../../team/shapes.ts'
import { type InvitationRow, listInvitations } from '../../team/store/invitation-rows.ts'
import { listTeam, type TeamMemberRow } from '../../team/store/team-rows.ts'
import { page } from '../page.ts'
import { activeOrgCookie, type Cookies, sessionCookie } from './cookies.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'
import { listOf, listQuery } from './list-query.ts'
import { activeOrg } from './orgs.ts'

export type TeamRouteNeeds = {
  db: Db
  clock: Clock
  members: ManageTeam
  leave: LeaveTeam
  invitations: ManageInvitations
  answer: AnswerInvitation
  cookies: Cookies
}

const shownMember = (row: TeamMemberRow): z.output<typeof Member> => ({
  id: row.id,
  user_id: row.user_id,
  email: row.email,
  name: row.name,
  role: row.role,
  primary_owner: row.primary_owner,
  two_factor_enabled: row.two_factor_enabled,
  source: row.source,
  sso_exempt: row.sso_exempt,
  sso_access: row.sso_access,
  created_at: row.created_at.toISOString(),
  last_active_at: row.last_active_at?.toISOString() ?? null,
})

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

const memberRoutes = ({ db, members }: TeamRouteNeeds): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path: '/api/internal/team/members',
    gate: 'requireSession',
    query: listQuery(),
    responses: { 200: listOf(Member) },
    handle: async ({ session, query }) => {
      const rows = await db.rows(listTeam, { orgId: session.orgId, ...keysetOf(query) })
      return { status: 200, body: page(rows, query.limit, shownMember) }
    },
  }),
  defineDashboardRoute({
    method: 'PATCH',
    path: '/api/internal/team/members',
    gate: 'requireOwnerSession',
    body: ChangeMember,
    responses: { 200: Member },
    handle: async (call) => {
      const member = await members.change(call.session.orgId, userActor(call), call.body)
      return { status: 200, body: shownMember(member) }
    },
  }),
  defineDashboardRoute({
    method: 'DELETE',
    path: '/api/internal/team/members',
    gate: 'requireOwnerSession',
    query: ById,
    responses: { 200: DeletedRow },
    handle: async (call) => {
      await members.remove(call.session.orgId, userActor(call), call.query.id)
      return { status: 200, body: { deleted: true, id: call.query.id } }
    },
  }),
]

/** A member may leave an org that is closed to their session too. The session must be theirs, or one of that org. */
const leaveRoutes = ({ leave, cookies }: TeamRouteNeeds): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'DELETE',
    path: '/api/internal/team/membership',
    gate: 'requireUserSession',
    query: LeftOrg,
    responses: { 200: LeftTeam },
    handle: async (call) => {
      const { ownFactors, ssoOrgId } = call.session
      // A remembered org that the user does not belong to must not become another one of theirs.
      const orgId = call.query.org_id ?? call.cookie(activeOrgCookie) ?? call.session.orgId
      if (orgId === null || !isId('org', orgId)) throw new Failure('NOT_FOUND')
      if (!ownFactors && orgId !== ssoOrgId) throw stepUpRequired()
      await leave(orgId, userActor(call))
      const cleared = [
        ...(call.cookie(activeOrgCookie) === orgId ? [cookies.clear(activeOrgCookie)] : []),
        // The sessions that the identity provider of the org opened have ended.
        ...(ssoOrgId === orgId ? [cookies.clear(sessionCookie)] : []),
      ]
      return { status: 200, body: { deleted: true }, cookies: cleared }
    },
  }),
]

const invitationRoutes = ({ db, clock, invitations }: TeamRouteNeeds): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path: '/api/internal/team/invite',
    gate: 'requireSession',
    query: listQuery(),
    responses: { 200: listOf(Invitation) },
    handle: async ({ session, query }) => {
      const rows = await db.rows(listInvitations, { orgId: session.orgId, ...keysetOf(query) })
      return { status: 200, body: page(rows, query.limit, (row) => shownInvitation(row, clock.now())) }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/internal/team/invite',
    gate: 'requireOwnerSession',
    body: InviteMember,
    responses: { 201: Invitation },
    handle: async (call) => {
      const invitation = await invitations.invite(call.session.orgId, userActor(call), call.body)
      return { status: 201, body: shownInvitation(invitation, clock.now()) }
    },
  }),
  defineDashboardRoute({
    method: 'PATCH',
    path: '/api/internal/team/invite',
    gate: 'requireOwnerSession',
    body: RepeatInvitation,
    responses: { 200: Invitation },
    handle: async (call) => {
      const invitation = await invitations.resend(call.session.orgId, userActor(call), call.body.id)
      return { status: 200, body: shownInvitation(invitation, clock.now()) }
    },
  }),
  defineDashboardRoute({
    method: 'DELETE',
    path: '/api/internal/team/invite',
    gate: 'requireOwnerSession',
    query: ById,
    responses: { 200: DeletedRow },
    handle: async (call) => {
      await invitations.revoke(call.session.orgId, userActor(call), call.query.id)
      return { status: 200, body: { deleted: true, id: call.query.id } }
    },
  }),
]

/** Routes of the invited person, who does not belong to the org yet. */
const answerRoutes = ({ answer, cookies }: TeamRouteNeeds): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path: '/api/auth/invitation',
    gate: 'public',
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
      return { status: 200, body }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/internal/team/accept',
    gate: 'requireUserSession',
    body: ByToken,
    responses: { 200: JoinedOrg },
    handle: async (call) => {
      const { orgId, orgName, role } = await answer.accept(userActor(call), call.session.sessionId, call.body.token)
      const body = { org_id: orgId, org_name: orgName, role }
      return { status: 200, body, cookies: [activeOrg(cookies, orgId)] }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path: '/api/internal/team/decline',
    gate: 'requireUserSession',
    body: ByToken,
    responses: { 200: DeclinedInvitation },
    handle: async (call) => {
      const { id } = await answer.decline(userActor(call), call.body.token)
      return { status: 200, body: { declined: true, id } }
    },
  }),
]

export const teamRoutes = (needs: TeamRouteNeeds): DashboardRoute[] => [
  ...memberRoutes(needs),
  ...leaveRoutes(needs),
  ...invitationRoutes(needs),
  ...answerRoutes(needs),
]
