/**
 * Applies provider reports: status, history, suppressions and events. A repeated report changes nothing, and reports
 * may arrive in any order.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { AppendEvents } from '../../journal/events/append-events.ts'
import { retryOnOutage } from '../../platform/db/outage.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { newId, timeOfId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import { storableText } from '../../platform/ground/storable-text.ts'
import type { Report } from '../../providers/handover.ts'
import type { Suppress } from '../../recipients/suppressions/suppress.ts'
import {
  applyReport,
  findRecipients,
  insertMessageEvents,
  lockMessage,
  messageExists,
  recordNotification,
} from './store/message-outcomes.ts'
import type { HistoryEntry, MessageRow, ProviderResponse, Status } from './store/message-row.ts'

type ProviderNotification = {
  provider: string
  /** The provider's id of the notification. A repeated id is ignored. */
  id: string
  orgId: string
  messageId: string
  report: Report
}

type ReportEffect = {
  status: 'delivered' | 'bounced' | 'failed'
  /** The name of the event after `message.`, and the kind of the row in `message_events`. */
  event: 'delivered' | 'bounced' | 'complained' | 'failed'
  errorPrefix?: string
  suppress?: 'bounce' | 'complaint'
}

const effects: Record<Report['kind'], ReportEffect> = {
  delivered: { status: 'delivered', event: 'delivered' },
  hard_bounce: { status: 'bounced', event: 'bounced', errorPrefix: 'Hard bounce', suppress: 'bounce' },
  soft_bounce: { status: 'bounced', event: 'bounced', errorPrefix: 'Soft bounce' },
  complaint: { status: 'bounced', event: 'complained', errorPrefix: 'Complaint', suppress: 'complaint' },
  failed: { status: 'failed', event: 'failed', errorPrefix: 'Not delivered' },
}

/** A report can arrive while the result of an attempt is unknown, so it may find a message scheduled for a retry. */
const notYetReported: readonly Status[] = ['scheduled', 'sending', 'sent']

/** Whether a report may change the status. A delivery never replaces a bounce, and a bounced message stays bounced. */
const changesStatus = ({ status }: MessageRow, { kind }: Report): boolean =>
  notYetReported.includes(status) || (status === 'delivered' && effects[kind].status === 'bounced')

/**
 * Ignores reports about messages that were never handed to a provider, and about erased messages, whose recipients
 * must not be stored again.
 */
const reportable = ({ status, attempts, to_addresses }: MessageRow): boolean => {
  const unsent = status === 'scheduled' || status === 'canceled'
  return to_addresses.length > 0 && (!unsent || attempts > 0)
}

/**
 * How often the report fires its event. A complaint fires once per recipient, even when another recipient's bounce or
 * complaint came first. Any other report fires once, and only when it changes the status.
 */
const eventCount = (row: MessageRow, report: Report, recipients: number): number => {
  const changed = changesStatus(row, report)
  if (report.kind === 'complaint') return changed || row.status === 'bounced' ? recipients : 0
  return changed ? 1 : 0
}

/** One entry per recipient, without those that the history already contains. */
const newEntries = (row: MessageRow, report: Report): (HistoryEntry & { recipient: string })[] => {
  const { status } = effects[report.kind]
  const known = new Set(row.history.map((entry) => `${entry.status} ${entry.recipient?.toLowerCase()}`))
  return report.recipients
    .filter((recipient) => !known.has(`${status} ${recipient.toLowerCase()}`))
    .map((recipient) => ({ status, at: report.at.toISOString(), recipient, detail: report.detail }))
}

const responseOf = ({ kind, token, bounceType, bounceSubtype, detail }: Report): Partial<ProviderResponse> | null => {
  const reported = token === undefined ? {} : { token }
  if (kind === 'delivered') return token === undefined ? null : reported
  return { ...reported, bounce_type: bounceType, bounce_subtype: bounceSubtype, detail }
}

/**
 * Normalizes a report: storable text, each recipient once, and a time not before the message was sent, since the
 * provider's clock may differ from ours.
 */
const normalized = (row: MessageRow, report: Report): Report => {
  // An SMS has one recipient. Providers report it in several formats, such as the national one.
  const recipients = row.channel === 'sms' ? row.to_addresses : report.recipients
  // Sorted, so that two reports suppress addresses in the same order and cannot deadlock.
  const byAddress = new Map(recipients.map((recipient) => [recipient.toLowerCase(), storableText(recipient)]))
  return {
    ...report,
    at: row.sent_at && report.at < row.sent_at ? row.sent_at : report.at,
    detail: report.detail === null ? null : storableText(report.detail),
    recipients: [...byAddress].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, recipient]) => recipient),
  }
}

