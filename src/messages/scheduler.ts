/**
 * Sends scheduled messages when they are due: claims them, runs the gates again, hands them to the provider, and
 * settles them under the claim.
 */
import { makeBatcher } from '../db/batch.ts'
import { retryOnOutage } from '../db/outage.ts'
import type { Db } from '../db/pool.ts'
import type { AnnounceEvents } from '../events/announce-events.ts'
import type { Clock } from '../ground/clock.ts'
import { type Code, Failure } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'
import type { Handover, HandoverError } from '../providers/handover.ts'
import type { Reservation, Usage } from '../usage/reserve.ts'
import type { AdmitDraft } from './admit-draft.ts'
import type { ChannelAdapter, MessageContent } from './channel-adapter.ts'
import { type Draft, passGates } from './draft.ts'
import {
  asHandoverError,
  entryOf,
  handoverDetail,
  type MessageEventName,
  messageEvent,
  orgDeleted,
  responseOf,
} from './rows.ts'
import { type ApplyReports, releasesUsage, spendBy } from './sent-message.ts'
import {
  type ClaimedRow,
  claimDue,
  findLiveOrgs,
  nextDueOrgs,
  type Settled,
  settleClaimed,
} from './store/claim-messages.ts'
import type { EventRow } from './store/message-row.ts'
import type { SuppressRefused } from './suppress-refused.ts'

const minute = 60_000
const hour = 60 * minute
/** After this time a claim is stale: its worker is presumed dead. */
const staleMs = 5 * minute
/** The wait after each transient fault. When all are used, the message fails. */
const retriesMs = [1, 5, 15, 60].map((minutes) => minutes * minute)
/** A claim ends with the message that reaches this size, because all its messages are in memory at the same time. */
const defaultClaimBytes = 32 * 1_048_576
/** A message may be sent this much early. */
const toleranceMs = 1_000
/** How many orgs share one claim. */
const orgsPerClaim = 100
/** The size of a claim after a provider has throttled, until it accepts a message again. */
const probeLimit = 10

export interface Scheduler {
  /** Claims up to `limit` due messages for this process. Returns none while sending is paused by a provider. */
  claim(limit: number): Promise<ClaimedRow[]>
  /** Sends one claimed message and records the outcome. */
  fire(row: ClaimedRow): Promise<void>
}

type Outcome = Pick<Settled, 'status'> & Partial<Settled> & { event?: MessageEventName; more?: Record<string, string> }

/** What a failure at send time does to a message that was accepted earlier. All other codes fail the message. */
const canceledBy: ReadonlySet<Code> = new Set(['SANDBOX_RECIPIENT_NOT_ALLOWED'])
const deferredBy: ReadonlySet<Code> = new Set([
  'USAGE_LIMIT_EXCEEDED',
  'TENANT_QUOTA_EXCEEDED',
  'SPEND_CAP_EXCEEDED',
  'TEST_DAILY_LIMIT',
  'IP_POOL_PAUSED',
])

/** What to store when the message was sent to fewer recipients, or from another sender, than it was scheduled for. */
const changedParties = (row: ClaimedRow, content: MessageContent): Partial<Settled> => {
  const { from_address, to_addresses, cc = [], bcc = [] } = content
  const fewer = to_addresses.length + cc.length + bcc.length < row.to_addresses.length + row.cc.length + row.bcc.length
  return { ...(fewer && { to_addresses, cc, bcc }), ...(from_address !== row.from_address && { from_address }) }
}

const nextMidnight = (at: Date): Date => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate() + 1))

/** The earliest time from `at` on at which the message may be sent. Jobs do not send text messages at night. */
export type HeldUntil = (row: ClaimedRow, at: Date) => Date

/** Called with the jobs of messages that were just sent, each job once. */
export type OnSent = (jobs: { orgId: string; id: string }[]) => Promise<void>

const jobsOf = (rows: readonly ClaimedRow[]): { orgId: string; id: string }[] => {
  const jobs = new Map<string, { orgId: string; id: string }>()
  for (const { org_id: orgId, job_id: id } of rows) if (id !== null) jobs.set(id, { orgId, id })
  return [...jobs.values()]
}

// biome-ignore lint/suspicious/noExplicitAny: each channel only gets drafts that it made itself
type SchedulerChannel = { channel: ChannelAdapter<any>; admit: AdmitDraft<any> }

