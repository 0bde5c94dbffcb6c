import { appendEntries } from '../audit/store.ts'
import { statement } from '../db/statement.ts'
import type { Channel } from '../ground/channel.ts'
import type { Keyset } from '../ground/cursor.ts'
import type { Environment } from '../ground/scope.ts'

export type Status = 'scheduled' | 'sending' | 'sent' | 'delivered' | 'bounced' | 'failed' | 'canceled'

/** One state the message was in, or one recipient's report. */
export type HistoryEntry = {
  status: Status
  at: string
  recipient?: string | null
  detail?: string | null
}

export type ProviderResponse = {
  message_id?: string | null
  token?: string | null
  bounce_type?: string | null
  bounce_subtype?: string | null
  detail?: string | null
}

export type MessageRow = {
  org_id: string
  id: string
  created_at: Date
  tenant_id: string | null
  environment: Environment
  project_id: string
  key_id: string | null
  channel: Channel
  status: Status
  stream: 'transactional' | 'broadcast'
  from_address: string
  from_name: string | null
  to_addresses: string[]
  cc: string[]
  bcc: string[]
  reply_to: string[]
  /** Display names by address. */
  names: Record<string, string> | null
  subject: string | null
  html: string | null
  text: string | null
  headers: Record<string, string> | null
  attachments: { filename: string; content_type: string }[] | null
  track_opens: boolean
  track_clicks: boolean
  tags: string[]
  metadata: Record<string, string> | null
  scheduled_at: Date | null
  sent_at: Date | null
  delivered_at: Date | null
  canceled_at: Date | null
  redacted_at: Date | null
  error_message: string | null
  provider: string | null
  provider_response: ProviderResponse | null
  history: HistoryEntry[]
  job_id: string | null
  due_at: Date | null
  claim: string | null
  attempts: number
}

type Always =
  | 'org_id'
  | 'id'
  | 'created_at'
  | 'environment'
  | 'project_id'
  | 'channel'
  | 'status'
  | 'stream'
  | 'from_address'
  | 'to_addresses'
  | 'history'

/** On its way in JSON. */
type Written<T> = T extends Date ? string : T

type Later = 'delivered_at' | 'canceled_at' | 'redacted_at' | 'claim' | 'attempts'

/** What a new row is made of. Whatever it has nothing of is not written out, neither here nor in its JSON. */
export type NewMessage = { [Column in Always]: Written<MessageRow[Column]> } & {
  [Column in Exclude<keyof MessageRow, Always | Later>]?: Written<NonNullable<MessageRow[Column]>>
} & {
  /** What lists find it by: see marks.ts. */
  marks: number[]
}

/** What is written with a row: the event that tells of its state, and the audit entry of the request that made it. */
export type LinkedRows = {
  event_id?: string | undefined
  event_at?: string | undefined
  /** Beyond id, channel and state. */
  event_more?: Record<string, string> | undefined
  entry_id?: string | undefined
  entry_actor?: string | undefined
  entry_action?: string | undefined
  entry_metadata?: string | undefined
  entry_ip?: string | undefined
  entry_agent?: string | undefined
  entry_at?: string | undefined
  entry_signature?: string | undefined
}

/** An event written with the change it tells of. */
export type EventRow = {
  org_id: string
  id: string
  tenant_id: string | null
  environment: Environment | null
  event: string
  data: Record<string, unknown>
  created_at: string
}

const eventColumns = 'org_id, id, tenant_id, environment, event, data, created_at'
const eventShape =
  'org_id text, id text, tenant_id text, environment text, event text, data jsonb, created_at timestamptz'

const newColumns = `org_id, id, created_at, tenant_id, environment, project_id, key_id, channel, status, stream,
  from_address, from_name, to_addresses, cc, bcc, reply_to, names, subject, html, text, headers, attachments,
  track_opens, track_clicks, tags, metadata, scheduled_at, sent_at, error_message, provider, provider_response,
  history, job_id, due_at, marks`

