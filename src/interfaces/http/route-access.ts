/** Who may call a route, and what its handler then knows about the caller. */

import type { Role, Session } from '../../customers/accounts/sessions.ts'
import type { AccessRule } from '../../customers/admission/admit.ts'
import type { Caller } from '../../customers/keys/caller.ts'
import type { ScopeName } from '../../customers/keys/scopes.ts'
import type { DirectoryActor } from '../../people/scim/group-mapping.ts'

/** An API key with one of these scopes, or the token of an OAuth client that was granted one. */
export type KeyAccess = AccessRule & { by: 'key' }

/** Any API key, or the token of an OAuth client. What it may do is decided later. */
export type BearerAccess = { by: 'bearer' }

/** Who may call a route of the dashboard. `public` needs no session and exists only under /api/auth. */
export const gates = [
  'public',
  'requireUserSession',
  'requireSession',
  'requireWriteSession',
  'requireDeveloperSession',
  'requireOwnerSession',
] as const

export type SessionGate = (typeof gates)[number]

type SessionRule = {
  /** Changes that stay possible while the org is suspended, such as billing. Reads and personal routes always are. */
  whileSuspended?: 'open'
  /**
   * Concerns the whole account of the user, so a session that the identity provider of an org opened is not enough. Only for
   * routes behind `requireUserSession`.
   */
  ownFactors?: true
  /** Pages of other sites may send it. Only for a route that does not act for the user of the cookie. */
  fromOtherSites?: true
}

/** A browser session. */
export type SessionAccess<G extends SessionGate = SessionGate> = SessionRule & { by: 'session'; gate: G }

/** The token of a directory that manages the members of an org. */
export type DirectoryAccess = { by: 'directory' }

/** A link that the service signed. The rest of the path is its token. */
export type LinkAccess<Ref = unknown> = { by: 'link'; read: (token: string) => Ref | undefined }

/** A program on this machine, in development. */
export type MachineAccess = { by: 'machine' }

/** Anyone. The handler checks what the request proves, such as the signature of a provider. */
export type OpenAccess = { by: 'anyone' }

export type Access =
  | KeyAccess
  | BearerAccess
  | SessionAccess
  | DirectoryAccess
  | LinkAccess
  | MachineAccess
  | OpenAccess

export const byKey = (
  scope: ScopeName | readonly ScopeName[],
  forbiddenKeys?: NonNullable<AccessRule['forbiddenKeys']>,
): KeyAccess => ({ by: 'key', scope, ...(forbiddenKeys && { forbiddenKeys }) })

export const bySession = <const G extends SessionGate>(gate: G, rule: SessionRule = {}): SessionAccess<G> => ({
  by: 'session',
  gate,
  ...rule,
})

export const byLink = <Ref>(read: (token: string) => Ref | undefined): LinkAccess<Ref> => ({ by: 'link', read })

export const byBearer: BearerAccess = { by: 'bearer' }
export const byDirectory: DirectoryAccess = { by: 'directory' }
export const byMachine: MachineAccess = { by: 'machine' }
export const byAnyone: OpenAccess = { by: 'anyone' }

/** A signed-in user. `orgId` is the active org, under which the audit log files what the user does to themselves. */
export type UserSession = Pick<
  Session,
  'sessionId' | 'userId' | 'method' | 'createdAt' | 'expiresAt' | 'orgId' | 'ssoOrgId' | 'ownFactors'
>
export type MemberSession = UserSession & { orgId: string; role: Role; orgSuspended: boolean }

export type SessionBehind<G extends SessionGate> = G extends 'public'
  ? undefined
  : G extends 'requireUserSession'
    ? UserSession
    : MemberSession

/** What a handler knows about the caller. */
export type Entered<A extends Access> = A extends KeyAccess
  ? {
      /** Already narrowed to the tenant that the request names. */
      caller: Caller
    }
  : A extends BearerAccess
    ? {
        caller: Caller
        /** Counts the request in the rate of its key, which nothing has done so far. */
        count: () => Promise<void>
      }
    : A extends SessionAccess<infer G>
      ? {
          session: SessionBehind<G>
          /** The session of a public route's caller, if they have one. */
          findSession: () => Promise<Session | undefined>
        }
      : A extends DirectoryAccess
        ? { orgId: string; actor: DirectoryActor }
        : A extends LinkAccess<infer Ref>
          ? { ref: Ref | undefined }
          : unknown
