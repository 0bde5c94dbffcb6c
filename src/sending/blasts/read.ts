import type { Db } from '../../platform/db/pool.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { Environment, Scope } from '../../platform/ground/scope.ts'
import { type CountedJob, findJob, listJobs, listTenantJobs } from './store/job-rows.ts'
import { findPossibleSubjects } from './store/winner-rows.ts'

/** Without an environment: both. */
export type JobsScope = Omit<Scope, 'environment'> & { environment?: Environment | undefined }

export interface ReadJobs {
  find(scope: JobsScope, id: string): Promise<CountedJob>
  /** Newest first. Returns up to one row more than the limit. */
  list(scope: JobsScope, page: PageAsked): Promise<CountedJob[]>
  /** The subjects that messages can get while they wait for the best one, by the id of the message. */
  possibleSubjects(orgId: string, messages: readonly MessageOfJob[]): Promise<ReadonlyMap<string, string[]>>
}

type MessageOfJob = { id: string; job_id: string | null; subject: string | null; status: string }

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
  possibleSubjects: async (orgId, messages) => {
    const waiting = messages.flatMap(({ id, job_id, subject, status }) =>
      job_id !== null && subject === null && status === 'scheduled' ? [{ id, jobId: job_id }] : [],
    )
    if (waiting.length === 0) return new Map()
    const found = await db.rows(findPossibleSubjects, {
      orgId,
      jobIds: waiting.map(({ jobId }) => jobId),
      messageIds: waiting.map(({ id }) => id),
    })
    return new Map(found.map(({ message_id, subjects }) => [message_id, subjects]))
  },
})