const newShape = `org_id text, id text, created_at timestamptz, tenant_id text, environment text, project_id text,
  key_id text, channel text, status text, stream text, from_address text, from_name text, to_addresses text[],
  cc text[], bcc text[], reply_to text[], names jsonb, subject text, html text, text text, headers jsonb,
  attachments jsonb, track_opens boolean, track_clicks boolean, tags text[], metadata jsonb, scheduled_at timestamptz,
  sent_at timestamptz, error_message text, provider text, provider_response jsonb, history jsonb, job_id text,
  due_at timestamptz, marks integer[]`

const toldShape = `event_id text, event_at timestamptz, event_more jsonb, entry_id text, entry_actor text,
  entry_action text, entry_metadata text, entry_ip text, entry_agent text, entry_at timestamptz, entry_signature text`

const orNothing = (column: string): string =>
  /^(cc|bcc|reply_to|tags)$/.test(column)
    ? `coalesce(${column}, '{}')`
    : column.startsWith('track_')
      ? `coalesce(${column}, false)`
      : column

const tellingEntries = appendEntries(
  `select org_id, entry_id, entry_actor, entry_action, 'message', id, entry_metadata::jsonb, entry_ip, entry_agent,
       entry_at, entry_signature
     from given where entry_id is not null`,
)

/** Any number of rows with their events and entries, in the same order, in one statement: all of them or none. */
export const insertMessages = statement<{ messages: string; told: string }>(
  'messages.insert',
  `with given as materialized (
     select * from rows from (
       json_to_recordset(:messages::json) as (${newShape}), json_to_recordset(:told::json) as (${toldShape})
     ) as m
   ), kept as (
     insert into messages (${newColumns})
     select ${newColumns.split(/,\s+/).map(orNothing).join(', ')} from given
   ), ${tellingEntries}
   insert into events (${eventColumns})
   select org_id, event_id, tenant_id, environment, 'message.' || status,
     jsonb_build_object('message_id', id, 'channel', channel, 'status', status) || coalesce(event_more, '{}'), event_at
   from given where event_id is not null`,
)

/**
 * Orgs with anything due, after the given one. Each org is one step through the index, which shows its earliest row,
 * however many it has; those whose rows all lie ahead are stepped over.
 */
export const nextDueOrgs = statement<{ after: string; now: Date; limit: number }, { org_id: string }>(
  'messages.next_due_orgs',
  `with recursive turn as (
     (select org_id, due_at, coalesce((due_at <= :now)::int, 0) as found from messages
      where status in ('scheduled', 'sending') and org_id > :after order by org_id, due_at limit 1)
     union all
     select next.org_id, next.due_at, turn.found + coalesce((next.due_at <= :now)::int, 0) from turn cross join lateral (
       select org_id, due_at from messages
       where status in ('scheduled', 'sending') and org_id > turn.org_id order by org_id, due_at limit 1) next
     where turn.found < :limit
   )
   select org_id from turn where due_at <= :now`,
)

export type ClaimedRow = MessageRow & { org_suspended: boolean; tenant_status: string | null }

/**
 * Claims what is due, a share of each org. A claim moves `due_at` to when it grows stale, so a row whose worker died is
 * simply due again.
 */
export const claimDue = statement<
  { orgIds: string[]; now: Date; staleAt: Date; claim: string; perOrg: number; limit: number },
  ClaimedRow
>(
  'messages.claim_due',
  `with due as (
     select m.org_id, m.id, m.created_at from unnest(:orgIds::text[]) as o (org_id)
     cross join lateral (
       select org_id, id, created_at from messages
       where org_id = o.org_id and status in ('scheduled', 'sending') and due_at <= :now
       order by due_at limit :perOrg for update skip locked) m
     limit :limit
   ), claimed as (
     update messages m set status = 'sending', claim = :claim, claimed_at = :now, due_at = :staleAt
     from due d where m.org_id = d.org_id and m.id = d.id and m.created_at = d.created_at
     returning m.*
   )
   select c.*, o.suspended_at is not null as org_suspended, t.status as tenant_status
   from claimed c join orgs o on o.id = c.org_id
   left join tenants t on t.org_id = c.org_id and t.id = c.tenant_id`,
)

