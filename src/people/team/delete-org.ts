/**
 * Deletes an org. From the commit on nobody can use it: its members, keys and scheduled messages are gone. The rest of
 * its rows go in the background, because an org can have very many.
 */

import { revokeAllKeys } from '../../customers/keys/store.ts'
import type { Actor, Audit, UserActor } from '../../journal/audit/append.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure, invalid } from '../../platform/ground/errors.ts'
import { lockAsOwner } from './change-team.ts'
import {
  deleteAllInvitations,
  deleteAllMembers,
  markOrgDeleted,
  nextOwnOrg,
  oldestOwnedOrg,
} from './store/own-org-rows.ts'
import { type LockedOrg, leaveDefaultOrg } from './store/team-rows.ts'

/** Ends what an org has under way in a module, such as scheduled messages, in the transaction of the deletion. */
export type EndOrgWork = (tx: Tx, work: { orgId: string; at: Date }) => Promise<unknown>

/** In the transaction of the caller, who holds the lock of the org. */
export type CloseOrg = (tx: Tx, actor: Actor, userId: string, org: LockedOrg) => Promise<void>

export const makeCloseOrg =
  ({ clock, audit, endWork }: { clock: Clock; audit: Audit; endWork: EndOrgWork[] }): CloseOrg =>
  async (tx, actor, userId, { id: orgId, name, slug }) => {
    const at = clock.now()
    if (!(await tx.row(markOrgDeleted, { orgId, at }))) throw new Failure('NOT_FOUND')
    await tx.change(revokeAllKeys, { orgId, at })
    for (const end of endWork) await end(tx, { orgId, at })
    await tx.change(deleteAllMembers, { orgId })
    await tx.change(deleteAllInvitations, { orgId })
    await tx.change(leaveDefaultOrg, { orgId, userId: null, at })
    // The deleted org cannot hold the entry, so another org of the same owner does.
    const surviving = await tx.row(oldestOwnedOrg, { userId })
    if (!surviving) return
    const entry = { actor, action: 'org.deleted', resourceType: 'org', resourceId: orgId } as const
    await audit(tx, { ...entry, orgId: surviving.org_id, metadata: { name, slug } })
  }

/** Returns the org that the user goes to next, if they have one. */
export type DeleteOrg = (orgId: string, actor: UserActor, confirm: string) => Promise<{ nextOrgId: string | null }>

export const makeDeleteOrg =
  ({ db, close, forget }: { db: Db; close: CloseOrg; forget: (orgId: string) => void }): DeleteOrg =>
  async (orgId, actor, confirm) => {
    const nextOrgId = await db.tx(async (tx) => {
      const org = await lockAsOwner(tx, orgId, actor)
      if (confirm !== org.slug) {
        throw invalid(['confirm'], 'custom', `Enter the slug of the organisation: ${org.slug}`)
      }
      await close(tx, actor, actor.userId, org)
      return (await tx.row(nextOwnOrg, { userId: actor.userId }))?.org_id ?? null
    })
    forget(orgId)
    return { nextOrgId }
  }
