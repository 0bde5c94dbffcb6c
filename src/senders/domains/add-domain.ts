/** Adds a domain to a project. A live key that adds a name which a test key added before promotes that domain. */
import { lockOrg } from '../../customers/orgs/store.ts'
import { assertWithinPlan } from '../../customers/usage/within-plan.ts'
import type { Actor, Audit } from '../../journal/audit/append.ts'
import { foreignKeyViolation } from '../../platform/db/faults.ts'
import type { Db, Runner, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Vault } from '../../platform/ground/crypto.ts'
import { Failure, invalid } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import type { NewIdentity } from '../../providers/email/domain-identities.ts'
import { type DkimKey, dkimKeyContext } from './dkim-key.ts'
import type { IdentityOrigin, KeepIdentities } from './identities.ts'
import { isReserved } from './name.ts'
import { returnHost } from './records.ts'
import type { CreateDomain } from './shapes.ts'
import type { DomainRow } from './store/domain-rows.ts'
import {
  type DomainAllowance,
  findDomainAllowance,
  findFreeSelector,
  findProjectFor,
  findTenantFor,
  insertDomain,
  lockDomainName,
  promoteDomain,
  restartDomain,
} from './store/new-domains.ts'

type Needs = {
  db: Db
  clock: Clock
  audit: Audit
  vault: Vault
  newKey: () => Promise<DkimKey>
  serviceDomain: string
  /** Undefined when no provider needs to know the domain. */
  identities: KeepIdentities | undefined
}

/** The request, with the project and the tenant that the domain will belong to. */
type Addition = { scope: Scope; body: CreateDomain; projectId: string; tenantId: string | null }

/** The tenant of the new domain. A tenant's key can add domains only for its own tenant. */
const tenantFor = (scope: Scope, requested: string | null | undefined): string | null => {
  if (scope.tenantId === null) return requested ?? null
  if (requested !== undefined && requested !== scope.tenantId) throw new Failure('TENANT_FORBIDDEN')
  return scope.tenantId
}

const noSuch = (what: 'tenant' | 'project'): Failure => invalid([`${what}_id`], 'custom', `There is no such ${what}.`)

const domainToAdd = ({ scope, body, projectId }: Addition) => ({
  orgId: scope.orgId,
  projectId,
  name: body.name,
  environment: scope.environment,
  boundTenantId: scope.tenantId,
})

/** Promoting an existing row does not add a domain, so the plan limit does not apply. */
const assertMayAdd = async (runner: Runner, addition: Addition): Promise<DomainAllowance> => {
  const allowance = await runner.row(findDomainAllowance, domainToAdd(addition))
  if (!allowance) throw new Failure('NOT_FOUND')
  if (allowance.promotable) return allowance
  if (allowance.added) throw new Failure('DOMAIN_ALREADY_ADDED')
  assertWithinPlan(allowance.plan, 'domains', allowance.domains)
  return allowance
}

/** The key of a new domain and, when a provider has to know the domain, where its identity comes from. */
type Prepared = { key: DkimKey; identity: IdentityOrigin | null }

export const makeAddDomain = (needs: Needs) => {
  const { db, clock, audit, vault, newKey, serviceDomain, identities } = needs

  const resolve = async (scope: Scope, body: CreateDomain): Promise<Addition> => {
    const tenantId = tenantFor(scope, body.tenant_id)
    if (tenantId !== null && !(await db.row(findTenantFor, { orgId: scope.orgId, id: tenantId }))) {
      throw noSuch('tenant')
    }
    const project = await db.row(findProjectFor, {
      orgId: scope.orgId,
      boundTo: scope.projectId,
      id: body.project_id ?? null,
    })
    if (!project) throw noSuch('project')
    return { scope, body, projectId: project.id, tenantId }
  }

  /** A domain that a test key added cannot send live mail. A live key that adds its name makes it live. */
  const promote = async (tx: Tx, addition: Addition): Promise<DomainRow | undefined> => {
    const { scope, body, tenantId } = addition
    const at = clock.now()
    const row = await tx.row(promoteDomain, {
      ...domainToAdd(addition),
      tenantId,
      region: body.region,
      returnPath: body.return_path,
      inbound: body.inbound,
      at,
    })
    return row?.dkim_status === 'IDENTITY_NOT_FOUND'
      ? tx.row(restartDomain, { orgId: scope.orgId, id: row.id, at })
      : row
  }

  const insert = async (tx: Tx, addition: Addition, { key, identity }: Prepared): Promise<DomainRow> => {
    const { scope, body, projectId, tenantId } = addition
    await assertMayAdd(tx, addition)
    await tx.row(lockDomainName, { name: body.name })
    const at = clock.now()
    const id = newId('domain', at.getTime())
    const row = await tx.row(insertDomain, {
      orgId: scope.orgId,
      id,
      projectId,
      tenantId,
      name: body.name,
      region: body.region,
      environment: scope.environment,
      returnPath: body.return_path,
      inbound: body.inbound,
      publicKey: key.publicKey,
      sealedPrivateKey: vault.seal(key.privateKey, dkimKeyContext(id)),
      identity,
      at,
    })
    if (!row) throw new Failure('DOMAIN_ALREADY_ADDED')
    return row
  }

  const add = async (tx: Tx, addition: Addition, prepared: Prepared, actor: Actor): Promise<DomainRow> => {
    const { orgId } = addition.scope
    await tx.row(lockOrg, { orgId })
    const row = (await promote(tx, addition)) ?? (await insert(tx, addition, prepared))
    const { id, name, region, project_id, tenant_id } = row
    const metadata = { name, region, project_id, tenant_id }
    await audit(tx, { orgId, actor, action: 'domain.added', resourceType: 'domain', resourceId: id, metadata })
    return row
  }

  const newIdentity = async (body: CreateDomain, key: DkimKey): Promise<NewIdentity> => {
    const { name, region, return_path } = body
    const free = await db.row(findFreeSelector, { name })
    return {
      name,
      region,
      // If another row takes the selector first, the first successful check gives the identity this row's own.
      selector: free?.selector ?? 'svc1',
      privateKey: key.privateKey,
      returnHost: returnHost({ name, return_path }),
    }
  }

  return async (scope: Scope, actor: Actor, body: CreateDomain): Promise<DomainRow> => {
    if (isReserved(body.name, serviceDomain)) throw new Failure('DOMAIN_RESERVED')
    const addition = await resolve(scope, body)
    // Checked twice: here so that a rejected request costs no key, and again under the lock, where the count is exact.
    const { promotable } = await assertMayAdd(db, addition)
    const key = await newKey()
    // Its first check registers a promoted domain, which keeps its own key. A test-mode domain never reaches a provider.
    const isLive = scope.environment === 'live' && !promotable
    const identity = isLive && identities ? await newIdentity(body, key) : undefined
    const origin = (identity && (await identities?.create(identity))) ?? null
    try {
      return await db.tx((tx) => add(tx, addition, { key, identity: origin }, actor))
    } catch (error) {
      if (identity && origin) await identities?.undo(identity, origin)
      // The project was deleted while the key was being generated.
      throw foreignKeyViolation(error) ? noSuch('project') : error
    }
  }
}
