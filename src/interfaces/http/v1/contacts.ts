import { z } from 'zod'
import { maxEmail, maxPhone } from '../../../recipients/audiences/contact-fields.ts'
import type { ManageContacts } from '../../../recipients/audiences/manage-contacts.ts'
import { Contact, CreateContact, PatchContact } from '../../../recipients/audiences/shapes.ts'
import { actorOf } from '../actor.ts'
import { filteredPage } from '../page.ts'
import { Deleted, deleted } from '../responses.ts'
import { byKey, defineRoute, type PublicRoute } from '../route.ts'
import { contacts } from '../shown-resources.ts'
import { publicRoutes, refusals } from './public-routes.ts'

const contactQuery = filteredPage({
  email: z.string().max(maxEmail).optional().describe('Only contacts with this email address, in upper or lower case.'),
  phone: z
    .string()
    .max(maxPhone)
    // A plus sign that is not encoded arrives as a space.
    .transform((text) => text.replace(/^ /, '+').trim())
    .optional()
    .describe('Only contacts with this phone number. Encode the plus sign as `%2B`.'),
})

const routes = publicRoutes(contacts, {
  tag: 'Contacts',
  path: '/contacts',
  name: 'Contact',
  read: byKey('read:contacts'),
  write: byKey('write:contacts'),
})

export const contactRoutes = ({ manage }: { manage: ManageContacts }): PublicRoute[] => [
  defineRoute('POST', '/contacts', byKey('write:contacts'), {
    operationId: 'createContact',
    tag: 'Contacts',
    summary: 'Create a contact',
    description:
      'A contact needs an email address or a phone number. If a contact with the same email address exists, it is returned unchanged. Without an email address, the phone number is compared instead.',
    body: CreateContact,
    responses: {
      200: { schema: Contact, description: 'A contact that existed already, unchanged.' },
      201: { schema: Contact, description: 'The new contact.' },
    },
    errors: ['TENANT_ERASED'],
    handle: async (call) => {
      const { row, created } = await manage.create(call.caller, actorOf(call), call.body)
      return { status: created ? 201 : 200, body: contacts.show(row) }
    },
  }),
  routes.list({
    query: contactQuery,
    action: (caller, query) => manage.list(caller, query, query),
  }),
  routes.get({ action: manage.get }),
  routes.change({
    description: 'Omitted fields do not change. `metadata` replaces all previous keys.',
    body: PatchContact,
    errors: [...refusals, 'CONTACT_ALREADY_EXISTS'],
    action: (caller, _actor, id, body) => manage.patch(caller, id, body),
  }),
  defineRoute('DELETE', '/contacts/{id}', byKey('write:contacts'), {
    operationId: 'deleteContact',
    tag: 'Contacts',
    summary: 'Delete a contact',
    description:
      'Removes the contact from all its audiences too. Messages that are already scheduled are still sent, and suppressions stay.',
    params: { id: 'contact' },
    responses: { 200: { schema: Deleted, description: 'The contact was deleted.' } },
    errors: refusals,
    handle: async (call) => deleted(await manage.remove(call.caller, actorOf(call), call.params.id)),
  }),
]
