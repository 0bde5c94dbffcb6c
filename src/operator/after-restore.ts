/** What follows a restore: an audit entry if the backup was not authenticated, and the check of every audit chain. */
import { isIntact, makeChain } from '../audit/chain.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import type { Log } from '../ground/log.ts'
import { orgIdsAfter } from '../orgs/store.ts'
import { writeOperatorEntry } from './operator-entry.ts'

const pageSize = 500

async function* orgIds(db: Db): AsyncGenerator<string> {
  for (let afterOrgId = ''; ; ) {
    const page = await db.rows(orgIdsAfter, { afterOrgId, limit: pageSize })
    for (const { id } of page) yield id
    if (page.length < pageSize) return
    afterOrgId = page.at(-1)!.id
  }
}

type Needs = { db: Db; clock: Clock; log: Log }

/** Writes an entry to the audit log of every org. */
export const recordUnauthenticatedRestore = async (
  { db, clock, log }: Needs,
  { reason, takenAt }: { reason: string; takenAt: string },
): Promise<void> => {
  for await (const orgId of orgIds(db)) {
    const metadata = { authenticated: 'no', reason, taken_at: takenAt }
    await db.tx((tx) => writeOperatorEntry(tx, log, { orgId, action: 'org.restored', metadata, at: clock.now() }))
  }
}

/** The orgs whose audit chain is not intact. */
export const brokenChains = async ({ db, clock, log, secret }: Needs & { secret: string | undefined }) => {
  const chain = makeChain({ db, clock, log, secret })
  const broken: string[] = []
  for await (const orgId of orgIds(db)) if (!isIntact(await chain.verify(orgId))) broken.push(orgId)
  return broken
}
