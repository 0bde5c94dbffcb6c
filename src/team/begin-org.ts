/** A new org with its first owner, the owner pointer and the default project. */
import { insertMembership } from '../accounts/store.ts'
import type { Actor, Audit } from '../audit/append.ts'
import type { Tx } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { newId } from '../ground/ids.ts'
import { insertWithFreeSlug } from '../orgs/insert-org.ts'
import { setOwner } from '../orgs/store.ts'
import { insertProject } from '../projects/store.ts'
import { setDefaultOrg } from './store/member-rows.ts'

/** In the transaction of the caller. A user without a default org gets this one. */
export type BeginOrg = (tx: Tx, actor: Actor, input: { name: string; userId: string }) => Promise<{ id: string }>

type Needs = { clock: Clock; audit: Audit }

export const makeBeginOrg =
  ({ clock, audit }: Needs): BeginOrg =>
  async (tx, actor, { name, userId }) => {
    const at = clock.now()
    const id = newId('org', at.getTime())
    const slug = await insertWithFreeSlug(tx, { id, name, plan: 'free', at })
    const membershipId = newId('membership', at.getTime())
    await tx.change(insertMembership, { orgId: id, id: membershipId, userId, role: 'owner', at })
    await tx.change(setOwner, { orgId: id, userId, at })
    await tx.row(insertProject, {
      orgId: id,
      id: newId('project', at.getTime()),
      name: 'Default',
      slug: 'default',
      isDefault: true,
      environment: 'live',
      at,
    })
    await tx.change(setDefaultOrg, { orgId: id, userId, at })
    const metadata = { name, slug }
    await audit(tx, { orgId: id, actor, action: 'org.created', resourceType: 'org', resourceId: id, metadata })
    return { id }
  }
