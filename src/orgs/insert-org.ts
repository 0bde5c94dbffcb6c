import type { Tx } from '../db/pool.ts'
import { slugOf, suffixed } from '../ground/slug.ts'
import type { Plan } from './plans.ts'
import { insertOrg } from './store.ts'

/**
 * Inserts the org and returns its slug. A slug that is taken gets a suffix. The slug never changes later, because it
 * is part of the sandbox host name.
 */
export const insertWithFreeSlug = async (
  tx: Tx,
  { id, name, plan, at }: { id: string; name: string; plan: Plan; at: Date },
): Promise<string> => {
  const base = slugOf(name, 'org')
  for (let tries = 0; tries < 10; tries++) {
    const slug = tries === 0 ? base : suffixed(base)
    if (await tx.row(insertOrg, { id, name, slug, plan, at })) return slug
  }
  throw new Error(`No free slug found for ${base}`)
}
