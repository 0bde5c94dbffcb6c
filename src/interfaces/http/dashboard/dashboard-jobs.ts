/** /api/internal/jobs: sends to audiences, their progress, and canceling them. */
import { z } from 'zod'
import type { CancelJob } from '../../../sending/blasts/cancel-job.ts'
import type { ReadJobs } from '../../../sending/blasts/read.ts'
import { Job, JobCanceled } from '../../../sending/blasts/shapes.ts'
import type { CountedJob } from '../../../sending/blasts/store/job-rows.ts'
import { scopeOf, userActor } from '../actor.ts'
import { ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute, type MemberSession } from '../route.ts'
import { jobs } from '../shown-resources.ts'
import { environmentFilter, listQuery, tenantFilter } from './list-query.ts'
import { memberRoutes } from './member-routes.ts'

const path = '/api/internal/jobs'

const JobOfEither = Job.extend({ environment: z.enum(['live', 'test']) })

const show = (row: CountedJob) => ({ ...jobs.show(row), environment: row.environment })
const routes = memberRoutes({ ...jobs, item: JobOfEither, show }, { path })

const wholeOrg = ({ orgId }: MemberSession) => ({ orgId, tenantId: null, projectId: null })

type Needs = { read: ReadJobs; cancel: CancelJob }

export const dashboardJobRoutes = ({ read, cancel }: Needs): DashboardRoute[] => [
  routes.list({
    query: listQuery().extend({ environment: environmentFilter, tenant_id: tenantFilter }),
    action: ({ orgId, tenantId }, query) =>
      read.list({ orgId, tenantId, projectId: null, environment: query.environment }, query),
  }),
  routes.get({ action: ({ orgId }, id) => read.find({ orgId, tenantId: null, projectId: null }, id) }),
  defineRoute('POST', `${path}/{id}/cancel`, bySession('requireDeveloperSession'), {
    params: { id: 'job' },
    responses: { 200: JobCanceled },
    handle: async (call) => {
      const { id, environment } = await read.find(wholeOrg(call.session), call.params.id)
      const canceled = await cancel(scopeOf(call.session, environment), userActor(call), id)
      return ok({ id, status: 'canceled', canceled })
    },
  }),
]
