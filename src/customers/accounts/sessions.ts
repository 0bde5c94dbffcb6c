import { randomBytes } from 'node:crypto'
import { makeBatcher } from '../../platform/db/batch.ts'
import type { StoreNeeds, Tx } from '../../platform/db/pool.ts'
import { sha256 } from '../../platform/ground/crypto.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import { refusalOf } from './sso-enforcement.ts'
import {
  endExcessSessions,
  endSession,
  findSessions,
  findStrictestPolicy,
  insertSession,
  lockUser,
  type SessionRow,
  stepUpSession,
  touchSessions,
} from './store/session-rows.ts'

export const roles = ['owner', 'developer', 'member', 'viewer'] as const
export type Role = (typeof roles)[number]

const sessionHours = 720
const touchEveryMs = 60_000

/** A role that this version does not know counts as no role. */
const roleOf = (text: string | null): Role | undefined => roles.find((role) => role === text)

/** A user signed in to the dashboard. Without a role in the active org, only personal routes are available. */
export type Session = ReturnType<typeof sessionOf>

const sessionOf = (row: SessionRow, activeOrg: string | null) => {
  const role = roleOf(row.role)
  const foreignOrg = activeOrg !== null && row.org_id !== activeOrg
  const isMember = row.org_id !== null && role !== undefined && !foreignOrg
  const { closed: because, slug, protocol } = row
  const closed = isMember && slug !== null ? refusalOf({ closed: because, slug, protocol }) : undefined
  return {
    sessionId: row.session_id,
    userId: row.user_id,
    method: row.method,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    /** The org whose identity provider opened the session. */
    ssoOrgId: row.sso_org_id,
    /** The person has proven their own factors in it. Without them, the session is good for the org of the provider only. */
    ownFactors: row.own_factors,
    /** The org whose audit log records what the user does to their own account. */
    orgId: row.org_id,
    /** Undefined also while the active org is closed to the session. */
    member:
      isMember && !closed ? { orgId: row.org_id as string, role, orgSuspended: row.suspended === true } : undefined,
    /** Why the active org is closed to the session. */
    closed,
    /** The request names an active org that the user does not belong to. */
    foreignOrg,
  }
}

type SignInFrom = {
  method: string
  ip: string | null
  userAgent: string
  /** The org through whose identity provider the person signed in. */
  ssoOrgId?: string | null
}

/** `token` is the value of the cookie. Only its hash is stored. */
export type OpenedSession = { sessionId: string; token: string; maxAgeSeconds: number }

const newToken = (): string => randomBytes(32).toString('base64url')

type Lookup = { hash: Buffer; activeOrg: string | null }

export const makeSessions = ({ db, clock, log }: StoreNeeds & { log: Log }) => {
  const lookup = makeBatcher<Lookup, SessionRow | undefined>({
    name: 'accounts.find_sessions',
    run: async (items) => {
      const found: (SessionRow | undefined)[] = new Array(items.length).fill(undefined)
      const rows = await db.rows(findSessions, {
        hashes: items.map(({ hash }) => hash),
        activeOrgs: items.map(({ activeOrg }) => activeOrg),
        now: clock.now(),
      })
      for (const row of rows) found[row.ordinal - 1] = row
      return found
    },
  })
  const touch = makeBatcher<string, void>({
    name: 'accounts.touch_sessions',
    concurrency: 1,
    run: async (ids) => {
      const at = clock.now()
      await db.change(touchSessions, { ids, at, before: new Date(at.getTime() - touchEveryMs) })
      return ids.map(() => undefined)
    },
  })
  const touching = new Set<string>()

  /** The request does not wait for it. */
  const recordActivity = ({ session_id: id, last_active_at: last }: SessionRow): void => {
    if (clock.millis() - last.getTime() < touchEveryMs || touching.has(id)) return
    touching.add(id)
    touch
      .submit(id)
      .catch((err) => log.warn({ err, session_id: id }, 'session activity update failed'))
      .finally(() => touching.delete(id))
  }

  const begin = async (tx: Tx, userId: string, { method, ip, userAgent, ssoOrgId = null }: SignInFrom) => {
    await tx.row(lockUser, { userId })
    const token = newToken()
    const now = clock.now()
    const sessionId = newId('session', now.getTime())
    await tx.change(insertSession, {
      id: sessionId,
      userId,
      tokenHash: sha256(token),
      method,
      ssoOrgId,
      ip,
      userAgent: userAgent.slice(0, 512),
      at: now,
      expiresAt: new Date(now.getTime() + sessionHours * 3_600_000),
    })
    await tx.rows(endExcessSessions, { orgId: null, userId })
    const policy = await tx.row(findStrictestPolicy, { userId })
    const hours = Math.min(sessionHours, policy?.max_session_age_hours ?? sessionHours)
    return { sessionId, token, maxAgeSeconds: hours * 3_600 }
  }

  const stepUp = async (tx: Tx, { userId, sessionId }: { userId: string; sessionId: string }) => {
    const token = newToken()
    const at = clock.now()
    const row = await tx.row(stepUpSession, { userId, id: sessionId, tokenHash: sha256(token), at })
    if (!row) return undefined
    const policy = await tx.row(findStrictestPolicy, { userId })
    const hours = policy?.max_session_age_hours ?? sessionHours
    const endsAt = Math.min(row.expires_at.getTime(), row.created_at.getTime() + hours * 3_600_000)
    return { sessionId, token, maxAgeSeconds: Math.max(1, Math.floor((endsAt - at.getTime()) / 1_000)) }
  }

  return {
    /** Starts a session, and ends the oldest ones beyond what the policies of the user's orgs allow. */
    begin,
    /** Confirms a session with the own factors of its user, and gives it a new token. Undefined if it has ended. */
    stepUp,
    /** The same in a transaction of its own. Returns the cookie value. */
    open: async (userId: string, from: SignInFrom) => (await db.tx((tx) => begin(tx, userId, from))).token,
    /** Reads the session, the membership and the policies each time, so that every change takes effect at once. */
    find: async (token: string, activeOrg: string | null) => {
      if (!/^[A-Za-z0-9_-]{43}$/.test(token)) return undefined
      // A NUL cannot be sent to the database, and no id contains one.
      const row = await lookup.submit({ hash: sha256(token), activeOrg: activeOrg?.replaceAll('\0', '') ?? null })
      if (!row) return undefined
      recordActivity(row)
      return sessionOf(row, activeOrg)
    },
    end: async (token: string) => {
      await db.change(endSession, { tokenHash: sha256(token) })
    },
    drained: async () => {
      await Promise.all([lookup.drained(), touch.drained()])
    },
  }
}

export type Sessions = ReturnType<typeof makeSessions>
