/** Sends one claimed message: runs its gates again, reserves its usage, hands it to the provider, and settles it. */
import type { Reservation } from '../../customers/usage/reserve.ts'
import { makeBatcher } from '../../platform/db/batch.ts'
import { retryOnOutage } from '../../platform/db/outage.ts'
import type { Db } from '../../platform/db/pool.ts'
import { type Code, Failure } from '../../platform/ground/errors.ts'
import { hourMs, minuteMs } from '../../platform/ground/units.ts'
import type { Handover, HandoverFault } from '../../providers/handover.ts'
import type { AdmitDraft } from './admit-draft.ts'
import type { ChannelAdapter, MessageContent } from './channel-adapter.ts'
import { type Draft, passGates } from './draft.ts'
import { asHandoverFault, entryOf, handoverDetail, orgDeleted, responseOf } from './rows.ts'
import type { SendNeeds } from './send.ts'
import { releasesUsage, spendBy } from './sent-message.ts'
import type { SettleClaimed } from './settle-claimed.ts'
import { type ClaimedRow, findLiveOrgs, type Settled } from './store/claim-messages.ts'
import type { ThrottlePause } from './throttle-pause.ts'

/** The wait after each transient fault. When all are used, the message fails. */
const retriesMs = [1, 5, 15, 60].map((minutes) => minutes * minuteMs)

/** What a failure at send time does to a message that was accepted earlier. All other codes fail the message. */
const canceledBy: ReadonlySet<Code> = new Set(['SANDBOX_RECIPIENT_NOT_ALLOWED'])
const deferredBy: ReadonlySet<Code> = new Set([
  'USAGE_LIMIT_EXCEEDED',
  'TENANT_QUOTA_EXCEEDED',
  'SPEND_CAP_EXCEEDED',
  'TEST_DAILY_LIMIT',
  'IP_POOL_PAUSED',
])

const nextMidnight = (at: Date): Date => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate() + 1))

/** What to store when the message was sent to fewer recipients, or from another sender, than it was scheduled for. */
const changedParties = (row: ClaimedRow, content: MessageContent): Partial<Settled> => {
  const { from_address, to_addresses, cc = [], bcc = [] } = content
  const fewer = to_addresses.length + cc.length + bcc.length < row.to_addresses.length + row.cc.length + row.bcc.length
  return { ...(fewer && { to_addresses, cc, bcc }), ...(from_address !== row.from_address && { from_address }) }
}

// biome-ignore lint/suspicious/noExplicitAny: each channel only gets drafts that it made itself
export type SchedulerChannel = { channel: ChannelAdapter<any>; admit: AdmitDraft<any> }

type Settling = Pick<SendNeeds<Draft>, 'usage' | 'clock' | 'log' | 'applyReports' | 'suppressRefused'>
export type FireNeeds = Settling & { db: Db }

type Needs = FireNeeds & { settled: SettleClaimed; throttlePause: ThrottlePause }

export const makeFireMessage = (needs: Needs) => {
  const { db, usage, clock, log, applyReports, suppressRefused, throttlePause } = needs
  const { settle, defer, fail, cancel } = needs.settled

  /** A claim can be older than the deletion of its org, so this is asked once more before each handover. */
  const liveOrgs = makeBatcher<string, boolean>({
    name: 'messages.live_orgs',
    run: async (orgIds) => {
      const rows = await db.rows(findLiveOrgs, { orgIds: [...new Set(orgIds)] })
      const live = new Set(rows.map(({ id }) => id))
      return orgIds.map((id) => live.has(id))
    },
  })

  const reserve = async (row: ClaimedRow, draft: Draft, { channel, admit }: SchedulerChannel): Promise<Reservation> => {
    await passGates(channel.gates.fire, draft, 'fire')
    const { reservation } = await admit.reserve(draft, 'fire', {
      // The sandbox limit was counted on the day of the request.
      // A job took the allowance of its test messages when it was accepted.
      spendOf: ({ sandbox: _, ...price }) => ({
        ...spendBy(draft),
        ...price,
        ...(draft.jobId !== null && { testMessages: 0 }),
      }),
      // If another worker died with this message, its reservation serves this claim. So does that of an earlier try.
      keep: { id: row.id, claim: row.claim },
    })
    return reservation
  }

  /** Cancels, defers by an hour, defers to the next UTC day, or fails the message, depending on the code. */
  const settleFailure = (row: ClaimedRow, { code, message }: Failure): Promise<boolean> => {
    const now = clock.now()
    if (canceledBy.has(code)) return cancel(row, `${code}: ${message}`)
    if (deferredBy.has(code)) return defer(row, new Date(now.getTime() + hourMs))
    if (code === 'WARMUP_LIMIT_EXCEEDED') return defer(row, nextMidnight(now))
    return fail(row, `${code}: ${message}`)
  }

  const settleFault = async (row: ClaimedRow, reservation: Reservation, fault: HandoverFault): Promise<boolean> => {
    const wait = fault.kind === 'refused' ? undefined : retriesMs[row.attempts]
    // A retry reserves its usage again, except after an uncertain handover: it then finds its earlier reservation.
    if (releasesUsage(fault)) await usage.release(reservation)
    log.warn({ err: fault, message_id: row.id, kind: fault.kind }, 'scheduled message handover failed')
    if (fault.kind === 'throttled') return defer(row, throttlePause.begin())
    if (wait !== undefined) return defer(row, new Date(clock.millis() + wait), row.attempts + 1)
    const response = { provider: fault.provider, provider_response: responseOf(null, fault.message) }
    return fail(row, fault.message, response)
  }

  const settleSent = (row: ClaimedRow, draft: Draft, content: MessageContent, handover: Handover): Promise<boolean> => {
    const at = clock.now()
    return settle(row, {
      status: 'sent',
      sent_at: at,
      provider: handover.provider,
      provider_response: responseOf(handover.providerMessageId),
      history: [entryOf('sent', at, handoverDetail(draft))],
      ...changedParties(row, content),
    })
  }

  /** The worker that holds the message now makes its own reservation, or has taken this one over. */
  const releaseIfLost = async (reservation: Reservation, settled: boolean): Promise<void> => {
    if (!settled) await usage.release(reservation)
  }

  return async (row: ClaimedRow, to: SchedulerChannel): Promise<unknown> => {
    const { channel } = to
    const draft: Draft = channel.draftOf(row)
    draft.mayRepeat = row.was_interrupted
    let reservation: Reservation
    try {
      // Otherwise the message would wait until its claim is stale.
      reservation = await retryOnOutage(() => reserve(row, draft, to))
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      return settleFailure(row, error)
    }
    if (!(await liveOrgs.submit(row.org_id))) {
      await usage.release(reservation)
      return cancel(row, orgDeleted)
    }
    let handover: Handover
    try {
      handover = await channel.handOver(draft)
    } catch (error) {
      if (error instanceof Failure) {
        await usage.release(reservation)
        return settleFailure(row, error)
      }
      const fault = asHandoverFault(error)
      await suppressRefused(draft, fault)
      return releaseIfLost(reservation, await settleFault(row, reservation, fault))
    }
    throttlePause.reset()
    await releaseIfLost(reservation, await settleSent(row, draft, channel.contentOf(draft), handover))
    if (handover.reports) applyReports(row.org_id, row.id, handover.reports)
  }
}
