/** /api/internal/contacts */

import type { FindContacts } from '../../audiences/find-contacts.ts'
import type { ManageContacts } from '../../audiences/manage-contacts.ts'
import { Contact, CreateContact, PatchContact } from '../../audiences/shapes.ts'
import { givenId } from '../../ground/bounded-text.ts'
import { encodeCursor } from '../../ground/cursor.ts'
import { eachRefused, refusing } from '../../ground/refused-fields.ts'
import { Deleted } from '../deleted.ts'
import { shownContact } from '../shown-audience.ts'
import { type DashboardRoute, defineDashboardRoute, userActor } from './dashboard-route.ts'
import { searchFilter, tenantFilter } from './filters.ts'
import { scopeOf } from './member-scope.ts'
import { idQuery, oneOrListOf, oneOrListQuery } from './one-or-list.ts'
import type { TenantScope } from './tenant-scope.ts'

const path = '/api/internal/contacts'

const contactsQuery = refusing(
  oneOrListQuery.extend({ q: searchFilter, audience_id: givenId.optional(), tenant_id: tenantFilter }),
  eachRefused(['email', 'phone'], 'Search with q.'),
)

type Needs = { manage: ManageContacts; find: FindContacts; tenantScope: TenantScope }

export const dashboardContactRoutes = ({ manage, find, tenantScope }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path,
    gate: 'requireSession',
    query: contactsQuery,
    responses: { 200: oneOrListOf(Contact) },
    handle: async ({ session, query: { id, audience_id: audienceId, tenant_id: tenantId, ...query } }) => {
      const scope = scopeOf(session)
      if (id !== undefined) return { status: 200, body: shownContact(await manage.get(scope, id)) }
      const { rows, next } = await find(scope, { audienceId, tenantId, ...query })
      const body = {
        data: rows.map(shownContact),
        has_more: next !== null,
        next_cursor: next && encodeCursor(next),
      }
      return { status: 200, body }
    },
  }),
  defineDashboardRoute({
    method: 'POST',
    path,
    gate: 'requireDeveloperSession',
    body: refusing(CreateContact.safeExtend({ tenant_id: givenId.nullish() }), {
      contact_id: 'Add an existing contact to an audience instead.',
    }),
    responses: { 200: Contact, 201: Contact },
    handle: async (call) => {
      const { tenant_id: tenantId, ...fields } = call.body
      const scope = await tenantScope(call.session, tenantId)
      const { row, created } = await manage.create(scope, userActor(call), fields)
      return { status: created ? 201 : 200, body: shownContact(row) }
    },
  }),
  defineDashboardRoute({
    method: 'PATCH',
    path,
    gate: 'requireDeveloperSession',
    query: idQuery,
    body: PatchContact,
    responses: { 200: Contact },
    handle: async ({ session, query, body }) => ({
      status: 200,
      body: shownContact(await manage.patch(scopeOf(session), query.id, body)),
    }),
  }),
  defineDashboardRoute({
    method: 'DELETE',
    path,
    gate: 'requireDeveloperSession',
    query: idQuery,
    responses: { 200: Deleted },
    handle: async (call) => {
      const id = await manage.remove(scopeOf(call.session), userActor(call), call.query.id)
      return { status: 200, body: { id, deleted: true } }
    },
  }),
]
