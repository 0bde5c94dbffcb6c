/** Look-ups of a send: the sender of a text message, pools and their members, and DLT templates. */
import { statement } from '../../../platform/db/statement.ts'
import type { DltTemplate } from './dlt-rows.ts'
import type { PhoneNumberRow } from './phone-number-rows.ts'

type SenderColumn = 'id' | 'environment' | 'tenant_id' | 'kind' | 'e164' | 'sender_id' | 'status'

export type SmsSenderRow = Pick<PhoneNumberRow, SenderColumn> & { use_case: string | null }

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

export const lockPoolForChoice = statement<{ orgId: string; poolId: string }, { id: string }>(
  'senders.lock_pool_for_choice',
  'select id from pools where org_id = :orgId and id = :poolId for no key update',
)

type PoolRecipient = { orgId: string; poolId: string; recipient: string }

/**
 * The member that the recipient keeps. It is chosen when there is none yet, or when the former one is no longer among
 * `candidates`: then the candidate with the fewest recipients. The caller holds the lock of the pool.
 */
export const assignPoolRecipient = statement<
  PoolRecipient & { tenantId: string | null; candidates: string[]; at: Date },
  { phone_number_id: string }
>(
  'senders.assign_pool_recipient',
  `with former as (
     select phone_number_id from pool_recipients
     where org_id = :orgId and pool_id = :poolId and recipient = :recipient
   ), kept as (
     select phone_number_id from former where phone_number_id = any(:candidates::text[])
   ), least_used as (
     select phone_number_id
     from pool_members
     where org_id = :orgId and pool_id = :poolId and phone_number_id = any(:candidates::text[])
       and not exists (select 1 from kept)
     order by recipients, place
     limit 1
   ), assigned as (
     insert into pool_recipients (org_id, pool_id, recipient, tenant_id, phone_number_id, at)
     select :orgId, :poolId, :recipient, :tenantId, phone_number_id, :at from least_used
     on conflict (org_id, pool_id, recipient) do update set
       tenant_id = excluded.tenant_id, phone_number_id = excluded.phone_number_id, at = excluded.at
     returning phone_number_id
   ), changed as (
     select phone_number_id, 1 as by from assigned
     union all
     select former.phone_number_id, -1 from former, assigned
   ), counted as (
     update pool_members m set recipients = m.recipients + changed.by
     from changed
     where m.org_id = :orgId and m.pool_id = :poolId and m.phone_number_id = changed.phone_number_id
   )
   select phone_number_id from kept
   union all
   select phone_number_id from assigned`,
)

export const findPoolRecipient = statement<PoolRecipient, { phone_number_id: string; tenant_id: string | null }>(
  'senders.find_pool_recipient',
  `select phone_number_id, tenant_id from pool_recipients
   where org_id = :orgId and pool_id = :poolId and recipient = :recipient`,
)

/** The recipient belongs to the tenant that sent last, whose erasure removes it. */
export const setPoolRecipientTenant = statement<PoolRecipient & { tenantId: string | null }>(
  'senders.set_pool_recipient_tenant',
  `update pool_recipients set tenant_id = :tenantId
   where org_id = :orgId and pool_id = :poolId and recipient = :recipient`,
)

export type DltTemplateRow = Pick<
  DltTemplate,
  'environment' | 'status' | 'content' | 'entity_id' | 'provider_template_id'
>

export const findDltTemplate = statement<{ orgId: string; id: string }, DltTemplateRow>(
  'senders.find_dlt_template',
  `select t.environment, t.status, t.content, e.entity_id, t.provider_template_id
   from dlt_templates t
   join dlt_entities e on e.org_id = t.org_id and e.id = t.entity
   where t.org_id = :orgId and t.id = :id`,
)
