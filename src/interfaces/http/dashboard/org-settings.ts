/** /api/internal/org/session-policy and /api/internal/org/sms-geo: how long sessions last, and where text messages may go. */
import { z } from 'zod'
import type { SessionPolicies } from '../../../customers/accounts/session-policy.ts'
import type { OwnCountries, OwnSmsGeo } from '../../../people/team/own-sms-geo.ts'
import { PatchSmsGeo, SmsCountries } from '../../../people/team/shapes.ts'
import { isoOrNull } from '../../../platform/ground/instant.ts'
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

const shownCountries = ({ countries, updatedAt, updatedBy }: OwnCountries): z.output<typeof SmsCountries> => ({
  countries,
  configured: countries !== null,
  updated_at: isoOrNull(updatedAt),
  updated_by: updatedBy,
})

export const smsGeoRoutes = ({ smsGeo }: { smsGeo: OwnSmsGeo }): DashboardRoute[] => [
  defineRoute('GET', '/api/internal/org/sms-geo', bySession('requireSession'), {
    responses: { 200: SmsCountries },
    handle: async ({ session }) => ok(shownCountries(await smsGeo.read(session.orgId))),
  }),
  defineRoute('PATCH', '/api/internal/org/sms-geo', bySession('requireOwnerSession'), {
    body: PatchSmsGeo,
    responses: { 200: SmsCountries },
    handle: async (call) => {
      // A body without the list is refused before.
      const { countries = null } = call.body
      return ok(shownCountries(await smsGeo.change(call.session.orgId, userActor(call), countries)))
    },
  }),
]
