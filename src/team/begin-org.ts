/** A new org with its first owner, the owner pointer and the default project. */
import type { Actor, Audit } from '../audit/append.ts'
import type { Tx } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { createOwnedOrg } from '../signin/new-org.ts'
import { setFirstDefaultOrg } from './store/team-rows.ts'

/** In the transaction of the caller. A user without a default org gets this one. */
export type BeginOrg = (
  tx: Tx,
  actor: Actor,
  input: { name: string; slug?: string | undefined; userId: string },
) => Promise<{ id: string }>

type Needs = { clock: Clock; audit: Audit }

export const makeBeginOrg =
  ({ clock, audit }: Needs): BeginOrg =>
  async (tx, actor, { name, slug: chosen, userId }) => {
    const at = clock.now()
    const { id, slug } = await createOwnedOrg(tx, { name, slug: chosen, userId, at })
    await tx.change(setFirstDefaultOrg, { orgId: id, userId, at })
    const metadata = { name, slug }
    await audit(tx, { orgId: id, actor, action: 'org.created', resourceType: 'org', resourceId: id, metadata })
    return { id }
  }
