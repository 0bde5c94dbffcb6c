/** Creates, reads, verifies, changes and removes sending domains, and starts and ends their warmup. */
import { dayOf } from '../../customers/usage/periods.ts'
import type { Actor } from '../../journal/audit/append.ts'
import type { AppendEvents } from '../../journal/events/append-events.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { Position } from '../../platform/ground/cursor.ts'
import { Failure, invalid } from '../../platform/ground/errors.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import { assertMayChange } from '../../platform/ground/own-rows.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { minuteMs } from '../../platform/ground/units.ts'
import type { Limiter } from '../../platform/limits/limiter.ts'
import { refusedUntil } from '../../platform/limits/per-address.ts'
import { makeAddDomain } from './add-domain.ts'
import { makeAnnounceDomain } from './announce-domain.ts'
import { makeChangeDomain, makeMoveDomain } from './change-domain.ts'
import type { CheckDomains } from './check.ts'
import type { Region } from './region.ts'
import type { CreateDomain, PatchDomain } from './shapes.ts'
import {
  type DomainRow,
  deleteDomain,
  endWarmup,
  findDomain,
  listDomains,
  startWarmup,
  updateDomain,
  warmupSent,
} from './store/domain-rows.ts'
import { shareLockIpPool } from './store/ip-pool-rows.ts'
import { warmupCap, warmupEnd } from './warmup.ts'

/** A domain at one instant. `sentToday` is 0 unless the domain is in warmup. */
export type DomainView = { row: DomainRow; sentToday: number; at: Date }

type NewWarmup = {
  days: number
  /** Refuses a domain that is not verified. */
  verifiedOnly?: boolean
}

type Needs = Parameters<typeof makeAddDomain>[0] & {
  appendEvents: AppendEvents
  check: CheckDomains
  limiter: Limiter | undefined
  /** Drops this process's cached senders of the org immediately. Other processes are notified. */
  forget: (orgId: string) => void
}

const checksPerMinute = 10

const inWarmup = ({ warmup_days, warmup_started_at }: DomainRow, at: Date): boolean =>
  warmup_days !== null &&
  warmup_started_at !== null &&
  warmupCap({ days: warmup_days, startedAt: warmup_started_at }, at) !== null

/** The pool stays locked until the transaction ends. */
const assertAssignable = async (tx: Tx, row: DomainRow, poolId: string): Promise<void> => {
  const pool = await tx.row(shareLockIpPool, { orgId: row.org_id, id: poolId })
  if (!pool) throw invalid(['ip_pool_id'], 'custom', 'There is no such IP pool.')
  if (pool.region !== row.region) {
    throw invalid(['ip_pool_id'], 'custom', 'The IP pool must be in the same region as the domain.')
  }
}

