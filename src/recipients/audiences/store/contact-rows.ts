import { afterCursor } from '../../../platform/db/after-cursor.ts'
import { columns, type Given, json, oneOf, type RowOf, text, time } from '../../../platform/db/columns.ts'
import { deleteOfTenant, type ErasedRows } from '../../../platform/db/erased-rows.ts'
import { statement } from '../../../platform/db/statement.ts'
import type { Keyset } from '../../../platform/ground/cursor.ts'
import type { Environment } from '../../../platform/ground/scope.ts'

export const contactColumns = columns({
  id: text,
  tenant_id: text.orNull,
  created_environment: oneOf<Environment>(),
  name: text.orNull,
  email: text.orNull,
  phone: text.orNull,
  metadata: json<Record<string, string>>(),
  created_at: time,
  updated_at: time,
})

export type ContactRow = RowOf<typeof contactColumns>

const selected = contactColumns.of('c')

/** A tenant that is being erased gets no new rows. The lock keeps an erasure from beginning its work. */
export const lockContactTenant = statement<{ orgId: string; tenantId: string }, { id: string }>(
  'audiences.lock_tenant',
  `select id from tenants
   where org_id = :orgId and id = :tenantId and status <> 'erased' and erasure is null
   for key share`,
)

type Fields = Given<ContactRow, 'name' | 'email' | 'phone'> & { metadata: string }

/** Returns no row when the tenant has a contact with this address, or one with only this number. */
export const insertContact = statement<
  Fields & { orgId: string; id: string; tenantId: string | null; environment: Environment; at: Date },
  ContactRow
>(
  'audiences.insert_contact',
  `insert into contacts as c (org_id, id, tenant_id, created_environment, name, email, phone, metadata, created_at,
     updated_at)
   values (:orgId, :id, :tenantId, :environment, :name, :email, :phone, :metadata::jsonb, :at, :at)
   on conflict do nothing
   returning ${selected}`,
)

const ofTenant = "coalesce(c.tenant_id, '') = coalesce(:tenantId::text, '')"

/** The lock lasts until the contact is linked, so that it cannot be deleted in between. */
export const matchContactByEmail = statement<{ orgId: string; tenantId: string | null; email: string }, ContactRow>(
  'audiences.match_by_email',
  `select ${selected} from contacts c
   where c.org_id = :orgId and ${ofTenant} and lower(c.email) = lower(:email)
   for key share`,
)

/** Several contacts can have one number. The one that has only the number comes first, then the oldest. */
export const matchContactByPhone = statement<{ orgId: string; tenantId: string | null; phone: string }, ContactRow>(
  'audiences.match_by_phone',
  `select ${selected} from (
     (select ${selected}, 1 as place from contacts c
      where c.org_id = :orgId and ${ofTenant} and c.phone = :phone and c.email is null)
     union all
     (select ${selected}, 2 as place from contacts c
      where c.org_id = :orgId and ${ofTenant} and c.phone = :phone and c.email is not null
      order by c.created_at, c.id limit 1)
   ) c
   order by place
   limit 1`,
)

/** Finds a contact in the whole org. The caller checks the tenant. */
export const findContact = statement<{ orgId: string; id: string }, ContactRow>(
  'audiences.find_contact',
  `select ${selected} from contacts c where c.org_id = :orgId and c.id = :id`,
)

/** Keeps the contact from being deleted, and nothing else. */
export const holdContact = statement<{ orgId: string; id: string }, ContactRow>(
  'audiences.hold_contact',
  `select ${selected} from contacts c where c.org_id = :orgId and c.id = :id for key share`,
)

/** Waits for requests that are about to link the contact. */
export const lockContact = statement<{ orgId: string; id: string }, ContactRow>(
  'audiences.lock_contact',
  `select ${selected} from contacts c where c.org_id = :orgId and c.id = :id for update`,
)

export const updateContact = statement<Fields & { orgId: string; id: string; at: Date }, ContactRow>(
  'audiences.update_contact',
  `update contacts c
   set name = :name, email = :email, phone = :phone, metadata = :metadata::jsonb, updated_at = :at
   where c.org_id = :orgId and c.id = :id
   returning ${selected}`,
)

/** Locks in the order of ids, so that two deletions cannot deadlock. */
export const lockAudiencesOf = statement<{ orgId: string; id: string }, { id: string }>(
  'audiences.lock_audiences_of_contact',
  `select a.id
   from audience_members m join audiences a on a.org_id = m.org_id and a.id = m.audience_id
   where m.org_id = :orgId and m.contact_id = :id
   order by a.id
   for no key update of a`,
)

export const deleteContact = statement<{ orgId: string; id: string; at: Date }>(
  'audiences.delete_contact',
  `with unlinked as (
     delete from audience_members where org_id = :orgId and contact_id = :id
     returning audience_id
   ), counted as (
     update audiences a set member_count = a.member_count - 1, updated_at = :at
     from unlinked u
     where a.org_id = :orgId and a.id = u.audience_id
   )
   delete from contacts where org_id = :orgId and id = :id`,
)

type ListParams = Keyset & { orgId: string }

const newestFirst = `order by c.created_at desc, c.id desc
   limit :limit`

/** One statement per index, because the plan of a prepared statement cannot depend on which filters are set. */
export const listContacts = {
  all: statement<ListParams, ContactRow>(
    'audiences.list_contacts',
    `select ${selected} from contacts c
     where c.org_id = :orgId and ${afterCursor('c.')}
     ${newestFirst}`,
  ),
  byTenant: statement<ListParams & { tenantId: string }, ContactRow>(
    'audiences.list_tenant_contacts',
    `select ${selected} from contacts c
     where c.org_id = :orgId and c.tenant_id = :tenantId and ${afterCursor('c.')}
     ${newestFirst}`,
  ),
  byEmail: statement<ListParams & { tenantId: string | null; email: string; phone: string | null }, ContactRow>(
    'audiences.list_contacts_by_email',
    `select ${selected} from contacts c
     where c.org_id = :orgId and lower(c.email) = lower(:email)
       and (:tenantId::text is null or c.tenant_id = :tenantId)
       and (:phone::text is null or c.phone = :phone)
       and ${afterCursor('c.')}
     ${newestFirst}`,
  ),
  byPhone: statement<ListParams & { tenantId: string | null; phone: string }, ContactRow>(
    'audiences.list_contacts_by_phone',
    `select ${selected} from contacts c
     where c.org_id = :orgId and c.phone = :phone
       and (:tenantId::text is null or c.tenant_id = :tenantId)
       and ${afterCursor('c.')}
     ${newestFirst}`,
  ),
}

/** Runs after the audiences of the tenant are erased. Contacts of a tenant are members of no other audiences. */
export const eraseTenantContacts = statement<ErasedRows>('audiences.erase_tenant_contacts', deleteOfTenant('contacts'))
