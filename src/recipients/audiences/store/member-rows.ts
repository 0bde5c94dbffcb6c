/** The members of an audience. Every change updates `member_count` in the same statement. */
import { statement } from '../../../platform/db/statement.ts'
import { type ContactRow, contactColumns } from './contact-rows.ts'

/** Contacts that are members already stay as they are. Returns the contacts that became members. */
export const linkContacts = statement<
  { orgId: string; audienceId: string; contactIds: string[]; at: Date },
  { contact_id: string }
>(
  'audiences.link',
  `with linked as (
     insert into audience_members (org_id, audience_id, contact_id, created_at)
     select :orgId, :audienceId, contact_id, :at
     from unnest(:contactIds::text[]) as contact_id
     on conflict do nothing
     returning contact_id
   ), counted as (
     update audiences set member_count = member_count + (select count(*) from linked), updated_at = :at
     where org_id = :orgId and id = :audienceId and exists (select from linked)
   )
   select contact_id from linked`,
)

/** Returns no row when the contact is not a member. */
export const unlinkContact = statement<
  { orgId: string; audienceId: string; contactId: string; at: Date },
  { contact_id: string }
>(
  'audiences.unlink',
  `with unlinked as (
     delete from audience_members
     where org_id = :orgId and audience_id = :audienceId and contact_id = :contactId
     returning contact_id
   ), counted as (
     update audiences set member_count = member_count - 1, updated_at = :at
     where org_id = :orgId and id = :audienceId and exists (select from unlinked)
   )
   select contact_id from unlinked`,
)

/** The contact of a member. The limit makes the planner look up each one, instead of reading all contacts in order. */
const itsContact = `lateral (
     select ${contactColumns.of('contacts')}
     from contacts
     where org_id = m.org_id and id = m.contact_id
     limit 1
   ) c`

/** The newest contact first, because ids are in the order of creation. */
export const listMembers = statement<
  { orgId: string; audienceId: string; afterId: string | null; limit: number },
  ContactRow
>(
  'audiences.list_members',
  `select ${contactColumns.of('c')}
   from audience_members m cross join ${itsContact}
   where m.org_id = :orgId and m.audience_id = :audienceId and m.contact_id < coalesce(:afterId::text, 'zzz')
   order by m.contact_id desc
   limit :limit`,
)

export type ExportedRow = Pick<ContactRow, 'id' | 'name' | 'email' | 'phone' | 'metadata'>

/** A page of an export, in the order of ids. It ends with the row that brings its metadata to `maxBytes`. */
export const exportMembers = statement<
  { orgId: string; audienceId: string; afterId: string; limit: number; maxBytes: number },
  ExportedRow
>(
  'audiences.export_members',
  `select id, name, email, phone, metadata
   from (
     select c.id, c.name, c.email, c.phone, c.metadata,
       sum(octet_length(c.metadata::text)) over (order by m.contact_id) - octet_length(c.metadata::text) as bytes_before
     from audience_members m cross join ${itsContact}
     where m.org_id = :orgId and m.audience_id = :audienceId and m.contact_id > :afterId
     order by m.contact_id
     limit :limit
   ) page
   where bytes_before < :maxBytes
   order by id`,
)

/** The metadata keys of one page of members, and the last member of the page. */
export const exportKeys = statement<
  { orgId: string; audienceId: string; afterId: string; limit: number },
  { last_id: string | null; keys: string[] }
>(
  'audiences.export_keys',
  `with page as materialized (
     select m.contact_id, c.metadata
     from audience_members m cross join ${itsContact}
     where m.org_id = :orgId and m.audience_id = :audienceId and m.contact_id > :afterId
     order by m.contact_id
     limit :limit
   )
   select (select max(contact_id) from page) as last_id,
     array(select distinct key from page, jsonb_object_keys(metadata) as key) as keys`,
)
