/** Adding, changing and removing sending domains. */

import type { Actor, Audit } from '../audit/append.ts'
import { foreignKeyViolation } from '../db/faults.ts'
import type { Db, Runner, Tx } from '../db/pool.ts'
import type { AppendEvents } from '../events/append-events.ts'
import type { Clock } from '../ground/clock.ts'
import type { Vault } from '../ground/crypto.ts'
import { Failure, invalid } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import type { Scope } from '../ground/scope.ts'
import type { Limiter } from '../limits/limiter.ts'
import { lockOrg } from '../orgs/store.ts'
import { dayOf } from '../usage/periods.ts'
import { resourceLimit } from '../usage/plan-limits.ts'
import type { CheckDomains } from './check.ts'
import { type DkimKey, sealedFor } from './dkim-key.ts'
import { isReserved } from './name.ts'
import type { CreateDomain, PatchDomain } from './shapes.ts'
import {
  type DomainRow,
  deleteDomain,
  endWarmup,
  findDomain,
  findDomainAllowance,
  findProjectFor,
  findTenantFor,
  holdIpPool,
  holdName,
  insertDomain,
  listDomains,
  lockDomain,
  restartDomain,
  startWarmup,
  takeOverDomain,
  updateDomain,
  warmupSent,
} from './store.ts'
import { warmupCap, warmupEnd } from './warmup.ts'

/** A domain as it is told: with what it sent today, where that counts. */
export type DomainView = { row: DomainRow; sentToday: number; at: Date }

type Position = { createdAt: string; id: string } | undefined

export interface ManageDomains {
  create(scope: Scope, actor: Actor, body: CreateDomain): Promise<DomainView>
  /** One more than asked for, where there is more. */
  list(scope: Scope, after: Position, limit: number): Promise<DomainView[]>
  get(scope: Scope, id: string): Promise<DomainView>
  verify(scope: Scope, actor: Actor, id: string): Promise<DomainView>
  patch(scope: Scope, id: string, body: PatchDomain): Promise<DomainView>
  remove(scope: Scope, actor: Actor, id: string): Promise<void>
  startWarmup(scope: Scope, actor: Actor, id: string, days: number): Promise<DomainView>
  endWarmup(scope: Scope, id: string): Promise<DomainView>
}

type Needs = {
  db: Db
  clock: Clock
  audit: Audit
  appendEvents: AppendEvents
  check: CheckDomains
  limiter: Limiter | undefined
  vault: Vault
  newKey: () => Promise<DkimKey>
  serviceDomain: string
  /** Drops copies of the org's senders in this process at once; other processes hear of it. */
  forget: (orgId: string) => void
}

const minute = 60_000
const checksPerMinute = 10

/** A row of another tenant, or of none, may not be changed by a tenant's key; a live one not by a test key. */
const assertMayChange = (scope: Scope, row: DomainRow | undefined): DomainRow => {
  if (!row) throw new Failure('NOT_FOUND')
  if (scope.tenantId !== null && row.tenant_id !== scope.tenantId) throw new Failure('TENANT_FORBIDDEN')
  if (scope.environment === 'test' && row.created_environment === 'live') {
    throw new Failure('ENVIRONMENT_ESCALATION')
  }
  return row
}

/** Whose the domain would be. A tenant's key adds for its own tenant and for nobody else. */
const tenantOf = (scope: Scope, asked: string | null | undefined): string | null => {
  if (scope.tenantId === null) return asked ?? null
  if (asked !== undefined && asked !== scope.tenantId) throw new Failure('TENANT_FORBIDDEN')
  return scope.tenantId
}

const noSuch = (what: 'tenant' | 'project'): Failure => invalid([`${what}_id`], 'custom', `There is no such ${what}.`)

type Place = { projectId: string; tenantId: string | null }

const soughtBy = (scope: Scope, { projectId }: Place, name: string) => ({
  orgId: scope.orgId,
  projectId,
  name,
  environment: scope.environment,
  boundTenantId: scope.tenantId,
})

/** What a live key takes over from a test key is there already, and needs none. */
const assertRoom = async (runner: Runner, scope: Scope, place: Place, name: string): Promise<void> => {
  const room = await runner.row(findDomainAllowance, soughtBy(scope, place, name))
  if (!room) throw new Failure('NOT_FOUND')
  if (room.takeable) return
  if (room.added) throw new Failure('DOMAIN_ALREADY_ADDED')
  const limit = resourceLimit.domains[room.plan]
  if (room.domains >= limit) {
    throw new Failure('PLAN_RESOURCE_LIMIT', { message: `The ${room.plan} plan allows ${limit} domains.` })
  }
}

