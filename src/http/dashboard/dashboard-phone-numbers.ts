/** /api/internal/phone-numbers: numbers and sender ids. */

import type { Db } from '../../db/pool.ts'
import { keysetOf } from '../../ground/cursor.ts'
import type { AddPhoneNumber } from '../../senders/phone-numbers/create-number.ts'
import type { RebindNumber } from '../../senders/phone-numbers/rebind-number.ts'
import type { ReleaseNumber } from '../../senders/phone-numbers/release-number.ts'
import { CreatePhoneNumber, PatchPhoneNumber, PhoneNumber } from '../../senders/phone-numbers/shapes.ts'
import { listOrgNumbers, phoneNumberStatements } from '../../senders/store/phone-number-rows.ts'
import { Deleted } from '../deleted.ts'
import { shownPhoneNumber } from '../shown-sender.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'
import { environmentFilter, tenantFilter } from './filters.ts'
import { scopeOf } from './member-scope.ts'
import { idQuery, oneOrListOf, oneOrListQuery, showOneOrPage } from './one-or-list.ts'

const path = '/api/internal/phone-numbers'

type Needs = { db: Db; add: AddPhoneNumber; rebind: RebindNumber; release: ReleaseNumber }

export const dashboardNumberRoutes = ({ db, add, rebind, release }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path,
    gate: 'requireSession',
    query: oneOrListQuery.extend({ environment: environmentFilter, tenant_id: tenantFilter }),
    responses: { 200: oneOrListOf(PhoneNumber) },
    handle: ({ session: { orgId }, query }) =>
      showOneOrPage(query, {
        find: (id) => db.row(phoneNumberStatements.find, { orgId, id }),
        list: () => {
          const { environment = null, tenant_id: tenantId = null } = query
          return db.rows(listOrgNumbers, { orgId, environment, tenantId, ...keysetOf(query) })
        },
        show: shownPhoneNumber,
      }),
  }),
  defineDashboardRoute({
    method: 'POST',
    path,
    gate: 'requireDeveloperSession',
    body: CreatePhoneNumber,
    responses: { 201: PhoneNumber },
    handle: async (call) => ({
      status: 201,
      body: shownPhoneNumber(await add(scopeOf(call.session), userActor(call), call.body)),
    }),
  }),
  defineDashboardRoute({
    method: 'PATCH',
    path,
    gate: 'requireDeveloperSession',
    query: idQuery,
    body: PatchPhoneNumber,
    responses: { 200: PhoneNumber },
    handle: async ({ session, query, body }) => ({
      status: 200,
      body: shownPhoneNumber(await rebind(scopeOf(session), query.id, body.campaign_id as string)),
    }),
  }),
  defineDashboardRoute({
    method: 'DELETE',
    path,
    gate: 'requireDeveloperSession',
    query: idQuery,
    responses: { 200: Deleted },
    handle: async (call) => {
      const { id } = call.query
      await release(scopeOf(call.session), userActor(call), id)
      return { status: 200, body: { id, deleted: true } }
    },
  }),
]
