import { columns, json, oneOf, type RowOf, text, time } from '../../platform/db/columns.ts'
import { statement } from '../../platform/db/statement.ts'
import type { Channel } from '../../platform/ground/channel.ts'

const outboxColumns = columns({
  id: text,
  channel: oneOf<Channel>(),
  message_id: text.orNull,
  verification_id: text.orNull,
  at: time,
  mail: json<Record<string, unknown>>(),
})
export type OutboxRow = RowOf<typeof outboxColumns>

/**
 * Rows are passed column by column, each column as one text with this separator between its values and an empty text
 * for null. Ids, times and JSON never contain it, and the database splits such a text faster than it parses arrays or
 * objects.
 */
export const separator = '\x1e'
const column = (param: string) => `string_to_array(${param}, e'\\x1e', '')`

/**
 * The commit need not reach the disk before the statement returns. A crash may lose entries of a development outbox,
 * but those messages were never delivered to anyone.
 */
export const insertOutboxEntries = statement<{
  id: string
  channel: string
  messageId: string
  verificationId: string
  at: string
  mail: string
}>(
  'outbox.insert',
  `with async_commit as materialized (select set_config('synchronous_commit', 'off', true))
   insert into local_outbox (${outboxColumns})
   select entry.id, entry.channel, entry.message_id, entry.verification_id, entry.at::timestamptz, entry.mail
   from async_commit,
     unnest(
       ${[':id', ':channel', ':messageId', ':verificationId', ':at', ':mail'].map(column).join(', ')}
     ) as entry (${outboxColumns})`,
)

/** Deletes all but the newest entries. Ids sort by time. */
export const trimOutbox = statement<{ keep: number }>(
  'outbox.trim',
  `delete from local_outbox
   where id <= (select id from local_outbox order by id desc offset :keep limit 1)`,
)

/** The outbox is small, so all its entries are read. */
export const sweepOutbox = statement<{ before: Date }>('outbox.sweep', 'delete from local_outbox where at < :before')

/** An entry names its message, not its tenant. The outbox is small, so all its entries are compared. */
export const eraseTenantOutboxMails = statement<{ orgId: string; tenantId: string; limit: number }>(
  'outbox.erase_tenant',
  `delete from local_outbox where id in (
     select e.id
     from local_outbox e join messages m on m.org_id = :orgId and m.id = e.message_id
     where m.tenant_id = :tenantId
     limit :limit)`,
)

/**
 * Newest first, until they have so many bytes together, but at least one. A null filter matches every entry. The sizes
 * are known without reading the contents.
 */
export const listOutbox = statement<
  {
    channel: string | null
    to: string | null
    id: string | null
    messageId: string | null
    limit: number
    bytes: number
  },
  OutboxRow
>(
  'outbox.list',
  `select id, channel, message_id, verification_id, mail::json as mail, at
   from (
     select ${outboxColumns},
       sum(octet_length(mail)) over (order by id desc) - octet_length(mail) as bytes_before,
       sum(octet_length(mail)) over (order by id desc) as bytes
     from (
       select ${outboxColumns}
       from local_outbox
       where (:channel::text is null or channel = :channel)
         and (:id::text is null or id = :id) and (:messageId::text is null or message_id = :messageId)
         and (:to::text is null or mail::jsonb -> 'recipients' ? :to)
       order by id desc
       limit :limit
     ) as newest
   ) as measured
   where bytes <= :bytes or bytes_before = 0
   order by id desc`,
)
