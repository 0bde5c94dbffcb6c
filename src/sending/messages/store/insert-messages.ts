/** Inserts messages together with their events and audit entries. */
import type { SettledUsage } from '../../../customers/usage/lines.ts'
import { settleRecordedCall } from '../../../customers/usage/store.ts'
import { appendEntries } from '../../../journal/audit/store/entry-rows.ts'
import { fieldsOfRows, type PackedRows, packed, packedColumns } from '../../../platform/db/packed-rows.ts'
import { statement } from '../../../platform/db/statement.ts'
import { type Absent, eventColumns, insertedColumns, type Kind, kinds, type NewMessage } from './message-row.ts'

const { word, text, time, flag, json } = kinds

/** Inserted with a message: the event that reports its status, and the audit entry of the request that created it. */
const linkedColumns = {
  event_id: word(),
  event_at: time(),
  entry_id: word(),
  entry_action: word(),
  entry_at: time(),
  entry_agent: text(),
  entry_ip: word(),
  entry_metadata: word(),
  entry_signature: word(),
  entry_seal: word(),
  entry_actor: word(),
  /** Added to the event's id, channel and status. */
  event_more: json<Record<string, string>>(),
  event_trace: word(),
  /** The entry is about several messages, so it names none of them. */
  entry_of_many: flag(),
}

export type LinkedRows = Absent<typeof linkedColumns>

type MessageWithLinked = { message: NewMessage; linked: LinkedRows }

type Table = { readonly [name: string]: Kind<unknown> }

/**
 * Reads columns from a part of a row. A function is generated for each name, because one that all names share looks each
 * of them up, and packing a row then takes a quarter longer.
 */
const packedFrom = (part: keyof MessageWithLinked, table: Table) =>
  Object.fromEntries(
    Object.entries(table).map(([name, { packing }]) => {
      const read = new Function('row', `return row.${part}.${name}`) as (row: MessageWithLinked) => never
      return [name, packed[packing](read)]
    }),
  )

const { selected, pack } = packedColumns<MessageWithLinked>({
  ...packedFrom('message', insertedColumns.required),
  ...packedFrom('message', insertedColumns.usual),
  ...packedFrom('linked', linkedColumns),
  ...packedFrom('message', insertedColumns.seldom),
})

export const packMessages = pack

/** How each column of a new message is written. */
export const newMessageTable = { ...insertedColumns.required, ...insertedColumns.usual, ...insertedColumns.seldom }

/** For rows that are loaded with COPY. */
export const newMessageColumns = Object.keys(newMessageTable) as (keyof NewMessage)[]

/** Absent values of these kinds are not null. */
const defaults: { [packing: string]: string } = { texts: "'{}'", flag: 'false' }

const insertedValue = ([name, { packing }]: [string, Kind<unknown>]): string =>
  packing in defaults && !(name in insertedColumns.required) ? `coalesce(${name}, ${defaults[packing]})` : name

const messageValues = Object.entries(newMessageTable).map(insertedValue).join(', ')

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
