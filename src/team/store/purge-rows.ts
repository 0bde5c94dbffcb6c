/** Deletes the rows of a deleted org, a part at a time. Tables that are not listed lose their rows with the org's row. */
import { type Statement, statement } from '../../db/statement.ts'

/**
 * Tables without a foreign key to the org, and tables that can have very many rows, each with a column that its index
 * has after the org. A test compares the list with the schema. The audit log has its own way: see audit/delete-log.ts.
 */
export const purgedTables: Record<string, string> = {
  messages: 'id',
  message_events: 'id',
  tracking_marks: 'message_id',
  tracking_windows: 'message_id',
  webhook_deliveries: 'id',
  sms_receipts: 'message_id',
  usage_reservations: 'id',
  pool_recipients: 'pool_id',
  idempotency_keys: 'key',
  inbound_messages: 'id',
  suppressions: 'id',
  audience_members: 'contact_id',
  contacts: 'id',
}

const purgeOf = (table: string, column: string): Statement<{ orgId: string; limit: number }, never> =>
  statement<{ orgId: string; limit: number }>(
    `team.purge_${table}`,
    `delete from ${table}
     where org_id = :orgId and ${column} = any (array(select ${column} from ${table} where org_id = :orgId limit :limit))`,
  )

export const purges = Object.entries(purgedTables).map(([table, column]) => purgeOf(table, column))

/** The outbox holds events only until fan-out, so it is small. */
export const purgeEvents = statement<{ orgId: string }>('team.purge_events', 'delete from events where org_id = :orgId')
