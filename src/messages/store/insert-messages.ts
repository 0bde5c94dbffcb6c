/** Inserts messages together with their events and audit entries. */
import { appendEntries } from '../../audit/store.ts'
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

const messageTypes: Record<keyof NewMessage, string> = {
  org_id: 'text',
  id: 'text',
  created_at: 'timestamptz',
  tenant_id: 'text',
  environment: 'text',
  project_id: 'text',
  key_id: 'text',
  channel: 'text',
  status: 'text',
  stream: 'text',
  from_address: 'text',
  from_name: 'text',
  to_addresses: 'text[]',
  cc: 'text[]',
  bcc: 'text[]',
  reply_to: 'text[]',
  names: 'jsonb',
  subject: 'text',
  html: 'text',
  text: 'text',
  headers: 'jsonb',
  attachments: 'jsonb',
  track_opens: 'boolean',
  track_clicks: 'boolean',
  tags: 'text[]',
  metadata: 'jsonb',
  scheduled_at: 'timestamptz',
  sent_at: 'timestamptz',
  error_message: 'text',
  provider: 'text',
  provider_response: 'jsonb',
  history: 'jsonb',
  job_id: 'text',
  sms: 'jsonb',
  due_at: 'timestamptz',
  marks: 'integer[]',
}

/** For rows that are loaded with COPY. */
export const newMessageColumns = Object.keys(messageTypes) as (keyof NewMessage)[]

const linkedTypes: Record<keyof LinkedRows, string> = {
  event_id: 'text',
  event_at: 'timestamptz',
  event_more: 'jsonb',
  event_trace: 'text',
  entry_id: 'text',
  entry_actor: 'text',
  entry_action: 'text',
  entry_metadata: 'text',
  entry_ip: 'text',
  entry_agent: 'text',
  entry_at: 'timestamptz',
  entry_signature: 'text',
  entry_seal: 'text',
  entry_of_many: 'boolean',
}

/** Values of absent columns that the table does not allow to be null. */
const defaults: { [column: string]: string } = {
  cc: "'{}'",
  bcc: "'{}'",
  reply_to: "'{}'",
  tags: "'{}'",
  track_opens: 'false',
  track_clicks: 'false',
}

const columnsOf = (types: Record<string, string>): string => Object.keys(types).join(', ')

const columnDefinitions = (types: Record<string, string>): string =>
  Object.entries(types)
    .map(([column, type]) => `${column} ${type}`)
    .join(', ')

const valuesOf = (types: Record<string, string>): string =>
  Object.keys(types)
    .map((column) => (column in defaults ? `coalesce(${column}, ${defaults[column]})` : column))
    .join(', ')

const insertEntries = appendEntries(
  `select org_id, entry_id, entry_actor, entry_action, 'message', case when entry_of_many then null else id end,
       entry_metadata::jsonb, entry_ip, entry_agent, entry_at, entry_signature, entry_seal
     from input where entry_id is not null`,
)

/**
 * Inserts any number of messages in one statement: all of them or none. `linked` holds the event and the audit entry
 * of each message, in the order of `messages`. The usage of the messages is settled.
 */
export const insertMessages = statement<SettledUsage & { messages: string; linked: string }>(
  'messages.insert',
  `with settled as materialized (
     select ${settleRecordedCall}
   ), input as materialized (
     select ${columnsOf(messageTypes)}, ${columnsOf(linkedTypes)}
     from settled, rows from (
       json_to_recordset(:messages::json) as (${columnDefinitions(messageTypes)}),
       json_to_recordset(:linked::json) as (${columnDefinitions(linkedTypes)})
     ) as m
   ), inserted as (
     insert into messages (${columnsOf(messageTypes)})
     select ${valuesOf(messageTypes)} from input
   ), ${insertEntries}
   insert into events (${eventColumns}, project_id)
   select org_id, event_id, tenant_id, environment, 'message.' || status,
     jsonb_build_object('message_id', id, 'channel', channel, 'status', status) || coalesce(event_more, '{}'), event_at,
     event_trace, case when job_id is null and coalesce(sent_at, event_at) = event_at then project_id end
   from input where event_id is not null`,
)
