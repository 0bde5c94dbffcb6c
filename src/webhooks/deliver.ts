/**
 * Delivering what is due. A worker leases the lane of an endpoint and sends from it, at most five at a time, until
 * nothing is due there; lanes know nothing of each other, so that none waits for another.
 */
import { randomUUID } from 'node:crypto'
import type { Audit } from '../audit/append.ts'
import { makeBatcher } from '../db/batch.ts'
import type { Db } from '../db/pool.ts'
import type { AppendEvents } from '../events/append-events.ts'
import type { Clock } from '../ground/clock.ts'
import type { Vault } from '../ground/crypto.ts'
import type { Log } from '../ground/log.ts'
import { type AttemptDelivery, succeeded } from './attempt.ts'
import { cancelRest, cancelSome } from './cancel-deliveries.ts'
import {
  type Attempt,
  extendStreak,
  type LaneRow,
  leaseLanes,
  recordAttempts,
  releaseLanes,
  renewLeases,
  type TakenRow,
  takeDue,
} from './store.ts'
import { openSecret } from './webhook-secret.ts'

/** Told to owners and developers of the org, outside any transaction. */
export type NotifyOwners = (notice: { orgId: string; subject: string; text: string }) => Promise<void>

const atOnce = 5
/** To an endpoint whose last attempt failed, until one succeeds: the sick take no more room than they need. */
const atOnceWhenSick = 1
/** And while this many others are being sent to, it rests for a while after each failure. */
const busyFrom = 20
const giveWayMs = 1_000
/** Sent and not yet recorded; a slow database slows the sending down. */
const maxUnrecorded = 50
const perTake = 20
/** How long the endpoint is taken to be what it was when it was read: a new secret or address counts within this. */
const freshMs = 100
const leaseMs = 60_000
const exhaustedInARow = 10
const minute = 60_000
const longestGap = 6 * 60 * minute

/** After the nth attempt; the jitter is 0 to 10 percent, on top. */
export const gapAfter = (nth: number, random: () => number): number =>
  Math.round(Math.min(2 ** nth * minute, longestGap) * (1 + random() * 0.1))

type Due = Omit<TakenRow, 'n' | 'url' | 'secret' | 'open' | 'id'> & { id: string }
type Taken = { open: boolean; url: string; sealed: string; due: Due[] }
type Target = { url: string; secret: string }
type Outcome = {
  lane: LaneRow
  due: Due
  attempt: Attempt
  status: 'pending' | 'delivered' | 'failed'
  nextAt: Date | null
  deliveredAt: Date | null
}

export type Stop = () => boolean

/** A lane in hand. */
export interface Running {
  lane: LaneRow
  /** Resolves with the number of attempts made, once the lane is handed back. */
  done: Promise<number>
  /** Something became due: look again. False when it is too late for that. */
  poke(): boolean
}

export interface DeliverWebhooks {
  lease(limit: number): Promise<LaneRow[]>
  renew(lanes: LaneRow[]): Promise<void>
  release(lane: LaneRow): Promise<void>
  /** Works a leased lane until nothing is due or it is told to stop. */
  run(lane: LaneRow, stop: Stop): Running
}

type Needs = {
  db: Db
  clock: Clock
  vault: Vault
  send: AttemptDelivery
  audit: Audit
  appendEvents: AppendEvents
  notify: NotifyOwners
  log: Log
  random?: () => number
}

/** A lane's name in logs; ids stay out of messages. */
const named = ({ org_id, endpoint_id }: LaneRow) => ({ org_id, endpoint_id })

