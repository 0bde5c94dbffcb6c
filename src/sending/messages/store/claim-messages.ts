/** Finds and claims messages that are due, records the outcome of claimed ones, and moves those for a local time. */
import { statement } from '../../../platform/db/statement.ts'
import { eventColumns, type MessageRow, messageColumnsOf, type ProviderResponse } from './message-row.ts'

/**
 * Orgs after `after` that have due messages. Each step of the recursion reads one index entry, the earliest message of
 * the next org, so the cost does not depend on how many messages an org has. Orgs whose messages are all due later are
 * skipped.
 */
export const nextDueOrgs = statement<{ after: string; now: Date; limit: number }, { org_id: string }>(
  'messages.next_due_orgs',
  `with recursive turn as (
     (select org_id, due_at, coalesce((due_at <= :now)::int, 0) as found
      from messages
      where status in ('scheduled', 'sending') and org_id > :after
      order by org_id, due_at
      limit 1)
     union all
     select next.org_id, next.due_at, turn.found + coalesce((next.due_at <= :now)::int, 0)
     from turn cross join lateral (
       select org_id, due_at
       from messages
       where status in ('scheduled', 'sending') and org_id > turn.org_id
       order by org_id, due_at
       limit 1
     ) next
     where turn.found < :limit
   )
   select org_id from turn where due_at <= :now`,
)

export type ClaimedRow = MessageRow & {
  org_suspended: boolean
  org_deleted: boolean
  org_quiet_hours: boolean
  tenant_status: string | null
  job_canceled: boolean
  /** The bytes of the content. */
  bytes: number
  was_due_at: Date
  /** The worker that claimed the message before was interrupted. */
  was_interrupted: boolean
}

/**
 * Claims due messages, at most `perOrg` of each org: the first of every org, then the second of every org, and so on,
 * until their content reaches `maxBytes`. A claim moves `due_at` to the time when the claim becomes stale, so the
 * messages of a worker that died become due again.
 */
export const claimDue = statement<
  { orgIds: string[]; now: Date; staleAt: Date; claim: string; perOrg: number; limit: number; maxBytes: number },
  ClaimedRow
>(
  'messages.claim_due',
  `with due as (
     select m.org_id, m.id, m.created_at, m.bytes, m.due_at, m.status, o.place,
       row_number() over (partition by m.org_id order by m.due_at) as turn
     from unnest(:orgIds::text[]) with ordinality as o (org_id, place)
     cross join lateral (
       select org_id, id, created_at, due_at, status,
         coalesce(octet_length(html), 0) + coalesce(octet_length(text), 0) as bytes
       from messages
       where org_id = o.org_id and status in ('scheduled', 'sending') and due_at <= :now
       order by due_at
       limit :perOrg
       for update skip locked
     ) m
   ), fitting as (
     select org_id, id, created_at, bytes, due_at, status,
       sum(bytes) over (order by turn, place rows unbounded preceding) - bytes as bytes_before
     from due
     order by turn, place
     limit :limit
   ), claimed as (
     update messages m set status = 'sending', claim = :claim, claimed_at = :now, due_at = :staleAt
     from fitting f
     where m.org_id = f.org_id and m.id = f.id and m.created_at = f.created_at and f.bytes_before < :maxBytes
     returning ${messageColumnsOf('m')}, f.bytes, f.due_at as was_due_at, f.status = 'sending' as was_interrupted
   )
   select ${messageColumnsOf('c')}, c.bytes, c.was_due_at, c.was_interrupted,
     o.suspended_at is not null as org_suspended, o.deleted_at is not null as org_deleted, o.sms_quiet_hours as org_quiet_hours, t.status as tenant_status,
     coalesce(j.status = 'canceled', false) as job_canceled
   from claimed c
   join orgs o on o.id = c.org_id
   left join tenants t on t.org_id = c.org_id and t.id = c.tenant_id
   left join jobs j on j.org_id = c.org_id and j.id = c.job_id`,
)

export const findLiveOrgs = statement<{ orgIds: string[] }, { id: string }>(
  'messages.find_live_orgs',
  'select id from orgs where id = any(:orgIds::text[]) and deleted_at is null',
)

