/** Deletes the rows of deleted orgs in the background. */
import type { DeleteLog } from '../../journal/audit/delete-log.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Log } from '../../platform/ground/log.ts'
import { deleteOrgRow, orgsToPurge } from './store/own-org-rows.ts'
import { purgeEvents, purges } from './store/purge-rows.ts'

const page = 100
const chunk = 5_000
/** Longer than any request. Until then, requests that began before the deletion can still write rows. */
const graceMs = 15 * 60_000

/** Returns how many orgs are completely gone. */
export type PurgeOrgs = () => Promise<number>

type Needs = {
  db: Db
  clock: Clock
  log: Log
  /** Gives back what an org has at providers, such as numbers. Each may run again. */
  release: ((orgId: string) => Promise<void>)[]
  /** Links all waiting audit entries. */
  linkAudit: () => Promise<number>
  deleteLog: DeleteLog
}

export const makePurgeOrgs = ({ db, clock, log, release, linkAudit, deleteLog }: Needs): PurgeOrgs => {
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
