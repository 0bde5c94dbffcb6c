/** Inserts messages together with their events and audit entries. */
import { appendEntries } from '../../audit/store.ts'
import { fieldsOfRows, type PackedRows, packed, packedColumns } from '../../db/packed-rows.ts'
import { statement } from '../../db/statement.ts'
import type { SettledUsage } from '../../usage/lines.ts'
import { settleRecordedCall } from '../../usage/store.ts'
import { eventColumns, type MessageRow } from './message-row.ts'

type RequiredColumn =
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

/** Set after the insert, by the scheduler, a report, a cancellation or the retention. */
type LaterColumn = 'delivered_at' | 'canceled_at' | 'redacted_at' | 'claim' | 'attempts'

type InJson<T> = T extends Date ? string : T

/** A row to insert. Columns without a value are absent, which keeps the JSON that carries the row short. */
export type NewMessage = { [Column in RequiredColumn]: InJson<MessageRow[Column]> } & {
  [Column in Exclude<keyof MessageRow, RequiredColumn | LaterColumn>]?: InJson<NonNullable<MessageRow[Column]>>
} & {
  /** Numbers by which lists find the row: see marks.ts. */
  marks: number[]
}

/** Inserted with a message: the event that reports its status, and the audit entry of the request that created it. */
export type LinkedRows = {
  event_id?: string | undefined
  event_at?: string | undefined
  /** Added to the event's id, channel and status. */
  event_more?: Record<string, string> | undefined
  event_trace?: string | undefined
  entry_id?: string | undefined
  entry_actor?: string | undefined
  entry_action?: string | undefined
  entry_metadata?: string | undefined
  entry_ip?: string | undefined
  entry_agent?: string | undefined
  entry_at?: string | undefined
  entry_signature?: string | undefined
  entry_seal?: string | undefined
  /** The entry is about several messages, so it names none of them. */
  entry_of_many?: true | undefined
}

export type MessageWithLinked = { message: NewMessage; linked: LinkedRows }

type Columns<Name extends string> = Record<Name, ReturnType<typeof packed.word<MessageWithLinked>>>

const { word, text, time, flag, json, numbers, texts } = packed

/** The columns that nearly every message has: see packed-rows.ts. */
const usualColumns = {
  org_id: word(({ message }) => message.org_id),
  id: word(({ message }) => message.id),
  created_at: time(({ message }) => message.created_at),
  environment: word(({ message }) => message.environment),
  project_id: word(({ message }) => message.project_id),
  channel: word(({ message }) => message.channel),
  status: word(({ message }) => message.status),
  stream: word(({ message }) => message.stream),
  from_address: text(({ message }) => message.from_address),
  to_addresses: texts(({ message }) => message.to_addresses),
  history: json(({ message }) => message.history),
  marks: numbers(({ message }) => message.marks),
  key_id: word(({ message }) => message.key_id),
  text: text(({ message }) => message.text),
  subject: text(({ message }) => message.subject),
  html: text(({ message }) => message.html),
  sent_at: time(({ message }) => message.sent_at),
  provider: word(({ message }) => message.provider),
  provider_response: json(({ message }) => message.provider_response),
  from_name: text(({ message }) => message.from_name),
  tags: texts(({ message }) => message.tags),
  metadata: json(({ message }) => message.metadata),
} satisfies Partial<Columns<keyof NewMessage>>

const otherColumns = {
  tenant_id: word(({ message }) => message.tenant_id),
  job_id: word(({ message }) => message.job_id),
  sms: json(({ message }) => message.sms),
  names: json(({ message }) => message.names),
  track_opens: flag(({ message }) => message.track_opens),
  track_clicks: flag(({ message }) => message.track_clicks),
  reply_to: texts(({ message }) => message.reply_to),
  cc: texts(({ message }) => message.cc),
  bcc: texts(({ message }) => message.bcc),
  headers: json(({ message }) => message.headers),
  attachments: json(({ message }) => message.attachments),
  scheduled_at: time(({ message }) => message.scheduled_at),
  due_at: time(({ message }) => message.due_at),
  error_message: text(({ message }) => message.error_message),
} satisfies Partial<Columns<keyof NewMessage>>