export const makeDeliverWebhooks = (needs: Needs): DeliverWebhooks => {
  const { db, clock, vault, send, audit, appendEvents, notify, log, random = Math.random } = needs
  const worker = randomUUID()
  const sick = new Set<string>()
  /** Attempts under way at endpoints that are not sick. */
  let wellSending = 0

  const takes = makeBatcher<{ lane: LaneRow; inFlight: string[]; most: number }, Taken | undefined>({
    name: 'webhooks.take_due',
    run: async (asked) => {
      const rows = await db.rows(takeDue, {
        at: clock.now(),
        orgIds: asked.map(({ lane }) => lane.org_id),
        endpointIds: asked.map(({ lane }) => lane.endpoint_id),
        limits: asked.map(({ most }) => most),
        inFlight: asked.flatMap(({ inFlight }) => inFlight),
      })
      const byLane = Map.groupBy(rows, ({ n }) => n)
      return asked.map((_, i) => {
        const [first, ...rest] = byLane.get(i + 1) ?? []
        if (!first) return undefined
        const due = [first, ...rest].filter((row): row is TakenRow & { id: string } => row.id !== null)
        return { open: first.open, url: first.url, sealed: first.secret, due }
      })
    },
  })

  const releases = makeBatcher<LaneRow, void>({
    name: 'webhooks.release_lanes',
    run: async (lanes) => {
      await db.change(releaseLanes, {
        worker,
        orgIds: lanes.map((lane) => lane.org_id),
        endpointIds: lanes.map((lane) => lane.endpoint_id),
      })
      return lanes.map(() => undefined)
    },
  })

  const recordOf = (outcomes: Outcome[]) => ({
    worker,
    orgIds: outcomes.map(({ lane }) => lane.org_id),
    ids: outcomes.map(({ due }) => due.id),
    createdAt: outcomes.map(({ due }) => due.created_at),
    endpointIds: outcomes.map(({ lane }) => lane.endpoint_id),
    counts: outcomes.map(({ attempt }) => attempt.attempt),
    statuses: outcomes.map(({ status }) => status),
    nextAt: outcomes.map(({ nextAt }) => nextAt),
    deliveredAt: outcomes.map(({ deliveredAt }) => deliveredAt),
    attempts: outcomes.map(({ attempt }) => JSON.stringify(attempt)),
  })

  const records = makeBatcher<Outcome, void>({
    name: 'webhooks.record_attempts',
    run: async (outcomes) => {
      await db.rows(recordAttempts, recordOf(outcomes))
      return outcomes.map(() => undefined)
    },
  })

  const outcomeOf = (lane: LaneRow, due: Due, attempt: Attempt): Outcome => {
    const at = clock.now()
    const base = { lane, due, attempt, nextAt: null, deliveredAt: null }
    if (succeeded(attempt)) return { ...base, status: 'delivered', deliveredAt: at }
    if (attempt.attempt >= due.max_attempts) return { ...base, status: 'failed' }
    const nextAt = new Date(at.getTime() + gapAfter(attempt.attempt, random))
    return { ...base, status: 'pending', nextAt }
  }

  const tell = async (orgId: string, url: string): Promise<void> => {
    const { host } = new URL(url)
    await notify({
      orgId,
      subject: 'A webhook endpoint was disabled',
      text:
        `The webhook endpoint at ${host} was disabled: ${exhaustedInARow} deliveries in a row were given up.\n` +
        'Deliveries that were waiting for it are canceled and new events are not kept for it.\n' +
        'Once it answers again, enable it and replay what failed.\n',
    })
  }

  /** The last attempt failed: the delivery, the streak and, at its end, the endpoint stand or fall together. */
  const giveUp = async (outcome: Outcome): Promise<void> => {
    const { org_id: orgId, endpoint_id: id } = outcome.lane
    const disabled = await db.tx(async (tx) => {
      const [recorded] = await tx.rows(recordAttempts, recordOf([outcome]))
      if (!recorded) return undefined
      const at = clock.now()
      const row = await tx.row(extendStreak, { orgId, id, most: exhaustedInARow, at })
      if (!row || row.enabled) return undefined
      const { url, tenant_id: tenantId, consecutive_failures } = row
      await cancelSome(tx, orgId, id)
      await audit(tx, {
        orgId,
        actor: { kind: 'system' },
        action: 'webhook.updated',
        resourceType: 'webhook',
        resourceId: id,
        metadata: { enabled: false, reason: 'auto_disabled', consecutive_failures },
      })
      await appendEvents(tx, {
        orgId,
        tenantId,
        environment: null,
        event: 'webhook.disabled',
        data: {
          id,
          status: 'disabled',
          url,
          reason: 'auto',
          consecutive_failures,
          disabled_at: at.toISOString(),
        },
      })
      return url
    })
    if (disabled === undefined) return
    sick.delete(id)
    await cancelRest(db, orgId, id)
    // The endpoint is off whether or not anybody can be told by mail.
    await tell(orgId, disabled).catch((error) =>
      log.error({ err: error, ...named(outcome.lane) }, 'nobody could be told of a disabled endpoint'),
    )
  }

  const attemptOne = async (lane: LaneRow, endpoint: Target, due: Due): Promise<Outcome> => {
    const signed = {
      id: due.id,
      event: due.event,
      environment: due.environment,
      tenantId: due.tenant_id,
      payload: due.payload,
    }
    return outcomeOf(lane, due, await send(endpoint, signed, due.attempt_count + 1))
  }

  const run = (lane: LaneRow, stop: Stop): Running => {
    const unrecorded = new Set<string>()
    let queue: Due[] = []
    let endpoint: Target | undefined
    let readAt = 0
    let sending = 0
    let made = 0
    let look = true
    let closing = false
    let fault: unknown
    let nudge: () => void = () => undefined
    const room = (): number => (sick.has(lane.endpoint_id) ? atOnceWhenSick : atOnce) - sending

    const deliver = async (to: Target, due: Due): Promise<void> => {
      const well = !sick.has(lane.endpoint_id)
      unrecorded.add(due.id)
      made++
      sending++
      if (well) wellSending++
      let counted = true
      const makeRoom = (): void => {
        if (counted) sending--
        counted = false
        nudge()
      }
      try {
        const outcome = await attemptOne(lane, to, due).finally(() => {
          if (well) wellSending--
        })
        const arrived = outcome.status === 'delivered'
        if (arrived) sick.delete(lane.endpoint_id)
        else sick.add(lane.endpoint_id)
        if (arrived || wellSending < busyFrom) makeRoom()
        else setTimeout(makeRoom, giveWayMs)
        await (outcome.status === 'failed' ? giveUp(outcome) : records.submit(outcome))
        unrecorded.delete(due.id)
      } catch (error) {
        // It stays among those not to be taken again here; whoever leases the lane next sends it once more.
        fault ??= error
        makeRoom()
      } finally {
        nudge()
      }
    }

    const refill = async (): Promise<void> => {
      look = false
      // What the sick would not be sent at once is not worth reading.
      const most = sick.has(lane.endpoint_id) ? atOnceWhenSick : perTake
      const taken = await takes.submit({ lane, inFlight: [...unrecorded], most })
      readAt = performance.now()
      queue = taken?.open ? taken.due : []
      endpoint = taken && { url: taken.url, secret: openSecret(vault, lane.endpoint_id, taken.sealed) }
      look ||= queue.length === most
      // Written while the endpoint was being switched off.
      if (taken && !taken.open) await cancelRest(db, lane.org_id, lane.endpoint_id)
    }

    const over = (): boolean => fault !== undefined || stop()

    const work = async (): Promise<number> => {
      for (;;) {
        if (queue.length > 0 && performance.now() - readAt > freshMs) {
          queue = []
          look = true
        }
        if (queue.length === 0 && look && room() > 0 && !over()) {
          await refill().catch((error) => {
            // What is in flight is still waited for and recorded.
            fault ??= error
          })
        }
        while (queue.length > 0 && room() > 0 && unrecorded.size < maxUnrecorded && !over()) {
          void deliver(endpoint as Target, queue.shift() as Due)
        }
        const idle = sending === 0 && (fault !== undefined || unrecorded.size === 0)
        if (idle && (over() || (queue.length === 0 && !look))) return made
        if (sending > 0 || unrecorded.size > 0) {
          await new Promise<void>((resolve) => {
            nudge = resolve
          })
        }
      }
    }

    const done = work()
      .catch((error) => {
        fault ??= error
        return made
      })
      .then(async (attempts) => {
        closing = true
        if (fault !== undefined) {
          // What was sent may not be recorded: the lane rests until its lease runs out.
          log.error({ err: fault, ...named(lane) }, 'a webhook lane failed; it is taken up again once stale')
          return attempts
        }
        await releases.submit(lane)
        return attempts
      })
      .catch((error) => {
        log.error({ err: error, ...named(lane) }, 'a webhook lane could not be handed back')
        return made
      })

    return {
      lane,
      done,
      poke: () => {
        if (closing) return false
        look = true
        nudge()
        return true
      },
    }
  }

  const until = (): Date => new Date(clock.millis() + leaseMs)

  return {
    lease: (limit) => db.rows(leaseLanes, { worker, at: clock.now(), until: until(), limit }),
    renew: async (lanes) => {
      await db.change(renewLeases, {
        worker,
        until: until(),
        orgIds: lanes.map((lane) => lane.org_id),
        endpointIds: lanes.map((lane) => lane.endpoint_id),
      })
    },
    release: (lane) => releases.submit(lane),
    run,
  }
}
