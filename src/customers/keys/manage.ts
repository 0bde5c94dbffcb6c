/**
 * Creates, updates and revokes API keys. A change by a key is checked against its own permissions. Every change is
 * recorded in the audit log.
 */
import type { Action } from '../../journal/audit/actions.ts'
import type { Actor, AuditEntry, AuditedNeeds } from '../../journal/audit/append.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { Failure, type FieldError } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import { isoOrNull } from '../../platform/ground/instant.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import { assertOwnEnvironment, type Environment, type Scope } from '../../platform/ground/scope.ts'
import { dayMs, hourMs } from '../../platform/ground/units.ts'
import { lockOrg } from '../orgs/store.ts'
import { assertWithinPlan } from '../usage/within-plan.ts'
import type { Caller } from './caller.ts'
import { assertNoEscalation, type RequestedKey } from './escalation.ts'
import { mintKey } from './key-secret.ts'
import { scopes as everyScope } from './scopes.ts'
import type { CreateKey, PatchKey } from './shapes.ts'
import {
  countKeys,
  findKey,
  insertKey,
  type KeyRow,
  listKeys,
  lockKey,
  lockProject,
  type Origin,
  revokeKey,
  unknownReferences,
  updateKey,
} from './store.ts'

/** The most field errors that one response lists. */
const maxFieldErrors = 100
const createdPerHour = 10

/** An owner of the org in the dashboard, who has no key whose permissions a new key could exceed. */
export type KeyOwner = Scope & { keyId: null; userId: string }

type KeyManager = Caller | KeyOwner

type KeyFilters = { tenantId: string | null; environment: Environment | null; includeRevoked: boolean }

/** How long people see a key after it is revoked. */
const revokedShownMs = 90 * dayMs

type Needs = AuditedNeeds & {
  /** Clears this process's cached callers of the org at once. Other processes are notified by the database. */
  forget: (orgId: string) => void
}

/** Audit metadata of a key: its name and limits, never the secret. */
const auditMetadata = (row: KeyRow): Record<string, unknown> => ({
  name: row.name,
  environment: row.environment,
  scopes: row.scopes,
  tenant_id: row.tenant_id,
  project_id: row.project_id,
  allowed_domain_ids: row.allowed_domain_ids,
  allowed_cidrs: row.allowed_cidrs,
  rate_limit_per_minute: row.rate_limit_per_minute,
  expires_at: isoOrNull(row.expires_at),
})

const entryOf = (row: KeyRow, actor: Actor, action: Action, metadata: Record<string, unknown>): AuditEntry => ({
  orgId: row.org_id,
  actor,
  action,
  resourceType: 'api_key',
  resourceId: row.id,
  metadata,
})

/**
 * The tenant, project and domains in the request body must exist. References that the key already has are not
 * checked again, since they may have been deleted in the meantime.
 */
const assertReferences = async (tx: Tx, orgId: string, body: Partial<CreateKey>): Promise<void> => {
  const { tenant_id = null, project_id = null, allowed_domain_ids = null } = body
  if (tenant_id === null && project_id === null && allowed_domain_ids === null) return
  const found = await tx.row(unknownReferences, { orgId, tenantId: tenant_id, domainIds: allowed_domain_ids })
  // Locked until the key is inserted: deleting the project in between would fail the insert.
  const project = project_id === null ? undefined : await tx.row(lockProject, { orgId, id: project_id })
  const errors: FieldError[] = []
  const unknown = (path: FieldError['path'], resource: string) =>
    errors.push({ path, code: 'custom', message: `There is no such ${resource}.` })
  if (found?.tenant_missing) unknown(['tenant_id'], 'tenant')
  if (project_id !== null && !project) unknown(['project_id'], 'project')
  for (const [index, id] of allowed_domain_ids?.entries() ?? []) {
    if (found?.unknown_domains?.includes(id)) unknown(['allowed_domain_ids', index], 'domain')
  }
  if (errors.length > 0) throw new Failure('VALIDATION_ERROR', { errors: errors.slice(0, maxFieldErrors) })
}

