/** Drafts to rows, and the events that tell of them. */
import { newId } from '../ground/ids.ts'
import { type Handed, HandoverError } from '../providers/email/contract.ts'
import type { Content } from './channel.ts'
import type { Draft } from './draft.ts'
import type { EventRow, HistoryEntry, NewMessage, ProviderResponse, Status } from './store.ts'

export const entryOf = (status: Status, at: Date, detail: string | null = null): HistoryEntry => ({
  status,
  at: at.toISOString(),
  recipient: null,
  detail,
})

export const responseOf = (messageId: string | null, detail: string | null = null): ProviderResponse => ({
  message_id: messageId,
  token: null,
  bounce_type: null,
  bounce_subtype: null,
  detail,
})

type Base = Omit<
  NewMessage,
  'status' | 'sent_at' | 'error_message' | 'provider' | 'provider_response' | 'history' | 'due_at'
>

const baseOf = (draft: Draft, content: Content): Base => ({
  org_id: draft.by.orgId,
  id: draft.id,
  created_at: draft.createdAt,
  tenant_id: draft.by.tenantId,
  environment: draft.by.environment,
  project_id: draft.by.projectId,
  key_id: draft.by.keyId,
  channel: draft.channel,
  ...content,
  tags: draft.tags,
  metadata: Object.keys(draft.metadata).length === 0 ? null : draft.metadata,
  scheduled_at: draft.scheduledAt,
  job_id: draft.jobId,
})

const unsent = { sent_at: null, error_message: null, provider: null, provider_response: null, due_at: null }

export const sentRow = (draft: Draft, content: Content, handed: Handed, at: Date): NewMessage => ({
  ...baseOf(draft, content),
  ...unsent,
  status: 'sent',
  sent_at: at,
  provider: handed.provider,
  provider_response: responseOf(handed.providerMessageId),
  history: [entryOf('sent', at)],
})

export const failedRow = (draft: Draft, content: Content, fault: HandoverError, at: Date): NewMessage => ({
  ...baseOf(draft, content),
  ...unsent,
  status: 'failed',
  error_message: fault.message,
  provider: fault.provider,
  provider_response: responseOf(null, fault.message),
  history: [entryOf('failed', at, fault.message)],
})

export const scheduledRow = (draft: Draft, content: Content, at: Date): NewMessage => ({
  ...baseOf(draft, content),
  ...unsent,
  status: 'scheduled',
  due_at: draft.scheduledAt,
  history: [entryOf('scheduled', at)],
})

export type MessageEvent =
  | 'message.sent'
  | 'message.delivered'
  | 'message.bounced'
  | 'message.failed'
  | 'message.complained'

const statusOf: Record<MessageEvent, Status> = {
  'message.sent': 'sent',
  'message.delivered': 'delivered',
  'message.bounced': 'bounced',
  'message.failed': 'failed',
  'message.complained': 'bounced',
}

type Told = {
  orgId: string
  tenantId: string | null
  environment: 'live' | 'test'
  channel: string
  id: string
}

export const messageEvent = (
  event: MessageEvent,
  { orgId, tenantId, environment, channel, id }: Told,
  at: Date,
  more: Record<string, string> = {},
): EventRow => ({
  org_id: orgId,
  id: newId('event', at.getTime()),
  tenant_id: tenantId,
  environment,
  event,
  data: { message_id: id, channel, status: statusOf[event], ...more },
  created_at: at,
})

/** What an adapter threw, whatever it was: one that is no word of a provider leaves open what happened. */
export const asHandoverError = (error: unknown): HandoverError =>
  error instanceof HandoverError
    ? error
    : new HandoverError('uncertain', 'unknown', 'The provider could not be asked.', { cause: error })