const inWarmup = ({ warmup_days, warmup_started_at }: DomainRow, at: Date): boolean =>
  warmup_days !== null &&
  warmup_started_at !== null &&
  warmupCap({ days: warmup_days, startedAt: warmup_started_at }, at) !== null

export const makeManageDomains = (needs: Needs): ManageDomains => {
  const { db, clock, audit, appendEvents, check, limiter, vault, newKey, serviceDomain, forget } = needs

  const tellAll = async (orgId: string, rows: DomainRow[]): Promise<DomainView[]> => {
    const at = clock.now()
    const warming = rows.filter((row) => inWarmup(row, at)).map((row) => row.id)
    const sent = warming.length === 0 ? [] : await db.rows(warmupSent, { orgId, ids: warming, day: dayOf(at) })
    const byId = new Map(sent.map(({ subject, used }) => [subject, used]))
    return rows.map((row) => ({ row, sentToday: byId.get(row.id) ?? 0, at }))
  }
  const tell = async (row: DomainRow): Promise<DomainView> => (await tellAll(row.org_id, [row]))[0] as DomainView

  /** What is found for a change, held until the change is made. */
  const change = async (
    scope: Scope,
    id: string,
    work: (tx: Tx, row: DomainRow, at: Date) => Promise<DomainRow>,
  ): Promise<DomainRow> => {
    const after = await db.tx(async (tx) => {
      const row = assertMayChange(
        scope,
        await tx.row(lockDomain, { orgId: scope.orgId, projectId: scope.projectId, id }),
      )
      return work(tx, row, clock.now())
    })
    forget(scope.orgId)
    return after
  }

  const spendCheck = async (orgId: string, id: string): Promise<void> => {
    const now = clock.millis()
    const bucket = { name: `{${orgId}}:domain_check:${id}`, limit: checksPerMinute, windowMs: minute }
    const taken = await limiter?.take([bucket], now)
    if (!taken || taken.allowed) return
    throw new Failure('RATE_LIMITED', {
      message: `At most ${checksPerMinute} checks a minute per domain.`,
      retryAfter: ((taken.states[0]?.resetAt ?? now) - now) / 1000,
    })
  }

  const placeOf = async (scope: Scope, body: CreateDomain): Promise<Place> => {
    const tenantId = tenantOf(scope, body.tenant_id)
    if (tenantId !== null && !(await db.row(findTenantFor, { orgId: scope.orgId, id: tenantId }))) {
      throw noSuch('tenant')
    }
    const project = await db.row(findProjectFor, {
      orgId: scope.orgId,
      boundTo: scope.projectId,
      id: body.project_id ?? null,
    })
    if (!project) throw noSuch('project')
    return { projectId: project.id, tenantId }
  }

  /** What a test key made backs no live mail. A live key that adds the name makes it its own instead of failing. */
  const takeOver = async (tx: Tx, scope: Scope, place: Place, body: CreateDomain): Promise<DomainRow | undefined> => {
    const at = clock.now()
    const row = await tx.row(takeOverDomain, {
      ...soughtBy(scope, place, body.name),
      tenantId: place.tenantId,
      region: body.region,
      returnPath: body.return_path,
      inbound: body.inbound,
      at,
    })
    return row?.dkim_status === 'IDENTITY_NOT_FOUND'
      ? tx.row(restartDomain, { orgId: scope.orgId, id: row.id, at })
      : row
  }

  const insertNew = async (
    tx: Tx,
    scope: Scope,
    place: Place,
    body: CreateDomain,
    key: DkimKey,
  ): Promise<DomainRow> => {
    await assertRoom(tx, scope, place, body.name)
    await tx.row(holdName, { name: body.name })
    const at = clock.now()
    const id = newId('domain', at.getTime())
    const sealed = vault.seal(key.privateKey, sealedFor(id))
    const row = await tx.row(insertDomain, {
      orgId: scope.orgId,
      id,
      projectId: place.projectId,
      tenantId: place.tenantId,
      name: body.name,
      region: body.region,
      environment: scope.environment,
      returnPath: body.return_path,
      inbound: body.inbound,
      publicKey: key.publicKey,
      sealedPrivateKey: sealed,
      at,
    })
    if (!row) throw new Failure('DOMAIN_ALREADY_ADDED')
    return row
  }

  const setPool = async (tx: Tx, row: DomainRow, poolId: string | null): Promise<void> => {
    if (poolId === null) return
    const pool = await tx.row(holdIpPool, { orgId: row.org_id, id: poolId })
    if (!pool) throw invalid(['ip_pool_id'], 'custom', 'There is no such IP pool.')
    if (pool.region !== row.region) {
      throw invalid(['ip_pool_id'], 'custom', 'The IP pool is in another region than the domain.')
    }
  }

  return {
    create: async (scope, actor, body) => {
      if (isReserved(body.name, serviceDomain)) throw new Failure('DOMAIN_RESERVED')
      const place = await placeOf(scope, body)
      // Looked at twice: what will be refused costs no key, and what is made is counted under the lock.
      await assertRoom(db, scope, place, body.name)
      const key = await newKey()
      const row = await db
        .tx(async (tx) => {
          await tx.row(lockOrg, { orgId: scope.orgId })
          const made = (await takeOver(tx, scope, place, body)) ?? (await insertNew(tx, scope, place, body, key))
          const { id, name, region, project_id, tenant_id } = made
          await audit(tx, {
            orgId: scope.orgId,
            actor,
            action: 'domain.added',
            resourceType: 'domain',
            resourceId: id,
            metadata: { name, region, project_id, tenant_id },
          })
          return made
        })
        .catch((error) => {
          // The project was deleted while the key was being made.
          throw foreignKeyViolation(error) ? noSuch('project') : error
        })
      forget(scope.orgId)
      return tell(row)
    },

    list: async (scope, after, limit) => {
      const { orgId, tenantId, projectId } = scope
      const page = { afterAt: after?.createdAt ?? null, afterId: after?.id ?? null, limit }
      const rows = await db.rows(listDomains, { orgId, tenantId, projectId, ...page })
      return tellAll(scope.orgId, rows)
    },

    get: async (scope, id) => {
      const row = await db.row(findDomain, { orgId: scope.orgId, projectId: scope.projectId, id })
      if (!row || (scope.tenantId !== null && row.tenant_id !== scope.tenantId)) throw new Failure('NOT_FOUND')
      return tell(row)
    },

    verify: async (scope, actor, id) => {
      assertMayChange(scope, await db.row(findDomain, { orgId: scope.orgId, projectId: scope.projectId, id }))
      await spendCheck(scope.orgId, id)
      await check.one(scope.orgId, id, actor)
      const row = await db.row(findDomain, { orgId: scope.orgId, projectId: scope.projectId, id })
      if (!row) throw new Failure('NOT_FOUND')
      return tell(row)
    },

    patch: async (scope, id, body) => {
      const row = await change(scope, id, async (tx, before, at) => {
        const { ip_pool_id: poolId, inbound } = body
        if (poolId === undefined && inbound === undefined) return before
        await setPool(tx, before, poolId ?? null)
        return (await tx.row(updateDomain, {
          orgId: scope.orgId,
          id,
          inbound: inbound ?? null,
          setPool: poolId !== undefined,
          poolId: poolId ?? null,
          at,
        })) as DomainRow
      })
      return tell(row)
    },

    remove: async (scope, actor, id) => {
      await change(scope, id, async (tx, row, at) => {
        await tx.row(deleteDomain, { orgId: scope.orgId, id })
        const { name, tenant_id: tenantId, project_id } = row
        const data = { id, domain: name, status: 'removed', project_id, removed_at: at.toISOString() }
        const event = { orgId: scope.orgId, tenantId, environment: null }
        await appendEvents(tx, { ...event, event: 'domain.removed', data })
        await audit(tx, {
          orgId: scope.orgId,
          actor,
          action: 'domain.removed',
          resourceType: 'domain',
          resourceId: id,
          metadata: { name, project_id, tenant_id: tenantId },
        })
        return row
      })
    },

    startWarmup: async (scope, actor, id, days) => {
      const row = await change(scope, id, async (tx, before, at) => {
        const endsAt = warmupEnd({ startedAt: at, days })
        const started = await tx.row(startWarmup, { orgId: scope.orgId, id, days, endsAt, at })
        if (!started) throw new Failure('WARMUP_ALREADY_ACTIVE')
        const window = { days, started_at: at.toISOString(), ends_at: endsAt.toISOString() }
        const daily_cap = warmupCap({ startedAt: at, days }, at)
        const data = { id, domain: before.name, status: 'warming', daily_cap, ...window }
        const event = { orgId: scope.orgId, tenantId: before.tenant_id, environment: null }
        await appendEvents(tx, { ...event, event: 'domain.warmup_started', data })
        await audit(tx, {
          orgId: scope.orgId,
          actor,
          action: 'domain.warmup_started',
          resourceType: 'domain',
          resourceId: id,
          metadata: { name: before.name, ...window },
        })
        return started
      })
      return tell(row)
    },

    endWarmup: async (scope, id) => {
      const row = await change(scope, id, async (tx, before, at) =>
        before.warmup_days === null ? before : ((await tx.row(endWarmup, { orgId: scope.orgId, id, at })) as DomainRow),
      )
      return tell(row)
    },
  }
}
