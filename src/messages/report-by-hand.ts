/** Applies a report as if it came from a provider. Used by the dev tools. */
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { invalid } from '../ground/errors.ts'
import { newId, timeOfId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'
import type { Report } from '../providers/email/email-provider.ts'
import { meaningOfToken, reportOfToken } from '../providers/sms/status-tokens.ts'
import type { Outcomes } from './outcomes.ts'
import { findOwner } from './store/message-outcomes.ts'

const outcomes = ['delivered', 'hard_bounce', 'soft_bounce', 'complaint'] as const
type Outcome = (typeof outcomes)[number]

const isOutcome = (text: string): text is Outcome => (outcomes as readonly string[]).includes(text)

/**
 * Reports the outcome for every recipient of the message: one of the words above, or for a text message any status
 * token of a provider. Resolves to false when the message does not exist.
 */
export type SimulateReport = (messageId: string, outcome: string) => Promise<boolean>

const bounceTypes: Partial<Record<Report['kind'], string>> = {
  hard_bounce: 'Permanent',
  soft_bounce: 'Transient',
}

const reportOf = (kind: Outcome, recipients: string[], at: Date): Report => {
  const bounceType = bounceTypes[kind] ?? null
  return { kind, recipients, at, detail: null, bounceType, bounceSubtype: bounceType && 'General' }
}

type Needs = { db: Db; clock: Clock; log: Log; outcomes: Outcomes }

export const makeSimulateReport = ({ db, clock, log, outcomes: { take } }: Needs): SimulateReport => {
  /** Undefined for tokens that change nothing. */
  const reportOfStatus = (messageId: string, token: string, recipients: string[]): Report | undefined => {
    if (!meaningOfToken(token)) log.warn({ message_id: messageId, token }, 'unknown status token of a text message')
    return reportOfToken(token, recipients[0] ?? '', clock.now())
  }

  return async (messageId, outcome) => {
    const row = await db.row(findOwner, { id: messageId, createdAt: new Date(timeOfId(messageId)) })
    if (!row) return false
    const recipients = [...row.to_addresses, ...row.cc, ...row.bcc]
    if (!isOutcome(outcome) && row.channel !== 'sms') {
      throw invalid(['outcome'], 'invalid_value', `Must be one of: ${outcomes.join(', ')}.`)
    }
    const report = isOutcome(outcome)
      ? reportOf(outcome, recipients, clock.now())
      : reportOfStatus(messageId, outcome, recipients)
    if (report) {
      await take({ provider: 'dev', id: newId('request', clock.millis()), orgId: row.org_id, messageId, report })
    }
    return true
  }
}
