/** /api/internal/brands */
import { z } from 'zod'
import type { AddBrand, CorrectBrand, RemoveBrand } from '../../../senders/sms/brands/manage-brands.ts'
import { Brand, CorrectedBrand, CreateBrand, PatchBrand } from '../../../senders/sms/brands/shapes.ts'
import type { PollStatus } from '../../../senders/sms/registration/poll-status.ts'
import type { ReadRegistrations } from '../../../senders/sms/registration/read-registrations.ts'
import type { BrandRow } from '../../../senders/sms/store/brand-rows.ts'
import { scopeOf, userActor } from '../actor.ts'
import { ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'
import { brands } from '../shown-resources.ts'
import { environmentFilter, idQuery, oneOrListQuery } from './list-query.ts'
import { memberRoutes } from './member-routes.ts'

const path = '/api/internal/brands'

const routes = memberRoutes(brands, { path, write: 'requireDeveloperSession' })

type Needs = {
  read: ReadRegistrations<BrandRow>
  add: AddBrand
  correct: CorrectBrand
  remove: RemoveBrand
  check: PollStatus['checkBrand']
}

export const dashboardBrandRoutes = ({ read, add, correct, remove, check }: Needs): DashboardRoute[] => [
  routes.oneOrList({
    query: oneOrListQuery.extend({ environment: environmentFilter }),
    get: ({ orgId }, id) => read.get(orgId, id),
    list: ({ orgId }, query) => read.list({ orgId, environment: query.environment ?? null }, query),
  }),
  routes.create({ body: CreateBrand, action: add }),
  defineRoute('PATCH', path, bySession('requireDeveloperSession'), {
    query: idQuery,
    // Strict, so that a misspelled field is not taken for a request to check the brand.
    body: PatchBrand.strict(),
    emptyPatch: 'allowed',
    responses: { 200: z.union([CorrectedBrand, Brand]) },
    handle: async (call) => {
      const { session, query, body } = call
      const scope = scopeOf(session)
      const actor = userActor(call)
      if (Object.keys(body).length === 0) {
        return ok(brands.show(await check(scope, actor, query.id)))
      }
      const { row, resubmit } = await correct(scope, actor, query.id, body)
      return ok({ ...brands.show(row), resubmit })
    },
  }),
  routes.remove({ action: remove }),
]