/** What became of a claimed row. */
export type Settled = {
  org_id: string
  id: string
  created_at: Date
  claim: string
  status: Status
  due_at: Date | null
  sent_at: Date | null
  canceled_at: Date | null
  error_message: string | null
  provider: string | null
  provider_response: ProviderResponse | null
  history: HistoryEntry[]
  attempts: number
  /** Who was left of the recipients, where somebody was left out. */
  to_addresses?: string[]
  cc?: string[]
  bcc?: string[]
}

/**
 * Records outcomes under the claim they were worked on: a row taken over meanwhile is left alone, and so is its event.
 * Where a report came in first, its state and its words stay; only that the message was sent is added to them.
 */
export const settleClaimed = statement<{ settled: string; events: string }, { id: string }>(
  'messages.settle_claimed',
  `with given as (
     select * from json_to_recordset(:settled::json) as g (
       org_id text, id text, created_at timestamptz, claim text, status text, due_at timestamptz, sent_at timestamptz,
       canceled_at timestamptz, error_message text, provider text, provider_response jsonb, history jsonb,
       attempts integer, to_addresses text[], cc text[], bcc text[])
   ), kept as (
     update messages m set
       status = case when m.status = 'sending' then g.status else m.status end,
       due_at = case when m.status = 'sending' then g.due_at end,
       error_message = case when m.status = 'sending' then g.error_message else m.error_message end,
       sent_at = g.sent_at, canceled_at = g.canceled_at, provider = coalesce(g.provider, m.provider),
       provider_response = case when g.provider_response is null then m.provider_response
         else g.provider_response || coalesce(m.provider_response, '{}'::jsonb) end,
       history = case when m.status = 'sending' or g.status = 'sent' then m.history || g.history else m.history end,
       to_addresses = coalesce(g.to_addresses, m.to_addresses), cc = coalesce(g.cc, m.cc),
       bcc = coalesce(g.bcc, m.bcc), attempts = g.attempts, claim = null, claimed_at = null
     from given g
     where m.org_id = g.org_id and m.id = g.id and m.created_at = g.created_at and m.claim = g.claim
     returning m.org_id, m.id, m.status = g.status or g.status = 'sent' as told
   ), told as (
     insert into events (${eventColumns})
     select e.org_id, e.id, e.tenant_id, e.environment, e.event, e.data, e.created_at
     from json_to_recordset(:events::json) as e (${eventShape}, message_id text)
     join kept k on k.org_id = e.org_id and k.id = e.message_id and k.told
   )
   select id from kept`,
)

/** Only what still waits: a row that the scheduler holds is past canceling. */
export const cancelMessage = statement<
  {
    orgId: string
    tenantId: string | null
    environment: Environment
    projectId: string | null
    channel: string
    id: string
    createdAt: Date
    at: Date
    entry: string
  },
  { id: string; canceled_at: Date }
>(
  'messages.cancel',
  `update messages set status = 'canceled', canceled_at = :at, due_at = null, history = history || :entry::jsonb
   where org_id = :orgId and (:tenantId::text is null or tenant_id = :tenantId) and environment = :environment
     and (:projectId::text is null or project_id = :projectId) and channel = :channel and id = :id and created_at = :createdAt
     and status = 'scheduled'
   returning id, canceled_at`,
)

/** Everything the tenant has waiting, whatever the channel. */
export const cancelForTenant = statement<{ orgId: string; tenantId: string; at: Date; reason: string; entry: string }>(
  'messages.cancel_for_tenant',
  `update messages set status = 'canceled', canceled_at = :at, due_at = null, error_message = :reason,
     history = history || :entry::jsonb
   where org_id = :orgId and tenant_id = :tenantId and status = 'scheduled'`,
)

export const findMessage = statement<
  {
    orgId: string
    tenantId: string | null
    environment: Environment
    projectId: string | null
    channel: string
    id: string
    createdAt: Date
  },
  MessageRow
>(
  'messages.find',
  `select * from messages
   where org_id = :orgId and (:tenantId::text is null or tenant_id = :tenantId) and environment = :environment
     and (:projectId::text is null or project_id = :projectId) and channel = :channel and id = :id and created_at = :createdAt`,
)

export type ListedRow = Pick<
  MessageRow,
  'id' | 'channel' | 'status' | 'from_address' | 'to_addresses' | 'subject' | 'created_at' | 'sent_at' | 'delivered_at'
