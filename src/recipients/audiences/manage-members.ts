/** Adds contacts to audiences and removes them. */
import type { Actor } from '../../journal/audit/append.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { isId } from '../../platform/ground/ids.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import { assertMayChange } from '../../platform/ground/own-rows.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { assertMayRead } from './access.ts'
import { contactIdOf } from './contact-fields.ts'
import type { FindOrCreateContact } from './find-or-create.ts'
import type { AddMember } from './shapes.ts'
import { type AudienceRow, findAudience, lockAudience } from './store/audience-rows.ts'
import { type ContactRow, holdContact } from './store/contact-rows.ts'
import { linkContacts, listMembers, unlinkContact } from './store/member-rows.ts'

type Needs = { db: Db; clock: Clock; findOrCreate: FindOrCreateContact }

export const makeManageMembers = ({ db, clock, findOrCreate }: Needs) => {
  /** A contact of another tenant cannot become a member, also when a platform key adds it. */
  const existing = async (tx: Tx, audience: AudienceRow, orgId: string, given: string): Promise<ContactRow> => {
    const row = isId('contact', given) ? await tx.row(holdContact, { orgId, id: contactIdOf(given) }) : undefined
    if (!row || row.tenant_id !== audience.tenant_id) throw new Failure('NOT_FOUND')
    return row
  }

  return {
    /** Finds or creates the contact in the tenant of the audience. `linked` is false if it was a member already. */
    add: (scope: Scope, actor: Actor, audienceId: string, { contact_id, ...fields }: AddMember) =>
      db.tx(async (tx) => {
        const { orgId, environment } = scope
        const audience = assertMayChange(scope, await tx.row(findAudience, { orgId, id: audienceId }))
        const { tenant_id: tenantId } = audience
        // The contact is locked before the audience, as in a deletion of the contact, so that the two cannot deadlock.
        const row =
          contact_id === undefined
            ? (await findOrCreate(tx, { orgId, tenantId, environment, actor, fields })).row
            : await existing(tx, audience, orgId, contact_id)
        await orNotFound(tx.row(lockAudience, { orgId, id: audienceId }))
        const linked = await tx.row(linkContacts, { orgId, audienceId, contactIds: [row.id], at: clock.now() })
        return { row, linked: linked !== undefined }
      }),

    list: async (scope: Scope, audienceId: string, page: { afterId: string | null; limit: number }) => {
      const { orgId } = scope
      assertMayRead(scope, await db.row(findAudience, { orgId, id: audienceId }))
      return db.rows(listMembers, { orgId, audienceId, ...page })
    },

    /** The contact itself stays. Returns its id. */
    remove: (scope: Scope, audienceId: string, contactId: string) =>
      db.tx(async (tx) => {
        const { orgId } = scope
        assertMayChange(scope, await tx.row(lockAudience, { orgId, id: audienceId }))
        const id = contactIdOf(contactId)
        await orNotFound(tx.row(unlinkContact, { orgId, audienceId, contactId: id, at: clock.now() }))
        return id
      }),
  }
}

export type ManageMembers = ReturnType<typeof makeManageMembers>
