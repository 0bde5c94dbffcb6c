import type { CancelJob } from '../../blasts/cancel-job.ts'
import type { ReadJobs } from '../../blasts/read.ts'
import { Job, JobCanceled } from '../../blasts/shapes.ts'
import { actorOf } from '../actor.ts'
import { page, pageOf, pageQuery } from '../page.ts'
import { defineRoute, type Route } from '../route.ts'
import { shownJob } from '../shown-job.ts'

type Needs = { read: ReadJobs; cancel: CancelJob }

export const jobRoutes = ({ read, cancel }: Needs): Route[] => {
  const one = { path: '/jobs/{id}', params: { id: 'job' }, tag: 'Jobs' } as const
  return [
    defineRoute({
      method: 'GET',
      path: '/jobs',
      tag: 'Jobs',
      scope: 'read:audiences',
      operationId: 'listJobs',
      summary: 'List jobs',
      query: pageQuery,
      responses: { 200: { schema: pageOf(Job), description: 'A page of jobs, newest first.' } },
      handle: async ({ caller, query }) => ({
        status: 200,
        body: page(await read.list(caller, query), query.limit, shownJob),
      }),
    }),
    defineRoute({
      ...one,
      method: 'GET',
      scope: 'read:audiences',
      operationId: 'getJob',
      summary: 'Get a job',
      responses: { 200: { schema: Job, description: 'The job with the present counts of its messages.' } },
      errors: ['NOT_FOUND'],
      handle: async ({ caller, params }) => ({
        status: 200,
        body: shownJob(await read.find(caller, params.id as string)),
      }),
    }),
    defineRoute({
      ...one,
      method: 'DELETE',
      scope: 'write:audiences',
      operationId: 'cancelJob',
      summary: 'Cancel a job',
      description:
        'Cancels the messages that are still scheduled. Messages that were sent, or are being sent, stay as they are. Repeating the request changes nothing.',
      responses: { 200: { schema: JobCanceled, description: 'The job is canceled.' } },
      errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'NOT_SCHEDULED'],
      handle: async (call) => {
        const id = call.params.id as string
        const canceled = await cancel(call.caller, actorOf(call), id)
        return { status: 200, body: { id, status: 'canceled', canceled } }
      },
    }),
  ]
}
