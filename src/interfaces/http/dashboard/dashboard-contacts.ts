/** /api/internal/contacts */
import { givenId } from '../../../platform/ground/bounded-text.ts'
import { eachRefused, refusing } from '../../../platform/ground/refused-fields.ts'
import type { FindContacts } from '../../../recipients/audiences/find-contacts.ts'
import type { ManageContacts } from '../../../recipients/audiences/manage-contacts.ts'
import { Contact, CreateContact, PatchContact } from '../../../recipients/audiences/shapes.ts'
import { scopeOf, userActor } from '../actor.ts'
import { Deleted, deleted, listedFound, ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'
import { contacts } from '../shown-resources.ts'
import { idQuery, oneOrListOf, oneOrListQuery, searchFilter, tenantFilter } from './list-query.ts'
import { memberRoutes } from './member-routes.ts'
import type { TenantScope } from './tenant-scope.ts'

const path = '/api/internal/contacts'

const contactsQuery = refusing(
  oneOrListQuery.extend({ q: searchFilter, audience_id: givenId.optional(), tenant_id: tenantFilter }),
  eachRefused(['email', 'phone'], 'Search with q.'),
)

const routes = memberRoutes(contacts, { path, write: 'requireDeveloperSession' })

type Needs = { manage: ManageContacts; find: FindContacts; tenantScope: TenantScope }

export const dashboardContactRoutes = ({ manage, find, tenantScope }: Needs): DashboardRoute[] => [
  defineRoute('GET', path, bySession('requireSession'), {
    query: contactsQuery,
    responses: { 200: oneOrListOf(Contact) },
    handle: async ({ session, query: { id, audience_id: audienceId, tenant_id: tenantId, ...query } }) => {
      const scope = scopeOf(session)
      if (id !== undefined) return ok(contacts.show(await manage.get(scope, id)))
      return listedFound(await find(scope, { audienceId, tenantId, ...query }), contacts.show)
    },
  }),
  defineRoute('POST', path, bySession('requireDeveloperSession'), {
    body: refusing(CreateContact.safeExtend({ tenant_id: givenId.nullish() }), {
      contact_id: 'Add an existing contact to an audience instead.',
    }),
    responses: { 200: Contact, 201: Contact },
    handle: async (call) => {
      const { tenant_id: tenantId, ...fields } = call.body
      const scope = await tenantScope(scopeOf(call.session), tenantId)
      const { row, created } = await manage.create(scope, userActor(call), fields)
      return { status: created ? 201 : 200, body: contacts.show(row) }
    },
  }),
  routes.change({
    body: PatchContact,
    action: (scope, _actor, id, body) => manage.patch(scope, id, body),
  }),
  defineRoute('DELETE', path, bySession('requireDeveloperSession'), {
    query: idQuery,
    responses: { 200: Deleted },
    handle: async (call) => deleted(await manage.remove(scopeOf(call.session), userActor(call), call.query.id)),
  }),
]
