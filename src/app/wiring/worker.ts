/** Background work: the scheduler, webhook delivery, the audit chain, and recurring tasks. */
import { makeRollUp } from '../analytics/roll-up.ts'
import { makeEnsureMonths } from '../db/months.ts'
import { inSpan, type SpanOptions } from '../ground/tracing.ts'
import type { Health } from '../health/watch-parts.ts'
import { makeSweepReceipts } from '../providers/sms/smpp/retention.ts'
import { makePollDlt } from '../senders/dlt/poll-dlt.ts'
import { makeSweepSignIn } from '../signin/retention.ts'
import { makeSweepSso } from '../sso/retention.ts'
import { makeClaimLoop } from '../worker/claim-loop.ts'
import { makeJobLoop } from '../worker/job-loop.ts'
import { makeLinkLoop } from '../worker/link-audit.ts'
import { makeRecurring } from '../worker/recurring.ts'
import { makeRollUpLoop } from '../worker/roll-up-loop.ts'
import { startWhenAvailable } from '../worker/start-when-available.ts'
import { makeTasks } from '../worker/tasks.ts'
import { makeWakeOnEvents } from '../worker/wake-on-events.ts'
import type { BillingModule } from './billing.ts'
import type { WebhookDelivery } from './delivery.ts'
import type { Exports } from './exports.ts'
import type { Foundation } from './foundation.ts'
import type { OAuth } from './oauth.ts'
import type { Platform } from './platform.ts'
import type { SmsRegistration } from './registration.ts'
import type { Sending } from './sending.ts'
import type { Team } from './team.ts'

type Needs = {
  foundation: Foundation
  platform: Platform
  sending: Sending
  delivery: WebhookDelivery
  senders: SmsRegistration
  team: Team
  billing: BillingModule
  exports: Exports
  health: Health
  oauth: OAuth
}

const scheduledSpan = ({ id, org_id, channel }: { id: string; org_id: string; channel: string }): SpanOptions => ({
  kind: 'consumer',
  name: 'scheduled message',
  fields: { 'tidings.message_id': id, 'tidings.org_id': org_id, 'tidings.channel': channel },
})

export const makeWorker = (needs: Needs) => {
  const { foundation, platform, sending, delivery, senders, team, billing, exports, health, oauth } = needs
  const { config, url, db, clock, log, caches, appendEvents, announcer, idempotency, measure } = foundation
  const { chain, pruneAudit } = platform
  const { messages, checkDomains, countHits, followJobs } = sending
  const { webhooks, deliveries } = delivery
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
  const [sweepSignIn, sweepSso] = [makeSweepSignIn({ db, clock }), makeSweepSso({ db, clock })]
  const tasks = makeTasks({
    ensureMonths,
    rollUp,
    idempotency,
    chain,
    pruneAudit,
    checkDomains,
    settleUsage: messages.settleUsage,
    scheduling,
    followJobs,
    webhooks,
    deliveries,
    messages: messages.retention,
    redactInbound: sending.inbound.redact,
    verifications: sending.verifications.retention,
    takeOverdueSms: sending.inbound.takeOverdue,
    tracking: countHits,
    sweepReceipts: makeSweepReceipts({ db, clock }),
    sweepSignIn: async () => (await sweepSignIn()) + (await sweepSso()),
    sweepInvitations: team.invitations.sweep,
    sweepOAuth: oauth.sweep,
    purgeOrgs: team.purgeOrgs,
    billing: billing.run,
    sweepExports: exports.retention.sweep,
    exporting: exports.loop,
    health,
    pollStatus: senders.pollStatus,
    reconcile: senders.reconcile,
    pollDlt: makePollDlt({
      db,
      clock,
      appendEvents,
      simulated: config.smsProviders.includes('local'),
      forget: caches.forget,
    }),
  })
  const recurring = makeRecurring({ url, log, tasks })
  const linking = makeLinkLoop({ chain, log })
  const jobs = makeJobLoop({ jobs: followJobs, log })
  const rollingUp = makeRollUpLoop({ rollUp, log })
  const wakeOnEvents = makeWakeOnEvents({ db, log, announcer, wake: webhooks.wakeFanOut })
  const stopping = new AbortController()
  let running = false
  const start = async (): Promise<void> => {
    await ensureMonths()
    await messages.rescheduleLocal()
    await recurring.start()
    await wakeOnEvents.start()
    linking.start()
    jobs.start()
    rollingUp.start()
    scheduling.start()
    webhooks.start()
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
      await Promise.all([
        wakeOnEvents.stop(),
        linking.drain(),
        jobs.drain(),
        rollingUp.drain(),
        scheduling.drain(),
        webhooks.drain(),
        exports.drain(),
      ])
    },
  }
}

export type Worker = ReturnType<typeof makeWorker>
