/** Sends what was scheduled, when it is due: claimed, judged again, handed over, settled under the claim. */
import { makeBatcher } from '../db/batch.ts'
import { throughOutage } from '../db/outage.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { type Code, Failure } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'
import type { Handover, HandoverError } from '../providers/email/email-provider.ts'
import type { Reservation, Usage } from '../usage/reserve.ts'
import type { ChannelAdapter, MessageContent } from './channel-adapter.ts'
import { type Draft, passGates } from './draft.ts'
import { asHandoverError, entryOf, type MessageEvent, messageEvent, responseOf } from './rows.ts'
import { givesBack, spendBy, type TakeReports } from './send.ts'
import { type ClaimedRow, claimDue, type EventRow, nextDueOrgs, type Settled, settleClaimed } from './store.ts'

const minute = 60_000
const hour = 60 * minute
/** A claim older than this is stale: its worker is taken for dead. */
const staleMs = 5 * minute
/** After each transient fault in turn; then the message has failed. */
const retriesMs = [1, 5, 15, 60].map((minutes) => minutes * minute)
/** Orgs that share one claim. */
const orgsPerTurn = 100
/** Taken at once from when a provider asked for a slower pace until it takes one again. */
const probes = 10

export interface Scheduler {
  /** Stamps up to `limit` due rows as this process's own. None while a provider asked for a slower pace. */
  claim(limit: number): Promise<ClaimedRow[]>
  /** Sends one claimed row and records what became of it. */
  fire(row: ClaimedRow): Promise<void>
}

type Outcome = Pick<Settled, 'status'> & Partial<Settled> & { event?: MessageEvent; more?: Record<string, string> }

/** What a refusal at fire time means for a row that was accepted long ago. */
const canceledBy: ReadonlySet<Code> = new Set(['SANDBOX_RECIPIENT_NOT_ALLOWED'])
const deferredBy: ReadonlySet<Code> = new Set([
  'USAGE_LIMIT_EXCEEDED',
  'TENANT_QUOTA_EXCEEDED',
  'SPEND_CAP_EXCEEDED',
  'TEST_DAILY_LIMIT',
  'IP_POOL_PAUSED',
])

/** Whom it was sent to, where that is fewer than it was meant for. */
const narrowed = (row: ClaimedRow, content: MessageContent): Partial<Settled> => {
  const { to_addresses, cc = [], bcc = [] } = content
  const left = to_addresses.length + cc.length + bcc.length
  return left < row.to_addresses.length + row.cc.length + row.bcc.length ? { to_addresses, cc, bcc } : {}
}

const nextMidnight = (at: Date): Date => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate() + 1))

type Needs = {
  db: Db
  // biome-ignore lint/suspicious/noExplicitAny: each channel is asked only for drafts it made itself
  channels: Record<string, ChannelAdapter<any>>
  usage: Usage
  clock: Clock
  log: Log
  tellReports: TakeReports
}

