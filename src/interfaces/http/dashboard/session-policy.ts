import { z } from 'zod'
import type { SessionPolicies } from '../../../customers/accounts/session-policy.ts'
import { userActor } from '../actor.ts'
import { ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'

const Limits = z.strictObject({
  max_session_age_hours: z.number().nullable(),
  max_sessions_per_user: z.number().nullable(),
})
const Policy = Limits.extend({ effective: Limits })

const PolicyBody = z.object({
  max_session_age_hours: z.number().int().min(1).max(720).nullable().optional(),
  max_sessions_per_user: z.number().int().min(1).max(50).nullable().optional(),
})

export const sessionPolicyRoutes = ({ policies }: { policies: SessionPolicies }): DashboardRoute[] => [
  defineRoute('GET', '/api/internal/org/session-policy', bySession('requireSession'), {
    responses: { 200: Policy },
    handle: async ({ session }) => ok(await policies.read(session.orgId, session.userId)),
  }),
  defineRoute('PATCH', '/api/internal/org/session-policy', bySession('requireOwnerSession'), {
    body: PolicyBody,
    responses: { 200: Policy },
    handle: async (call) => {
      const { session, body } = call
      const change = {
        ...(body.max_session_age_hours !== undefined && { max_session_age_hours: body.max_session_age_hours }),
        ...(body.max_sessions_per_user !== undefined && { max_sessions_per_user: body.max_sessions_per_user }),
      }
      const policy = await policies.change(session.orgId, session.userId, change, userActor(call))
      return ok(policy)
    },
  }),
]
