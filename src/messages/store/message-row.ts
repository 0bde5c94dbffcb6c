/** The columns and types of a message row, shared by the statements in this folder. */
import type { Channel } from '../../ground/channel.ts'
import type { Environment } from '../../ground/scope.ts'

export type Status = 'scheduled' | 'sending' | 'sent' | 'delivered' | 'bounced' | 'failed' | 'canceled'

/** A status the message had, or a provider's report about one recipient. */
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
  sms: SmsFields | null
  due_at: Date | null
  claim: string | null
  attempts: number
}

const messageColumns: readonly (keyof MessageRow)[] = [
  'org_id',
  'id',
  'created_at',
  'tenant_id',
  'environment',
  'project_id',
  'key_id',
  'channel',
  'status',
  'stream',
  'from_address',
  'from_name',
  'to_addresses',
  'cc',
  'bcc',
  'reply_to',
  'names',
  'subject',
  'html',
  'text',
  'headers',
  'attachments',
  'track_opens',
  'track_clicks',
  'tags',
  'metadata',
  'scheduled_at',
  'sent_at',
  'delivered_at',
  'canceled_at',
  'redacted_at',
  'error_message',
  'provider',
  'provider_response',
  'history',
  'job_id',
  'sms',
  'due_at',
  'claim',
  'attempts',
]

/** Every column of a `MessageRow`, as a select list on the table or CTE with this alias. */
export const messageColumnsOf = (alias: string): string =>
  messageColumns.map((column) => `${alias}.${column}`).join(', ')

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
