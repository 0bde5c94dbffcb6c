import { statement } from '../../../platform/db/statement.ts'

/** What the parts of one message have in common. */
export type PartsKey = { orgId: string; provider: string; from: string; to: string; reference: string; parts: number }

/** Serialises the parts of one message, so that the last of them sees all others. */
export const lockSmsParts = statement<{ key: string }, { locked: string }>(
  'inbound_parts.lock',
  `select pg_advisory_xact_lock(hashtextextended('inbound_sms_parts ' || :key::text, 0))::text as locked`,
)

/** The parts of the newest message with that reference. */
export const findNewestParts = statement<
  PartsKey & { digest: Buffer },
  { group_id: string; part: number; is_same: boolean; is_closed: boolean }
>(
  'inbound_parts.find_newest',
  `select group_id, part, digest = :digest as is_same, closed_at is not null as is_closed
   from inbound_sms_parts
   where org_id = :orgId and group_id = (
     select group_id from inbound_sms_parts
     where org_id = :orgId and provider = :provider and from_address = :from and to_address = :to
       and reference = :reference and parts = :parts
     order by created_at desc, group_id desc
     limit 1
   )
   order by part`,
)

export const insertSmsPart = statement<
  PartsKey & { groupId: string; part: number; content: Buffer; digest: Buffer; receivedAt: Date; at: Date }
>(
  'inbound_parts.insert',
  `insert into inbound_sms_parts (org_id, group_id, part, parts, provider, from_address, to_address, reference, content,
     digest, received_at, created_at)
   values (:orgId, :groupId, :part, :parts, :provider, :from, :to, :reference, :content, :digest, :receivedAt, :at)`,
)

export const closeSmsParts = statement<{ orgId: string; groupId: string; at: Date }>(
  'inbound_parts.close',
  `update inbound_sms_parts set closed_at = :at where org_id = :orgId and group_id = :groupId and closed_at is null`,
)

export type ClosedPart = {
  part: number
  provider: string
  from_address: string
  to_address: string
  content: Buffer
  received_at: Date
}

/** The parts of a message that is not stored yet. */
export const findClosedParts = statement<{ orgId: string; groupId: string }, ClosedPart>(
  'inbound_parts.find_closed',
  `select part, provider, from_address, to_address, content, received_at
   from inbound_sms_parts
   where org_id = :orgId and group_id = :groupId and closed_at is not null and taken_at is null and content is not null
   order by part`,
)

export const markSmsPartsTaken = statement<{ orgId: string; groupId: string; at: Date }>(
  'inbound_parts.mark_taken',
  `update inbound_sms_parts set taken_at = :at, content = null
   where org_id = :orgId and group_id = :groupId and closed_at is not null and taken_at is null`,
)

export type OverdueParts = {
  org_id: string
  group_id: string
  provider: string
  from_address: string
  to_address: string
  reference: string
  parts: number
}

/** Messages whose first part came before the given time, of all orgs. */
export const findOverdueParts = statement<{ before: Date; limit: number }, OverdueParts>(
  'inbound_parts.find_overdue',
  `select org_id, group_id, provider, from_address, to_address, reference, parts
   from inbound_sms_parts
   where created_at < :before and taken_at is null
   group by org_id, group_id, provider, from_address, to_address, reference, parts
   order by min(created_at)
   limit :limit`,
)

export const sweepSmsParts = statement<{ before: Date; limit: number }>(
  'inbound_parts.sweep',
  `delete from inbound_sms_parts where (org_id, group_id, part) in (
     select org_id, group_id, part from inbound_sms_parts where taken_at < :before limit :limit)`,
)

/** The parts that arrived at a number of the tenant. They get a tenant only when their message is complete. */
export const eraseTenantSmsParts = statement<{ orgId: string; tenantId: string; limit: number }>(
  'inbound.erase_tenant_sms_parts',
  `delete from inbound_sms_parts where (org_id, group_id, part) in (
     select p.org_id, p.group_id, p.part
     from phone_numbers n join inbound_sms_parts p on p.org_id = n.org_id and p.to_address = n.e164
     where n.org_id = :orgId and n.tenant_id = :tenantId
     limit :limit)`,
)
