/** Reads pages of an org's messages over both channels and environments, for people who search them. */
import { statement } from '../../../platform/db/statement.ts'
import type { Keyset } from '../../../platform/ground/cursor.ts'
import type { Environment } from '../../../platform/ground/scope.ts'
import { inRange, inRangeOfFew, whenSet } from './list-messages.ts'
import { type MessageRow, messageColumnsOf } from './message-row.ts'

const browsed = [
  'id',
  'channel',
  'status',
  'environment',
  'from_address',
  'to_addresses',
  'subject',
  'sms',
  'tenant_id',
  'job_id',
  'tags',
  'error_message',
  'created_at',
  'scheduled_at',
  'sent_at',
  'delivered_at',
] as const

export type BrowsedRow = Pick<MessageRow, (typeof browsed)[number]> & {
  /** The text of an SMS. Null for an email. */
  body: string | null
}

/** A row that was looked at. The last one of a portion is returned even if it does not match. */
export type ScannedRow = BrowsedRow & { matched: boolean; scanned: number }

type FoundParams = Keyset & {
  orgId: string
  /** Each pair of a channel and an environment is a range of the index. */
  channels: string[]
  environments: Environment[]
  tenantId: string | null
  status: string | null
  tag: string | null
  q: string | null
  createdAfter: Date | null
  createdBefore: Date | null
}

export type BrowseParams = FoundParams & {
  /** How many rows to look at. */
  portion: number
}

const shownColumns = [...browsed, 'body'].join(', ')

/** Never the html or the text of an email: these are stored apart from the row, and reading them is slow. */
const browsedColumns = `${browsed.join(', ')}, case when channel = 'sms' then text end as body`

/** A literal, case-insensitive substring. An erased or redacted text is null and does not match. */
const containsText = `(strpos(lower(from_address), lower(:q)) > 0
       or strpos(lower(array_to_string(to_addresses, chr(10))), lower(:q)) > 0
       or coalesce(strpos(lower(case when channel = 'email' then subject else body end), lower(:q)), 0) > 0)`

const isWanted = `${whenSet(':tenantId', 'tenant_id = :tenantId')}
     and ${whenSet(':status', 'status = :status')}
     and ${whenSet(':tag', ':tag = any(tags)')}
     and ${whenSet(':q', containsText)}`

/**
 * Looks at the next `portion` rows of an index, whatever the filters are, and returns those that match. The cost depends
 * on the portion and not on how many messages the org has.
 */
const scan = (indexed: string): string =>
  `with looked_at as materialized (
     select ${shownColumns}
     from unnest(:channels::text[], :environments::text[]) as part (of_channel, of_environment)
     cross join lateral (
       select ${browsedColumns}
       from messages
       where org_id = :orgId and channel = of_channel and environment = of_environment
         ${indexed}
         and ${inRange}
       order by created_at desc, id desc
       limit :portion
     ) m
     order by m.created_at desc, m.id desc
     limit :portion
   ), judged as (
     select ${shownColumns}, ${isWanted} as matched,
       row_number() over newest_first as place, count(*) over () as scanned
     from looked_at
     window newest_first as (order by created_at desc, id desc)
   ), counted as (
     select ${shownColumns}, matched, scanned, place,
       count(*) filter (where matched) over (order by place) as matches
     from judged
   )
   select ${shownColumns}, matched, scanned
   from counted
   where (matched and matches <= :limit) or place = scanned
   order by place`

/** One statement per index. */
export const scanMessages = {
  all: statement<BrowseParams, ScannedRow>('messages.scan', scan('')),
  ofTenant: statement<BrowseParams, ScannedRow>('messages.scan_tenant', scan('and tenant_id = :tenantId')),
  /** For every status that the partial index covers, which is all but `sent` and `delivered`. */
  ofStatus: statement<BrowseParams, ScannedRow>(
    'messages.scan_status',
    scan("and status = :status and status not in ('sent', 'delivered')"),
  ),
}

/** Few rows have the mark or the job. */
const find = (indexed: string): string =>
  `select ${shownColumns}
   from (
     select ${browsedColumns}
     from messages
     where org_id = :orgId and ${indexed}
       and channel = any(:channels::text[]) and environment = any(:environments::text[])
       and ${inRangeOfFew}
   ) found
   where ${isWanted}
   order by created_at desc, id desc
   limit :limit`

/** A tag or a recipient, found by its mark however old the message is. Other values can have the same mark. */
export const findMarked = statement<FoundParams & { mark: number }, BrowsedRow>(
  'messages.find_marked',
  find('marks @> array[:mark::integer]'),
)

/** Whether live messages of the org can be from this address or number: its domain, its sandbox or its number. */
export const isOwnSender = statement<{ orgId: string; domain: string; value: string }, { own: boolean }>(
  'messages.is_own_sender',
  `select exists (select 1 from domains where org_id = :orgId and name = :domain)
     or exists (select 1 from phone_numbers where org_id = :orgId and e164 = :value)
     or exists (select 1 from orgs where id = :orgId and starts_with(:domain, slug || '.sandbox.')) as own`,
)

/** A job has at most 10,000 messages. */
export const findOfJob = statement<FoundParams & { jobId: string }, BrowsedRow>(
  'messages.find_of_job',
  find('job_id = :jobId'),
)

export const findExactly = statement<FoundParams & { id: string; createdAt: Date }, BrowsedRow>(
  'messages.find_exactly',
  find('id = :id and created_at = :createdAt'),
)

/** A message of the org, whatever its channel, environment and tenant. */
export const findInOrg = statement<{ orgId: string; id: string; createdAt: Date }, MessageRow>(
  'messages.find_in_org',
  `select ${messageColumnsOf('m')}
   from messages m
   where org_id = :orgId and id = :id and created_at = :createdAt`,
)

export type MessageEventRow = {
  id: string
  kind: string
  recipient: string | null
  url: string | null
  at: Date
}

/** What happened to a message after it was sent, the newest first. A link can be followed any number of times. */
export const eventsOfMessage = statement<{ orgId: string; id: string; limit: number }, MessageEventRow>(
  'messages.events_of',
  `select id, kind, recipient, url, at
   from message_events
   where org_id = :orgId and message_id = :id
   order by at desc, id desc
   limit :limit`,
)
