/** What follows a restore: an audit entry if the backup was not authenticated, and the check of every audit chain. */
import { makeAudit } from '../audit/append.ts'
import { isIntact, makeChain } from '../audit/chain.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import type { Log } from '../ground/log.ts'
import { orgIdsAfter } from '../orgs/store.ts'

const pageSize = 500

async function* orgIds(db: Db): AsyncGenerator<string> {
  for (let afterOrgId = ''; ; ) {
    const page = await db.rows(orgIdsAfter, { afterOrgId, limit: pageSize })
    for (const { id } of page) yield id
    if (page.length < pageSize) return
    afterOrgId = page.at(-1)!.id
  }
}

type Needs = { db: Db; clock: Clock; log: Log; secret: string | undefined }

/** Writes an entry to the audit log of every org. */
export const recordUnauthenticatedRestore = async (
  { db, ...needs }: Needs,
  { reason, takenAt }: { reason: string; takenAt: string },
): Promise<void> => {
  const audit = makeAudit(needs)
  const metadata = { authenticated: false, reason, taken_at: takenAt }
  for await (const orgId of orgIds(db)) {
    const entry = { orgId, actor: { kind: 'system' }, resourceType: 'org', resourceId: orgId } as const
    await db.tx((tx) => audit(tx, { ...entry, action: 'org.restored', metadata }))
  }
}

/** The orgs whose audit chain is not intact. */
export const brokenChains = async ({ db, ...needs }: Needs): Promise<string[]> => {
  const chain = makeChain({ db, ...needs })
  const broken: string[] = []
  for await (const orgId of orgIds(db)) if (!isIntact(await chain.verify(orgId))) broken.push(orgId)
  return broken
}
