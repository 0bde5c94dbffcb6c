/** Creates the job of a send, and ends its scheduling. */
import { settledUsage } from '../../customers/usage/lines.ts'
import { settleUsage } from '../../customers/usage/store.ts'
import type { Actor, Audit } from '../../journal/audit/append.ts'
import type { AppendEvents } from '../../journal/events/append-events.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { envelope, Failure } from '../../platform/ground/errors.ts'
import { iso } from '../../platform/ground/instant.ts'
import { currentRequestId } from '../../platform/ground/request-context.ts'
import type { Idempotency, IdempotencyClaim } from '../../platform/idempotency/claims.ts'
import type { BulkSend } from '../messages/channel-adapter.ts'
import { jobCompleted } from './job-events.ts'
import type { SlotPlan } from './plan-slots.ts'
import type { AudienceSent, JobWinner, SendAudienceBody } from './shapes.ts'
import { endScheduling, insertJob, type JobRow } from './store/job-rows.ts'

export type NewJob = {
  send: BulkSend
  audienceId: string
  body: SendAudienceBody
  plan: SlotPlan
  total: number
  rows: number
  suppressed: number
  actor: Actor
  claim: IdempotencyClaim | undefined
}

export const incompleteSend = (jobId: string, cause?: unknown): Failure =>
  new Failure('AUDIENCE_SEND_INCOMPLETE', { extra: { job_id: jobId }, done: true, cause })

export const answerOf = (job: NewJob, scheduled: number, deferred: number): AudienceSent => ({
  job_id: job.send.jobId,
  audience_id: job.audienceId,
  total: job.total,
  scheduled,
  suppressed: job.suppressed,
  deferred_quiet_hours: deferred,
  starts_at: iso(job.plan.startsAt),
  ends_at: iso(job.plan.endsAt),
})

const winnerOf = ({ body, plan }: NewJob): JobWinner | null => {
  if (!body.winner || !plan.decidesAt) return null
  const { test_percent, wait_minutes, by } = body.winner
  return { test_percent, wait_minutes, by, decides_at: iso(plan.decidesAt), variant: null, decided_at: null }
}

type Needs = { db: Db; clock: Clock; audit: Audit; appendEvents: AppendEvents; idempotency: Idempotency }

export const makeCreateJob = ({ db, clock, audit, appendEvents, idempotency }: Needs) => {
  const insert = async (tx: Tx, job: NewJob, completed: boolean): Promise<JobRow> => {
    const { send, body, plan } = job
    const { orgId, tenantId, environment, projectId, keyId } = send.by
    const winner = completed ? null : winnerOf(job)
    const row = await tx.row(insertJob, {
      orgId,
      id: send.jobId,
      tenantId,
      environment,
      projectId,
      keyId,
      audienceId: job.audienceId,
      channel: body.channel,
      status: completed ? 'completed' : 'scheduling',
      fromAddress: send.from,
      template: send.template,
      total: job.total,
      suppressed: job.suppressed,
      winner: winner && JSON.stringify(winner),
      startsAt: plan.startsAt,
      endsAt: plan.endsAt,
      createdAt: send.at,
      completedAt: completed ? clock.now() : null,
    })
    // The org was deleted meanwhile, and its keys with it.
    if (!row) throw new Failure('UNAUTHORIZED')
    // The day's allowance of test messages stays used from here on.
    await tx.row(settleUsage, settledUsage([{ orgId, id: send.jobId }], []))
    await audit(tx, {
      orgId,
      actor: job.actor,
      action: 'audience.sent',
      resourceType: 'audience',
      resourceId: job.audienceId,
      metadata: { job_id: send.jobId, channel: body.channel, count: job.rows, environment },
    })
    return row
  }

  const recordAnswer = async (tx: Tx, { claim }: NewJob, sent: AudienceSent): Promise<void> => {
    if (claim) await idempotency.recordWith(tx, [{ claim, status: 200, body: JSON.stringify(sent) }])
  }

  /** The response for repeated requests. */
  const incompleteAnswer = (job: NewJob, claim: IdempotencyClaim) => {
    const failure = incompleteSend(job.send.jobId)
    return { claim, status: failure.status, body: envelope(failure, currentRequestId() ?? '') }
  }

  return {
    /**
     * From here on the send has an effect. The same transaction records the response that a repeated request gets if
     * this one is cut off.
     */
    begin: (job: NewJob): Promise<void> =>
      db.tx(async (tx) => {
        await insert(tx, job, false)
        if (!job.claim) return
        const held = await idempotency.recordProvisional(tx, incompleteAnswer(job, job.claim))
        // Another request took the key over after its lock expired.
        if (!held) throw new Failure('IDEMPOTENCY_IN_FLIGHT', { retryAfter: 1 })
      }),

    /** Returns false if the job was canceled or given up meanwhile. */
    end: (job: NewJob, scheduled: number, deferred: number): Promise<boolean> =>
      db.tx(async (tx) => {
        const { orgId } = job.send.by
        const ending = { orgId, id: job.send.jobId, scheduled, deferred, incomplete: false }
        if (!(await tx.row(endScheduling, ending))) return false
        await recordAnswer(tx, job, answerOf(job, scheduled, deferred))
        return true
      }),

    /** Ends scheduling part way, and records the response for repeated requests. */
    giveUp: (job: NewJob, scheduled: number, deferred: number): Promise<void> =>
      db.tx(async (tx) => {
        const { orgId } = job.send.by
        await tx.row(endScheduling, { orgId, id: job.send.jobId, scheduled, deferred, incomplete: true })
        if (job.claim) await idempotency.recordWith(tx, [incompleteAnswer(job, job.claim)])
      }),

    /** A job without messages is complete when it is created. */
    empty: (job: NewJob): Promise<void> =>
      db.tx(async (tx) => {
        const row = await insert(tx, job, true)
        await appendEvents(tx, jobCompleted({ ...row, sent: 0, delivered: 0, failed: 0, canceled: 0 }, clock.now()))
        await recordAnswer(tx, job, answerOf(job, 0, 0))
      }),
  }
}

export type CreateJob = ReturnType<typeof makeCreateJob>
