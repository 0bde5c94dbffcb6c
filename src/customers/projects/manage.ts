import { foreignKeyViolation, uniqueViolation } from '../../platform/db/faults.ts'
import type { Db, StoreNeeds } from '../../platform/db/pool.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { MaybePromise } from '../../platform/ground/maybe-promise.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import { assertOwnEnvironment, type Scope } from '../../platform/ground/scope.ts'
import { slugOf, withFreeSlug } from '../../platform/ground/slug.ts'
import { lockWithinPlan } from '../usage/within-plan.ts'
import type { CreateProject, PatchProject } from './shapes.ts'
import {
  blockingTables,
  countProjects,
  deleteProject,
  findDefaultProject,
  findProject,
  insertProject,
  listProjects,
  type ProjectRow,
  updateProject,
} from './store.ts'

/** What prevents a deletion, in the order it is reported. The messages do not reveal how many rows there are. */
const blockers = [
  ['api_keys', 'API keys still belong to this project.'],
  ['domains', 'Domains still belong to this project.'],
  ['messages', 'Messages still belong to this project.'],
  ['jobs', 'Jobs still belong to this project.'],
  ['verifications', 'One-time codes still belong to this project.'],
] as const

export const makeManageProjects = ({ db, clock }: StoreNeeds) => {
  const get = (scope: Scope, id: string): Promise<ProjectRow> =>
    orNotFound(db.row(findProject, { orgId: scope.orgId, onlyId: scope.projectId, id }))

  /** A test key can change only projects that a test key created. */
  const getOwn = async (scope: Scope, id: string): Promise<ProjectRow> => {
    const row = await get(scope, id)
    assertOwnEnvironment(scope, row.created_environment)
    return row
  }

  const assertEmpty = async (orgId: string, id: string): Promise<void> => {
    const found = await db.row(blockingTables, { orgId, id })
    const errors = blockers
      .filter(([table]) => found?.[table])
      .map(([table, message]) => ({ path: [table], code: 'STILL_REFERENCED', message }))
    if (errors.length > 0) throw new Failure('PROJECT_NOT_EMPTY', { errors })
  }

  return {
    list: ({ orgId, projectId: onlyId }: Pick<Scope, 'orgId' | 'projectId'>, page: PageAsked) =>
      db.rows(listProjects, { orgId, onlyId, ...keysetOf(page) }),

    create: (scope: Scope, body: CreateProject) =>
      db.tx(async (tx) => {
        await lockWithinPlan(tx, scope.orgId, 'projects', countProjects)
        const at = clock.now()
        const id = newId('project', at.getTime())
        const { name, slug: given } = body
        const { orgId, environment } = scope
        return withFreeSlug({ given, derived: slugOf(name, 'project'), taken: 'PROJECT_SLUG_TAKEN' }, (slug) =>
          tx.row(insertProject, { orgId, id, name, slug, isDefault: false, environment, at }),
        )
      }),

    get,

    patch: async (scope: Scope, id: string, body: PatchProject) => {
      const row = await getOwn(scope, id)
      if (body.name === undefined && body.slug === undefined) return row
      try {
        const { name = null, slug = null } = body
        return await orNotFound(db.row(updateProject, { orgId: scope.orgId, id, name, slug, at: clock.now() }))
      } catch (error) {
        if (uniqueViolation(error, 'projects_org_id_slug_key')) throw new Failure('PROJECT_SLUG_TAKEN')
        throw error
      }
    },

    remove: async (scope: Scope, id: string) => {
      const row = await getOwn(scope, id)
      if (row.is_default) throw new Failure('PROJECT_IS_DEFAULT')
      await assertEmpty(scope.orgId, id)
      try {
        await orNotFound(db.row(deleteProject, { orgId: scope.orgId, id }))
      } catch (error) {
        // Something was added to the project between the check and the delete.
        if (foreignKeyViolation(error)) await assertEmpty(scope.orgId, id)
        throw error
      }
    },
  }
}

export type ManageProjects = ReturnType<typeof makeManageProjects>

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
