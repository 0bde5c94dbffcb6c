import type { z } from 'zod'
import type { CancelJob } from '../../blasts/cancel-job.ts'
import type { ReadJobs } from '../../blasts/read.ts'
import { Job, JobCanceled } from '../../blasts/shapes.ts'
import type { CountedJob } from '../../blasts/store/job-rows.ts'
import { actorOf } from '../actor.ts'
import { page, pageOf, pageQuery } from '../page.ts'
import { defineRoute, type Route } from '../route.ts'

const noMessages = { scheduled: 0, sending: 0, sent: 0, delivered: 0, bounced: 0, failed: 0, canceled: 0 }

const show = (row: CountedJob): z.output<typeof Job> => ({
  id: row.id,
  audience_id: row.audience_id,
  channel: row.channel,
  status: row.status,
  incomplete: row.incomplete,
  from: row.from_address,
  template: row.template,
  total: row.total,
  scheduled: row.scheduled,
  suppressed: row.suppressed,
  deferred_quiet_hours: row.deferred_quiet_hours,
  counts: { ...noMessages, ...row.counts },
  winner: row.winner,
  starts_at: row.starts_at?.toISOString() ?? null,
  ends_at: row.ends_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
  started_at: row.started_at?.toISOString() ?? null,
  completed_at: row.completed_at?.toISOString() ?? null,
  canceled_at: row.canceled_at?.toISOString() ?? null,
  tenant_id: row.tenant_id,
})

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
        body: page(await read.list(caller, query), query.limit, show),
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
      handle: async ({ caller, params }) => ({ status: 200, body: show(await read.find(caller, params.id as string)) }),
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
