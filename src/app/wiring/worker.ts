/** Background work: the scheduler, webhook delivery, the audit chain, and recurring tasks. */
import { makeClaimLoop, makePassLoop } from '../../interfaces/worker/claim-loop.ts'
import { makeRecurring } from '../../interfaces/worker/recurring.ts'
import { startWhenAvailable } from '../../interfaces/worker/start-when-available.ts'
import { eventsChannel } from '../../journal/events/announce-events.ts'
import { type Listener, listen } from '../../platform/db/listen.ts'
import { makeEnsureMonths } from '../../platform/db/months.ts'
import { inSpan, type SpanOptions } from '../../platform/ground/tracing.ts'
import { makeRollUp } from '../../reports/analytics/roll-up.ts'
import type { ServiceParts } from './service-parts.ts'
import { makeTasks } from './tasks.ts'

const scheduledSpan = ({ id, org_id, channel }: { id: string; org_id: string; channel: string }): SpanOptions => ({
  kind: 'consumer',
  name: 'scheduled message',
  fields: { 'tidings.message_id': id, 'tidings.org_id': org_id, 'tidings.channel': channel },
})

export const makeWorker = (parts: ServiceParts) => {
  const { foundation, platform, sending, exports } = parts
  const { url, db, clock, log, announcer, measure } = foundation
  const { messages, followJobs } = sending
  const { webhooks } = parts.delivery
  const scheduling = makeClaimLoop({
    name: 'scheduler',
    log,
    claim: async (limit) => {
      const rows = await messages.scheduler.claim(limit)
      for (const { was_due_at } of rows) measure.claimLag('messages', clock.millis() - was_due_at.getTime())
      return rows
    },
    work: (row) => inSpan(scheduledSpan(row), () => messages.scheduler.fire(row)),
    batch: 200,
    concurrency: 200,
  })
  const rollUp = makeRollUp({ db, clock })
  const ensureMonths = makeEnsureMonths({ db, clock, log })
  const tasks = makeTasks({ ...parts, ensureMonths, rollUp, scheduling })
  const recurring = makeRecurring({ url, log, tasks })
  const loops = [
    // Links new audit entries into their chains.
    makePassLoop({ name: 'audit chain', log, pass: platform.chain.link }),
    // Ends jobs after their last message, and chooses subjects when they are due.
    makePassLoop({ name: 'jobs', log, pass: followJobs.pass }),
    // Adds what happened to messages to their figures, so that reads find little that is not added yet.
    makePassLoop({ name: 'analytics', log, pass: rollUp.run }),
    scheduling,
    webhooks,
  ]
  const wake = webhooks.wakeFanOut
  let listener: Listener | undefined
  const stopping = new AbortController()
  let running = false
  const start = async (): Promise<void> => {
    await ensureMonths()
    await messages.rescheduleLocal()
    await recurring.start()
    // Another process has written events. While this connection is down, fan-out polls.
    listener ??= await listen({ connect: db.connect, log, channel: eventsChannel, onMessage: wake, onGap: wake })
    announcer.wakeHere(wake)
    for (const loop of loops) loop.start()
    exports.loop.start()
    running = true
  }
  return {
    tasks,
    isRunning: () => running,
    start: () => startWhenAvailable({ start, undo: recurring.stop, log, stopping: stopping.signal }),
    /** Stops recurring tasks, which use the loops; `drain` then stops the loops. */
    stopTasks: (): Promise<void> => {
      stopping.abort()
      return recurring.stop()
    },
    drain: async (): Promise<void> => {
      await Promise.all([listener?.close(), ...loops.map((loop) => loop.drain()), exports.drain()])
    },
  }
}

export type Worker = ReturnType<typeof makeWorker>
