/** /api/internal/org/sms-geo: the countries that an org may send text messages to. */

import type { z } from 'zod'
import type { OwnCountries, OwnSmsGeo } from '../../../people/team/own-sms-geo.ts'
import { PatchSmsGeo, SmsCountries } from '../../../people/team/shapes.ts'
import { isoOrNull } from '../../../platform/ground/instant.ts'
import { userActor } from '../actor.ts'
import { ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'

const show = ({ countries, updatedAt, updatedBy }: OwnCountries): z.output<typeof SmsCountries> => ({
  countries,
  configured: countries !== null,
  updated_at: isoOrNull(updatedAt),
  updated_by: updatedBy,
})

export const smsGeoRoutes = ({ smsGeo }: { smsGeo: OwnSmsGeo }): DashboardRoute[] => [
  defineRoute('GET', '/api/internal/org/sms-geo', bySession('requireSession'), {
    responses: { 200: SmsCountries },
    handle: async ({ session }) => ok(show(await smsGeo.read(session.orgId))),
  }),
  defineRoute('PATCH', '/api/internal/org/sms-geo', bySession('requireOwnerSession'), {
    body: PatchSmsGeo,
    responses: { 200: SmsCountries },
    handle: async (call) => {
      // A body without the list is refused before.
      const { countries = null } = call.body
      return ok(show(await smsGeo.change(call.session.orgId, userActor(call), countries)))
    },
  }),
]
