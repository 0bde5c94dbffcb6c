import type { Db } from '../../platform/db/pool.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import type { Environment, Scope } from '../../platform/ground/scope.ts'
import { type CountedJob, findJob, listJobs, listTenantJobs } from './store/job-rows.ts'
import { findPossibleSubjects } from './store/winner-rows.ts'

/** Without an environment: both. */
type JobsScope = Omit<Scope, 'environment'> & { environment?: Environment | undefined }

type MessageOfJob = { id: string; job_id: string | null; subject: string | null; status: string }

export const makeReadJobs = ({ db }: { db: Db }) => ({
  find: ({ orgId, tenantId, environment, projectId }: JobsScope, id: string): Promise<CountedJob> =>
    orNotFound(db.row(findJob, { orgId, tenantId, environment: environment ?? null, projectId, id })),
  /** Newest first. Returns up to one row more than the limit. */
  list: ({ orgId, tenantId, environment, projectId }: JobsScope, page: PageAsked): Promise<CountedJob[]> => {
    const environments: Environment[] = environment === undefined ? ['live', 'test'] : [environment]
    const query = { orgId, environments, projectId, ...keysetOf(page) }
    return tenantId === null ? db.rows(listJobs, query) : db.rows(listTenantJobs, { ...query, tenantId })
  },
  /** The subjects that messages can get while they wait for the best one, by the id of the message. */
  possibleSubjects: async (orgId: string, messages: readonly MessageOfJob[]) => {
    const waiting = messages.flatMap(({ id, job_id, subject, status }) =>
      job_id !== null && subject === null && status === 'scheduled' ? [{ id, jobId: job_id }] : [],
    )
    if (waiting.length === 0) return new Map<string, string[]>()
    const found = await db.rows(findPossibleSubjects, {
      orgId,
      jobIds: waiting.map(({ jobId }) => jobId),
      messageIds: waiting.map(({ id }) => id),
    })
    return new Map(found.map(({ message_id, subjects }) => [message_id, subjects]))
  },
})

export type ReadJobs = ReturnType<typeof makeReadJobs>
