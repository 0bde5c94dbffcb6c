import type { Db } from '../../platform/db/pool.ts'
import type { MaybePromise } from '../../platform/ground/maybe-promise.ts'
import { findDefaultProject } from './store.ts'

/** Looks up an org's default project. It is created with the org and never changes, so it is cached without expiry. */
export const makeDefaultProject = ({ db }: { db: Db }): ((orgId: string) => MaybePromise<string>) => {
  const known = new Map<string, string>()
  const load = async (orgId: string): Promise<string> => {
    const row = await db.row(findDefaultProject, { orgId })
    if (!row) throw new Error(`Org ${orgId} has no default project`)
    if (known.size >= 10_000) known.clear()
    known.set(orgId, row.id)
    return row.id
  }
  return (orgId) => known.get(orgId) ?? load(orgId)
}