/** What is absent is null. */
export type Settled = Pick<MessageRow, 'org_id' | 'id' | 'created_at' | 'status' | 'history' | 'attempts'> &
  Partial<Pick<MessageRow, 'due_at' | 'sent_at' | 'canceled_at' | 'error_message' | 'provider'>> & {
    claim: string
    provider_response?: ProviderResponse
    /** Set when another member of the pool was chosen. */
    from_address?: string
    /** The remaining recipients. Set only when some were suppressed. */
    to_addresses?: string[]
    cc?: string[]
    bcc?: string[]
  }

/**
 * Records outcomes, each only while its claim is still current: a message that another worker has claimed meanwhile
 * stays as it is, and its event is not inserted. If a provider's report arrived first, the status and error message
 * from the report stay, and only the fact that the message was sent is added. A message with a final state needs its
 * usage reservation no longer.
 */
export const settleClaimed = statement<{ settled: string; events: string }, { id: string }>(
  'messages.settle_claimed',
  `with updated as (
     update messages m set
       status = case when m.status = 'sending' then s.status else m.status end,
       due_at = case when m.status = 'sending' then s.due_at end,
       error_message = case when m.status = 'sending' then s.error_message else m.error_message end,
       sent_at = s.sent_at, canceled_at = s.canceled_at, provider = coalesce(s.provider, m.provider),
       provider_response = case when s.provider_response is null then m.provider_response
         else s.provider_response || coalesce(m.provider_response, '{}'::jsonb) end,
       history = case when m.status = 'sending' or s.status = 'sent' then m.history || s.history else m.history end,
       from_address = coalesce(s.from_address, m.from_address), to_addresses = coalesce(s.to_addresses, m.to_addresses), cc = coalesce(s.cc, m.cc),
       bcc = coalesce(s.bcc, m.bcc), attempts = s.attempts, claim = null, claimed_at = null
     from json_to_recordset(:settled::json) as s (
       org_id text, id text, created_at timestamptz, claim text, status text, due_at timestamptz, sent_at timestamptz,
       canceled_at timestamptz, error_message text, provider text, provider_response jsonb, history jsonb,
       attempts integer, from_address text, to_addresses text[], cc text[], bcc text[])
     where m.org_id = s.org_id and m.id = s.id and m.created_at = s.created_at and m.claim = s.claim
     returning m.org_id, m.id, m.status = s.status or s.status = 'sent' as event_applies,
       s.status <> 'scheduled' as is_final
   ), inserted_events as (
     insert into events (${eventColumns})
     select e.org_id, e.id, e.tenant_id, e.environment, e.event, e.data, e.created_at, e.traceparent
     from json_to_recordset(:events::json) as e (
       org_id text, id text, tenant_id text, environment text, event text, data jsonb, created_at timestamptz,
       traceparent text, message_id text)
     join updated u on u.org_id = e.org_id and u.id = e.message_id and u.event_applies
   )
   select id
   from updated, (
     select close_reservations(array_agg(org_id), array_agg(id)) from updated where is_final
   ) as closed`,
)

/** Messages that are scheduled for a local time, of all orgs. */
export const listLocalScheduled = statement<
  { afterOrg: string; afterId: string; limit: number },
  Pick<MessageRow, 'org_id' | 'id' | 'created_at' | 'scheduled_at' | 'sms'>
>(
  'messages.list_local_scheduled',
  `select org_id, id, created_at, scheduled_at, sms
   from messages
   where status = 'scheduled' and sms ->> 'scheduled_local' is not null and (org_id, id) > (:afterOrg, :afterId)
   order by org_id, id
   limit :limit`,
)

/** Leaves a message alone that was deferred or claimed meanwhile. The scheduler checks its local time again. */
export const moveScheduled = statement<{ orgId: string; id: string; createdAt: Date; former: Date; dueAt: Date }>(
  'messages.move_scheduled',
  `update messages set scheduled_at = :dueAt, due_at = :dueAt
   where org_id = :orgId and id = :id and created_at = :createdAt
     and status = 'scheduled' and scheduled_at = :former and due_at = :former`,
)
