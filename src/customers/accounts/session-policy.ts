/** How long sessions of an org's members may last and how many each may have. The strictest org of a user applies. */
import type { Actor, AuditedNeeds } from '../../journal/audit/append.ts'
import type { Runner } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { endExcessSessions, findPolicy, findStrictestPolicy, type PolicyRow, setPolicy } from './store/session-rows.ts'

type PolicyChange = { max_session_age_hours?: number | null; max_sessions_per_user?: number | null }

const none: PolicyRow = { max_session_age_hours: null, max_sessions_per_user: null }

export const makeSessionPolicies = ({ db, clock, audit }: AuditedNeeds) => {
  const read = async (runner: Runner, orgId: string, userId: string) => {
    const own = (await runner.row(findPolicy, { orgId })) ?? none
    return { ...own, effective: (await runner.row(findStrictestPolicy, { userId })) ?? none }
  }
  return {
    /** The policy of the org, and what applies to the user over all their orgs. */
    read: (orgId: string, userId: string) => read(db, orgId, userId),
    /** A stricter policy ends the sessions that it does not allow at once. */
    change: (orgId: string, userId: string, change: PolicyChange, actor: Actor) =>
      db.tx(async (tx) => {
        const row = await tx.row(setPolicy, {
          orgId,
          ageGiven: change.max_session_age_hours !== undefined,
          age: change.max_session_age_hours ?? null,
          countGiven: change.max_sessions_per_user !== undefined,
          count: change.max_sessions_per_user ?? null,
          at: clock.now(),
        })
        if (!row) throw new Failure('NOT_FOUND')
        const { former_age, former_count, ...policy } = row
        const changed = former_age !== policy.max_session_age_hours || former_count !== policy.max_sessions_per_user
        if (changed) {
          await tx.rows(endExcessSessions, { orgId, userId: null })
          const entry = { orgId, actor, resourceType: 'org', resourceId: orgId, metadata: policy }
          await audit(tx, { ...entry, action: 'org.session_policy_updated' })
        }
        return read(tx, orgId, userId)
      }),
  }
}

export type SessionPolicies = ReturnType<typeof makeSessionPolicies>
