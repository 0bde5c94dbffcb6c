/** Builds the rows and the events of messages. */
import { newId } from '../../platform/ground/ids.ts'
import { iso } from '../../platform/ground/instant.ts'
import { nonEmpty } from '../../platform/ground/non-empty.ts'
import { currentTraceparent } from '../../platform/ground/tracing.ts'
import { type Handover, HandoverFault } from '../../providers/handover.ts'
import type { MessageContent, OutcomeColumn } from './channel-adapter.ts'
import type { Draft } from './draft.ts'
import { recipientMark, tagMark } from './marks.ts'
import type { EventRow, HistoryEntry, MessageRow, NewMessage, ProviderResponse, Status } from './store/message-row.ts'

export const entryOf = (status: Status, at: Date, detail?: string): HistoryEntry => ({
  status,
  at: iso(at),
  detail,
})

/** In the history of a message whose earlier attempt may have reached the provider. */
const mayRepeatDetail = 'An earlier attempt was interrupted, so the provider may have received this message twice.'

export const handoverDetail = ({ mayRepeat }: Pick<Draft, 'mayRepeat'>, detail?: string): string | undefined =>
  mayRepeat ? [detail, mayRepeatDetail].filter(Boolean).join(' ') : detail

export const orgDeleted = 'Organisation deleted'

export const responseOf = (messageId: string | null, detail?: string): ProviderResponse => ({
  message_id: messageId ?? undefined,
  detail,
})

type Outcome = Pick<NewMessage, OutcomeColumn>

/** A single object literal, for speed: this runs for every message. Most columns are absent. */
const rowOf = (draft: Draft, content: MessageContent, outcome: Outcome): NewMessage => {
  const { by, tags, metadata } = draft
  const { orgId } = by
  return {
    org_id: orgId,
    id: draft.id,
    created_at: iso(draft.createdAt),
    tenant_id: by.tenantId ?? undefined,
    environment: by.environment,
    project_id: by.projectId,
    key_id: by.keyId ?? undefined,
    channel: draft.channel,
    ...content,
    tags: nonEmpty(tags),
    metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
    scheduled_at: draft.scheduledAt ? iso(draft.scheduledAt) : undefined,
    job_id: draft.jobId ?? undefined,
    marks: [
      ...tags.map((tag) => tagMark(orgId, tag)),
      ...content.to_addresses.map((address) => recipientMark(orgId, address)),
    ],
    ...outcome,
  }
}

export const sentRow = (draft: Draft, content: MessageContent, handover: Handover, at: Date): NewMessage =>
  rowOf(draft, content, {
    status: 'sent',
    sent_at: iso(at),
    provider: handover.provider,
    provider_response: responseOf(handover.providerMessageId),
    history: [entryOf('sent', at, handoverDetail(draft))],
  })

export const failedRow = (draft: Draft, content: MessageContent, fault: HandoverFault, at: Date): NewMessage =>
  rowOf(draft, content, {
    status: 'failed',
    error_message: fault.message,
    provider: fault.provider,
    provider_response: responseOf(null, fault.message),
    history: [entryOf('failed', at, handoverDetail(draft, fault.message))],
  })

export const scheduledRow = (draft: Draft, content: MessageContent, at: Date): NewMessage =>
  rowOf(draft, content, {
    status: 'scheduled',
    due_at: draft.scheduledAt ? iso(draft.scheduledAt) : undefined,
    history: [entryOf('scheduled', at)],
  })

/** The event that reports a new status of a stored message. */
export const messageEvent = (
  { org_id, tenant_id, environment, channel, id }: MessageRow,
  status: Status,
  at: Date,
  more: Record<string, string> = {},
): EventRow => ({
  org_id,
  id: newId('event', at.getTime()),
  tenant_id,
  environment,
  event: `message.${status}`,
  data: { message_id: id, channel, status, ...more },
  created_at: iso(at),
  traceparent: currentTraceparent(),
})

/** The provider of an error that no provider threw. */
export const noProvider = 'unknown'

/** A fault before the provider was called, so the message was certainly not sent. */
export const beforeHandover = (cause: unknown): HandoverFault =>
  new HandoverFault('unavailable', noProvider, 'The message could not be checked before it was sent.', { cause })

/** Wraps any other error as `uncertain`: it is not known whether the provider accepted the message. */
export const asHandoverFault = (error: unknown): HandoverFault =>
  error instanceof HandoverFault
    ? error
    : new HandoverFault('uncertain', noProvider, 'The provider could not be called.', { cause: error })