export const makeScheduler = ({ db, channels, usage, clock, log, tellReports }: Needs): Scheduler => {
  let after = ''
  let slowUntil = 0
  let slowMs = 0

  /** Each time a provider asks again the pause doubles; what is handed over after it ends the pause for good. */
  const slowDown = (): Date => {
    const now = clock.millis()
    if (now >= slowUntil) {
      slowMs = Math.min(Math.max(1_000, slowMs * 2), minute)
      slowUntil = now + slowMs
      log.warn({ pause_ms: slowMs }, 'the provider asks for a slower pace')
    }
    return new Date(slowUntil)
  }

  const settling = makeBatcher<{ settled: Settled; event?: EventRow & { message_id: string } }, boolean>({
    name: 'messages.settle',
    run: async (batch) => {
      const kept = await db.rows(settleClaimed, {
        settled: JSON.stringify(batch.map(({ settled }) => settled)),
        events: JSON.stringify(batch.flatMap(({ event }) => event ?? [])),
      })
      const ids = new Set(kept.map(({ id }) => id))
      return batch.map(({ settled }) => ids.has(settled.id))
    },
  })

  const settle = async (row: ClaimedRow, outcome: Outcome): Promise<void> => {
    const at = clock.now()
    const { event, more, ...columns } = outcome
    const told = {
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
      settled,
      ...(event && { event: { ...messageEvent(event, told, at, more), message_id: row.id } }),
    }
    const kept = await throughOutage(() => settling.submit(item))
    if (!kept) log.warn({ message_id: row.id }, 'a message was taken over while it was being sent')
  }

  const putOff = (row: ClaimedRow, until: Date, attempts = row.attempts): Promise<void> =>
    settle(row, { status: 'scheduled', due_at: until, attempts })

  const fail = (row: ClaimedRow, message: string, more: Partial<Settled> = {}): Promise<void> =>
    settle(row, {
      status: 'failed',
      error_message: message,
      history: [entryOf('failed', clock.now(), message)],
      event: 'message.failed',
      more: { error: message },
      ...more,
    })

  const cancel = (row: ClaimedRow, reason: string): Promise<void> => {
    const at = clock.now()
    return settle(row, {
      status: 'canceled',
      canceled_at: at,
      error_message: reason,
      history: [entryOf('canceled', at, reason)],
    })
  }

  /** Refused by a rule that has changed since: for good, for an hour, or until the day turns. */
  const refused = (row: ClaimedRow, failure: Failure): Promise<void> => {
    const { code } = failure
    const now = clock.now()
    if (canceledBy.has(code)) return cancel(row, `${code}: ${failure.message}`)
    if (deferredBy.has(code)) return putOff(row, new Date(now.getTime() + hour))
    if (code === 'WARMUP_LIMIT_EXCEEDED') return putOff(row, nextMidnight(now))
    return fail(row, `${code}: ${failure.message}`)
  }

  const notHandedOver = async (row: ClaimedRow, reservation: Reservation, fault: HandoverError) => {
    const wait = fault.kind === 'refused' ? undefined : retriesMs[row.attempts]
    // What is tried again is counted again.
    if (givesBack(fault) || wait !== undefined) await usage.release(reservation)
    log.warn({ err: fault, message_id: row.id, kind: fault.kind }, 'a scheduled message was not handed over')
    if (fault.kind === 'throttled') return putOff(row, slowDown())
    if (wait !== undefined) return putOff(row, new Date(clock.millis() + wait), row.attempts + 1)
    const response = { provider: fault.provider, provider_response: responseOf(null, fault.message) }
    return fail(row, fault.message, response)
  }

  const send = async (row: ClaimedRow, channel: ChannelAdapter<Draft>): Promise<void> => {
    const draft = channel.draftOf(row)
    let reservation: Reservation
    try {
      await passGates(channel.gates, draft, 'fire')
      // The sandbox counted it the day it was asked for.
      const { sandbox: _, ...price } = await channel.priceOf(draft)
      reservation = await usage.reserve({ ...spendBy(draft), ...price })
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      return refused(row, error)
    }
    let handed: Handover
    try {
      handed = await channel.handOver(draft)
    } catch (error) {
      return notHandedOver(row, reservation, asHandoverError(error))
    }
    slowMs = 0
    const at = clock.now()
    await settle(row, {
      status: 'sent',
      sent_at: at,
      provider: handed.provider,
      provider_response: responseOf(handed.providerMessageId),
      history: [entryOf('sent', at)],
      event: 'message.sent',
      ...narrowed(row, channel.contentOf(draft)),
    })
    if (handed.reports) tellReports(row.org_id, row.id, handed.reports)
  }

  /** The next orgs in turn, from the first again once everybody had theirs. */
  const dueOrgs = async (now: Date, most: number): Promise<string[]> => {
    const next = (from: string) => db.rows(nextDueOrgs, { after: from, now, limit: most })
    const rows = await next(after)
    const turn = rows.length > 0 || after === '' ? rows : await next('')
    after = turn.length < most ? '' : (turn.at(-1)?.org_id ?? '')
    return turn.map(({ org_id }) => org_id)
  }

  return {
    claim: async (most) => {
      if (clock.millis() < slowUntil) return []
      const limit = slowMs === 0 ? most : Math.min(most, probes)
      const now = clock.now()
      // No more orgs than rows: one that is looked at without a share would have lost its turn.
      const orgs = await dueOrgs(now, Math.min(orgsPerTurn, limit))
      if (orgs.length === 0) return []
      const stale = new Date(now.getTime() + staleMs)
      const share = Math.ceil(limit / orgs.length)
      return db.rows(claimDue, {
        orgIds: orgs,
        now,
        staleAt: stale,
        claim: newId('request', now.getTime()),
        perOrg: share,
        limit,
      })
    },
    fire: async (row) => {
      if (clock.millis() < slowUntil) return putOff(row, new Date(slowUntil))
      if (row.org_suspended) return putOff(row, new Date(clock.millis() + hour))
      if (row.tenant_id !== null && row.tenant_status !== 'active') {
        return cancel(row, row.tenant_status === 'suspended' ? 'Tenant suspended' : 'Tenant archived')
      }
      const channel = channels[row.channel]
      if (!channel) throw new Error(`no channel sends ${row.channel}`)
      return send(row, channel)
    },
  }
}
