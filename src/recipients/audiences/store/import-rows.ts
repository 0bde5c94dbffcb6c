/** Loads the rows of a CSV file. A statement loads a part of the file; the transaction loads all of it or nothing. */
import { statement } from '../../../platform/db/statement.ts'
import type { Environment } from '../../../platform/ground/scope.ts'

/** Returns the new contacts. A row whose address or number is known already adds nothing. */
export const insertImported = statement<
  {
    orgId: string
    tenantId: string | null
    environment: Environment
    at: Date
    ids: string[]
    names: (string | null)[]
    emails: (string | null)[]
    phones: (string | null)[]
    metadata: string[]
  },
  { id: string }
>(
  'audiences.insert_imported',
  `insert into contacts (org_id, id, tenant_id, created_environment, name, email, phone, metadata, created_at, updated_at)
   select :orgId, r.id, :tenantId, :environment, r.name, r.email, r.phone, r.metadata, :at, :at
   from unnest(:ids::text[], :names::text[], :emails::text[], :phones::text[], :metadata::jsonb[])
     as r (id, name, email, phone, metadata)
   on conflict do nothing
   returning id`,
)

const ofTenant = "coalesce(tenant_id, '') = coalesce(:tenantId::text, '')"

/** The contacts with these addresses. Each is looked up by itself, however many contacts the tenant has. */
export const matchImportedEmails = statement<
  { orgId: string; tenantId: string | null; emails: string[] },
  { email: string; id: string }
>(
  'audiences.match_imported_emails',
  `select r.email, c.id
   from unnest(:emails::text[]) as r (email)
   cross join lateral (
     select id from contacts where org_id = :orgId and ${ofTenant} and lower(email) = lower(r.email) limit 1
   ) c`,
)

/** The contact with each number: the one that has only the number, or else the oldest. */
export const matchImportedPhones = statement<
  { orgId: string; tenantId: string | null; phones: string[] },
  { phone: string; id: string }
>(
  'audiences.match_imported_phones',
  `select r.phone, coalesce(alone.id, oldest.id) as id
   from unnest(:phones::text[]) as r (phone)
   left join lateral (
     select id from contacts where org_id = :orgId and ${ofTenant} and phone = r.phone and email is null limit 1
   ) alone on true
   left join lateral (
     select id from contacts
     where org_id = :orgId and ${ofTenant} and phone = r.phone and email is not null and alone.id is null
     order by created_at, id
     limit 1
   ) oldest on true
   where coalesce(alone.id, oldest.id) is not null`,
)

/** Keeps contacts from being deleted until they are linked. Returns those that still exist. */
export const holdContacts = statement<{ orgId: string; ids: string[] }, { id: string }>(
  'audiences.hold_contacts',
  `select c.id from contacts c
   where c.org_id = :orgId and c.id = any(:ids)
   order by c.id
   for key share`,
)
