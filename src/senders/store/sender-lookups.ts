/** Look-ups of a send: the sender of a text message, pools and their members, and DLT templates. */
import { statement } from '../../db/statement.ts'
import type { Environment } from '../../ground/scope.ts'

export type SmsSenderRow = {
  id: string
  environment: Environment
  tenant_id: string | null
  kind: 'number' | 'alphanumeric'
  e164: string | null
  sender_id: string | null
  status: string
  use_case: string | null
}

const senderColumns = `p.id, p.environment, p.tenant_id, p.kind, p.e164, p.sender_id, p.status,
  c.fields ->> 'use_case' as use_case`

const withCampaign = 'left join campaigns c on c.org_id = p.org_id and c.id = p.campaign_id'

export const findNumber = statement<{ orgId: string; from: string }, SmsSenderRow>(
  'senders.find_number',
  `select ${senderColumns}
   from phone_numbers p ${withCampaign}
   where p.org_id = :orgId and p.e164 = :from and p.kind = 'number' and p.environment = 'live'`,
)

/** Sender ids are compared exactly at send, although they are registered only once in any case. */
export const findSenderId = statement<{ orgId: string; from: string }, SmsSenderRow>(
  'senders.find_sender_id',
  `select ${senderColumns}
   from phone_numbers p ${withCampaign}
   where p.org_id = :orgId and lower(p.sender_id) = lower(:from) and p.sender_id = :from
     and p.kind = 'alphanumeric' and p.environment = 'live'`,
)

/** The pool of the tenant, or else the pool of the org with that slug. */
export const findPoolBySlug = statement<
  { orgId: string; tenantId: string | null; slug: string },
  { id: string; tenant_id: string | null }
>(
  'senders.find_pool_by_slug',
  `select id, tenant_id
   from pools
   where org_id = :orgId and slug = :slug and (tenant_id is null or tenant_id = :tenantId)
   order by tenant_id nulls last
   limit 1`,
)

export const listPoolSenders = statement<{ orgId: string; poolId: string }, SmsSenderRow>(
  'senders.list_pool_senders',
  `select ${senderColumns}
   from pool_members m
   join phone_numbers p on p.org_id = m.org_id and p.id = m.phone_number_id
   ${withCampaign}
   where m.org_id = :orgId and m.pool_id = :poolId
   order by m.place`,
)

/**
 * The member that the recipient keeps. It is chosen when there is none yet, or when the former one is no longer among
 * `candidates`: then the candidate with the fewest recipients. A recipient that two sends meet at once is locked by the
 * insert, so both get the same member and it is counted once.
 */
export const assignPoolRecipient = statement<
  { orgId: string; poolId: string; recipient: string; candidates: string[]; at: Date },
  { phone_number_id: string }
>(
  'senders.assign_pool_recipient',
  `with former as (
     select phone_number_id from pool_recipients
     where org_id = :orgId and pool_id = :poolId and recipient = :recipient
   ), least_used as (
     select phone_number_id
     from pool_members
     where org_id = :orgId and pool_id = :poolId and phone_number_id = any(:candidates::text[])
     order by recipients, place
     limit 1
   ), assigned as (
     insert into pool_recipients as r (org_id, pool_id, recipient, phone_number_id, at)
     select :orgId, :poolId, :recipient, phone_number_id, :at from least_used
     on conflict (org_id, pool_id, recipient) do update set
       phone_number_id = case when r.phone_number_id = any(:candidates::text[])
         then r.phone_number_id else excluded.phone_number_id end,
       at = case when r.phone_number_id = any(:candidates::text[]) then r.at else excluded.at end
     -- A new row has no xmax.
     returning r.phone_number_id,
       r.xmax = 0 or r.phone_number_id <> (select phone_number_id from former) as chosen
   ), counted as (
     update pool_members set recipients = recipients + 1
     from assigned
     where org_id = :orgId and pool_id = :poolId and pool_members.phone_number_id = assigned.phone_number_id
       and assigned.chosen
   )
   select phone_number_id from assigned`,
)

export const findPoolRecipient = statement<
  { orgId: string; poolId: string; recipient: string },
  { phone_number_id: string }
>(
  'senders.find_pool_recipient',
  `select phone_number_id from pool_recipients
   where org_id = :orgId and pool_id = :poolId and recipient = :recipient`,
)

export type DltTemplateRow = {
  environment: Environment
  status: string
  content: string
  entity_id: string
  provider_template_id: string | null
}

export const findDltTemplate = statement<{ orgId: string; id: string }, DltTemplateRow>(
  'senders.find_dlt_template',
  `select t.environment, t.status, t.content, e.entity_id, t.provider_template_id
   from dlt_templates t
   join dlt_entities e on e.org_id = t.org_id and e.id = t.entity
   where t.org_id = :orgId and t.id = :id`,
)
