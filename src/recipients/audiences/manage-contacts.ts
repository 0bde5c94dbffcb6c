import type { Actor, Audit } from '../audit/append.ts'
import { uniqueViolation } from '../db/faults.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { Failure, invalid } from '../ground/errors.ts'
import type { Scope } from '../ground/scope.ts'
import { assertMayChange, assertMayRead } from './access.ts'
import { contactIdOf } from './contact-fields.ts'
import type { FindOrCreateContact, FoundContact } from './find-or-create.ts'
import type { CreateContact, PatchContact } from './shapes.ts'
import {
  type ContactRow,
  deleteContact,
  findContact,
  lockAudiencesOf,
  lockContact,
  updateContact,
} from './store/contact-rows.ts'

export interface ManageContacts {
  create(scope: Scope, actor: Actor, body: CreateContact): Promise<FoundContact>
  get(scope: Scope, id: string): Promise<ContactRow>
  patch(scope: Scope, id: string, body: PatchContact): Promise<ContactRow>
  /** Removes the contact from all its audiences too. Returns its id. */
  remove(scope: Scope, actor: Actor, id: string): Promise<string>
}

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

export const makeManageContacts = ({ db, clock, audit, findOrCreate }: Needs): ManageContacts => ({
  create: ({ orgId, tenantId, environment }, actor, fields) =>
    db.tx((tx) => findOrCreate(tx, { orgId, tenantId, environment, actor, fields })),

  get: async (scope, id) =>
    assertMayRead(scope, await db.row(findContact, { orgId: scope.orgId, id: contactIdOf(id) })),

  patch: async (scope, givenId, body) => {
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

  remove: async (scope, actor, givenId) => {
    const { orgId } = scope
    const id = contactIdOf(givenId)
    await db.tx(async (tx) => {
      const row = assertMayChange(scope, await tx.row(lockContact, { orgId, id }))
      await tx.rows(lockAudiencesOf, { orgId, id })
      await tx.change(deleteContact, { orgId, id, at: clock.now() })
      await audit(tx, {
        orgId,
        actor,
        action: 'contact.removed',
        resourceType: 'contact',
        resourceId: id,
        metadata: { tenant_id: row.tenant_id },
      })
    })
    return id
  },
})