/** Checks the plan's limit, then the hourly rate of creation. Only keys that were created count. */
const assertBelowLimits = async (tx: Tx, orgId: string, at: Date): Promise<void> => {
  const org = await tx.row(lockOrg, { orgId })
  const counted = await tx.row(countKeys, { orgId, hourAgo: new Date(at.getTime() - hourMs) })
  if (!org || !counted) throw new Failure('NOT_FOUND')
  assertWithinPlan(org.plan, 'API keys', counted.active)
  const recent = counted.recent ?? []
  // The next key can be created when this one is more than an hour old.
  const tenthNewest = recent.at(-createdPerHour)
  if (tenthNewest) {
    const retryAfter = (tenthNewest.getTime() + hourMs - at.getTime()) / 1000
    throw new Failure('KEY_CREATION_RATE_LIMITED', { retryAfter })
  }
}

const deduplicated = (ids: string[] | null | undefined): string[] | null | undefined => ids && [...new Set(ids)]

const expiryOf = (days: number | null | undefined, at: Date): Date | null =>
  days === null || days === undefined ? null : new Date(at.getTime() + days * 86_400_000)

/** A tenant or project key can manage only keys of that tenant or project, and a test key only test keys. */
const lockInReach = async (tx: Tx, scope: Scope, id: string): Promise<KeyRow> => {
  const row = await orNotFound(tx.row(lockKey, { orgId: scope.orgId, id }))
  if (scope.projectId !== null && row.project_id !== scope.projectId) throw new Failure('NOT_FOUND')
  if (scope.tenantId !== null && row.tenant_id !== scope.tenantId) throw new Failure('TENANT_FORBIDDEN')
  assertOwnEnvironment(scope, row.environment)
  return row
}

/** How a key was created, and by which user. A key has no user. */
const creationOf = (manager: KeyManager): { origin: Origin; createdBy: string | null } =>
  manager.keyId === null ? { origin: 'dashboard', createdBy: manager.userId } : { origin: 'api', createdBy: null }

