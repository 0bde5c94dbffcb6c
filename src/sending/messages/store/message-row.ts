/** The columns and types of a message row, shared by the statements in this folder. */
import type { z } from 'zod'
import type { packed } from '../../../platform/db/packed-rows.ts'
import type { Channel } from '../../../platform/ground/channel.ts'
import type { Environment } from '../../../platform/ground/scope.ts'
import type { HistoryShape, ProviderResponseShape, statusFilter } from '../shapes.ts'

export type Status = z.output<typeof statusFilter>

/** A status the message had, or a provider's report about one recipient. */
export type HistoryEntry = { status: Status; at: string } & Partial<z.output<typeof HistoryShape>>

export type ProviderResponse = Partial<z.output<typeof ProviderResponseShape>>

/** What only text messages have. Fields without a value are absent. */
export type SmsFields = {
  /** How many segments the message is billed as. */
  segments: number
  /** The slug of the pool that the sender was chosen from. */
  from_pool?: string
  media_url?: string[]
  dlt_template_id?: string
  /** The local time and zone that the message was scheduled for. */
  scheduled_local?: string
  scheduled_at_tz?: string
}

/** A column: the type of its values, and how an insert packs them (see packed-rows.ts). */
export type Kind<T> = { readonly packing: keyof typeof packed; readonly valueType?: T }

const kind = <T>(packing: Kind<T>['packing']): Kind<T> => ({ packing })

export const kinds = {
  /** A text of the service itself, such as an id. It is never empty and contains no marks. */
  word: <T extends string | null = string>() => kind<T>('word'),
  /** A text that anyone can have written. */
  text: <T extends string | null = string>() => kind<T>('text'),
  time: <T extends Date | null = Date>() => kind<T>('time'),
  /** False if it is absent. */
  flag: () => kind<boolean>('flag'),
  /** Empty if it is absent. */
  texts: () => kind<string[]>('texts'),
  numbers: () => kind<number[]>('numbers'),
  json: <T>() => kind<T>('json'),
}

const { word, text, time, flag, texts, numbers, json } = kinds

/** What every message has from the start. */
const required = {
  org_id: word(),
  id: word(),
  created_at: time(),
  environment: word<Environment>(),
  project_id: word(),
  channel: word<Channel>(),
  status: word<Status>(),
  stream: word<'transactional' | 'broadcast'>(),
  from_address: text(),
  to_addresses: texts(),
  history: json<HistoryEntry[]>(),
}

/** What nearly every message has from the start. An insert packs these first: see packed-rows.ts. */
const usual = {
  key_id: word<string | null>(),
  text: text<string | null>(),
  subject: text<string | null>(),
  html: text<string | null>(),
  sent_at: time<Date | null>(),
  provider: word<string | null>(),
  provider_response: json<ProviderResponse | null>(),
  from_name: text<string | null>(),
  tags: texts(),
  metadata: json<Record<string, string> | null>(),
}

/** What few messages have from the start. */
const seldom = {
  tenant_id: word<string | null>(),
  job_id: word<string | null>(),
  sms: json<SmsFields | null>(),
  /** Display names by address. */
  names: json<Record<string, string> | null>(),
  track_opens: flag(),
  track_clicks: flag(),
  reply_to: texts(),
  cc: texts(),
  bcc: texts(),
  headers: json<Record<string, string> | null>(),
  attachments: json<{ filename: string; content_type: string }[] | null>(),
  scheduled_at: time<Date | null>(),
  due_at: time<Date | null>(),
  error_message: text<string | null>(),
}

/**
 * Set after the insert, by the scheduler, a report, a cancellation or the retention. Nothing packs them, so their kinds only
 * state types.
 */
const later = {
  delivered_at: time<Date | null>(),
  canceled_at: time<Date | null>(),
  redacted_at: time<Date | null>(),
  claim: word<string | null>(),
  attempts: json<number>(),
}

/** The columns that statements read. The select lists and the types below follow from these tables. */
const messageColumns = { ...required, ...usual, ...seldom, ...later }

type ValueOf<K> = K extends Kind<infer T> ? T : never

export type MessageRow = { [Name in keyof typeof messageColumns]: ValueOf<(typeof messageColumns)[Name]> }

/** Every column of a `MessageRow`, as a select list on the table or CTE with this alias. */
export const messageColumnsOf = (alias: string): string =>
  Object.keys(messageColumns)
    .map((column) => `${alias}.${column}`)
    .join(', ')

/** The columns that an insert writes. Lists find messages by their marks: see marks.ts. */
export const insertedColumns = { required: { ...required, marks: numbers() }, usual, seldom }

type Packed<T> = T extends Date ? string : T

/** The values of columns that may be absent. */
export type Absent<Table> = { [Name in keyof Table]?: Packed<NonNullable<ValueOf<Table[Name]>>> | undefined }

/** A row to insert. Columns without a value are absent, which keeps the text that carries the row short. */
export type NewMessage = { [Name in keyof typeof required]: Packed<ValueOf<(typeof required)[Name]>> } & Absent<
  typeof usual & typeof seldom
> & { marks: number[] }

/** An event that is inserted in the same statement as the change it reports. */
export type EventRow = {
  org_id: string
  id: string
  tenant_id: string | null
  environment: Environment | null
  event: string
  data: Record<string, unknown>
  created_at: string
  /** Absent while nothing is traced. */
  traceparent?: string | undefined
}

export const eventColumns = 'org_id, id, tenant_id, environment, event, data, created_at, traceparent'
