/** Provider reports: the message they change, the events they add, and the notifications already handled. */
import type { Given } from '../../../platform/db/columns.ts'
import { statement } from '../../../platform/db/statement.ts'
import { type MessageRow, messageColumnsOf, type Status } from './message-row.ts'

/** A message as its org and its id name it. Its id contains the time of its creation. */
type OneMessage = { orgId: string; id: string; createdAt: Date }

export const messageExists = statement<OneMessage, { id: string }>(
  'messages.is_there',
  'select id from messages where org_id = :orgId and id = :id and created_at = :createdAt',
)

export const findRecipients = statement<OneMessage, Pick<MessageRow, 'to_addresses' | 'cc' | 'bcc'>>(
  'messages.find_recipients',
  'select to_addresses, cc, bcc from messages where org_id = :orgId and id = :id and created_at = :createdAt',
)

export const findStatuses = statement<
  { orgIds: string[]; ids: string[]; createdAt: Date[] },
  { id: string; status: Status; claim: string | null }
>(
  'messages.find_statuses',
  `select m.id, m.status, m.claim
   from unnest(:orgIds::text[], :ids::text[], :createdAt::timestamptz[]) as r (org_id, id, created_at)
   join messages m on m.org_id = r.org_id and m.id = r.id and m.created_at = r.created_at`,
)

export type RecordedRow = Pick<
  MessageRow,
  'id' | 'channel' | 'created_at' | 'scheduled_at' | 'sent_at' | 'error_message' | 'sms'
>

export const findRecorded = statement<{ orgId: string; ids: string[]; createdAt: Date[] }, RecordedRow>(
  'messages.find_recorded',
  `select m.id, m.channel, m.created_at, m.scheduled_at, m.sent_at, m.error_message, m.sms
   from unnest(:ids::text[], :createdAt::timestamptz[]) as r (id, created_at)
   join messages m on m.org_id = :orgId and m.id = r.id and m.created_at = r.created_at`,
)

/** Locks the message while a report is compared with its current status. */
export const lockMessage = statement<OneMessage, MessageRow>(
  'messages.lock',
  `select ${messageColumnsOf('m')}
   from messages m
   where org_id = :orgId and id = :id and created_at = :createdAt
   for update`,
)

/** For the dev tools, which do not know the org. */
export const findOwner = statement<
  { id: string; createdAt: Date },
  Pick<MessageRow, 'org_id' | 'channel' | 'to_addresses' | 'cc' | 'bcc'>
>(
  'messages.find_owner',
  'select org_id, channel, to_addresses, cc, bcc from messages where id = :id and created_at = :createdAt',
)

export const applyReport = statement<
  OneMessage &
    Given<MessageRow, 'status' | 'delivered_at' | 'error_message'> & {
      history: string
      providerResponse: string | null
    }
>(
  'messages.apply_report',
  `update messages set
     status = :status,
     history = history || :history::jsonb,
     delivered_at = coalesce(delivered_at, :deliveredAt),
     due_at = case when :status in ('scheduled', 'sending') then due_at end,
     error_message = coalesce(:errorMessage, error_message),
     provider_response = coalesce(provider_response, '{}'::jsonb) || coalesce(:providerResponse::jsonb, '{}'::jsonb)
   where org_id = :orgId and id = :id and created_at = :createdAt`,
)

export const insertMessageEvents = statement<
  Given<MessageRow, 'org_id' | 'tenant_id' | 'environment' | 'channel'> & {
    ids: string[]
    at: Date
    messageId: string
    kind: string
    recipients: string[]
  }
>(
  'messages.insert_events',
  `insert into message_events (org_id, id, at, message_id, tenant_id, environment, channel, kind, recipient)
   select :orgId, e.id, :at, :messageId, :tenantId, :environment, :channel, :kind, e.recipient
   from unnest(:ids::text[], :recipients::text[]) as e (id, recipient)`,
)

/** Returns no row when this notification was recorded before. */
export const recordNotification = statement<{ provider: string; id: string; at: Date }, { id: string }>(
  'messages.take_notification',
  `insert into provider_notifications (provider, id, at) values (:provider, :id, :at)
   on conflict do nothing returning id`,
)

export const sweepNotifications = statement<{ before: Date; limit: number }>(
  'messages.sweep_notifications',
  `delete from provider_notifications where (provider, id) in (
     select provider, id from provider_notifications where at < :before limit :limit)`,
)
