import { randomBytes } from 'node:crypto'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { sha256 } from '../ground/crypto.ts'
import { newId } from '../ground/ids.ts'
import { findSession, insertSession } from './store.ts'

export const roles = ['owner', 'developer', 'member', 'viewer'] as const
export type Role = (typeof roles)[number]

/** A user signed in to the dashboard. Without a role in the active org, only personal routes are available. */
export type Session = {
  sessionId: string
  userId: string
  member: { orgId: string; role: Role; orgSuspended: boolean } | undefined
}

const sessionHours = 720

/** A role that this version does not know counts as no role. */
const roleOf = (text: string | null): Role | undefined => roles.find((role) => role === text)

export interface Sessions {
  /** Starts a session and returns the cookie value. Only its hash is stored. */
  open(userId: string, from: { method: string; ip: string | null; userAgent: string }): Promise<string>
  find(token: string, activeOrg: string | null): Promise<Session | undefined>
}

export const makeSessions = ({ db, clock }: { db: Db; clock: Clock }): Sessions => ({
  open: async (userId, { method, ip, userAgent }) => {
    const token = randomBytes(32).toString('base64url')
    const now = clock.now()
    const expires = new Date(now.getTime() + sessionHours * 3_600_000)
    const id = newId('session', now.getTime())
    await db.change(insertSession, {
      id,
      userId,
      tokenHash: sha256(token),
      method,
      ip,
      userAgent: userAgent.slice(0, 512),
      at: now,
      expiresAt: expires,
    })
    return token
  },
  find: async (token, activeOrg) => {
    if (!/^[A-Za-z0-9_-]{43}$/.test(token)) return undefined
    const row = await db.row(findSession, { tokenHash: sha256(token), activeOrg, now: clock.now() })
    if (!row) return undefined
    const role = roleOf(row.role)
    return {
      sessionId: row.session_id,
      userId: row.user_id,
      member:
        row.org_id !== null && role ? { orgId: row.org_id, role, orgSuspended: row.suspended === true } : undefined,
    }
  },
})
