import type { Db } from '../db/pool.ts'
import { keysetOf, type Position } from '../ground/cursor.ts'
import { Failure } from '../ground/errors.ts'
import type { Environment, Scope } from '../ground/scope.ts'
import { type CountedJob, findJob, listJobs, listTenantJobs } from './store/job-rows.ts'

/** Without an environment: both. */
export type JobsScope = Omit<Scope, 'environment'> & { environment?: Environment | undefined }

export interface ReadJobs {
  find(scope: JobsScope, id: string): Promise<CountedJob>
  /** Newest first. Returns up to one row more than the limit. */
  list(scope: JobsScope, page: { cursor?: Position | undefined; limit: number }): Promise<CountedJob[]>
}

export const makeReadJobs = ({ db }: { db: Db }): ReadJobs => ({
  find: async ({ orgId, tenantId, environment = null, projectId }, id) => {
    const job = await db.row(findJob, { orgId, tenantId, environment, projectId, id })
    if (!job) throw new Failure('NOT_FOUND')
    return job
  },
  list: ({ orgId, tenantId, environment, projectId }, page) => {
    const environments: Environment[] = environment === undefined ? ['live', 'test'] : [environment]
    const query = { orgId, environments, projectId, ...keysetOf(page) }
    return tenantId === null ? db.rows(listJobs, query) : db.rows(listTenantJobs, { ...query, tenantId })
  },
})
