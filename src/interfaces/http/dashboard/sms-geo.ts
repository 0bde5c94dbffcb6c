/** /api/internal/org/sms-geo: the countries that an org may send text messages to. */
import type { z } from 'zod'
import type { OwnCountries, OwnSmsGeo } from '../../team/own-sms-geo.ts'
import { PatchSmsGeo, SmsCountries } from '../../team/shapes.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'

const show = ({ countries, updatedAt, updatedBy }: OwnCountries): z.output<typeof SmsCountries> => ({
  countries,
  configured: countries !== null,
  updated_at: updatedAt?.toISOString() ?? null,
  updated_by: updatedBy,
})

export const smsGeoRoutes = ({ smsGeo }: { smsGeo: OwnSmsGeo }): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path: '/api/internal/org/sms-geo',
    gate: 'requireSession',
    responses: { 200: SmsCountries },
    handle: async ({ session }) => ({ status: 200, body: show(await smsGeo.read(session.orgId)) }),
  }),
  defineDashboardRoute({
    method: 'PATCH',
    path: '/api/internal/org/sms-geo',
    gate: 'requireOwnerSession',
    body: PatchSmsGeo,
    responses: { 200: SmsCountries },
    handle: async (call) => {
      // A body without the list is refused before.
      const { countries = null } = call.body
      return { status: 200, body: show(await smsGeo.change(call.session.orgId, userActor(call), countries)) }
    },
  }),
]
