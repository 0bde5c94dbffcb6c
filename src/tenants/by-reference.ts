import type { Db } from '../db/pool.ts'
import { makeShortCache } from '../db/short-cache.ts'
import type { Clock } from '../ground/clock.ts'
import { Failure } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import type { Scope } from '../ground/scope.ts'
import { slugOf, suffixed } from '../ground/slug.ts'
import { findTenantByRef, insertTenantByRef, type TenantRef } from './store.ts'

/** The reference as sent, trimmed. Blank counts as empty. */
export const readReference = (header: string): string => {
  // Header bytes arrive as Latin-1; a reference in UTF-8 is counted and stored as what it says.
  const bytes = Buffer.from(header, 'latin1')
  const utf8 = bytes.toString('utf8')
  const ref = (utf8.includes('\ufffd') ? header : utf8).trim()
  const length = [...ref].length
  if (length < 1 || length > 200) throw new Failure('INVALID_TENANT_REF')
  return ref
}

export interface TenantsByReference {
  /** The usable tenant that holds the reference; undefined when none does. */
  find(orgId: string, ref: string): Promise<string | undefined>
  /** Any number of concurrent first uses make one tenant. */
  findOrCreate(scope: Scope, ref: string): Promise<string>
  forgetOrg(orgId: string): void
  forgetAll(): void
}

type Needs = { db: Db; clock: Clock; trusted: () => boolean }

export const makeTenantsByReference = ({ db, clock, trusted }: Needs): TenantsByReference => {
  const copies = makeShortCache<TenantRef>({ trusted })

  const usable = (tenant: TenantRef): string => {
    if (tenant.status !== 'active') throw new Failure('TENANT_NOT_USABLE')
    return tenant.id
  }

  const find = async (orgId: string, ref: string): Promise<string | undefined> => {
    const name = `${orgId}:${ref.toLowerCase()}`
    const copy = copies.get(name)
    if (copy) return usable(copy)
    const mark = copies.mark()
    const tenant = await db.row(findTenantByRef, orgId, ref)
    if (!tenant) return undefined
    copies.keep(name, orgId, tenant, mark)
    return usable(tenant)
  }

  return {
    find,
    findOrCreate: async (scope, ref) => {
      for (let tries = 0; tries < 5; tries++) {
        const known = await find(scope.orgId, ref)
        if (known) return known
        const slug = tries === 0 ? slugOf(ref, 'tenant') : suffixed(slugOf(ref, 'tenant'))
        const now = clock.now()
        const id = newId('tenant', now.getTime())
        const made = await db.row(insertTenantByRef, scope.orgId, id, slug, ref, ref, scope.environment, now)
        if (made) return made.id
      }
      throw new Error('a tenant could not be made from its reference')
    },
    forgetOrg: copies.forgetOrg,
    forgetAll: copies.clear,
  }
}
