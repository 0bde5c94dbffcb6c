import type { Db } from '../db/pool.ts'
import { findDefaultProject } from './store.ts'

/** An org's default project. It is there from the start and never changes, so it is asked for once. */
export const makeDefaultProject = ({ db }: { db: Db }): ((orgId: string) => Promise<string>) => {
  const known = new Map<string, string>()
  return async (orgId) => {
    const held = known.get(orgId)
    if (held !== undefined) return held
    const row = await db.row(findDefaultProject, orgId)
    if (!row) throw new Error(`org ${orgId} has no default project`)
    if (known.size >= 10_000) known.clear()
    known.set(orgId, row.id)
    return row.id
  }
}