export const makeManageDomains = (needs: Needs) => {
  const { db, clock, audit, check, limiter, identities, forget } = needs
  const addDomain = makeAddDomain(needs)
  const announce = makeAnnounceDomain(needs)
  const change = makeChangeDomain(needs)
  const move = makeMoveDomain({ db, audit, change, identities })

  const viewsOf = async (orgId: string, rows: DomainRow[]): Promise<DomainView[]> => {
    const at = clock.now()
    const warming = rows.filter((row) => inWarmup(row, at)).map((row) => row.id)
    const sent = warming.length === 0 ? [] : await db.rows(warmupSent, { orgId, ids: warming, day: dayOf(at) })
    const byId = new Map(sent.map(({ subject, used }) => [subject, used]))
    return rows.map((row) => ({ row, sentToday: byId.get(row.id) ?? 0, at }))
  }
  const viewOf = async (row: DomainRow): Promise<DomainView> => (await viewsOf(row.org_id, [row]))[0] as DomainView

  const find = (scope: Scope, id: string): Promise<DomainRow | undefined> =>
    db.row(findDomain, { orgId: scope.orgId, projectId: scope.projectId, id })

  const limitChecks = async (orgId: string, id: string): Promise<void> => {
    const now = clock.millis()
    const bucket = { name: `{${orgId}}:domain_check:${id}`, limit: checksPerMinute, windowMs: minuteMs }
    const until = refusedUntil(await limiter?.take([bucket], now))
    if (until === undefined) return
    throw new Failure('RATE_LIMITED', {
      message: `You can check a domain at most ${checksPerMinute} times a minute.`,
      retryAfter: (until - now) / 1000,
    })
  }

  return {
    create: async (scope: Scope, actor: Actor, body: CreateDomain) => {
      const row = await addDomain(scope, actor, body)
      forget(scope.orgId)
      return viewOf(row)
    },

    /** Returns at most `limit` domains, the newest first. */
    list: async ({ orgId, tenantId, projectId }: Scope, after: Position | undefined, limit: number) => {
      const page = { afterAt: after?.createdAt ?? null, afterId: after?.id ?? null, limit }
      return viewsOf(orgId, await db.rows(listDomains, { orgId, tenantId, projectId, ...page }))
    },

    get: async (scope: Scope, id: string) => {
      const row = await find(scope, id)
      if (!row || (scope.tenantId !== null && row.tenant_id !== scope.tenantId)) throw new Failure('NOT_FOUND')
      return viewOf(row)
    },

    verify: async (scope: Scope, actor: Actor, id: string) => {
      assertMayChange(scope, await find(scope, id))
      await limitChecks(scope.orgId, id)
      await check.one(scope.orgId, id, actor)
      return viewOf(await orNotFound(find(scope, id)))
    },

    patch: async (scope: Scope, id: string, body: PatchDomain) => {
      const row = await change(scope, id, async (tx, before, at) => {
        const { ip_pool_id: poolId = null, inbound = null } = body
        const setPool = body.ip_pool_id !== undefined
        if (!setPool && inbound === null) return before
        if (poolId !== null) await assertAssignable(tx, before, poolId)
        return (await tx.row(updateDomain, { orgId: scope.orgId, id, inbound, setPool, poolId, at })) as DomainRow
      })
      return viewOf(row)
    },

    remove: async (scope: Scope, actor: Actor, id: string) => {
      await identities?.remove(assertMayChange(scope, await find(scope, id)))
      await change(scope, id, async (tx, row, at) => {
        await tx.row(deleteDomain, { orgId: scope.orgId, id })
        await identities?.inherit(tx, row)
        const { tenant_id, project_id } = row
        await announce(tx, row, actor, {
          what: 'removed',
          status: 'removed',
          data: { project_id, removed_at: at.toISOString() },
          metadata: { project_id, tenant_id },
        })
        return row
      })
    },

    changeRegion: async (scope: Scope, actor: Actor, id: string, region: Region) =>
      viewOf(await move.toRegion(scope, actor, id, region)),

    bindTenant: async (scope: Scope, actor: Actor, id: string, tenantId: string | null) =>
      viewOf(await move.toTenant(scope, actor, id, tenantId)),

    startWarmup: async (scope: Scope, actor: Actor, id: string, { days, verifiedOnly = false }: NewWarmup) => {
      const row = await change(scope, id, async (tx, before, at) => {
        if (verifiedOnly && before.status !== 'verified') throw new Failure('DOMAIN_NOT_VERIFIED')
        const endsAt = warmupEnd({ startedAt: at, days })
        const started = await tx.row(startWarmup, { orgId: scope.orgId, id, days, endsAt, at })
        if (!started) throw new Failure('WARMUP_ALREADY_ACTIVE')
        const window = { days, started_at: at.toISOString(), ends_at: endsAt.toISOString() }
        const daily_cap = warmupCap({ startedAt: at, days }, at)
        await announce(tx, before, actor, {
          what: 'warmup_started',
          status: 'warming',
          data: { daily_cap, ...window },
          metadata: window,
        })
        return started
      })
      return viewOf(row)
    },

    endWarmup: async (scope: Scope, id: string) => {
      const row = await change(scope, id, async (tx, before, at) =>
        before.warmup_days === null ? before : ((await tx.row(endWarmup, { orgId: scope.orgId, id, at })) as DomainRow),
      )
      return viewOf(row)
    },
  }
}

export type ManageDomains = ReturnType<typeof makeManageDomains>
