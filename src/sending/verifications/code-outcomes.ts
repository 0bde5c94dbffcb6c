/** Reports about codes. A code has no message row: a permanent bounce or a complaint suppresses its destination. */
import { retryOnOutage } from '../../platform/db/outage.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { isId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import type { Report } from '../../providers/handover.ts'
import type { Suppress } from '../../recipients/suppressions/suppress.ts'
import type { Outcomes } from '../messages/outcomes.ts'
import { recordNotification } from '../messages/store/message-outcomes.ts'
import { findDestination } from './store.ts'

const reasons: Partial<Record<Report['kind'], 'bounce' | 'complaint'>> = {
  hard_bounce: 'bounce',
  complaint: 'complaint',
}

const isCode = (id: string): boolean => isId('verification', id)

type Needs = { db: Db; clock: Clock; log: Log; suppress: Suppress; messages: Outcomes }

/** Takes reports about codes, and passes those about messages on. */
export const makeCodeOutcomes = ({ db, clock, log, suppress, messages }: Needs): Outcomes => {
  const pending = new Set<Promise<void>>()

  const apply = async (tx: Tx, orgId: string, id: string, { kind }: Report): Promise<void> => {
    const reason = reasons[kind]
    if (!reason) return
    const code = await tx.row(findDestination, { orgId, id })
    // Live and test mode share the suppression list, so test mode must not change it.
    if (!code || code.environment === 'test') return
    const { tenant_id: tenantId, environment, channel, destination: value } = code
    await suppress(tx, { orgId, tenantId, channel, value, reason, source: 'provider', messageId: null, environment })
  }

  const applyAll = async (orgId: string, id: string, reports: Report[]): Promise<void> => {
    try {
      for (const report of reports) await retryOnOutage(() => db.tx((tx) => apply(tx, orgId, id, report)))
    } catch (error) {
      log.error({ err: error, verification_id: id }, 'provider report not recorded')
    }
  }

  return {
    recipientsOf: async (orgId, id) => {
      if (!isCode(id)) return messages.recipientsOf(orgId, id)
      const code = await db.row(findDestination, { orgId, id })
      return code ? [code.destination] : []
    },
    take: async (notification) => {
      const { provider, id, orgId, messageId, report } = notification
      if (!isCode(messageId)) return messages.take(notification)
      await db.tx(async (tx) => {
        if (!(await tx.row(recordNotification, { provider, id, at: clock.now() }))) return
        await apply(tx, orgId, messageId, report)
      })
    },
    applyInBackground: (orgId, id, reports) => {
      if (!isCode(id)) return messages.applyInBackground(orgId, id, reports)
      const applying = applyAll(orgId, id, reports).finally(() => pending.delete(applying))
      pending.add(applying)
    },
    drained: async () => {
      await Promise.all([messages.drained(), ...pending])
    },
  }
}