const messageColumns: Columns<keyof NewMessage> = { ...usualColumns, ...otherColumns }

/** For rows that are loaded with COPY. */
export const newMessageColumns = Object.keys(messageColumns) as (keyof NewMessage)[]

/** An empty user agent is absent, because many requests have none. */
const linkedColumns: Columns<keyof LinkedRows> = {
  event_id: word(({ linked }) => linked.event_id),
  event_at: time(({ linked }) => linked.event_at),
  entry_id: word(({ linked }) => linked.entry_id),
  entry_action: word(({ linked }) => linked.entry_action),
  entry_at: time(({ linked }) => linked.entry_at),
  entry_agent: text(({ linked }) => linked.entry_agent || undefined),
  entry_ip: word(({ linked }) => linked.entry_ip),
  entry_metadata: word(({ linked }) => linked.entry_metadata),
  entry_signature: word(({ linked }) => linked.entry_signature),
  entry_seal: word(({ linked }) => linked.entry_seal),
  entry_actor: word(({ linked }) => linked.entry_actor),
  event_more: json(({ linked }) => linked.event_more),
  event_trace: word(({ linked }) => linked.event_trace),
  entry_of_many: flag(({ linked }) => linked.entry_of_many),
}

const { selected, pack } = packedColumns<MessageWithLinked>({ ...usualColumns, ...linkedColumns, ...otherColumns })

/** The parameters of `insertMessages`. */
export const packMessages = pack

/** Values of absent columns that the table does not allow to be null. */
const defaults: { [column: string]: string } = {
  cc: "'{}'",
  bcc: "'{}'",
  reply_to: "'{}'",
  tags: "'{}'",
  track_opens: 'false',
  track_clicks: 'false',
}

const messageValues = newMessageColumns
  .map((column) => (column in defaults ? `coalesce(${column}, ${defaults[column]})` : column))
  .join(', ')

const insertEntries = appendEntries(
  `select org_id, entry_id, entry_actor, entry_action, 'message', case when entry_of_many then null else id end,
       entry_metadata::jsonb, entry_ip, coalesce(entry_agent, ''), entry_at, entry_signature, entry_seal
     from input where entry_id is not null`,
)

/**
 * The project of a message that analytics can count by its event alone: it belongs to no job and counts on the day of the
 * event. Null for the others.
 */
const countedProject = 'case when job_id is null and coalesce(sent_at, event_at) = event_at then project_id end'

/**
 * Inserts any number of messages in one statement, each with its event and its audit entry: all of them or none. The usage
 * of the messages is settled. If the org has no endpoint that could receive the events, one row counts all messages of a kind
 * instead. Returns how many events were written.
 */
export const insertMessages = statement<SettledUsage & PackedRows, { events: number }>(
  'messages.insert',
  `with settled as materialized (
     select ${settleRecordedCall}
   ), input as materialized (
     select ${selected}
     from settled, ${fieldsOfRows}
   ), inserted as (
     insert into messages (${newMessageColumns.join(', ')})
     select ${messageValues} from input
   ), ${insertEntries}, heard as materialized (
     select org_id from (select distinct org_id from input) as of_input
     where (select true from webhook_endpoints w where w.org_id = of_input.org_id limit 1)
   ), written as (
     insert into events (${eventColumns}, project_id)
     select org_id, event_id, tenant_id, environment, 'message.' || status,
       jsonb_build_object('message_id', id, 'channel', channel, 'status', status) || coalesce(event_more, '{}'), event_at,
       event_trace, ${countedProject}
     from input
     where event_id is not null and (${countedProject} is null or org_id in (select org_id from heard))
     returning org_id
   ), counted as (
     insert into analytics_counts (org_id, id, environment, tenant_id, project_id, channel, day, kind, amount)
     select org_id, min(event_id), environment, tenant_id, project_id, channel, (event_at at time zone 'UTC')::date,
       status, count(*)
     from input
     where event_id is not null and ${countedProject} is not null and org_id not in (select org_id from heard)
     group by org_id, environment, tenant_id, project_id, channel, 7, status
   )
   select count(*) as events from written`,
)
