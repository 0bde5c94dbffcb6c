/** Finds the contact that a request describes, or creates it. */
import type { Actor, Audit } from '../../journal/audit/append.ts'
import { entryAbout } from '../../journal/audit/entry-about.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Environment } from '../../platform/ground/scope.ts'
import { holdTenant } from './access.ts'
import {
  type ContactRow,
  holdContact,
  insertContact,
  matchContactByEmail,
  matchContactByPhone,
} from './store/contact-rows.ts'

type ContactFields = {
  name?: string | null | undefined
  email?: string | null | undefined
  phone?: string | null | undefined
  metadata?: Record<string, string> | undefined
}

type Wanted = { orgId: string; tenantId: string | null; environment: Environment; actor: Actor; fields: ContactFields }

type FoundContact = { row: ContactRow; created: boolean }

/** A contact matches by its email address, or by its phone number if no address is given. It stays unchanged. */
export type FindOrCreateContact = (tx: Tx, wanted: Wanted) => Promise<FoundContact>

export const makeFindOrCreate = ({ clock, audit }: { clock: Clock; audit: Audit }): FindOrCreateContact => {
  const match = async (tx: Tx, { orgId, tenantId, fields }: Wanted): Promise<ContactRow | undefined> => {
    const { email, phone } = fields
    if (email) return tx.row(matchContactByEmail, { orgId, tenantId, email })
    const found = phone ? await tx.row(matchContactByPhone, { orgId, tenantId, phone }) : undefined
    return found && tx.row(holdContact, { orgId, id: found.id })
  }

  const insert = (tx: Tx, { orgId, tenantId, environment, fields }: Wanted): Promise<ContactRow | undefined> => {
    const { name = null, email = null, phone = null, metadata = {} } = fields
    const at = clock.now()
    return tx.row(insertContact, {
      orgId,
      id: newId('contact', at.getTime()),
      tenantId,
      environment,
      name,
      email,
      phone,
      metadata: JSON.stringify(metadata),
      at,
    })
  }

  return async (tx, wanted) => {
    await holdTenant(tx, wanted.orgId, wanted.tenantId)
    // Another request can create or delete the contact between the two statements.
    for (let tries = 0; tries < 5; tries++) {
      const known = await match(tx, wanted)
      if (known) return { row: known, created: false }
      const row = await insert(tx, wanted)
      if (!row) continue
      const about = entryAbout(wanted.orgId, wanted.actor, 'contact', row.id)
      await audit(tx, { ...about, action: 'contact.created', metadata: { tenant_id: row.tenant_id } })
      return { row, created: true }
    }
    throw new Error('the contact could be neither found nor created')
  }
}