export const makeManageKeys = ({ db, clock, audit, forget }: Needs) => {
  const outcomeOfCreate = (scope: Scope, body: CreateKey, at: Date): RequestedKey => ({
    environment: body.environment ?? scope.environment,
    tenantId: body.tenant_id === undefined ? scope.tenantId : body.tenant_id,
    projectId: body.project_id === undefined ? scope.projectId : body.project_id,
    scopes: body.scopes ?? everyScope,
    allowedDomainIds: deduplicated(body.allowed_domain_ids) ?? null,
    allowedCidrs: body.allowed_cidrs ?? null,
    expiresAt: expiryOf(body.expires_in_days, at),
    ratePerMinute: body.rate_limit_per_minute ?? null,
  })

  const outcomeOfPatch = (row: KeyRow, body: PatchKey, at: Date): RequestedKey => {
    const patched = <T>(requested: T | undefined, current: T): T => (requested === undefined ? current : requested)
    return {
      environment: row.environment,
      tenantId: patched(body.tenant_id, row.tenant_id),
      projectId: row.project_id,
      scopes: patched(body.scopes, row.scopes),
      allowedDomainIds: patched(deduplicated(body.allowed_domain_ids), row.allowed_domain_ids),
      allowedCidrs: patched(body.allowed_cidrs, row.allowed_cidrs),
      expiresAt: body.expires_in_days === undefined ? row.expires_at : expiryOf(body.expires_in_days, at),
      ratePerMinute: patched(body.rate_limit_per_minute, row.rate_limit_per_minute),
    }
  }

  return {
    create: async (manager: KeyManager, actor: Actor, body: CreateKey) => {
      const at = clock.now()
      const outcome = outcomeOfCreate(manager, body, at)
      const { key, ...minted } = mintKey(outcome.environment)
      const id = newId('key', at.getTime())
      const row = await db.tx(async (tx) => {
        // Escalation is checked before references, so that a restricted key cannot find out what else exists.
        if (manager.keyId !== null) assertNoEscalation(manager, outcome)
        await assertReferences(tx, manager.orgId, body)
        await assertBelowLimits(tx, manager.orgId, at)
        const named = { orgId: manager.orgId, id, name: body.name, at }
        const values = { ...outcome, ...minted, ...named, ...creationOf(manager) }
        const created = (await tx.row(insertKey, values)) as KeyRow
        await audit(tx, entryOf(created, actor, 'api_key.created', auditMetadata(created)))
        return created
      })
      return { row, key }
    },

    /** The keys that a key may manage: of its own tenant, project and environment, if it has one. */
    list: async ({ orgId, tenantId, projectId, environment }: Scope, filters: KeyFilters, page: PageAsked) => {
      if (tenantId !== null && filters.tenantId !== null && filters.tenantId !== tenantId) {
        throw new Failure('TENANT_FORBIDDEN')
      }
      // A test key sees only test keys, even if the query requests live ones.
      if (environment === 'test' && filters.environment === 'live') return []
      return db.rows(listKeys, {
        orgId,
        projectId,
        revokedSince: filters.includeRevoked ? new Date(0) : null,
        tenantId: tenantId ?? filters.tenantId,
        environment: environment === 'test' ? 'test' : filters.environment,
        ...keysetOf(page),
      })
    },

    /** For people: with keys that were revoked in the last 90 days. */
    listForOrg: (orgId: string, filters: Omit<KeyFilters, 'includeRevoked'>, page: PageAsked) => {
      const revokedSince = new Date(clock.millis() - revokedShownMs)
      return db.rows(listKeys, { orgId, projectId: null, ...filters, revokedSince, ...keysetOf(page) })
    },

    get: async (scope: Scope, id: string) => {
      const row = await db.row(findKey, { orgId: scope.orgId, id })
      const hidden =
        !row ||
        (scope.tenantId !== null && row.tenant_id !== scope.tenantId) ||
        (scope.projectId !== null && row.project_id !== scope.projectId) ||
        (scope.environment === 'test' && row.environment === 'live')
      if (hidden) throw new Failure('NOT_FOUND')
      return row
    },

    patch: async (manager: KeyManager, actor: Actor, id: string, body: PatchKey) => {
      const at = clock.now()
      const changed = await db.tx(async (tx) => {
        const row = await lockInReach(tx, manager, id)
        if (row.revoked_at) throw new Failure('KEY_REVOKED')
        if (Object.keys(body).length === 0) return row
        const outcome = outcomeOfPatch(row, body, at)
        if (manager.keyId !== null) assertNoEscalation(manager, outcome)
        await assertReferences(tx, manager.orgId, body)
        const name = body.name ?? row.name
        const after = (await tx.row(updateKey, { ...outcome, orgId: manager.orgId, id, name, at })) as KeyRow
        const metadata = { ...auditMetadata(after), changed: Object.keys(body) }
        await audit(tx, entryOf(after, actor, 'api_key.updated', metadata))
        return after
      })
      forget(manager.orgId)
      return changed
    },

    revoke: async (manager: KeyManager, actor: Actor, id: string) => {
      if (id === manager.keyId) throw new Failure('SELF_REVOKE_FORBIDDEN')
      const at = clock.now()
      const revokedAt = await db.tx(async (tx) => {
        const row = await lockInReach(tx, manager, id)
        if (row.revoked_at) return row.revoked_at
        const revoked = await tx.row(revokeKey, { orgId: manager.orgId, id, at })
        const metadata = { name: row.name, environment: row.environment }
        await audit(tx, entryOf(row, actor, 'api_key.revoked', metadata))
        return revoked?.revoked_at ?? at
      })
      forget(manager.orgId)
      return { id, revokedAt }
    },
  }
}

export type ManageKeys = ReturnType<typeof makeManageKeys>
