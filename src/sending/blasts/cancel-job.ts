import type { Actor, Audit } from '../../journal/audit/append.ts'
import type { AppendEvents } from '../../journal/events/append-events.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { entryOf } from '../messages/rows.ts'
import { jobCanceled } from './job-events.ts'
import { cancelJobMessages, countHandedOver, findJob, markCanceled } from './store/job-rows.ts'
import { dropWaiting } from './store/winner-rows.ts'

const completed = 'This job is completed. Only a job that has scheduled messages can be canceled.'

/** Returns how many messages were canceled: none if the job was canceled before. */
export type CancelJob = (scope: Scope, actor: Actor, id: string) => Promise<number>

type Needs = { db: Db; clock: Clock; audit: Audit; appendEvents: AppendEvents }

export const makeCancelJob = ({ db, clock, audit, appendEvents }: Needs): CancelJob => {
  return async (scope, actor, id) => {
    const { orgId, tenantId, environment, projectId } = scope
    const canceled = await db.tx(async (tx) => {
      const at = clock.now()
      const job = await tx.row(markCanceled, { orgId, tenantId, environment, projectId, id, at })
      if (!job) return undefined
      const entry = JSON.stringify([entryOf('canceled', at)])
      const rows = await tx.change(cancelJobMessages, { orgId, jobId: id, at, entry })
      await tx.change(dropWaiting, { orgId, jobId: id })
      const sent = (await tx.row(countHandedOver, { orgId, jobId: id }))?.sent ?? 0
      await appendEvents(tx, jobCanceled(job, { sent, canceled: rows }, at))
      await audit(tx, {
        orgId,
        actor,
        action: 'message.canceled',
        resourceType: 'job',
        resourceId: id,
        metadata: { channel: job.channel, count: rows, environment },
      })
      return rows
    })
    if (canceled !== undefined) return canceled
    const job = await db.row(findJob, { orgId, environment, projectId, id, tenantId: null })
    if (!job) throw new Failure('NOT_FOUND')
    if (tenantId !== null && job.tenant_id !== tenantId) throw new Failure('TENANT_FORBIDDEN')
    if (job.status !== 'canceled') throw new Failure('NOT_SCHEDULED', { message: completed })
    return 0
  }
}
