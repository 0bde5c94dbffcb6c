/** Applies a report as if it came from a provider. Used by the dev tools. */
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { newId, timeOfId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import type { Report } from '../../providers/handover.ts'
import { loggedToken, meaningOfToken, reportOfToken } from '../../providers/sms/status-tokens.ts'
import type { Outcomes } from './outcomes.ts'
import { findOwner } from './store/message-outcomes.ts'

const kinds = ['delivered', 'hard_bounce', 'soft_bounce', 'complaint'] as const

export const isReportKind = (outcome: string): outcome is (typeof kinds)[number] =>
  (kinds as readonly string[]).includes(outcome)

/**
 * Reports the outcome for every recipient of the message. For an SMS it is a kind of report or any status token. An
 * unknown token is logged and changes nothing, as from a provider.
 */
export type SimulateReport = (messageId: string, outcome: string) => Promise<'reported' | 'no message' | 'no outcome'>

const bounceTypes: Partial<Record<Report['kind'], string>> = {
  hard_bounce: 'Permanent',
  soft_bounce: 'Transient',
}

const reportOfKind = (kind: Report['kind'], recipients: string[], at: Date): Report => {
  const bounceType = bounceTypes[kind] ?? null
  return { kind, recipients, at, detail: null, bounceType, bounceSubtype: bounceType && 'General' }
}

type Needs = { db: Db; clock: Clock; log: Log; outcomes: Outcomes }

export const makeSimulateReport = ({ db, clock, log, outcomes: { take } }: Needs): SimulateReport => {
  const reportOf = (outcome: string, recipients: string[]): Report | undefined =>
    isReportKind(outcome)
      ? reportOfKind(outcome, recipients, clock.now())
      : reportOfToken(outcome, recipients[0] ?? '', clock.now())

  return async (messageId, outcome) => {
    const row = await db.row(findOwner, { id: messageId, createdAt: new Date(timeOfId(messageId)) })
    if (!row) return 'no message'
    if (row.channel === 'email' && !isReportKind(outcome)) return 'no outcome'
    const report = reportOf(outcome, [...row.to_addresses, ...row.cc, ...row.bcc])
    if (report) {
      const id = newId('request', clock.millis())
      await take({ provider: 'dev', id, orgId: row.org_id, messageId, report })
    } else if (meaningOfToken(outcome) === undefined) {
      log.warn({ sms_status: loggedToken(outcome), message_id: messageId }, 'unknown sms status token')
    }
    return 'reported'
  }
}
