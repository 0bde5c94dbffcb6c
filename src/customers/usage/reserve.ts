/**
 * Reserves usage before the provider is called. A reservation counts against every cap that applies to the send:
 * either all of them, or none if one cap would be exceeded.
 */
import { makeStepBatcher } from '../../platform/db/batch.ts'
import type { StoreNeeds, Tx } from '../../platform/db/pool.ts'
import { makeShortCache } from '../../platform/db/short-cache.ts'
import { type Code, Failure } from '../../platform/ground/errors.ts'
import type { Log } from '../../platform/ground/log.ts'
import { andThen, type MaybePromise } from '../../platform/ground/maybe-promise.ts'
import {
  type Decision,
  type Hold,
  makeDecide,
  type Recipients,
  type ReservationRequest,
} from './decide-reservations.ts'
import { type Draw, makeLeases } from './leases.ts'
import {
  type Allowance,
  counterColumns,
  countersOf,
  type Line,
  linesOf,
  linesOfParts,
  makeLinesOfKind,
  nameOf,
  type Parts,
  partOf,
  releasedLines,
  type Spend,
  settledUsage,
} from './lines.ts'
import { secondsToNextDay, secondsToNextMonth } from './periods.ts'
import { monthlyQuota } from './plan-limits.ts'
import { makeRelease, releaseAllWith } from './release.ts'
import { type AllowanceRow, findAllowance, readNamedCounters, settleUsage } from './store.ts'

/** Reserved usage. It is released if the message is not handed to the provider. */
export type Reservation = {
  lines: Line[]
  at: Date
  allowance: Allowance
  /** The stored reservation, by which the usage can be settled if this process dies. */
  stored?: { orgId: string; id: string; claim: string | null }
  /** Drawn from a lease, and not counted yet: the record of the message counts it. */
  draw?: Draw
}

/** How a reservation is stored: under the id of a message, or of a batch with the usage of each of its messages. */
export type Keep = { id: string; claim?: string | null; parts?: Parts }

/** The usage of a send that `reserveWith` decides. */
export type PreparedSpend = { orgId: string; channel: Spend['channel']; lines: Line[]; at: Date; allowance: Allowance }

type SuppressedRecipients = { suppressed: ReadonlySet<string> }

const allowanceFrom = (row: AllowanceRow): Allowance => ({
  plan: row.plan,
  quota: {
    email: row.email_monthly ?? monthlyQuota[row.plan].email,
    sms: row.sms_monthly ?? monthlyQuota[row.plan].sms,
  },
  tenantQuota: { email: row.tenant_email_monthly, sms: row.tenant_sms_monthly },
  spendCapMicros: row.spend_cap_micros,
})

const failureFor = (code: Code, at: Date): Failure => {
  if (code === 'SANDBOX_DAILY_LIMIT' || code === 'SPEND_CAP_EXCEEDED') return new Failure(code)
  const daily = code === 'TEST_DAILY_LIMIT' || code === 'WARMUP_LIMIT_EXCEEDED'
  return new Failure(code, { retryAfter: daily ? secondsToNextDay(at) : secondsToNextMonth(at) })
}

/** Messages of one kind count on the same counters. The daily limits of a sender are reserved message by message. */
const kindOf = ({ orgId, tenantId, environment, keyId, channel, sandbox, warmup }: Spend): string | undefined =>
  sandbox || warmup ? undefined : `${orgId} ${tenantId} ${environment} ${keyId} ${channel}`

