/** Changes the members of a pool. A sender in a tenant's pool belongs to that tenant until it leaves. */
import type { Tx } from '../../db/pool.ts'
import { Failure, invalid } from '../../ground/errors.ts'
import type { Caller } from '../../keys/caller.ts'
import { lockMembers, type MemberRow, replaceMembers, setSenderTenant } from '../store/pool-member-rows.ts'

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

/** A sender that changes its tenant is itself changed, which not every key may do. */
const assertMayBind = (caller: PoolCaller, joining: readonly MemberRow[], leaving: readonly MemberRow[]): void => {
  // Only a bound key has a tenant state. A platform key may also act for the tenant through the header.
  if (caller.tenantState !== undefined && joining.length > 0) throw new Failure('TENANT_FORBIDDEN')
  const live = ({ environment }: MemberRow) => environment === 'live'
  if (caller.environment === 'test' && (joining.some(live) || leaving.some(live))) {
    throw new Failure('ENVIRONMENT_ESCALATION')
  }
}

const idsOf = (rows: readonly MemberRow[]): string[] => rows.map(({ id }) => id)

/** The caller has locked the org, so that no other change of a pool runs. */
export const changeMembers = async (tx: Tx, caller: PoolCaller, change: Change): Promise<void> => {
  const { orgId } = caller
  const { poolId, tenantId, before, after, at } = change
  const locked = await tx.rows(lockMembers, { orgId, poolId, ids: [...new Set([...before, ...after])] })
  const rows = new Map(locked.map((row) => [row.id, row]))
  after.forEach((id, i) => {
    const fault = faultOf(caller, change, rows.get(id))
    if (fault) throw invalid(['phone_number_ids', i], 'custom', fault)
  })
  if (tenantId !== null) {
    const stays = new Set(after)
    const joining = locked.filter((row) => stays.has(row.id) && row.tenant_id === null)
    const leaving = locked.filter((row) => !stays.has(row.id) && row.tenant_id === tenantId && !row.elsewhere)
    assertMayBind(caller, joining, leaving)
    if (joining.length > 0) await tx.change(setSenderTenant, { orgId, ids: idsOf(joining), tenantId, at })
    if (leaving.length > 0) await tx.change(setSenderTenant, { orgId, ids: idsOf(leaving), tenantId: null, at })
  }
  await tx.change(replaceMembers, { orgId, poolId, ids: after })
}
