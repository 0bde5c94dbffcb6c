/** Finds the message that a reply answers. */
import { statement } from '../../../platform/db/statement.ts'

export type PriorSend = { id: string; tenant_id: string | null; sent_at: Date; from_pool: string | null }

/** The latest text message that was sent from this number to this recipient. */
export const findPriorSms = statement<
  { orgId: string; recipient: string; recipientMark: number; from: string },
  PriorSend
>(
  'messages.find_prior_sms',
  `select id, tenant_id, sent_at, sms ->> 'from_pool' as from_pool
   from messages
   where org_id = :orgId
     and marks @> array[:recipientMark::integer]
     and :recipient = any(to_addresses)
     and from_address = :from
     and channel = 'sms'
     and environment = 'live'
     and sent_at is not null
   order by sent_at desc, id desc
   limit 1`,
)

/** An email that was sent to this address. Anyone can name a message in a reply, so the address must match. */
export const findPriorEmail = statement<
  { orgId: string; id: string; createdAt: Date; recipient: string },
  Pick<PriorSend, 'id' | 'tenant_id'>
>(
  'messages.find_prior_email',
  `select id, tenant_id
   from messages
   where org_id = :orgId
     and id = :id
     and created_at = :createdAt
     and channel = 'email'
     and environment = 'live'
     and sent_at is not null
     and exists (select 1 from unnest(to_addresses || cc || bcc) as one where lower(one) = :recipient)`,
)
