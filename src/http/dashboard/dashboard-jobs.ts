/** /api/internal/jobs: sends to audiences, their progress, and canceling them. */
import { z } from 'zod'
import type { CancelJob } from '../../blasts/cancel-job.ts'
import type { ReadJobs } from '../../blasts/read.ts'
import { Job, JobCanceled } from '../../blasts/shapes.ts'
import type { CountedJob } from '../../blasts/store/job-rows.ts'
import { page } from '../page.ts'
import { shownJob } from '../shown-job.ts'
import { type DashboardRoute, defineDashboardRoute, type MemberSession, userActor } from './dashboard-route.ts'
import { environmentFilter, tenantFilter } from './filters.ts'
import { listOf, listQuery } from './list-query.ts'
import { scopeOf } from './member-scope.ts'

const path = '/api/internal/jobs'

const JobOfEither = Job.extend({ environment: z.enum(['live', 'test']) })

const shown = (row: CountedJob): z.output<typeof JobOfEither> => ({ ...shownJob(row), environment: row.environment })

const wholeOrg = ({ orgId }: MemberSession) => ({ orgId, tenantId: null, projectId: null })

type Needs = { read: ReadJobs; cancel: CancelJob }

export const dashboardJobRoutes = ({ read, cancel }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path,
    gate: 'requireSession',
    query: listQuery().extend({ environment: environmentFilter, tenant_id: tenantFilter }),
    responses: { 200: listOf(JobOfEither) },
    handle: async ({ session, query }) => {
      const { environment, tenant_id: tenantId = null } = query
      const rows = await read.list({ ...wholeOrg(session), environment, tenantId }, query)
      return { status: 200, body: page(rows, query.limit, shown) }
    },
  }),
  defineDashboardRoute({
    method: 'GET',
    path: `${path}/{id}`,
    gate: 'requireSession',
    params: { id: 'job' },
    responses: { 200: JobOfEither },
    handle: async ({ session, params }) => ({
      status: 200,
      body: shown(await read.find(wholeOrg(session), params.id as string)),
    }),
  }),
  defineDashboardRoute({
    method: 'POST',
    path: `${path}/{id}/cancel`,
    gate: 'requireDeveloperSession',
    params: { id: 'job' },
    responses: { 200: JobCanceled },
    handle: async (call) => {
      const { id, environment } = await read.find(wholeOrg(call.session), call.params.id as string)
      const canceled = await cancel(scopeOf(call.session, environment), userActor(call), id)
      return { status: 200, body: { id, status: 'canceled', canceled } }
    },
  }),
]
