/** Creates an org with its default project and its owner. */
import { insertMembership } from '../../customers/accounts/store/account-rows.ts'
import type { Plan } from '../../customers/orgs/plans.ts'
import { insertOrg, setOwner } from '../../customers/orgs/store.ts'
import { insertProject } from '../../customers/projects/store.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import { slugOf, suffixed } from '../../platform/ground/slug.ts'

type NewOrg = { id: string; name: string; plan: Plan; at: Date }

/**
 * Inserts the org and returns its slug. One that is taken gets a suffix, and so does `org`, which is made for a name
 * without Latin letters. The slug never changes later, because it is part of the sandbox host name.
 */
export const insertOrgWithFreeSlug = async (tx: Tx, { id, name, plan, at }: NewOrg): Promise<string> => {
  const derived = slugOf(name, '')
  for (let tries = 0; tries < 10; tries++) {
    const slug = tries === 0 && derived !== '' ? derived : suffixed(derived || 'org')
    if (await tx.row(insertOrg, { id, name, slug, plan, at })) return slug
  }
  throw new Error(`No free slug found for ${derived}`)
}

const insertOrgWithSlug = async (tx: Tx, { slug, ...org }: NewOrg & { slug: string }): Promise<string> => {
  if (!(await tx.row(insertOrg, { ...org, slug }))) throw new Failure('ORG_SLUG_TAKEN')
  return slug
}

export const insertDefaultProject = async (tx: Tx, orgId: string, at: Date): Promise<string> => {
  const id = newId('project', at.getTime())
  const project = { orgId, id, name: 'Default', slug: 'default', isDefault: true } as const
  await tx.row(insertProject, { ...project, environment: 'live', at })
  return id
}

type OwnedOrg = { name: string; slug?: string | undefined; userId: string; at: Date }

/** The user becomes owner and holds the owner pointer. Without a slug, one is made from the name. */
export const createOwnedOrg = async (
  tx: Tx,
  { name, slug: chosen, userId, at }: OwnedOrg,
): Promise<{ id: string; slug: string }> => {
  const id = newId('org', at.getTime())
  const org: NewOrg = { id, name, plan: 'free', at }
  const slug =
    chosen === undefined ? await insertOrgWithFreeSlug(tx, org) : await insertOrgWithSlug(tx, { ...org, slug: chosen })
  await tx.change(insertMembership, { orgId: id, id: newId('membership', at.getTime()), userId, role: 'owner', at })
  await tx.change(setOwner, { orgId: id, userId, at })
  await insertDefaultProject(tx, id, at)
  return { id, slug }
}
