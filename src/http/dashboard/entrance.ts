/**
 * The entrance of the dashboard. Every request passes here before its body is read: the session, then the cross-site
 * rule, then the gate of its route, which is also shut if the active org is closed to the session. The org and the role
 * are read from the database each time, so a change of either takes effect on the next request.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Role, Session, Sessions } from '../../accounts/sessions.ts'
import { stepUpRequired } from '../../accounts/sso-enforcement.ts'
import { type Code, Failure } from '../../ground/errors.ts'
import { activeOrgCookie, type Cookies, cookieOf, sessionCookie } from './cookies.ts'
import { isCrossSite } from './cross-site.ts'
import type { DashboardRoute, MemberSession, SessionGate, UserSession } from './dashboard-route.ts'

type MemberGate = Exclude<SessionGate, 'public' | 'requireUserSession'>

/** The roles that a gate admits, and the refusals for a user without a role and for any other role. */
const memberGates: Record<MemberGate, { roles: readonly Role[]; noRole: Code; otherRole: Code }> = {
  requireSession: {
    roles: ['owner', 'developer', 'member', 'viewer'],
    noRole: 'UNAUTHORIZED',
    otherRole: 'UNAUTHORIZED',
  },
  requireWriteSession: {
    roles: ['owner', 'developer', 'member'],
    noRole: 'UNAUTHORIZED',
    otherRole: 'WRITE_ACCESS_REQUIRED',
  },
  requireDeveloperSession: {
    roles: ['owner', 'developer'],
    noRole: 'UNAUTHORIZED',
    otherRole: 'DEVELOPER_ROLE_REQUIRED',
  },
  requireOwnerSession: { roles: ['owner'], noRole: 'OWNER_ROLE_REQUIRED', otherRole: 'OWNER_ROLE_REQUIRED' },
}

type AccessRule = Pick<DashboardRoute, 'method' | 'gate' | 'ownFactors' | 'whileSuspended' | 'fromOtherSites'>

export interface Entrance {
  /** The session that a request shows, whatever its org and role. */
  find(request: FastifyRequest): Promise<Session | undefined>
  /** Returns the session that the route's handler gets, or throws. Undefined for a public route. */
  admit(request: FastifyRequest, reply: FastifyReply, rule: AccessRule): Promise<UserSession | undefined>
}

type Needs = {
  sessions: Pick<Sessions, 'find'>
  cookies: Cookies
  /** The address of this service in its own links. */
  baseUrl: () => string
}

export const makeEntrance = ({ sessions, cookies, baseUrl }: Needs): Entrance => {
  const refuseCrossSite = (request: FastifyRequest): void => {
    if (isCrossSite(request.method, request.headers, new URL(baseUrl()).origin)) throw new Failure('CROSS_SITE_REFUSED')
  }

  const find = async (request: FastifyRequest): Promise<Session | undefined> => {
    const header = request.headers.cookie
    const token = cookieOf(header, sessionCookie)
    return token === undefined ? undefined : sessions.find(token, cookieOf(header, activeOrgCookie) ?? null)
  }

  const memberOf = (session: Session, gate: MemberGate, reply: FastifyReply): MemberSession => {
    const { roles, noRole, otherRole } = memberGates[gate]
    // The next request then starts from the default org. This one is refused: the user did not choose that org.
    if (session.foreignOrg) reply.header('set-cookie', cookies.clear(activeOrgCookie))
    if (session.closed) throw session.closed
    if (!session.member) throw new Failure(noRole)
    if (!roles.includes(session.member.role)) throw new Failure(otherRole)
    return { ...session, ...session.member }
  }

  return {
    find,
    admit: async (request, reply, { method, gate, ownFactors, whileSuspended, fromOtherSites }) => {
      if (gate === 'public') {
        if (!fromOtherSites) refuseCrossSite(request)
        return undefined
      }
      const session = await find(request)
      if (!session) throw new Failure('UNAUTHORIZED')
      request.signedIn = { userId: session.userId, orgId: session.orgId }
      refuseCrossSite(request)
      if (ownFactors && !session.ownFactors) throw stepUpRequired()
      if (gate === 'requireUserSession') return session
      const member = memberOf(session, gate, reply)
      if (member.orgSuspended && method !== 'GET' && whileSuspended !== 'open') throw new Failure('ORG_SUSPENDED')
      return member
    },
  }
}
