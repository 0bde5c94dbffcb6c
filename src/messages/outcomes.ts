/** What providers report afterwards: states, history, suppressions and events, each once and in any order. */
import { setTimeout as sleep } from 'node:timers/promises'
import { throughOutage } from '../db/outage.ts'
import type { Db, Tx } from '../db/pool.ts'
import type { AppendEvents } from '../events/append-events.ts'
import type { Clock } from '../ground/clock.ts'
import { newId, timeOfId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'
import type { Report } from '../providers/email/email-provider.ts'
import type { Suppress } from '../suppressions/suppress.ts'
import type { MessageEvent } from './rows.ts'
import type { TakeReports } from './send.ts'
import {
  applyReport,
  type HistoryEntry,
  insertMessageEvents,
  lockMessage,
  type MessageRow,
  messageIsThere,
  type ProviderResponse,
  type Status,
  takeNotification,
} from './store.ts'

export type Notification = {
  provider: string
  /** The provider's own id of the notification: a repeated one changes nothing. */
  id: string
  orgId: string
  messageId: string
  report: Report
}

export interface Outcomes {
  take(notification: Notification): Promise<void>
  /** For outcomes known at once; told in the background, and waited for at the end. */
  tell: TakeReports
  drained(): Promise<void>
}

type Kind = {
  status: Status
  event: MessageEvent
  kind: string
  /** How the message's error begins. */
  called?: string
  suppress?: 'bounce' | 'complaint'
}

const kinds: Record<Report['kind'], Kind> = {
  delivered: { status: 'delivered', event: 'message.delivered', kind: 'delivered' },
  hard_bounce: {
    status: 'bounced',
    event: 'message.bounced',
    kind: 'bounced',
    called: 'Hard bounce',
    suppress: 'bounce',
  },
  soft_bounce: { status: 'bounced', event: 'message.bounced', kind: 'bounced', called: 'Soft bounce' },
  complaint: {
    status: 'bounced',
    event: 'message.complained',
    kind: 'complained',
    called: 'Complaint',
    suppress: 'complaint',
  },
}

/** Between an attempt and the word of it: a report tells what became of the attempt before we know. */
const underWay: readonly Status[] = ['scheduled', 'sending', 'sent']

/** Which states a report moves. Delivery is the least telling of them; what bounced stays bounced. */
const moves: Record<Report['kind'], readonly Status[]> = {
  delivered: underWay,
  hard_bounce: [...underWay, 'delivered'],
  soft_bounce: [...underWay, 'delivered'],
  complaint: [...underWay, 'delivered'],
}

/** Nothing is reported of what nobody was handed, nor written again about recipients who were erased. */
const reportable = ({ status, attempts, to_addresses }: MessageRow): boolean => {
  const waiting = status === 'scheduled' || status === 'canceled'
  return to_addresses.length > 0 && (!waiting || attempts > 0)
}

/** The state after the report; undefined leaves the message in the one it has. */
const nextStatus = (row: MessageRow, { kind }: Report): Status | undefined =>
  moves[kind].includes(row.status) ? kinds[kind].status : undefined

/** Each recipient's report stands in the history once. */
const newEntries = (row: MessageRow, report: Report): (HistoryEntry & { recipient: string })[] => {
  const { status } = kinds[report.kind]
  const known = new Set(row.history.map((entry) => `${entry.status} ${entry.recipient?.toLowerCase()}`))
  return report.recipients
    .filter((recipient) => !known.has(`${status} ${recipient.toLowerCase()}`))
    .map((recipient) => ({ status, at: report.at.toISOString(), recipient, detail: report.detail }))
}

const responseOf = (report: Report): Partial<ProviderResponse> | null =>
  report.kind === 'delivered'
    ? null
    : { bounce_type: report.bounceType, bounce_subtype: report.bounceSubtype, detail: report.detail }

/** Remote servers put any bytes into their words; a NUL or half a character cannot be kept. */
const readable = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd')

/** As it can be kept: in words that hold, each recipient once, and not before the message was sent, since clocks differ. */
const keepable = (sentAt: Date | null, report: Report): Report => {
  // In one order for everybody, so that no two reports wait for each other's suppressions.
  const byAddress = new Map(report.recipients.map((recipient) => [recipient.toLowerCase(), readable(recipient)]))
  return {
    ...report,
    at: sentAt && report.at < sentAt ? sentAt : report.at,
    detail: report.detail === null ? null : readable(report.detail),
    recipients: [...byAddress].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, recipient]) => recipient),
  }
}

const errorOf = ({ kind, detail }: Report): string | null => {
  const { called } = kinds[kind]
  return called === undefined ? null : detail === null ? called : `${called}: ${detail}`
}

/** A message made within this may be on its way from the provider's answer into our tables. */
const justMadeMs = 5 * 60_000
const waitsMs = [100, 400, 1_000]

type Needs = { db: Db; clock: Clock; log: Log; appendEvents: AppendEvents; suppress: Suppress }

export const makeOutcomes = ({ db, clock, log, appendEvents, suppress }: Needs): Outcomes => {
  const telling = new Set<Promise<void>>()

  /** A provider can be faster with its report than we are with the record of what it took. */
  const recorded = async (orgId: string, messageId: string): Promise<void> => {
    const createdAt = timeOfId(messageId)
    if (clock.millis() - createdAt > justMadeMs) return
    for (const wait of waitsMs) {
      if (await db.row(messageIsThere, { orgId, id: messageId, createdAt: new Date(createdAt) })) return
      await sleep(wait)
    }
  }

  const suppressAll = async (tx: Tx, row: MessageRow, report: Report): Promise<void> => {
    const { suppress: reason } = kinds[report.kind]
    // The list is shared with live mail, so what is only simulated never touches it.
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

  const apply = async (tx: Tx, orgId: string, messageId: string, told: Report): Promise<void> => {
    const createdAt = new Date(timeOfId(messageId))
    const row = await tx.row(lockMessage, { orgId, id: messageId, createdAt })
    if (!row || !reportable(row)) return
    const report = keepable(row.sent_at, told)
    await suppressAll(tx, row, report)
    const entries = newEntries(row, report)
    if (entries.length === 0) return
    const status = nextStatus(row, report)
    const { event, kind } = kinds[report.kind]
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
    if (!status) return
    const reason = event === 'message.bounced' && report.detail !== null ? { reason: report.detail } : {}
    await appendEvents(tx, {
      orgId,
      tenantId: row.tenant_id,
      environment: row.environment,
      event,
      data: { message_id: messageId, channel: row.channel, status, ...reason },
    })
  }

  const tellAll = async (orgId: string, messageId: string, reports: Report[]): Promise<void> => {
    try {
      for (const report of reports) {
        await throughOutage(() => db.tx((tx) => apply(tx, orgId, messageId, report)))
      }
    } catch (error) {
      log.error({ err: error, message_id: messageId }, 'an outcome could not be recorded')
    }
  }

  return {
    take: async ({ provider, id, orgId, messageId, report }) => {
      await recorded(orgId, messageId)
      await db.tx(async (tx) => {
        if (!(await tx.row(takeNotification, { provider, id, at: clock.now() }))) return
        await apply(tx, orgId, messageId, report)
      })
    },
    tell: (orgId, messageId, reports) => {
      const told = tellAll(orgId, messageId, reports).finally(() => telling.delete(told))
      telling.add(told)
    },
    drained: async () => {
      await Promise.all(telling)
    },
  }
}