const errorOf = ({ kind, detail }: Report): string | null => {
  const { errorPrefix } = effects[kind]
  if (errorPrefix === undefined) return null
  return detail === null ? errorPrefix : `${errorPrefix}: ${detail}`
}

/** A message younger than this may have been accepted by the provider without being stored yet. */
const recentMs = 5 * 60_000
const waitsMs = [100, 400, 1_000]

type Needs = { db: Db; clock: Clock; log: Log; appendEvents: AppendEvents; suppress: Suppress }

export const makeOutcomes = ({ db, clock, log, appendEvents, suppress }: Needs) => {
  const pending = new Set<Promise<void>>()

  /** Waits a moment for the message to be stored: a provider's report can arrive before that. */
  const waitUntilStored = async (orgId: string, messageId: string): Promise<void> => {
    const createdAt = timeOfId(messageId)
    if (clock.millis() - createdAt > recentMs) return
    for (const wait of waitsMs) {
      if (await db.row(messageExists, { orgId, id: messageId, createdAt: new Date(createdAt) })) return
      await sleep(wait)
    }
  }

  const suppressAll = async (tx: Tx, row: MessageRow, report: Report): Promise<void> => {
    const { suppress: reason } = effects[report.kind]
    // Live and test mode share the suppression list, so test mode must not change it.
    if (!reason || row.environment === 'test') return
    const { org_id: orgId, tenant_id: tenantId, channel, id: messageId, environment } = row
    for (const recipient of report.recipients) {
      const value = recipient.toLowerCase()
      await suppress(tx, { orgId, tenantId, channel, value, reason, source: 'provider', messageId, environment })
    }
  }

  const apply = async (tx: Tx, orgId: string, messageId: string, received: Report): Promise<void> => {
    const message = { orgId, id: messageId, createdAt: new Date(timeOfId(messageId)) }
    const row = await tx.row(lockMessage, message)
    if (!row || !reportable(row)) return
    const report = normalized(row, received)
    await suppressAll(tx, row, report)
    const entries = newEntries(row, report)
    if (entries.length === 0) return
    const { event, status: reported } = effects[report.kind]
    const status = changesStatus(row, report) ? reported : undefined
    await tx.change(applyReport, {
      ...message,
      status: status ?? row.status,
      history: JSON.stringify(entries),
      deliveredAt: status === 'delivered' ? report.at : null,
      errorMessage: status ? errorOf(report) : null,
      providerResponse: status ? JSON.stringify(responseOf(report) ?? {}) : null,
    })
    const { tenant_id: tenantId, environment, channel } = row
    const owner = { orgId, tenantId, environment }
    const ids = entries.map(() => newId('event', clock.millis()))
    const recipients = entries.map(({ recipient }) => recipient)
    await tx.change(insertMessageEvents, {
      ...owner,
      ids,
      at: clock.now(),
      messageId,
      channel,
      kind: event,
      recipients,
    })
    const reason = event === 'bounced' && report.detail !== null ? { reason: report.detail } : {}
    const data = { message_id: messageId, channel, status: status ?? row.status, ...reason }
    for (let fired = eventCount(row, report, entries.length); fired > 0; fired--) {
      await appendEvents(tx, { ...owner, event: `message.${event}`, data })
    }
  }

  const applyAll = async (orgId: string, messageId: string, reports: Report[]): Promise<void> => {
    try {
      for (const report of reports) {
        await retryOnOutage(() => db.tx((tx) => apply(tx, orgId, messageId, report)))
      }
    } catch (error) {
      log.error({ err: error, message_id: messageId }, 'provider report not recorded')
    }
  }

  return {
    /** The recipients of a message in the order To, Cc, Bcc. Empty for an unknown or erased message. */
    recipientsOf: async (orgId: string, messageId: string): Promise<string[]> => {
      await waitUntilStored(orgId, messageId)
      const createdAt = new Date(timeOfId(messageId))
      const row = await db.row(findRecipients, { orgId, id: messageId, createdAt })
      return row ? [...row.to_addresses, ...row.cc, ...row.bcc] : []
    },
    take: async ({ provider, id, orgId, messageId, report }: ProviderNotification): Promise<void> => {
      await waitUntilStored(orgId, messageId)
      await db.tx(async (tx) => {
        if (!(await tx.row(recordNotification, { provider, id, at: clock.now() }))) return
        await apply(tx, orgId, messageId, report)
      })
    },
    /** For reports that came with the handover. `drained` waits for them. */
    applyInBackground: (orgId: string, messageId: string, reports: Report[]): void => {
      const applying = applyAll(orgId, messageId, reports).finally(() => pending.delete(applying))
      pending.add(applying)
    },
    drained: async (): Promise<void> => {
      await Promise.all(pending)
    },
  }
}

export type Outcomes = ReturnType<typeof makeOutcomes>
