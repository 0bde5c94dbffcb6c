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
import type { MessageEventName } from './rows.ts'
import type { ApplyReports } from './sent-message.ts'
import {
  applyReport,
  findRecipients,
  insertMessageEvents,
  lockMessage,
  messageExists,
  recordNotification,
} from './store/message-outcomes.ts'
import type { HistoryEntry, MessageRow, ProviderResponse, Status } from './store/message-row.ts'

export type ProviderNotification = {
  provider: string
  /** The provider's id of the notification. A repeated id is ignored. */
  id: string
  orgId: string
  messageId: string
  report: Report
}

export interface Outcomes {
  /** The recipients of a message in the order To, Cc, Bcc. Empty for an unknown or erased message. */
  recipientsOf(orgId: string, messageId: string): Promise<string[]>
  take(notification: ProviderNotification): Promise<void>
  /** For reports that came with the handover. `drained` waits for them. */
  applyInBackground: ApplyReports
  drained(): Promise<void>
}

type ReportEffect = {
  status: Status
  event: MessageEventName
  /** The kind of the row in `message_events`. */
  kind: string
  errorPrefix?: string
  suppress?: 'bounce' | 'complaint'
}

const effects: Record<Report['kind'], ReportEffect> = {
  delivered: { status: 'delivered', event: 'message.delivered', kind: 'delivered' },
  hard_bounce: {
    status: 'bounced',
    event: 'message.bounced',
    kind: 'bounced',
    errorPrefix: 'Hard bounce',
    suppress: 'bounce',
  },
  soft_bounce: { status: 'bounced', event: 'message.bounced', kind: 'bounced', errorPrefix: 'Soft bounce' },
  complaint: {
    status: 'bounced',
    event: 'message.complained',
    kind: 'complained',
    errorPrefix: 'Complaint',
    suppress: 'complaint',
  },
  failed: { status: 'failed', event: 'message.failed', kind: 'failed', errorPrefix: 'Not delivered' },
}

/** A report can arrive while the result of an attempt is unknown, so it may find a message scheduled for a retry. */
const notYetReported: readonly Status[] = ['scheduled', 'sending', 'sent']

/** The statuses that a report may change. A delivery never replaces a bounce, and a bounced message stays bounced. */
const changes: Record<Report['kind'], readonly Status[]> = {
  delivered: notYetReported,
  hard_bounce: [...notYetReported, 'delivered'],
  soft_bounce: [...notYetReported, 'delivered'],
  complaint: [...notYetReported, 'delivered'],
  failed: notYetReported,
}

/**
 * Ignores reports about messages that were never handed to a provider, and about erased messages, whose recipients
 * must not be stored again.
 */
const reportable = ({ status, attempts, to_addresses }: MessageRow): boolean => {
  const unsent = status === 'scheduled' || status === 'canceled'
  return to_addresses.length > 0 && (!unsent || attempts > 0)
}

/** The status after the report, or undefined when the status does not change. */
const nextStatus = (row: MessageRow, { kind }: Report): Status | undefined =>
  changes[kind].includes(row.status) ? effects[kind].status : undefined

/**
 * How often the report fires its event. A complaint fires once per recipient, even when another recipient's bounce or
 * complaint came first. Any other report fires once, and only when it changes the status.
 */
const eventCount = (row: MessageRow, { kind }: Report, recipients: number): number => {
  const changed = changes[kind].includes(row.status)
  if (kind === 'complaint') return changed || row.status === 'bounced' ? recipients : 0
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

/** An SMS has one recipient. Providers report it in several formats, such as the national one. */
const recipientsOf = ({ channel, to_addresses }: MessageRow, report: Report): readonly string[] =>
  channel === 'sms' ? to_addresses : report.recipients

/**
 * Normalizes a report: storable text, each recipient once, and a time not before the message was sent, since the
 * provider's clock may differ from ours.
 */
const normalized = (row: MessageRow, report: Report): Report => {
  const recipients = recipientsOf(row, report)
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

export const makeOutcomes = ({ db, clock, log, appendEvents, suppress }: Needs): Outcomes => {
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
    for (const recipient of report.recipients) {
      await suppress(tx, {
        orgId: row.org_id,
        tenantId: row.tenant_id,
        channel: row.channel,
        value: recipient.toLowerCase(),
        reason,
        source: 'provider',
        messageId: row.id,
        environment: row.environment,
      })
    }
  }

  const apply = async (tx: Tx, orgId: string, messageId: string, received: Report): Promise<void> => {
    const createdAt = new Date(timeOfId(messageId))
    const row = await tx.row(lockMessage, { orgId, id: messageId, createdAt })
    if (!row || !reportable(row)) return
    const report = normalized(row, received)
    await suppressAll(tx, row, report)
    const entries = newEntries(row, report)
    if (entries.length === 0) return
    const status = nextStatus(row, report)
    const { event, kind } = effects[report.kind]
    await tx.change(applyReport, {
      orgId,
      id: messageId,
      createdAt,
      status: status ?? row.status,
      history: JSON.stringify(entries),
      deliveredAt: status === 'delivered' ? report.at : null,
      errorMessage: status ? errorOf(report) : null,
      providerResponse: status ? JSON.stringify(responseOf(report) ?? {}) : null,
    })
    const at = entries.map(() => clock.now())
    await tx.change(insertMessageEvents, {
      orgId,
      ids: entries.map(() => newId('event', clock.millis())),
      at,
      messageId,
      tenantId: row.tenant_id,
      environment: row.environment,
      channel: row.channel,
      kinds: entries.map(() => kind),
      recipients: entries.map(({ recipient }) => recipient),
    })
    const reason = event === 'message.bounced' && report.detail !== null ? { reason: report.detail } : {}
    for (let fired = eventCount(row, report, entries.length); fired > 0; fired--) {
      await appendEvents(tx, {
        orgId,
        tenantId: row.tenant_id,
        environment: row.environment,
        event,
        data: { message_id: messageId, channel: row.channel, status: status ?? row.status, ...reason },
      })
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
    recipientsOf: async (orgId, messageId) => {
      await waitUntilStored(orgId, messageId)
      const createdAt = new Date(timeOfId(messageId))
      const row = await db.row(findRecipients, { orgId, id: messageId, createdAt })
      return row ? [...row.to_addresses, ...row.cc, ...row.bcc] : []
    },
    take: async ({ provider, id, orgId, messageId, report }) => {
      await waitUntilStored(orgId, messageId)
      await db.tx(async (tx) => {
        if (!(await tx.row(recordNotification, { provider, id, at: clock.now() }))) return
        await apply(tx, orgId, messageId, report)
      })
    },
    applyInBackground: (orgId, messageId, reports) => {
      const applying = applyAll(orgId, messageId, reports).finally(() => pending.delete(applying))
      pending.add(applying)
    },
    drained: async () => {
      await Promise.all(pending)
    },
  }
}
