/**
 * Admits requests of the dashboard before their body is read: the session, then the cross-site rule, then the gate of the
 * route, which is also shut if the active org is closed to the session. The org and the role are read from the database
 * each time, so a change of either takes effect on the next request.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Role, Session, Sessions } from '../../../customers/accounts/sessions.ts'
import { stepUpRequired } from '../../../customers/accounts/sso-enforcement.ts'
import { type Code, Failure } from '../../../platform/ground/errors.ts'
import { scopeOf } from '../actor.ts'
import type { Door } from '../area.ts'
import { callerAddress, type ProxyTrust } from '../caller-address.ts'
import { activeOrgCookie, type Cookies, cookieOf, sessionCookie } from '../cookies.ts'
import type { Access, Entered, MemberSession, Route, SessionAccess, SessionGate, UserSession } from '../route.ts'

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

/** Links, pictures and forms cannot set it, and the script of another origin needs a permission that nobody gets. */
const scriptHeader = 'x-requested-with'

/** Whether a script of the dashboard sent this request. A link or a picture on one of its pages does not count. */
const isOwnScript = (headers: IncomingHttpHeaders): boolean => {
  const site = headers['sec-fetch-site']
  return (site === 'same-origin' || site === 'none') && Boolean(headers[scriptHeader])
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Whether a page of another site made the browser send this request, with the user's cookies. Every current browser
 * sends Sec-Fetch-Site. An older one sends Origin. A caller that sends neither is not a browser.
 */
const isCrossSite = (method: string, headers: IncomingHttpHeaders, ownOrigin: string): boolean => {
  if (safeMethods.has(method)) return false
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return headers.origin !== undefined && headers.origin !== ownOrigin
}

type Admitted = { session: UserSession | undefined; address: string | null }

type Rule = Pick<Route<SessionAccess>, 'method' | 'access' | 'acts'>

type SessionDoor = Door<Admitted, Entered<SessionAccess>> & {
  /** The session that a request shows, whatever its org and role. */
  find(request: FastifyRequest): Promise<Session | undefined>
  /** For a path that no route serves: admits those who may learn which paths exist. */
  admitUnknown(
    gate: 'public' | 'requireUserSession',
  ): (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
}

type Needs = {
  sessions: Pick<Sessions, 'find'>
  cookies: Cookies
  proxies: ProxyTrust
  /** The address of this service in its own links. */
  baseUrl: () => string
}

const isOfSession = (access: Access): access is SessionAccess => access.by === 'session'

export const makeSessionDoor = ({ sessions, cookies, proxies, baseUrl }: Needs): SessionDoor => {
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

  const sessionFor = async (request: FastifyRequest, reply: FastifyReply, { method, access, acts }: Rule) => {
    const { gate, ownFactors, whileSuspended, fromOtherSites } = access
    if (gate === 'public') {
      if (!fromOtherSites) refuseCrossSite(request)
      return undefined
    }
    const session = await find(request)
    if (!session) throw new Failure('UNAUTHORIZED')
    request.who = { orgId: session.orgId, userId: session.userId }
    refuseCrossSite(request)
    if (acts && !isOwnScript(request.headers)) throw new Failure('CROSS_SITE_REFUSED')
    if (ownFactors && !session.ownFactors) throw stepUpRequired()
    if (gate === 'requireUserSession') return session
    const member = memberOf(session, gate, reply)
    if (member.orgSuspended && method !== 'GET' && whileSuspended !== 'open') throw new Failure('ORG_SUSPENDED')
    return member
  }

  return {
    find,
    admit: async (request, reply, { method, access, acts }) => {
      if (!isOfSession(access)) throw new Error('Only routes of the dashboard have sessions.')
      const session = await sessionFor(request, reply, { method, access, ...(acts && { acts }) })
      return { session, address: callerAddress(request.raw, proxies) }
    },
    admitUnknown: (gate) => (request, reply) =>
      sessionFor(request, reply, { method: 'GET', access: { by: 'session', gate } }),
    enter: ({ session }, request) => ({ session: session as MemberSession, findSession: () => find(request) }),
    subjectsOf: ({ session }) => session && [session.userId, ...(session.orgId === null ? [] : [session.orgId])],
    claimantOf: ({ session }) => ({ ...scopeOf(session as MemberSession), allowedDomainIds: null }),
  }
}