>

const listColumns = 'id, channel, status, from_address, to_addresses, subject, created_at, sent_at, delivered_at'

type ListParams = Keyset & {
  orgId: string
  environment: Environment
  channel: string
  tenantId: string | null
  projectId: string | null
  status: string | null
  tag: string | null
  tagMark: number | null
  to: string | null
  toMark: number | null
  createdAfter: Date | null
  createdBefore: Date | null
}

/** The nearer of the cursor and the given end. */
const lastAt = `least(coalesce(:createdBefore::timestamptz, 'infinity'), coalesce(:afterAt::timestamptz, 'infinity'))`

/**
 * Always there, if only at infinity: as one side of an `or` a prepared statement could not go by them along its index.
 * The end is said twice, since only the first way leaves out partitions. No id comes after `zzz`.
 */
const bounds = `created_at >= coalesce(:createdAfter::timestamptz, '-infinity') and created_at <= ${lastAt}
     and (created_at, id) < (${lastAt}, case when :afterAt::timestamptz <= ${lastAt} then :afterId::text else 'zzz' end)`

/** Of the few rows that have a tag or a recipient: bounds must not look like the better way to find them. */
const boundsOfFew = `(:createdAfter::timestamptz is null or created_at >= :createdAfter)
     and (:createdBefore::timestamptz is null or created_at <= :createdBefore)
     and (:afterAt::timestamptz is null or (created_at, id) < (:afterAt::timestamptz, :afterId))`

const listText = (within: string, ...conditions: string[]): string =>
  `select ${listColumns} from messages
   where org_id = :orgId and environment = :environment and channel = :channel
     ${[...conditions, within].map((condition) => `and ${condition}`).join('\n     ')}
   order by created_at desc, id desc
   limit :limit`

/** The numbers lead to the rows, the words tell which of them are meant. */
const named = {
  tag: 'marks @> array[:tagMark::integer] and :tag = any(tags)',
  to: `marks @> array[:toMark::integer] and addresses_in(org_id, to_addresses) @> array[:orgId || ' ' || :to]`,
}

const optional = {
  tenant: '(:tenantId::text is null or tenant_id = :tenantId)',
  project: '(:projectId::text is null or project_id = :projectId)',
  status: '(:status::text is null or status = :status)',
  tag: `(:tag::text is null or (${named.tag}))`,
  to: `(:to::text is null or (${named.to}))`,
}

/**
 * One text per index: the planner of a prepared statement does not know which filters will be null, and a tenant's few
 * rows among an org's millions must stay near.
 */
export const listMessages = {
  plain: statement<ListParams, ListedRow>('messages.list', listText(bounds, ...Object.values(optional))),
  byTenant: statement<ListParams, ListedRow>(
    'messages.list_tenant',
    listText(bounds, ...Object.values({ ...optional, tenant: 'tenant_id = :tenantId' })),
  ),
  byProject: statement<ListParams, ListedRow>(
    'messages.list_project',
    listText(bounds, ...Object.values({ ...optional, project: 'project_id = :projectId' })),
  ),
  byStatus: statement<ListParams, ListedRow>(
    'messages.list_status',
    listText(
      bounds,
      ...Object.values({ ...optional, status: 'status = :status' }),
      `status not in ('sent', 'delivered')`,
    ),
  ),
  byTag: statement<ListParams, ListedRow>(
    'messages.list_tag',
    listText(boundsOfFew, ...Object.values({ ...optional, tag: named.tag })),
  ),
  byRecipient: statement<ListParams, ListedRow>(
    'messages.list_recipient',
    listText(boundsOfFew, ...Object.values({ ...optional, to: named.to })),
  ),
}

export const messageIsThere = statement<{ orgId: string; id: string; createdAt: Date }, { id: string }>(
  'messages.is_there',
  'select id from messages where org_id = :orgId and id = :id and created_at = :createdAt',
)

/** Held while a report is weighed against what is known. */
export const lockMessage = statement<{ orgId: string; id: string; createdAt: Date }, MessageRow>(
  'messages.lock',
  'select * from messages where org_id = :orgId and id = :id and created_at = :createdAt for update',
)

