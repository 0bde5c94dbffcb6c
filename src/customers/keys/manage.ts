/**
 * Creates, updates and revokes API keys. A change by a key is checked against its own permissions. Every change is
 * recorded in the audit log.
 */

import type { Actor, Audit } from '../audit/append.ts'
import type { Db, Tx } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { Failure, type FieldError } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import type { Scope } from '../ground/scope.ts'
import { lockOrg } from '../orgs/store.ts'
import { resourceLimit } from '../usage/plan-limits.ts'
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
  lockKey,
  lockProject,
  type Origin,
  revokeKey,
  unknownReferences,
  updateKey,
} from './store.ts'

const hour = 3_600_000
/** The most field errors that one response lists. */
const maxFieldErrors = 100
const createdPerHour = 10

/** An owner of the org in the dashboard, who has no key whose permissions a new key could exceed. */
export type KeyOwner = Scope & { keyId: null; userId: string }

export type KeyManager = Caller | KeyOwner

export interface ManageKeys {
  create(manager: KeyManager, actor: Actor, body: CreateKey): Promise<{ row: KeyRow; key: string }>
  get(scope: Scope, id: string): Promise<KeyRow>
  patch(manager: KeyManager, actor: Actor, id: string, body: PatchKey): Promise<KeyRow>
  revoke(manager: KeyManager, actor: Actor, id: string): Promise<{ id: string; revokedAt: Date }>
}

type Needs = {
  db: Db
  clock: Clock
  audit: Audit
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
  expires_at: row.expires_at?.toISOString() ?? null,
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
  const counted = await tx.row(countKeys, { orgId, hourAgo: new Date(at.getTime() - hour) })
  if (!org || !counted) throw new Failure('NOT_FOUND')
  const limit = resourceLimit['API keys'][org.plan]
  if (counted.active >= limit) {
    throw new Failure('PLAN_RESOURCE_LIMIT', { message: `The ${org.plan} plan allows ${limit} API keys.` })
  }
  const recent = counted.recent ?? []
  // The next key can be created when this one is more than an hour old.
  const tenthNewest = recent.at(-createdPerHour)
  if (tenthNewest) {
    const retryAfter = (tenthNewest.getTime() + hour - at.getTime()) / 1000
    throw new Failure('KEY_CREATION_RATE_LIMITED', { retryAfter })
  }
}

const deduplicated = (ids: string[] | null | undefined): string[] | null | undefined => ids && [...new Set(ids)]

const expiryOf = (days: number | null | undefined, at: Date): Date | null =>
  days === null || days === undefined ? null : new Date(at.getTime() + days * 86_400_000)

/** A tenant or project key can manage only keys of that tenant or project, and a test key only test keys. */
const assertInReach = (scope: Scope, row: KeyRow): void => {
  if (scope.projectId !== null && row.project_id !== scope.projectId) throw new Failure('NOT_FOUND')
  if (scope.tenantId !== null && row.tenant_id !== scope.tenantId) throw new Failure('TENANT_FORBIDDEN')
  if (scope.environment === 'test' && row.environment === 'live') throw new Failure('ENVIRONMENT_ESCALATION')
}

/** How a key was created, and by which user. A key has no user. */
const creationOf = (manager: KeyManager): { origin: Origin; createdBy: string | null } =>
  manager.keyId === null ? { origin: 'dashboard', createdBy: manager.userId } : { origin: 'api', createdBy: null }

export const makeManageKeys = ({ db, clock, audit, forget }: Needs): ManageKeys => {
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
    create: async (manager, actor, body) => {
      const at = clock.now()
      const outcome = outcomeOfCreate(manager, body, at)
      const { key, hash, prefix, lastFour } = mintKey(outcome.environment)
      const id = newId('key', at.getTime())
      const row = await db.tx(async (tx) => {
        // Escalation is checked before references, so that a restricted key cannot find out what else exists.
        if (manager.keyId !== null) assertNoEscalation(manager, outcome)
        await assertReferences(tx, manager.orgId, body)
        await assertBelowLimits(tx, manager.orgId, at)
        const created = await tx.row(insertKey, {
          orgId: manager.orgId,
          id,
          hash,
          name: body.name,
          environment: outcome.environment,
          prefix,
          lastFour,
          scopes: [...outcome.scopes],
          tenantId: outcome.tenantId,
          projectId: outcome.projectId,
          allowedDomainIds: outcome.allowedDomainIds as string[] | null,
          allowedCidrs: outcome.allowedCidrs as string[] | null,
          ratePerMinute: outcome.ratePerMinute,
          expiresAt: outcome.expiresAt,
          ...creationOf(manager),
          at,
        })
        const entry = { orgId: manager.orgId, actor, resourceType: 'api_key', resourceId: id }
        await audit(tx, { ...entry, action: 'api_key.created', metadata: auditMetadata(created as KeyRow) })
        return created as KeyRow
      })
      return { row, key }
    },

    get: async (scope, id) => {
      const row = await db.row(findKey, { orgId: scope.orgId, id })
      const hidden =
        !row ||
        (scope.tenantId !== null && row.tenant_id !== scope.tenantId) ||
        (scope.projectId !== null && row.project_id !== scope.projectId) ||
        (scope.environment === 'test' && row.environment === 'live')
      if (hidden) throw new Failure('NOT_FOUND')
      return row
    },

    patch: async (manager, actor, id, body) => {
      const at = clock.now()
      const changed = await db.tx(async (tx) => {
        const row = await tx.row(lockKey, { orgId: manager.orgId, id })
        if (!row) throw new Failure('NOT_FOUND')
        assertInReach(manager, row)
        if (row.revoked_at) throw new Failure('KEY_REVOKED')
        if (Object.keys(body).length === 0) return row
        const outcome = outcomeOfPatch(row, body, at)
        if (manager.keyId !== null) assertNoEscalation(manager, outcome)
        await assertReferences(tx, manager.orgId, body)
        const after = (await tx.row(updateKey, {
          orgId: manager.orgId,
          id,
          name: body.name ?? row.name,
          scopes: [...outcome.scopes],
          tenantId: outcome.tenantId,
          allowedDomainIds: outcome.allowedDomainIds as string[] | null,
          allowedCidrs: outcome.allowedCidrs as string[] | null,
          ratePerMinute: outcome.ratePerMinute,
          expiresAt: outcome.expiresAt,
          at,
        })) as KeyRow
        const metadata = { ...auditMetadata(after), changed: Object.keys(body) }
        const entry = { orgId: manager.orgId, actor, resourceType: 'api_key', resourceId: id }
        await audit(tx, { ...entry, action: 'api_key.updated', metadata })
        return after
      })
      forget(manager.orgId)
      return changed
    },

    revoke: async (manager, actor, id) => {
      if (id === manager.keyId) throw new Failure('SELF_REVOKE_FORBIDDEN')
      const at = clock.now()
      const revokedAt = await db.tx(async (tx) => {
        const row = await tx.row(lockKey, { orgId: manager.orgId, id })
        if (!row) throw new Failure('NOT_FOUND')
        assertInReach(manager, row)
        if (row.revoked_at) return row.revoked_at
        const revoked = await tx.row(revokeKey, { orgId: manager.orgId, id, at })
        const entry = { orgId: manager.orgId, actor, resourceType: 'api_key', resourceId: id }
        const metadata = { name: row.name, environment: row.environment }
        await audit(tx, { ...entry, action: 'api_key.revoked', metadata })
        return revoked?.revoked_at ?? at
      })
      forget(manager.orgId)
      return { id, revokedAt }
    },
  }
}
