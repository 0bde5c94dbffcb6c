import type { Db } from '../db/pool.ts'
import { keysetOf, type Position } from '../ground/cursor.ts'
import { Failure } from '../ground/errors.ts'
import type { Scope } from '../ground/scope.ts'
import { type CountedJob, findJob, listJobs, listTenantJobs } from './store/job-rows.ts'

export interface ReadJobs {
  find(scope: Scope, id: string): Promise<CountedJob>
  /** Newest first. Returns up to one row more than the limit. */
  list(scope: Scope, page: { cursor?: Position | undefined; limit: number }): Promise<CountedJob[]>
}

export const makeReadJobs = ({ db }: { db: Db }): ReadJobs => ({
  find: async ({ orgId, tenantId, environment, projectId }, id) => {
    const job = await db.row(findJob, { orgId, tenantId, environment, projectId, id })
    if (!job) throw new Failure('NOT_FOUND')
    return job
  },
  list: ({ orgId, tenantId, environment, projectId }, page) => {
    const query = { orgId, environment, projectId, ...keysetOf(page) }
    return tenantId === null ? db.rows(listJobs, query) : db.rows(listTenantJobs, { ...query, tenantId })
  },
})
