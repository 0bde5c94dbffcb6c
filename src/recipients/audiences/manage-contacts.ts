import type { Actor, Audit } from '../../journal/audit/append.ts'
import { uniqueViolation } from '../../platform/db/faults.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { Failure, invalid } from '../../platform/ground/errors.ts'
import { assertMayChange } from '../../platform/ground/own-rows.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { assertMayRead } from './access.ts'
import { contactIdOf } from './contact-fields.ts'
import type { FindOrCreateContact } from './find-or-create.ts'
import type { CreateContact, PatchContact } from './shapes.ts'
import {
  type ContactRow,
  deleteContact,
  findContact,
  listContacts,
  lockAudiencesOf,
  lockContact,
  updateContact,
} from './store/contact-rows.ts'

/** With both, contacts that match both. */
type ContactFilters = { email?: string | undefined; phone?: string | undefined }

/** The fields after the change. Fields that the body omits stay unchanged. */
const fieldsAfter = (row: ContactRow, body: PatchContact) => ({
  name: body.name === undefined ? row.name : body.name,
  email: body.email === undefined ? row.email : body.email,
  phone: body.phone === undefined ? row.phone : body.phone,
  metadata: JSON.stringify(body.metadata ?? row.metadata),
})

const isTaken = (error: unknown): boolean =>
  uniqueViolation(error, 'contacts_email') || uniqueViolation(error, 'contacts_only_phone')

type Needs = { db: Db; clock: Clock; audit: Audit; findOrCreate: FindOrCreateContact }

export const makeManageContacts = ({ db, clock, audit, findOrCreate }: Needs) => ({
  create: ({ orgId, tenantId, environment }: Scope, actor: Actor, fields: CreateContact) =>
    db.tx((tx) => findOrCreate(tx, { orgId, tenantId, environment, actor, fields })),

  list: ({ orgId, tenantId }: Pick<Scope, 'orgId' | 'tenantId'>, { email, phone }: ContactFilters, page: PageAsked) => {
    const given = { orgId, tenantId, ...keysetOf(page) }
    if (email !== undefined) {
      return db.rows(listContacts.byEmail, { ...given, email: email.trim(), phone: phone ?? null })
    }
    if (phone !== undefined) return db.rows(listContacts.byPhone, { ...given, phone })
    return tenantId === null ? db.rows(listContacts.all, given) : db.rows(listContacts.byTenant, { ...given, tenantId })
  },

  get: async (scope: Scope, id: string) =>
    assertMayRead(scope, await db.row(findContact, { orgId: scope.orgId, id: contactIdOf(id) })),

  patch: async (scope: Scope, givenId: string, body: PatchContact) => {
    const { orgId } = scope
    const id = contactIdOf(givenId)
    try {
      return await db.tx(async (tx) => {
        const before = assertMayChange(scope, await tx.row(lockContact, { orgId, id }))
        const after = fieldsAfter(before, body)
        if (after.email === null && after.phone === null) {
          throw invalid(['email'], 'custom', 'A contact needs an email address or a phone number.')
        }
        return (await tx.row(updateContact, { orgId, id, ...after, at: clock.now() })) as ContactRow
      })
    } catch (error) {
      if (isTaken(error)) throw new Failure('CONTACT_ALREADY_EXISTS')
      throw error
    }
  },

  /** Removes the contact from all its audiences too. Returns its id. */
  remove: async (scope: Scope, actor: Actor, givenId: string) => {
    const { orgId } = scope
    const id = contactIdOf(givenId)
    await db.tx(async (tx) => {
      const row = assertMayChange(scope, await tx.row(lockContact, { orgId, id }))
      await tx.rows(lockAudiencesOf, { orgId, id })
      await tx.change(deleteContact, { orgId, id, at: clock.now() })
      const metadata = { tenant_id: row.tenant_id }
      await audit(tx, { orgId, actor, action: 'contact.removed', resourceType: 'contact', resourceId: id, metadata })
    })
    return id
  },
})

export type ManageContacts = ReturnType<typeof makeManageContacts>