type Needs = {
  db: Db
  channels: Record<string, SchedulerChannel>
  usage: Usage
  clock: Clock
  log: Log
  applyReports: ApplyReports
  suppressRefused: SuppressRefused
  announce: AnnounceEvents
  heldUntil: HeldUntil
  onSent: OnSent
  claimBytes?: number
}

export const makeScheduler = (needs: Needs): Scheduler => {
  const { db, channels, usage, clock, log, applyReports, suppressRefused, announce, heldUntil, onSent } = needs
  const { claimBytes = defaultClaimBytes } = needs
  let lastOrgId = ''
  let pausedUntil = 0
  let pauseMs = 0

  /** The pause doubles each time a provider throttles again. A successful handover resets it. */
  const pause = (): Date => {
    const now = clock.millis()
    if (now >= pausedUntil) {
      pauseMs = Math.min(Math.max(1_000, pauseMs * 2), minute)
      pausedUntil = now + pauseMs
      log.warn({ pause_ms: pauseMs }, 'provider throttled scheduled messages')
    }
    return new Date(pausedUntil)
  }

  type Settlement = { row: ClaimedRow; settled: Settled; event?: EventRow & { message_id: string } }
  const settlements = makeBatcher<Settlement, boolean>({
    name: 'messages.settle',
    run: async (batch) => {
      const updated = await db.rows(settleClaimed, {
        settled: JSON.stringify(batch.map(({ settled }) => settled)),
        events: JSON.stringify(batch.flatMap(({ event }) => event ?? [])),
      })
      announce(batch.filter(({ event }) => event).length)
      const ids = new Set(updated.map(({ id }) => id))
      const jobs = jobsOf(batch.filter(({ settled }) => settled.sent_at && ids.has(settled.id)).map(({ row }) => row))
      if (jobs.length > 0) await onSent(jobs)
      return batch.map(({ settled }) => ids.has(settled.id))
    },
  })

  /** A claim can be older than the deletion of its org, so this is asked once more before each handover. */
  const liveOrgs = makeBatcher<string, boolean>({
    name: 'messages.live_orgs',
    run: async (orgIds) => {
      const rows = await db.rows(findLiveOrgs, { orgIds: [...new Set(orgIds)] })
      const live = new Set(rows.map(({ id }) => id))
      return orgIds.map((id) => live.has(id))
    },
  })

  /** Returns whether the claim was still current. */
  const settle = async (row: ClaimedRow, outcome: Outcome): Promise<boolean> => {
    const at = clock.now()
    const { event, more, ...columns } = outcome
    const subject = {
      orgId: row.org_id,
      tenantId: row.tenant_id,
      environment: row.environment,
      channel: row.channel,
      id: row.id,
    }
    const settled: Settled = {
      org_id: row.org_id,
      id: row.id,
      created_at: row.created_at,
      claim: row.claim as string,
      due_at: null,
      sent_at: null,
      canceled_at: null,
      error_message: null,
      provider: null,
      provider_response: null,
      history: [],
      attempts: row.attempts,
      ...columns,
    }
    const item = {
      row,
      settled,
      ...(event && { event: { ...messageEvent(event, subject, at, more), message_id: row.id } }),
    }
    const updated = await retryOnOutage(() => settlements.submit(item))
    if (!updated) log.warn({ message_id: row.id }, 'message claim lost')
    return updated
  }

  const defer = (row: ClaimedRow, until: Date, attempts = row.attempts): Promise<boolean> =>
    settle(row, { status: 'scheduled', due_at: heldUntil(row, until), attempts })

  const fail = (row: ClaimedRow, message: string, more: Partial<Settled> = {}): Promise<boolean> =>
    settle(row, {
      status: 'failed',
      error_message: message,
      history: [entryOf('failed', clock.now(), message)],
      event: 'message.failed',
      more: { error: message },
      ...more,
    })

  const cancel = (row: ClaimedRow, reason: string): Promise<boolean> => {
    const at = clock.now()
    return settle(row, {
      status: 'canceled',
      canceled_at: at,
      error_message: reason,
      history: [entryOf('canceled', at, reason)],
    })
  }

  /** Cancels, defers by an hour, defers to the next UTC day, or fails the message, depending on the code. */
  const settleFailure = (row: ClaimedRow, failure: Failure): Promise<boolean> => {
    const { code } = failure
    const now = clock.now()
    if (canceledBy.has(code)) return cancel(row, `${code}: ${failure.message}`)
    if (deferredBy.has(code)) return defer(row, new Date(now.getTime() + hour))
    if (code === 'WARMUP_LIMIT_EXCEEDED') return defer(row, nextMidnight(now))
    return fail(row, `${code}: ${failure.message}`)
  }

  const settleFault = async (row: ClaimedRow, reservation: Reservation, fault: HandoverError): Promise<boolean> => {
    const wait = fault.kind === 'refused' ? undefined : retriesMs[row.attempts]
    // A retry reserves its usage again, except after an uncertain handover: it then finds its earlier reservation.
    if (releasesUsage(fault)) await usage.release(reservation)
    log.warn({ err: fault, message_id: row.id, kind: fault.kind }, 'scheduled message handover failed')
    if (fault.kind === 'throttled') return defer(row, pause())
    if (wait !== undefined) return defer(row, new Date(clock.millis() + wait), row.attempts + 1)
    const response = { provider: fault.provider, provider_response: responseOf(null, fault.message) }
    return fail(row, fault.message, response)
  }

  /** The worker that holds the message now makes its own reservation, or has taken this one over. */
  const releaseIfLost = async (reservation: Reservation, settled: boolean): Promise<void> => {
    if (!settled) await usage.release(reservation)
  }

  const send = async (row: ClaimedRow, { channel, admit }: SchedulerChannel): Promise<unknown> => {
    const draft: Draft = channel.draftOf(row)
    draft.mayRepeat = row.was_interrupted
    let reservation: Reservation
    const reserve = async () => {
      await passGates(channel.gates, draft, 'fire')
      return admit.reserve(draft, 'fire', {
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
    }
    try {
      // Otherwise the message would wait until its claim is stale.
      reservation = (await retryOnOutage(reserve)).reservation
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
      const fault = asHandoverError(error)
      await suppressRefused(draft, fault)
      return releaseIfLost(reservation, await settleFault(row, reservation, fault))
    }
    pauseMs = 0
    const at = clock.now()
    const settled = await settle(row, {
      status: 'sent',
      sent_at: at,
      provider: handover.provider,
      provider_response: responseOf(handover.providerMessageId),
      history: [entryOf('sent', at, handoverDetail(draft))],
      event: 'message.sent',
      ...changedParties(row, channel.contentOf(draft)),
    })
    await releaseIfLost(reservation, settled)
    if (handover.reports) applyReports(row.org_id, row.id, handover.reports)
  }

  /** The next orgs with due messages, in round-robin order. After the last org it starts again at the first. */
  const nextOrgs = async (now: Date, limit: number): Promise<string[]> => {
    const orgsAfter = (orgId: string) => db.rows(nextDueOrgs, { after: orgId, now, limit })
    const rows = await orgsAfter(lastOrgId)
    const turn = rows.length > 0 || lastOrgId === '' ? rows : await orgsAfter('')
    lastOrgId = turn.length < limit ? '' : (turn.at(-1)?.org_id ?? '')
    return turn.map(({ org_id }) => org_id)
  }

  /** The orgs that got nothing because the claim had reached its size come first in the next one. */
  const resumeAtUnserved = (orgIds: string[], rows: ClaimedRow[]): void => {
    if (rows.reduce((sum, { bytes }) => sum + bytes, 0) < claimBytes) return
    const served = new Set(rows.map(({ org_id }) => org_id))
    const firstUnserved = orgIds.findIndex((orgId) => !served.has(orgId))
    if (firstUnserved > 0) lastOrgId = orgIds[firstUnserved - 1] as string
  }

  const fire = async (row: ClaimedRow): Promise<unknown> => {
    if (row.org_deleted) return cancel(row, orgDeleted)
    if (clock.millis() < pausedUntil) return defer(row, new Date(pausedUntil))
    if (row.org_suspended) return defer(row, new Date(clock.millis() + hour))
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
    return send(row, channel)
  }

  return {
    claim: async (most) => {
      if (clock.millis() < pausedUntil) return []
      const limit = pauseMs === 0 ? most : Math.min(most, probeLimit)
      const now = clock.now()
      // Never more orgs than messages: an org beyond the limit would lose its turn without a message being claimed.
      const orgIds = await nextOrgs(now, Math.min(orgsPerClaim, limit))
      if (orgIds.length === 0) return []
      const rows = await db.rows(claimDue, {
        orgIds,
        now,
        staleAt: new Date(now.getTime() + staleMs),
        claim: newId('request', now.getTime()),
        perOrg: Math.ceil(limit / orgIds.length),
        limit,
        maxBytes: claimBytes,
      })
      resumeAtUnserved(orgIds, rows)
      return rows
    },
    fire: async (row) => {
      await fire(row)
    },
  }
}
