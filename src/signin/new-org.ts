/** Creates an org with its default project and its owner. */
import { insertMembership } from '../accounts/store.ts'
import type { Tx } from '../db/pool.ts'
import { newId } from '../ground/ids.ts'
import { slugOf, suffixed } from '../ground/slug.ts'
import type { Plan } from '../orgs/plans.ts'
import { insertOrg, setOwner } from '../orgs/store.ts'
import { insertProject } from '../projects/store.ts'

type NewOrg = { id: string; name: string; plan: Plan; at: Date }

/**
 * Inserts the org and returns its slug. A slug that is taken gets a suffix. The slug never changes later, because it
 * is part of the sandbox host name.
 */
export const insertOrgWithFreeSlug = async (tx: Tx, { id, name, plan, at }: NewOrg): Promise<string> => {
  const base = slugOf(name, 'org')
  for (let tries = 0; tries < 10; tries++) {
    const slug = tries === 0 ? base : suffixed(base)
    if (await tx.row(insertOrg, { id, name, slug, plan, at })) return slug
  }
  throw new Error(`No free slug found for ${base}`)
}

export const insertDefaultProject = async (tx: Tx, orgId: string, at: Date): Promise<string> => {
  const id = newId('project', at.getTime())
  await tx.row(insertProject, {
    orgId,
    id,
    name: 'Default',
    slug: 'default',
    isDefault: true,
    environment: 'live',
    at,
  })
  return id
}

/** The user becomes owner and holds the owner pointer. */
export const createOwnedOrg = async (
  tx: Tx,
  { name, userId, at }: { name: string; userId: string; at: Date },
): Promise<{ id: string; slug: string }> => {
  const id = newId('org', at.getTime())
  const slug = await insertOrgWithFreeSlug(tx, { id, name, plan: 'free', at })
  await tx.change(insertMembership, { orgId: id, id: newId('membership', at.getTime()), userId, role: 'owner', at })
  await tx.change(setOwner, { orgId: id, userId, at })
  await insertDefaultProject(tx, id, at)
  return { id, slug }
}
