/** Follows jobs from their first message to their last, and fires each of their events once. */
import type { AppendEvents } from '../../journal/events/append-events.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Log } from '../../platform/ground/log.ts'
import { lockSeconds } from '../../platform/idempotency/claims.ts'
import type { OnSent } from '../messages/settle-claimed.ts'
import { makeChooseWinner } from './choose-winner.ts'
import { jobCompleted, jobStarted } from './job-events.ts'
import { giveUpScheduling, listFinished, markCompleted, markStarted } from './store/job-progress.ts'
import { dropWaiting } from './store/winner-rows.ts'

/** Jobs that this process knows to have started. Only saves statements, so it is simply emptied when it is full. */
const mostRemembered = 10_000
const atOnce = 100

export const makeFollowJobs = (needs: { db: Db; clock: Clock; log: Log; appendEvents: AppendEvents }) => {
  const { db, clock, log, appendEvents } = needs
  const chooseWinners = makeChooseWinner(needs)
  const started = new Set<string>()

  const start = async (orgId: string, id: string): Promise<void> => {
    await db.tx(async (tx) => {
      const at = clock.now()
      const job = await tx.row(markStarted, { orgId, id, at })
      if (job) await appendEvents(tx, jobStarted(job, at))
    })
    if (started.size >= mostRemembered) started.clear()
    started.add(id)
  }

  const complete = (orgId: string, id: string): Promise<boolean> =>
    db.tx(async (tx) => {
      const at = clock.now()
      const job = await tx.row(markCompleted, { orgId, id, at })
      if (!job) return false
      // Left over if the waiting messages were canceled one by one, or with their tenant.
      if (job.winner) await tx.change(dropWaiting, { orgId, jobId: id })
      if (job.unreported_start) await appendEvents(tx, jobStarted(job, job.unreported_start))
      await appendEvents(tx, jobCompleted(job, at))
      return true
    })

  return {
    /** Called by the scheduler after it has sent messages of these jobs. */
    onSent: async (jobs: Parameters<OnSent>[0]): Promise<void> => {
      for (const { orgId, id } of jobs) {
        if (started.has(id)) continue
        // The message is sent all the same. The next message of the job, or its end, records the start.
        await start(orgId, id).catch((err) => log.error({ err, job_id: id }, 'start of a job not recorded'))
      }
    },
    /** Chooses subjects that are due, ends jobs without messages left, and returns how many jobs it ended. */
    pass: async (): Promise<number> => {
      // A request that schedules messages is over when the lock of its key has expired.
      await db.rows(giveUpScheduling, { before: new Date(clock.millis() - lockSeconds * 1000) })
      await chooseWinners()
      for (let total = 0; ; ) {
        const finished = await db.rows(listFinished, { now: clock.now(), limit: atOnce })
        for (const { org_id, id } of finished) if (await complete(org_id, id)) total++
        if (finished.length < atOnce) return total
      }
    },
  }
}
