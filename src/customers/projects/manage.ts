import { foreignKeyViolation, uniqueViolation } from '../db/faults.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { Failure } from '../ground/errors.ts'
import { newId } from '../ground/ids.ts'
import type { Scope } from '../ground/scope.ts'
import { slugOf, suffixed } from '../ground/slug.ts'
import { lockOrg } from '../orgs/store.ts'
import { resourceLimit } from '../usage/plan-limits.ts'
import type { CreateProject, PatchProject } from './shapes.ts'
import {
  blockingTables,
  countProjects,
  deleteProject,
  findProject,
  insertProject,
  type ProjectRow,
  updateProject,
} from './store.ts'

export interface ManageProjects {
  create(scope: Scope, body: CreateProject): Promise<ProjectRow>
  get(scope: Scope, id: string): Promise<ProjectRow>
  patch(scope: Scope, id: string, body: PatchProject): Promise<ProjectRow>
  remove(scope: Scope, id: string): Promise<void>
}

/** What prevents a deletion, in the order it is reported. The messages do not reveal how many rows there are. */
const blockers = [
  ['api_keys', 'API keys still belong to this project.'],
  ['domains', 'Domains still belong to this project.'],
  ['messages', 'Messages still belong to this project.'],
  ['jobs', 'Jobs still belong to this project.'],
  ['verifications', 'One-time codes still belong to this project.'],
] as const

/** A test key can change only projects that a test key created. */
const assertEnvironment = (scope: Scope, row: ProjectRow): void => {
  if (scope.environment === 'test' && row.created_environment === 'live') throw new Failure('ENVIRONMENT_ESCALATION')
}

type Needs = { db: Db; clock: Clock }

export const makeManageProjects = ({ db, clock }: Needs): ManageProjects => {
  const get = async (scope: Scope, id: string): Promise<ProjectRow> => {
    const row = await db.row(findProject, { orgId: scope.orgId, onlyId: scope.projectId, id })
    if (!row) throw new Failure('NOT_FOUND')
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
    create: (scope, body) =>
      db.tx(async (tx) => {
        const org = await tx.row(lockOrg, { orgId: scope.orgId })
        const counted = await tx.row(countProjects, { orgId: scope.orgId })
        if (!org || !counted) throw new Failure('NOT_FOUND')
        const limit = resourceLimit.projects[org.plan]
        if (counted.n >= limit) {
          throw new Failure('PLAN_RESOURCE_LIMIT', {
            message: `The ${org.plan} plan allows ${limit} projects.`,
          })
        }
        const at = clock.now()
        const derived = slugOf(body.name, 'project')
        for (let tries = 0; tries < 5; tries++) {
          const slug = body.slug ?? (tries === 0 ? derived : suffixed(derived))
          const row = await tx.row(insertProject, {
            orgId: scope.orgId,
            id: newId('project', at.getTime()),
            name: body.name,
            slug,
            isDefault: false,
            environment: scope.environment,
            at,
          })
          if (row) return row
          if (body.slug !== undefined) throw new Failure('PROJECT_SLUG_TAKEN')
        }
        throw new Error(`No free slug found for ${derived}`)
      }),

    get,

    patch: async (scope, id, body) => {
      const row = await get(scope, id)
      assertEnvironment(scope, row)
      if (body.name === undefined && body.slug === undefined) return row
      try {
        const { name = null, slug = null } = body
        const after = await db.row(updateProject, { orgId: scope.orgId, id, name, slug, at: clock.now() })
        if (!after) throw new Failure('NOT_FOUND')
        return after
      } catch (error) {
        if (uniqueViolation(error, 'projects_org_id_slug_key')) throw new Failure('PROJECT_SLUG_TAKEN')
        throw error
      }
    },

    remove: async (scope, id) => {
      const row = await get(scope, id)
      assertEnvironment(scope, row)
      if (row.is_default) throw new Failure('PROJECT_IS_DEFAULT')
      await assertEmpty(scope.orgId, id)
      try {
        if (!(await db.row(deleteProject, { orgId: scope.orgId, id }))) throw new Failure('NOT_FOUND')
      } catch (error) {
        // Something was added to the project between the check and the delete.
        if (foreignKeyViolation(error)) await assertEmpty(scope.orgId, id)
        throw error
      }
    },
  }
}