/** For the dev tools, which know no org. */
export const findOwner = statement<
  { id: string; createdAt: Date },
  Pick<MessageRow, 'org_id' | 'to_addresses' | 'cc' | 'bcc'>
>(
  'messages.find_owner',
  'select org_id, to_addresses, cc, bcc from messages where id = :id and created_at = :createdAt',
)

export const applyReport = statement<{
  orgId: string
  id: string
  createdAt: Date
  status: Status
  history: string
  deliveredAt: Date | null
  errorMessage: string | null
  providerResponse: string | null
}>(
  'messages.apply_report',
  `update messages set status = :status, history = history || :history::jsonb, delivered_at = coalesce(delivered_at, :deliveredAt),
     due_at = case when :status in ('scheduled', 'sending') then due_at end, error_message = coalesce(:errorMessage, error_message),
     provider_response = coalesce(provider_response, '{}'::jsonb) || coalesce(:providerResponse::jsonb, '{}'::jsonb)
   where org_id = :orgId and id = :id and created_at = :createdAt`,
)

export const insertMessageEvents = statement<{
  orgId: string
  ids: string[]
  at: Date[]
  messageId: string
  tenantId: string | null
  environment: Environment
  channel: string
  kinds: string[]
  recipients: (string | null)[]
}>(
  'messages.insert_events',
  `insert into message_events (org_id, id, at, message_id, tenant_id, environment, channel, kind, recipient)
   select :orgId, e.id, e.at, :messageId, :tenantId, :environment, :channel, e.kind, e.recipient
   from unnest(:ids::text[], :at::timestamptz[], :kinds::text[], :recipients::text[]) as e (id, at, kind, recipient)`,
)

/** Nothing when it was taken in before. */
export const takeNotification = statement<{ provider: string; id: string; at: Date }, { id: string }>(
  'messages.take_notification',
  `insert into provider_notifications (provider, id, at) values (:provider, :id, :at)
   on conflict do nothing returning id`,
)

export const sweepNotifications = statement<{ before: Date; limit: number }>(
  'messages.sweep_notifications',
  `delete from provider_notifications where (provider, id) in (
     select provider, id from provider_notifications where at < :before limit :limit)`,
)

/** Known to the planner, which otherwise prepares for a tenth of the table. */
export const redactedAtOnce = 500

/** Content past its time, oldest first. What still waits is never touched. */
export const redactContent = statement<{ before: Date; at: Date }>(
  'messages.redact',
  `update messages m set html = null, text = null, redacted_at = :at
   from (select org_id, id, created_at from messages
     where created_at < :before and redacted_at is null and status not in ('scheduled', 'sending')
     order by created_at limit ${redactedAtOnce}) old
   where m.org_id = old.org_id and m.id = old.id and m.created_at = old.created_at and m.redacted_at is null`,
)

/** Content and addresses of an erased tenant's messages; a row without a recipient has been through here. */
export const eraseTenantMessages = statement<{ orgId: string; tenantId: string; limit: number; at: Date }>(
  'messages.erase_tenant',
  `update messages m set html = null, text = null, subject = null, from_name = null, names = null,
     to_addresses = '{}', cc = '{}', bcc = '{}', reply_to = '{}', headers = null, attachments = null,
     metadata = null, provider_response = null, error_message = null,
     marks = array(select mark from unnest(m.marks) as mark where mark >= 0), redacted_at = coalesce(redacted_at, :at),
     history = (select coalesce(jsonb_agg(h - 'recipient' - 'detail'), '[]')
       from jsonb_array_elements(m.history) h)
   from (select org_id, id, created_at from messages
     where org_id = :orgId and tenant_id = :tenantId and to_addresses <> '{}' limit :limit) old
   where m.org_id = old.org_id and m.id = old.id and m.created_at = old.created_at`,
)

export const eraseTenantEvents = statement<{ orgId: string; tenantId: string; limit: number }>(
  'messages.erase_tenant_events',
  `delete from message_events where (org_id, id, at) in (
     select org_id, id, at from message_events where org_id = :orgId and tenant_id = :tenantId limit :limit)`,
)
