import { z } from 'zod'
import { maxEmail, maxPhone } from '../../audiences/contact-fields.ts'
import type { ManageContacts } from '../../audiences/manage-contacts.ts'
import { Contact, CreateContact, PatchContact } from '../../audiences/shapes.ts'
import { type ContactRow, listContacts } from '../../audiences/store/contact-rows.ts'
import type { Db } from '../../db/pool.ts'
import { keysetOf } from '../../ground/cursor.ts'
import type { Scope } from '../../ground/scope.ts'
import { actorOf } from '../actor.ts'
import { Deleted } from '../deleted.ts'
import { filteredPage, page, pageOf } from '../page.ts'
import { defineRoute, type Route } from '../route.ts'
import { shownContact } from '../shown-audience.ts'

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

type Needs = { db: Db; manage: ManageContacts }

const makeList =
  (db: Db) =>
  ({ orgId, tenantId }: Scope, { email, phone, ...query }: z.output<typeof contactQuery>): Promise<ContactRow[]> => {
    const given = { orgId, tenantId, ...keysetOf(query) }
    if (email !== undefined)
      return db.rows(listContacts.byEmail, { ...given, email: email.trim(), phone: phone ?? null })
    if (phone !== undefined) return db.rows(listContacts.byPhone, { ...given, phone })
    return tenantId === null ? db.rows(listContacts.all, given) : db.rows(listContacts.byTenant, { ...given, tenantId })
  }

export const contactRoutes = ({ db, manage }: Needs): Route[] => {
  const write = { tag: 'Contacts', scope: 'write:contacts' } as const
  const read = { tag: 'Contacts', scope: 'read:contacts' } as const
  const one = { path: '/contacts/{id}', params: { id: 'contact' } } as const
  const refusals = ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'] as const
  const list = makeList(db)

  return [
    defineRoute({
      ...write,
      method: 'POST',
      path: '/contacts',
      operationId: 'createContact',
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
        return { status: created ? 201 : 200, body: shownContact(row) }
      },
    }),
    defineRoute({
      ...read,
      method: 'GET',
      path: '/contacts',
      operationId: 'listContacts',
      summary: 'List contacts',
      query: contactQuery,
      responses: { 200: { schema: pageOf(Contact), description: 'A page of contacts, newest first.' } },
      handle: async ({ caller, query }) => ({
        status: 200,
        body: page(await list(caller, query), query.limit, shownContact),
      }),
    }),
    defineRoute({
      ...read,
      ...one,
      method: 'GET',
      operationId: 'getContact',
      summary: 'Get a contact',
      responses: { 200: { schema: Contact, description: 'The contact.' } },
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params }) => ({
        status: 200,
        body: shownContact(await manage.get(caller, params.id as string)),
      }),
    }),
    defineRoute({
      ...write,
      ...one,
      method: 'PATCH',
      operationId: 'updateContact',
      summary: 'Update a contact',
      description: 'Omitted fields do not change. `metadata` replaces all previous keys.',
      body: PatchContact,
      responses: { 200: { schema: Contact, description: 'The updated contact.' } },
      errors: [...refusals, 'CONTACT_ALREADY_EXISTS'],
      handle: async ({ caller, params, body }) => ({
        status: 200,
        body: shownContact(await manage.patch(caller, params.id as string, body)),
      }),
    }),
    defineRoute({
      ...write,
      ...one,
      method: 'DELETE',
      operationId: 'deleteContact',
      summary: 'Delete a contact',
      description:
        'Removes the contact from all its audiences too. Messages that are already scheduled are still sent, and suppressions stay.',
      responses: { 200: { schema: Deleted, description: 'The contact was deleted.' } },
      errors: refusals,
      handle: async (call) => {
        const id = await manage.remove(call.caller, actorOf(call), call.params.id as string)
        return { status: 200, body: { id, deleted: true } }
      },
    }),
  ]
}
