/** Changes the members of a pool. A sender in a tenant's pool belongs to that tenant until it leaves. */
import type { Caller } from '../../../customers/keys/caller.ts'
import type { Tx } from '../../../platform/db/pool.ts'
import { Failure, invalid } from '../../../platform/ground/errors.ts'
import { lockMembers, type MemberRow, replaceMembers, setSenderTenant } from '../store/pool-rows.ts'

export type PoolCaller = Pick<Caller, 'orgId' | 'tenantId' | 'environment' | 'tenantState'>

type Change = { poolId: string; tenantId: string | null; before: readonly string[]; after: string[]; at: Date }

/** Why a sender cannot be a member. A tenant does not learn about the senders of others. */
const faultOf = (caller: PoolCaller, { tenantId }: Change, row: MemberRow | undefined): string | undefined => {
  if (!row) return 'There is no such sender.'
  if (row.tenant_id === tenantId) return undefined
  if (row.tenant_id !== null) {
    return caller.tenantId === null ? 'This sender belongs to a tenant.' : 'There is no such sender.'
  }
  return row.elsewhere ? 'This sender is a member of a pool without a tenant.' : undefined
}

/** Joining a tenant's pool changes a sender of the org, which a key of the tenant may not do. */
const assertMayJoin = (caller: PoolCaller, change: Change, row: MemberRow | undefined, place: number): void => {
  // Only a bound key has a tenant state. A platform key that acts for the tenant has none.
  const bound = caller.tenantState !== undefined
  if (bound && change.tenantId !== null && row?.tenant_id === null) throw new Failure('TENANT_FORBIDDEN')
  const fault = faultOf(caller, change, row)
  if (fault) throw invalid(['phone_number_ids', place], 'custom', fault)
}

/** A test key does not change live senders. */
const assertMayBind = ({ environment }: PoolCaller, changed: readonly MemberRow[]): void => {
  if (environment === 'live') return
  if (changed.some((row) => row.environment === 'live')) throw new Failure('ENVIRONMENT_ESCALATION')
}

const idsOf = (rows: readonly MemberRow[]): string[] => rows.map(({ id }) => id)

/** The caller has locked the org, so that no other change of a pool runs. */
export const changeMembers = async (tx: Tx, caller: PoolCaller, change: Change): Promise<void> => {
  const { orgId } = caller
  const { poolId, tenantId, before, after, at } = change
  const locked = await tx.rows(lockMembers, { orgId, poolId, ids: [...new Set([...before, ...after])] })
  const rows = new Map(locked.map((row) => [row.id, row]))
  for (const [place, id] of after.entries()) assertMayJoin(caller, change, rows.get(id), place)
  if (tenantId !== null) {
    const stays = new Set(after)
    const joining = locked.filter((row) => stays.has(row.id) && row.tenant_id === null)
    const leaving = locked.filter((row) => !stays.has(row.id) && row.tenant_id === tenantId && !row.elsewhere)
    assertMayBind(caller, [...joining, ...leaving])
    if (joining.length > 0) await tx.change(setSenderTenant, { orgId, ids: idsOf(joining), tenantId, at })
    if (leaving.length > 0) await tx.change(setSenderTenant, { orgId, ids: idsOf(leaving), tenantId: null, at })
  }
  await tx.change(replaceMembers, { orgId, poolId, ids: after })
}
