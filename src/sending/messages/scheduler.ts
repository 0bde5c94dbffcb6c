/**
 * Sends scheduled messages when they are due. claim-due-messages.ts claims them, this file decides which of them are
 * canceled or put off without being sent, fire-message.ts sends the others, and settle-claimed.ts records each outcome.
 */
import type { AnnounceEvents } from '../../journal/events/announce-events.ts'
import { hourMs } from '../../platform/ground/units.ts'
import { makeClaimDueMessages } from './claim-due-messages.ts'
import { type FireNeeds, makeFireMessage, type SchedulerChannel } from './fire-message.ts'
import { orgDeleted } from './rows.ts'
import { type HeldUntil, makeSettleClaimed, type OnSent } from './settle-claimed.ts'
import type { ClaimedRow } from './store/claim-messages.ts'
import { makeThrottlePause } from './throttle-pause.ts'

/** A message may be sent this much early. */
const toleranceMs = 1_000
/** The size of a claim after a provider has throttled, until it accepts a message again. */
const probeLimit = 10

type Needs = FireNeeds & {
  channels: Record<string, SchedulerChannel>
  announce: AnnounceEvents
  heldUntil: HeldUntil
  onSent: OnSent
  claimBytes?: number
}

export const makeScheduler = (needs: Needs) => {
  const { channels, clock, heldUntil, claimBytes } = needs
  const throttlePause = makeThrottlePause(needs)
  const claimDueMessages = makeClaimDueMessages({ ...needs, claimBytes })
  const settled = makeSettleClaimed(needs)
  const fireMessage = makeFireMessage({ ...needs, settled, throttlePause })

  const fire = async (row: ClaimedRow): Promise<unknown> => {
    const { cancel, defer } = settled
    if (row.org_deleted) return cancel(row, orgDeleted)
    const pausedUntil = throttlePause.end()
    if (pausedUntil) return defer(row, pausedUntil)
    if (row.org_suspended) return defer(row, new Date(clock.millis() + hourMs))
    if (row.tenant_id !== null && row.tenant_status !== 'active') {
      return cancel(row, row.tenant_status === 'suspended' ? 'Tenant suspended' : 'Tenant archived')
    }
    // A row that was being sent when its job was canceled, and was then put off.
    if (row.job_canceled) return cancel(row, 'Job canceled')
    const now = clock.now()
    const opensAt = heldUntil(row, now)
    if (opensAt > now) return defer(row, opensAt)
    const channel = channels[row.channel]
    if (!channel) throw new Error(`The channel ${row.channel} is not configured`)
    const localDue = channel.channel.dueAt?.(row)
    if (localDue && localDue.getTime() > clock.millis() + toleranceMs) return defer(row, localDue)
    return fireMessage(row, channel)
  }

  return {
    /** Claims up to `limit` due messages for this process. Returns none while sending is paused by a provider. */
    claim: async (limit: number): Promise<ClaimedRow[]> => {
      if (throttlePause.end()) return []
      return claimDueMessages(throttlePause.isOnTrial() ? Math.min(limit, probeLimit) : limit)
    },
    fire: async (row: ClaimedRow): Promise<void> => {
      await fire(row)
    },
  }
}
