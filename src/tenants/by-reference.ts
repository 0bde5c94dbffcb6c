import { isUtf8 } from 'node:buffer'
import type { Actor } from '../audit/append.ts'
import type { Db } from '../db/pool.ts'
import { makeShortCache } from '../db/short-cache.ts'
import { Failure } from '../ground/errors.ts'
import type { Scope } from '../ground/scope.ts'
import type { CreateTenants } from './create.ts'
import { foldedRef } from './shapes.ts'
import { findTenantByRef, type TenantRef } from './store.ts'

/** The reference as sent, trimmed. Blank counts as empty. */
export const readReference = (header: string): string => {
  // Header bytes arrive as Latin-1; a reference in UTF-8 is counted and stored as what it says.
  const bytes = Buffer.from(header, 'latin1')
  const ref = (isUtf8(bytes) ? bytes.toString('utf8') : header).trim()
  const length = [...ref].length
  if (length < 1 || length > 200) throw new Failure('INVALID_TENANT_REF')
  return ref
}

export interface TenantsByReference {
  /** The usable tenant that holds the reference; undefined when none does. */
  find(orgId: string, ref: string): Promise<string | undefined>
  /** Any number of concurrent first uses make one tenant. */
  findOrCreate(scope: Scope, actor: Actor, ref: string): Promise<string>
  forgetOrg(orgId: string): void
  forgetAll(): void
}

type Needs = { db: Db; create: Pick<CreateTenants, 'createByReference'>; trusted: () => boolean }

export const makeTenantsByReference = ({ db, create, trusted }: Needs): TenantsByReference => {
  const copies = makeShortCache<TenantRef>({ trusted })

  const usable = (tenant: TenantRef): string => {
    if (tenant.status !== 'active') throw new Failure('TENANT_NOT_USABLE')
    return tenant.id
  }

  const find = async (orgId: string, ref: string): Promise<string | undefined> => {
    const folded = foldedRef(ref)
    const name = `${orgId}:${folded}`
    const copy = copies.get(name)
    if (copy) return usable(copy)
    const mark = copies.mark()
    const tenant = await db.row(findTenantByRef, { orgId, ref: folded })
    if (!tenant) return undefined
    copies.keep(name, orgId, tenant, mark)
    return usable(tenant)
  }

  return {
    find,
    findOrCreate: async (scope, actor, ref) =>
      (await find(scope.orgId, ref)) ?? usable(await create.createByReference(scope, actor, ref)),
    forgetOrg: copies.forgetOrg,
    forgetAll: copies.clear,
  }
}
