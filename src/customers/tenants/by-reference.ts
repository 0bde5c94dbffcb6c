import { isUtf8 } from 'node:buffer'
import type { Actor } from '../../journal/audit/append.ts'
import type { Db } from '../../platform/db/pool.ts'
import { makeShortCache } from '../../platform/db/short-cache.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { withoutEffect } from '../../platform/ground/request-context.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import type { CreateTenants } from './create.ts'
import { foldedRef } from './shapes.ts'
import { findTenantByRef, type TenantRef } from './store.ts'

/** Returns the trimmed reference. A blank one counts as empty and is rejected. */
export const readReference = (header: string): string => {
  // Node decodes header bytes as Latin-1. If the bytes are valid UTF-8, the reference is counted and stored as UTF-8.
  const bytes = Buffer.from(header, 'latin1')
  const ref = (isUtf8(bytes) ? bytes.toString('utf8') : header).trim()
  const length = [...ref].length
  if (length < 1 || length > 200) throw new Failure('INVALID_TENANT_REF')
  return ref
}

type Needs = { db: Db; create: Pick<CreateTenants, 'createByReference'>; trusted: () => boolean }

export const makeTenantsByReference = ({ db, create, trusted }: Needs) => {
  const copies = makeShortCache<TenantRef>({ trusted })

  const assertActive = (tenant: TenantRef): string => {
    if (tenant.status !== 'active') throw new Failure('TENANT_NOT_USABLE')
    return tenant.id
  }

  const find = async (orgId: string, ref: string): Promise<string | undefined> => {
    const folded = foldedRef(ref)
    const name = `${orgId}:${folded}`
    const copy = copies.get(name)
    if (copy) return assertActive(copy)
    const mark = copies.mark()
    const tenant = await db.row(findTenantByRef, { orgId, ref: folded })
    if (!tenant) return undefined
    copies.keep(name, orgId, tenant, mark)
    return assertActive(tenant)
  }

  return {
    /** Returns the id of the tenant with this reference, or undefined. Throws if that tenant is not active. */
    find,
    /** Concurrent first uses of a reference create one tenant. */
    findOrCreate: async (scope: Scope, actor: Actor, ref: string) =>
      (await find(scope.orgId, ref)) ??
      assertActive(await withoutEffect(() => create.createByReference(scope, actor, ref))),
    forgetOrg: copies.forgetOrg,
    forgetAll: copies.clear,
  }
}

export type TenantsByReference = ReturnType<typeof makeTenantsByReference>
