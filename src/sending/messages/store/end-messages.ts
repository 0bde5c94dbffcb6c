/** Cancels scheduled messages, redacts old content, and erases the data of a tenant. */
import { statement } from '../../../platform/db/statement.ts'
import { isOneOfScope, type OneOfScope } from './list-messages.ts'

/** Cancels a message that is still scheduled. One that the scheduler has claimed stays as it is. */
export const cancelMessage = statement<OneOfScope & { at: Date; entry: string }, { id: string; canceled_at: Date }>(
  'messages.cancel',
  `update messages set status = 'canceled', canceled_at = :at, due_at = null, history = history || :entry::jsonb
   where ${isOneOfScope} and status = 'scheduled'
   returning id, canceled_at`,
)

export const cancelForTenant = statement<{ orgId: string; tenantId: string; at: Date; reason: string; entry: string }>(
  'messages.cancel_for_tenant',
  `update messages set status = 'canceled', canceled_at = :at, due_at = null, error_message = :reason,
     history = history || :entry::jsonb
   where org_id = :orgId and tenant_id = :tenantId and status = 'scheduled'`,
)

/** For an org that is deleted. */
export const cancelForOrg = statement<{ orgId: string; at: Date; entry: string }>(
  'messages.cancel_for_org',
  `update messages set status = 'canceled', canceled_at = :at, due_at = null, history = history || :entry::jsonb
   where org_id = :orgId and status = 'scheduled'`,
)

/** Part of the SQL text: with a parameter as the limit, the planner would prepare for a tenth of the table. */
export const redactedAtOnce = 500

/** Removes the content of the oldest messages created before `before`. Messages not yet sent keep theirs. */
export const redactContent = statement<{ before: Date; at: Date }>(
  'messages.redact',
  `update messages m set html = null, text = null, redacted_at = :at
   from (
     select org_id, id, created_at
     from messages
     where created_at < :before and redacted_at is null and status not in ('scheduled', 'sending')
     order by created_at
     limit ${redactedAtOnce}
   ) old
   where m.org_id = old.org_id and m.id = old.id and m.created_at = old.created_at and m.redacted_at is null`,
)

/**
 * Removes the content and addresses of the messages of an erased tenant. A message without recipients is already
 * erased. Negative marks belong to recipients and are removed; the marks of tags stay. The letter of a subject variant
 * stays too, because the figures of its job need it.
 */
export const eraseTenantMessages = statement<{ orgId: string; tenantId: string; limit: number; at: Date }>(
  'messages.erase_tenant',
  `update messages m set html = null, text = null, subject = null, from_name = null, names = null,
     to_addresses = '{}', cc = '{}', bcc = '{}', reply_to = '{}', headers = null, attachments = null, sms = m.sms - 'media_url',
     metadata = case when m.job_id is not null and m.metadata ? 'subject_variant'
       then jsonb_build_object('subject_variant', m.metadata -> 'subject_variant') end,
     provider_response = null, error_message = null,
     marks = array(select mark from unnest(m.marks) as mark where mark >= 0),
     redacted_at = coalesce(redacted_at, :at),
     history = (
       select coalesce(jsonb_agg(h - 'recipient' - 'detail'), '[]')
       from jsonb_array_elements(m.history) h
     )
   from (
     select org_id, id, created_at
     from messages
     where org_id = :orgId and tenant_id = :tenantId and to_addresses <> '{}'
     limit :limit
   ) old
   where m.org_id = old.org_id and m.id = old.id and m.created_at = old.created_at`,
)

export const eraseTenantEvents = statement<{ orgId: string; tenantId: string; limit: number }>(
  'messages.erase_tenant_events',
  `delete from message_events where (org_id, id, at) in (
     select org_id, id, at from message_events where org_id = :orgId and tenant_id = :tenantId limit :limit)`,
)
