/** Deletes the rows of a deleted org, a part at a time. Tables that are not listed lose their rows with the org's row. */
import { statement } from '../../../platform/db/statement.ts'

type Part = { orgId: string; limit: number }

/** `column` comes after the org in an index of the table. */
const deleteSome = (table: string, column: string): string =>
  `delete from ${table}
   where org_id = :orgId and ${column} = any (array(select ${column} from ${table} where org_id = :orgId limit :limit))`

/**
 * In this order: tables without a foreign key to the org, and tables that can have very many rows. A test compares the list with the
 * schema. The audit log has its own way: see journal/audit/delete-log.ts.
 */
export const purges = {
  // Before the messages, which say whose mails they are.
  local_outbox: statement<Part>(
    'team.purge_local_outbox',
    `delete from local_outbox where id in (
       select e.id from local_outbox e join messages m on m.org_id = :orgId and m.id = e.message_id limit :limit)`,
  ),
  messages: statement<Part>('team.purge_messages', deleteSome('messages', 'id')),
  message_events: statement<Part>('team.purge_message_events', deleteSome('message_events', 'id')),
  tracking_marks: statement<Part>('team.purge_tracking_marks', deleteSome('tracking_marks', 'message_id')),
  tracking_windows: statement<Part>('team.purge_tracking_windows', deleteSome('tracking_windows', 'message_id')),
  webhook_deliveries: statement<Part>('team.purge_webhook_deliveries', deleteSome('webhook_deliveries', 'id')),
  sms_receipts: statement<Part>('team.purge_sms_receipts', deleteSome('sms_receipts', 'message_id')),
  usage_reservations: statement<Part>('team.purge_usage_reservations', deleteSome('usage_reservations', 'id')),
  pool_recipients: statement<Part>('team.purge_pool_recipients', deleteSome('pool_recipients', 'pool_id')),
  idempotency_keys: statement<Part>('team.purge_idempotency_keys', deleteSome('idempotency_keys', 'key')),
  inbound_messages: statement<Part>('team.purge_inbound_messages', deleteSome('inbound_messages', 'id')),
  suppressions: statement<Part>('team.purge_suppressions', deleteSome('suppressions', 'id')),
  contacts: statement<Part>('team.purge_contacts', deleteSome('contacts', 'id')),
  verifications: statement<Part>('team.purge_verifications', deleteSome('verifications', 'id')),
  analytics_queue: statement<Part>('team.purge_analytics_queue', deleteSome('analytics_queue', 'id')),
  analytics_counts: statement<Part>('team.purge_analytics_counts', deleteSome('analytics_counts', 'id')),
  analytics_firsts: statement<Part>('team.purge_analytics_firsts', deleteSome('analytics_firsts', 'message_id')),
}

/** The outbox holds events only until fan-out, so it is small. What leaves it is queued for analytics. */
export const purgeEvents = statement<{ orgId: string }>('team.purge_events', 'delete from events where org_id = :orgId')
