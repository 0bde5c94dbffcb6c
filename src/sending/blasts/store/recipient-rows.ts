/** The audience of a send, its members, and the values of contacts that templates show. */
import { statement } from '../../../platform/db/statement.ts'

export type SendAudience = {
  id: string
  tenant_id: string | null
  /** Null if the audience has no tenant. */
  tenant_status: string | null
  sms_quiet_hours: boolean
}

export const findSendAudience = statement<{ orgId: string; id: string }, SendAudience>(
  'blasts.find_audience',
  `select a.id, a.tenant_id, t.status as tenant_status, o.sms_quiet_hours
   from audiences a
   join orgs o on o.id = a.org_id
   left join tenants t on t.org_id = a.org_id and t.id = a.tenant_id
   where a.org_id = :orgId and a.id = :id`,
)

/** Without name and metadata, which are large and are read for a few contacts at a time. */
export type SendMember = { id: string; address: string | null; bytes: number }

/**
 * Contacts of another tenant are not members, whatever the link says. The limit makes the planner look up each contact:
 * before the statistics know of a large import, it would read all contacts of the org for every member.
 */
export const listSendMembers = statement<
  { orgId: string; tenantId: string | null; audienceId: string; channel: string; limit: number },
  SendMember
>(
  'blasts.list_members',
  `select c.id, case when :channel = 'email' then c.email else c.phone end as address,
     octet_length(c.metadata::text) as bytes
   from audience_members m
   cross join lateral (
     select id, tenant_id, email, phone, metadata
     from contacts
     where org_id = m.org_id and id = m.contact_id
     limit 1
   ) c
   where m.org_id = :orgId and c.tenant_id is not distinct from :tenantId and m.audience_id = :audienceId
   limit :limit`,
)

export type ContactValues = {
  id: string
  name: string | null
  email: string | null
  phone: string | null
  metadata: Record<string, string>
}

export const readContactValues = statement<{ orgId: string; ids: string[] }, ContactValues>(
  'blasts.read_contacts',
  `select id, name, email, phone, metadata from contacts where org_id = :orgId and id = any(:ids::text[])`,
)