export const makeUsage = ({ db, clock, log, trusted }: StoreNeeds & { log: Log; trusted: () => boolean }) => {
  const leases = makeLeases({ db, clock, log })
  const linesOfKind = makeLinesOfKind()
  const copies = makeShortCache<Allowance>({ trusted })
  const release = makeRelease({ db })
  const reservations = makeStepBatcher<ReservationRequest, Decision>({
    name: 'usage.reserve',
    run: makeDecide({ db, clock }),
  })

  const allowanceOf = (orgId: string, tenantId: string | null): MaybePromise<Allowance> =>
    copies.through(tenantId === null ? orgId : `${orgId} ${tenantId}`, orgId, async () => {
      const row = await db.row(findAllowance, { orgId, tenantId })
      if (!row) throw new Error(`Org ${orgId} does not exist`)
      return allowanceFrom(row)
    })

  const reserve = async (
    spend: Spend,
    keep?: Keep,
    recipients?: Recipients,
  ): Promise<Reservation | SuppressedRecipients> => {
    const { orgId, channel } = spend
    const at = clock.now()
    const known = allowanceOf(orgId, spend.tenantId)
    const allowance = known instanceof Promise ? await known : known
    const lines = linesOf(spend, allowance, at)
    if (lines.length === 0) return { lines, at, allowance }
    const claim = keep?.claim ?? null
    const hold: Hold | undefined = keep && {
      id: keep.id,
      claim,
      at,
      parts: keep.parts ?? { [keep.id]: partOf(spend) },
    }
    const { refusedBy, suppressed, held, failed } = await reservations.submit({
      orgId,
      channel,
      lines,
      hold,
      recipients,
    })
    if (failed) throw failed
    if (suppressed) return { suppressed }
    if (refusedBy !== undefined) throw failureFor((lines[refusedBy] as Line).refusal, at)
    if (!keep) return { lines, at, allowance }
    const stored = { orgId, id: keep.id, claim }
    if (held) return { lines: linesOfParts(orgId, held.parts, held.at), at: held.at, allowance, stored }
    return { lines, at, allowance, stored }
  }

  const drawWith = (kind: string, spend: Spend, allowance: Allowance): Reservation | undefined => {
    const at = clock.now()
    const lines = linesOfKind(kind, spend, allowance, at)
    const draw = leases.draw(kind, lines)
    return draw && { lines, at, allowance, draw }
  }

  const prepare = (spend: Spend): MaybePromise<PreparedSpend> => {
    const { orgId, channel } = spend
    const at = clock.now()
    return andThen(allowanceOf(orgId, spend.tenantId), (allowance) => ({
      orgId,
      channel,
      lines: linesOf(spend, allowance, at),
      at,
      allowance,
    }))
  }

  const reserveWith = async (tx: Tx, prepared: PreparedSpend[]): Promise<(Reservation | Failure)[]> => {
    const decisions = await makeDecide({ db: tx, clock })(prepared)
    return prepared.map(({ lines, at, allowance }, i) => {
      const { refusedBy, failed } = decisions[i] as Decision
      if (failed) throw failed
      return refusedBy === undefined ? { lines, at, allowance } : failureFor((lines[refusedBy] as Line).refusal, at)
    })
  }

  return {
    allowanceOf,
    /** Takes the usage from a lease of this process, if it has one with enough left. The record of the message counts it. */
    draw: (spend: Spend) => {
      const kind = kindOf(spend)
      if (kind === undefined) return undefined
      return andThen(allowanceOf(spend.orgId, spend.tenantId), (allowance) => drawWith(kind, spend, allowance))
    },
    /** Reads the caps of a send, which `reserveWith` needs before its transaction begins. */
    prepare,
    /**
     * Reserves usage in a transaction, so that it commits together with what the usage is for. Returns the error of each
     * send that would exceed a cap.
     */
    reserveWith,
    /** Reserves usage, or throws the error code of the first cap that would be exceeded. */
    reserve: async (spend: Spend, keep?: Keep) => (await reserve(spend, keep)) as Reservation,
    /** Like `reserve`, but reserves nothing and returns the suppressed recipients if there are any. */
    reserveUnlessSuppressed: reserve,
    /** Throws the same errors as `reserve`, without reserving anything. */
    check: async (spend: Spend) => {
      const at = clock.now()
      const lines = linesOf(spend, await allowanceOf(spend.orgId, spend.tenantId), at)
      const { names, counters } = countersOf(lines)
      const orgIds = counters.map((c) => c.orgId)
      const rows = await db.rows(readNamedCounters, { orgIds, ...counterColumns(counters) })
      const usedOf = new Map(rows.map(({ place, used }) => [names[place - 1], used]))
      const over = lines.find((line) => line.cap !== null && (usedOf.get(nameOf(line)) ?? 0) + line.amount > line.cap)
      if (over) throw failureFor(over.refusal, at)
    },
    release: async ({ lines, stored, draw }: Reservation) => {
      if (draw) leases.giveBack(draw)
      else await release({ lines, stored: stored && { ...stored, messageId: stored.id } })
    },
    /** Releases what `reserveWith` reserved, in the transaction that undoes what the usage was for. */
    releaseWith: (tx: Tx, { lines }: Reservation) => releaseAllWith(tx, [{ lines }]),
    /**
     * Releases usage of one message of a batch, in the day and month in which it was reserved. `left` is what the message
     * still uses.
     */
    releasePart: async ({ at, stored, draw }: Reservation, messageId: string, part: Spend, left?: Spend) => {
      if (draw) leases.giveBack(draw)
      else
        await release({
          lines: releasedLines(part, at),
          stored: stored && { ...stored, messageId, left: left && partOf(left) },
        })
    },
    /** The record of the message closed its stored reservation, or counted what it drew. */
    recorded: ({ draw }: Reservation) => {
      if (draw) leases.settle(draw)
    },
    /** Does the same for usage that stays counted although no record did that. */
    close: async ({ lines, stored, draw }: Reservation) => {
      if (draw || stored) await db.row(settleUsage, settledUsage(stored ? [stored] : [], draw ? [lines] : []))
      if (draw) leases.settle(draw)
    },
    forgetOrg: copies.forgetOrg,
    forgetAll: copies.clear,
    /** Returns what this process has leased. */
    stop: leases.end,
  }
}

export type Usage = ReturnType<typeof makeUsage>
