/** Applies a report as if it came from a provider. Used by the dev tools. */
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { newId, timeOfId } from '../ground/ids.ts'
import type { Report } from '../providers/email/email-provider.ts'
import type { Outcomes } from './outcomes.ts'
import { findOwner } from './store/message-outcomes.ts'

export const outcomes = ['delivered', 'hard_bounce', 'soft_bounce', 'complaint'] as const

/** Reports the outcome for every recipient of the message. Resolves to false when the message does not exist. */
export type SimulateReport = (messageId: string, outcome: (typeof outcomes)[number]) => Promise<boolean>

const bounceTypes: Partial<Record<Report['kind'], string>> = {
  hard_bounce: 'Permanent',
  soft_bounce: 'Transient',
}

type Needs = { db: Db; clock: Clock; outcomes: Outcomes }

export const makeSimulateReport =
  ({ db, clock, outcomes: { take } }: Needs): SimulateReport =>
  async (messageId, kind) => {
    const row = await db.row(findOwner, { id: messageId, createdAt: new Date(timeOfId(messageId)) })
    if (!row) return false
    const bounceType = bounceTypes[kind] ?? null
    await take({
      provider: 'dev',
      id: newId('request', clock.millis()),
      orgId: row.org_id,
      messageId,
      report: {
        kind,
        recipients: [...row.to_addresses, ...row.cc, ...row.bcc],
        at: clock.now(),
        detail: null,
        bounceType,
        bounceSubtype: bounceType && 'General',
      },
    })
    return true
  }
