/**
 * Sends a template to the members of an audience. Everything that can refuse the send is checked first, in a fixed
 * order, while nothing is stored. Then the job is created and the messages are scheduled in portions.
 */
import type { Reservation } from '../../customers/usage/reserve.ts'
import type { Actor } from '../../journal/audit/append.ts'
import type { Log } from '../../platform/ground/log.ts'
import { makeOrgTurns } from '../../platform/ground/org-turns.ts'
import type { IdempotencyClaim } from '../../platform/idempotency/claims.ts'
import { spendBy } from '../messages/sent-message.ts'
import { type AudienceCaller, type CheckedRequest, type CheckNeeds, makeCheckSend } from './check-send.ts'
import { type ComposedRows, makeComposeRows, slicesOfSlots } from './compose-rows.ts'
import { answerOf, type CreateJob, incompleteSend, type NewJob } from './create-job.ts'
import type { AudienceSent } from './shapes.ts'
import { openStaging, type StagedMessages } from './stage-messages.ts'

/** Less than the lock of an Idempotency-Key, so that no other request takes the key over while this one works. */
const longestMs = 300_000
/** Each prepared send holds a connection and some megabytes. */
const atOnce = 2
/** Rows per statement, and roughly their bytes. */
const rowsAtOnce = 1_000
const bytesAtOnce = 32_000_000

type AudienceSend = CheckedRequest & { actor: Actor; claim: IdempotencyClaim | undefined }

export type SendToAudience = (caller: AudienceCaller, request: AudienceSend) => Promise<AudienceSent>

type Needs = CheckNeeds & { log: Log; jobs: CreateJob }

const makeDeadline = () => {
  const endsAt = performance.now() + longestMs
  return (): void => {
    if (performance.now() > endsAt) throw new Error('An audience send took longer than its Idempotency-Key is locked')
  }
}

export const makeSendToAudience = (needs: Needs): SendToAudience => {
  const { db, log, usage, jobs } = needs
  const check = makeCheckSend(needs)
  const takeTurn = makeOrgTurns({ what: 'audience sends', running: atOnce, waitingPerOrg: 10 })

  /** Test messages use the allowance of the day on which they are accepted. */
  const reserve = async (job: NewJob): Promise<Reservation | undefined> => {
    const { send, body } = job
    if (send.by.environment === 'live') return undefined
    return usage.reserve(
      { ...spendBy({ by: send.by, channel: body.channel }), units: 0, testMessages: job.rows },
      { id: send.jobId },
    )
  }

  const begin = async (job: NewJob): Promise<void> => {
    const reservation = await reserve(job)
    try {
      await jobs.begin(job)
    } catch (error) {
      if (reservation) await usage.release(reservation)
      throw error
    }
  }

  /** Moves the rows in portions. Afterwards the send can no longer be refused, only be incomplete. */
  const schedule = async (
    job: NewJob,
    staged: StagedMessages,
    { rows, deferred, bytes }: ComposedRows,
    checkDeadline: () => void,
  ): Promise<AudienceSent> => {
    const { jobId, by } = job.send
    const portion = Math.max(1, Math.min(rowsAtOnce, Math.floor((bytesAtOnce * rows) / Math.max(1, bytes))))
    let scheduled = 0
    try {
      for (let from = 0; from < rows; from += portion) {
        checkDeadline()
        const moved = await staged.move({ orgId: by.orgId, id: jobId }, from, from + portion)
        if (moved === 0) throw new Error('The job ended while it was scheduled')
        scheduled += moved
      }
      if (!(await jobs.end(job, scheduled, deferred))) throw new Error('The job ended while it was scheduled')
      return answerOf(job, scheduled, deferred)
    } catch (error) {
      log.error({ err: error, job_id: jobId, scheduled, rows }, 'audience send incomplete')
      await jobs
        .giveUp(job, scheduled, deferred)
        .catch((err) => log.error({ err, job_id: jobId }, 'incomplete audience send not recorded'))
      throw incompleteSend(jobId, error)
    }
  }

  const prepareAndSend = async (caller: AudienceCaller, request: AudienceSend): Promise<AudienceSent> => {
    const checkDeadline = makeDeadline()
    const { actor, claim } = request
    const { composition, ...found } = await check(caller, request)
    const checked = { ...found, actor, claim }
    const { slots } = checked.plan
    if (slots.length === 0) {
      const job = { ...checked, rows: 0 }
      await jobs.empty(job)
      return answerOf(job, 0, 0)
    }
    const staged = await openStaging(db)
    try {
      const composed = makeComposeRows(needs, composition)
      for (const slice of slicesOfSlots(slots)) {
        checkDeadline()
        await staged.add(composed.lines(slice))
      }
      composed.finish()
      const counts = composed.counts()
      const job = { ...checked, rows: counts.rows }
      await begin(job)
      return await schedule(job, staged, counts, checkDeadline)
    } finally {
      await staged.close()
    }
  }

  return (caller, request) => takeTurn(caller.orgId, () => prepareAndSend(caller, request))
}
