import { statement } from '../../db/statement.ts'

export type OutboxRow = {
  id: string
  channel: 'email' | 'sms'
  message_id: string | null
  verification_id: string | null
  mail: Record<string, unknown>
  at: Date
}

/**
 * Its commit need not reach the disk before the answer: what a crash takes from an outbox of a developer's
 * machine was delivered to nobody.
 */
export const insertKept = statement<
  [
    ids: string[],
    channels: string[],
    messageIds: (string | null)[],
    verificationIds: (string | null)[],
    mails: string[],
    ats: Date[],
  ]
>(
  'outbox.insert',
  `with lazily as materialized (select set_config('synchronous_commit', 'off', true))
   insert into local_outbox (id, channel, message_id, verification_id, mail, at)
   select a.id, a.channel, a.message_id, a.verification_id, a.mail, a.at
   from lazily,
     unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::jsonb[], $6::timestamptz[])
       as a (id, channel, message_id, verification_id, mail, at)`,
)

/** Two processes that trim at the same time leave each other's rows alone. */
export const trimKept = statement<[kept: number]>(
  'outbox.trim',
  `delete from local_outbox where id in (
     select id from local_outbox order by at desc, id desc offset $1 for update skip locked)`,
)

/** Newest first. Filters that are null match everything. */
export const listKept = statement<[channel: string | null, to: string | null, limit: number], OutboxRow>(
  'outbox.list',
  `select id, channel, message_id, verification_id, mail, at from local_outbox
   where ($1::text is null or channel = $1) and ($2::text is null or mail->'recipients' ? $2)
   order by at desc, id desc
   limit $3`,
)
