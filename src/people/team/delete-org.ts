/**
 * Deletes an org. From the commit on nobody can use it: its members, keys and scheduled messages are gone. The rest of
 * its rows go in the background, because an org can have very many.
 */
import { revokeAllKeys } from '../../customers/keys/store.ts'
import type { Actor, Audit, UserActor } from '../../journal/audit/append.ts'
import type { DeleteLog } from '../../journal/audit/delete-log.ts'
import type { Db, StoreNeeds, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { invalid } from '../../platform/ground/errors.ts'
import type { Log } from '../../platform/ground/log.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import { asOwner } from './change-team.ts'
import {
  deleteAllInvitations,
  deleteAllMembers,
  deleteOrgRow,
  markOrgDeleted,
  nextOwnOrg,
  oldestOwnedOrg,
  orgsToPurge,
} from './store/own-org-rows.ts'
import { purgeEvents, purges } from './store/purge-rows.ts'
import { type LockedOrg, leaveDefaultOrg } from './store/team-rows.ts'

/** Ends what an org has under way in a module, such as scheduled messages, in the transaction of the deletion. */
type EndOrgWork = (tx: Tx, work: { orgId: string; at: Date }) => Promise<unknown>

/** In the transaction of the caller, who holds the lock of the org. */
export type CloseOrg = (tx: Tx, actor: Actor, userId: string, org: LockedOrg) => Promise<void>

export const makeCloseOrg =
  ({ clock, audit, endWork }: { clock: Clock; audit: Audit; endWork: EndOrgWork[] }): CloseOrg =>
  async (tx, actor, userId, { id: orgId, name, slug }) => {
    const at = clock.now()
    await orNotFound(tx.row(markOrgDeleted, { orgId, at }))
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
    const nextOrgId = await asOwner(db, orgId, actor, async (tx, org) => {
      if (confirm !== org.slug) {
        throw invalid(['confirm'], 'custom', `Enter the slug of the organisation: ${org.slug}`)
      }
      await close(tx, actor, actor.userId, org)
      return (await tx.row(nextOwnOrg, { userId: actor.userId }))?.org_id ?? null
    })
    forget(orgId)
    return { nextOrgId }
  }

const page = 100
const chunk = 5_000
/** Longer than any request. Until then, requests that began before the deletion can still write rows. */
const graceMs = 15 * 60_000

type Needs = StoreNeeds & {
  log: Log
  /** Gives back what an org has at providers, such as numbers. Each may run again. */
  release: ((orgId: string) => Promise<void>)[]
  /** Links all waiting audit entries. */
  linkAudit: () => Promise<number>
  deleteLog: DeleteLog
}

/** Returns how many orgs are completely gone. */
export const makePurgeOrgs = ({ db, clock, log, release, linkAudit, deleteLog }: Needs) => {
  const purgeRows = async (orgId: string): Promise<void> => {
    await db.change(purgeEvents, { orgId })
    for (const purge of Object.values(purges)) while ((await db.change(purge, { orgId, limit: chunk })) > 0);
  }

  const purgeOne = async (orgId: string, deletedAt: Date): Promise<boolean> => {
    for (const give of release) await give(orgId)
    await purgeRows(orgId)
    if (clock.millis() - deletedAt.getTime() < graceMs) return false
    await linkAudit()
    if (!(await deleteLog(orgId))) return false
    return (await db.change(deleteOrgRow, { orgId })) > 0
  }

  return async () => {
    let gone = 0
    for (let after = ''; ; ) {
      const orgs = await db.rows(orgsToPurge, { afterOrgId: after, limit: page })
      for (const { id, deleted_at } of orgs) {
        after = id
        const done = await purgeOne(id, deleted_at).catch((error: unknown) => {
          log.error({ err: error, org_id: id }, 'org deletion failed')
          return false
        })
        if (done) gone++
      }
      if (orgs.length < page) return gone
    }
  }
}
