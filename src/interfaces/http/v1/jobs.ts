import type { CancelJob } from '../../../sending/blasts/cancel-job.ts'
import type { ReadJobs } from '../../../sending/blasts/read.ts'
import { JobCanceled } from '../../../sending/blasts/shapes.ts'
import { actorOf } from '../actor.ts'
import { ok } from '../responses.ts'
import { byKey, defineRoute, type PublicRoute } from '../route.ts'
import { jobs } from '../shown-resources.ts'
import { publicRoutes } from './public-routes.ts'

const routes = publicRoutes(jobs, {
  tag: 'Jobs',
  path: '/jobs',
  name: 'Job',
  read: byKey('read:audiences'),
  write: byKey('write:audiences'),
})

type Needs = { read: ReadJobs; cancel: CancelJob }

export const jobRoutes = ({ read, cancel }: Needs): PublicRoute[] => [
  routes.list({ action: read.list }),
  routes.get({
    response: 'The job with the present counts of its messages.',
    action: read.find,
  }),
  defineRoute('DELETE', '/jobs/{id}', byKey('write:audiences'), {
    tag: 'Jobs',
    params: { id: 'job' },
    operationId: 'cancelJob',
    summary: 'Cancel a job',
    description:
      'Cancels the messages that are still scheduled. Messages that were sent, or are being sent, stay as they are. Repeating the request changes nothing.',
    responses: { 200: { schema: JobCanceled, description: 'The job is canceled.' } },
    errors: ['NOT_FOUND', 'TENANT_FORBIDDEN', 'NOT_SCHEDULED'],
    handle: async (call) => {
      const id = call.params.id
      const canceled = await cancel(call.caller, actorOf(call), id)
      return ok({ id, status: 'canceled', canceled })
    },
  }),
]
