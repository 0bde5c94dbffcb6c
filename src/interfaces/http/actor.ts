/** Who calls, as the audit log records it, and what they reach. */
import type { Caller } from '../../customers/keys/caller.ts'
import type { Actor, UserActor } from '../../journal/audit/append.ts'
import type { Environment, Scope } from '../../platform/ground/scope.ts'
import type { MemberSession, UserSession } from './route.ts'

/** The actor of a caller: its API key, or the person for whom an OAuth client acts. */
export const callerActor = ({ keyId, grant }: Caller, ip: string | null, userAgent: string): Actor =>
  grant ? { kind: 'user', ...grant, ip, userAgent } : { kind: 'key', keyId, ip, userAgent }

type FromKey = { caller: Caller; address: string | null; userAgent: string }

/** The actor recorded in audit entries of a call, with IP address and user agent. */
export const actorOf = ({ caller, address, userAgent }: FromKey): Actor => callerActor(caller, address, userAgent)

type FromUser = { session: UserSession; address: string | null; userAgent: string }

/** The actor recorded in audit entries of a signed-in user's call. */
export const userActor = ({ session, address, userAgent }: FromUser): UserActor => ({
  kind: 'user',
  userId: session.userId,
  ip: address,
  userAgent,
})

/** A member reaches every tenant and project of the active org. What a request creates is live unless it says otherwise. */
export const scopeOf = ({ orgId }: MemberSession, environment: Environment = 'live'): Scope => ({
  orgId,
  tenantId: null,
  environment,
  projectId: null,
})
