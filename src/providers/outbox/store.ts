import { statement } from '../../db/statement.ts'
import type { Channel } from '../../ground/channel.ts'

export type OutboxRow = {
  id: string
  channel: Channel
  message_id: string | null
  verification_id: string | null
  mail: Record<string, unknown>
  at: Date
}

/**
 * The rows, column by column, each as one text with this between its values; nothing for null. No id, time or JSON has
 * it, and the database splits it off faster than it reads arrays or objects.
 */
export const between = '\x1e'
const column = (param: string) => `string_to_array(${param}, e'\\x1e', '')`

/**
 * Its commit need not reach the disk before the answer: what a crash takes from an outbox of a developer's
 * machine was delivered to nobody.
 */
export const insertKept = statement<{
  ids: string
  channels: string
  messageIds: string
  verificationIds: string
  at: string
  mails: string
}>(
  'outbox.insert',
  `with lazily as materialized (select set_config('synchronous_commit', 'off', true))
   insert into local_outbox (id, channel, message_id, verification_id, at, mail)
   select a.id, a.channel, a.message_id, a.verification_id, a.at::timestamptz, a.mail
   from lazily, unnest(${[':ids', ':channels', ':messageIds', ':verificationIds', ':at', ':mails'].map(column).join(', ')})
     as a (id, channel, message_id, verification_id, at, mail)`,
)

/** What is older than the newest. Ids begin with their time. */
export const trimKept = statement<{ kept: number }>(
  'outbox.trim',
  'delete from local_outbox where id <= (select id from local_outbox order by id desc offset :kept limit 1)',
)

/** Newest first. Filters that are null match everything. */
export const listKept = statement<{ channel: string | null; to: string | null; limit: number }, OutboxRow>(
  'outbox.list',
  `select id, channel, message_id, verification_id, mail::json as mail, at from local_outbox
   where (:channel::text is null or channel = :channel) and (:to::text is null or mail::jsonb -> 'recipients' ? :to)
   order by id desc
   limit :limit`,
)
