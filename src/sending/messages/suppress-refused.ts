/** Suppresses the recipients that a provider refused for good when it accepted the message for nobody. */
import { retryOnOutage } from '../../platform/db/outage.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Log } from '../../platform/ground/log.ts'
import type { HandoverFault } from '../../providers/handover.ts'
import type { Suppress } from '../../recipients/suppressions/suppress.ts'
import type { Draft } from './draft.ts'

export type SuppressRefused = (
  draft: Pick<Draft, 'id' | 'channel' | 'by' | 'hasCode'>,
  fault: Pick<HandoverFault, 'refusedRecipients'>,
) => Promise<void>

export const makeSuppressRefused =
  ({ db, log, suppress }: { db: Db; log: Log; suppress: Suppress }): SuppressRefused =>
  async ({ id, channel, by, hasCode }, { refusedRecipients }) => {
    if (refusedRecipients.length === 0) return
    // Sorted, so that two messages suppress addresses in the same order and cannot deadlock.
    const values = [...new Set(refusedRecipients.map((recipient) => recipient.toLowerCase()))].sort()
    const { orgId, tenantId, environment } = by
    try {
      await retryOnOutage(() =>
        db.tx(async (tx) => {
          for (const value of values) {
            const messageId = hasCode ? null : id
            const source = { reason: 'bounce', source: 'provider', messageId } as const
            await suppress(tx, { orgId, tenantId, channel, value, environment, ...source })
          }
        }),
      )
    } catch (error) {
      // The message is settled all the same. The next one to this address is refused and tries again.
      log.error({ err: error, message_id: id }, 'refused recipient not suppressed')
    }
  }
