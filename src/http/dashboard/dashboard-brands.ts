/** /api/internal/brands */

import { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import { keysetOf } from '../../ground/cursor.ts'
import type { CorrectBrand } from '../../senders/brands/correct-brand.ts'
import type { AddBrand } from '../../senders/brands/create-brand.ts'
import type { RemoveBrand } from '../../senders/brands/remove-brand.ts'
import { Brand, CorrectedBrand, CreateBrand, PatchBrand } from '../../senders/brands/shapes.ts'
import type { PollStatus } from '../../senders/registration/poll-status.ts'
import { brandStatements } from '../../senders/store/brand-rows.ts'
import { Deleted } from '../deleted.ts'
import { shownBrand } from '../shown-sender.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'
import { environmentFilter } from './filters.ts'
import { scopeOf } from './member-scope.ts'
import { idQuery, oneOrListOf, oneOrListQuery, showOneOrPage } from './one-or-list.ts'

const path = '/api/internal/brands'

type Needs = { db: Db; add: AddBrand; correct: CorrectBrand; remove: RemoveBrand; check: PollStatus['checkBrand'] }

export const dashboardBrandRoutes = ({ db, add, correct, remove, check }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path,
    gate: 'requireSession',
    query: oneOrListQuery.extend({ environment: environmentFilter }),
    responses: { 200: oneOrListOf(Brand) },
    handle: ({ session: { orgId }, query }) =>
      showOneOrPage(query, {
        find: (id) => db.row(brandStatements.find, { orgId, id }),
        list: () =>
          db.rows(brandStatements.list, { orgId, environment: query.environment ?? null, ...keysetOf(query) }),
        show: shownBrand,
      }),
  }),
  defineDashboardRoute({
    method: 'POST',
    path,
    gate: 'requireDeveloperSession',
    body: CreateBrand,
    responses: { 201: Brand },
    handle: async (call) => ({
      status: 201,
      body: shownBrand(await add(scopeOf(call.session), userActor(call), call.body)),
    }),
  }),
  defineDashboardRoute({
    method: 'PATCH',
    path,
    gate: 'requireDeveloperSession',
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
        return { status: 200, body: shownBrand(await check(scope, actor, query.id)) }
      }
      const { row, resubmit } = await correct(scope, actor, query.id, body)
      return { status: 200, body: { ...shownBrand(row), resubmit } }
    },
  }),
  defineDashboardRoute({
    method: 'DELETE',
    path,
    gate: 'requireDeveloperSession',
    query: idQuery,
    responses: { 200: Deleted },
    handle: async (call) => {
      const { id } = call.query
      await remove(scopeOf(call.session), userActor(call), id)
      return { status: 200, body: { id, deleted: true } }
    },
  }),
]
