/** The tasks of the worker and their schedules. */
import type { ClaimLoop } from '../../interfaces/worker/claim-loop.ts'
import type { Tasks } from '../../interfaces/worker/recurring.ts'
import { makeSweepSignIn } from '../../people/signin/retention.ts'
import { makeSweepSso } from '../../people/sso/saml-sign-in.ts'
import { makeSweepReceipts } from '../../providers/sms/smpp/receipts.ts'
import type { RollUp } from '../../reports/analytics/roll-up.ts'
import { makePollDlt } from '../../senders/sms/dlt/poll-dlt.ts'
import type { ServiceParts } from './service-parts.ts'

/** What the loops of the worker use too. */
type Needs = ServiceParts & { ensureMonths: () => Promise<number>; rollUp: RollUp; scheduling: ClaimLoop }

/** What cannot wait for the night: links of the audit chains, partitions, and rows that are of no use after minutes. */
const upkeep = async ({ foundation, platform, sending, delivery, ensureMonths }: Needs) => {
  const { chain } = platform
  const audit_entries_linked = await chain.link()
  await chain.register()
  await chain.survey()
  return {
    audit_entries_linked,
    months_created: await ensureMonths(),
    idempotency_keys_deleted: await foundation.idempotency.sweep(),
    tracking_windows_deleted: await sending.countHits.sweepWindows(),
    webhook_secrets_dropped: await delivery.deliveries.sweepSecrets(),
    verification_windows_deleted: await sending.verifications.retention.sweepWindows(),
  }
}

const retention = async (needs: Needs): Promise<Record<string, number>> => {
  const { foundation, platform, sending, delivery, team, oauth, exports, health, rollUp } = needs
  // Audit entries must be linked before they can be pruned.
  const kept = await upkeep(needs)
  const swept = {
    audit_entries_deleted: await platform.pruneAudit(),
    tracking_marks_deleted: await sending.countHits.sweepMarks(),
    verifications_deleted: await sending.verifications.retention.sweep(),
    provider_notifications_deleted: await sending.messages.retention.sweepNotifications(),
    sms_receipts_deleted: await makeSweepReceipts(foundation)(),
    analytics_rows_deleted: await rollUp.sweep(),
    sign_in_rows_deleted: (await makeSweepSignIn(foundation)()) + (await makeSweepSso(foundation)()),
    invitations_deleted: await team.invitations.sweep(),
    oauth_rows_deleted: await oauth.sweep(),
    export_files_deleted: await exports.retention.sweep(),
    health_probes_deleted: await health.sweep(),
  }
  const old = { deliveries: await delivery.deliveries.prune(), messages: await sending.messages.retention.remove() }
  return {
    ...kept,
    ...swept,
    webhook_deliveries_deleted: old.deliveries.rows,
    messages_deleted: old.messages.messages,
    message_events_deleted: old.messages.events,
    months_dropped: old.deliveries.months + old.messages.months,
  }
}

export const makeTasks = (needs: Needs): Tasks => {
  const { foundation, sending, delivery, senders, team, billing, exports, health, rollUp, scheduling } = needs
  const { messages, inbound, followJobs } = sending
  const pollDlt = makePollDlt({ ...foundation, simulated: foundation.config.smsProviders.includes('local') })
  return {
    webhooks: { run: () => delivery.webhooks.pass() },
    scheduler: {
      run: async () => ({ messages_worked_on: await scheduling.pass(), jobs_completed: await followJobs.pass() }),
    },
    exports: { run: async () => ({ exports_worked_on: await exports.loop.pass() }) },
    analytics: { run: async () => ({ events_counted: await rollUp.run() }) },
    deletions: { cron: '* * * * *', run: async () => ({ orgs_deleted: await team.purgeOrgs() }) },
    billing: { cron: '* * * * *', run: billing.run },
    health: { cron: '* * * * *', run: async () => ({ parts_down: await health.record() }) },
    usage: { cron: '* * * * *', run: async () => ({ reservations_settled: await messages.settleUsage() }) },
    long_sms: { cron: '* * * * *', run: async () => ({ incomplete_sms_taken: await inbound.takeOverdue() }) },
    domains: { cron: '* * * * *', run: () => sending.checkDomains.run() },
    status_poll: {
      cron: '*/5 * * * *',
      run: async () => ({ ...(await senders.pollStatus.run()), ...(await pollDlt()) }),
    },
    reconcile: { cron: '*/15 * * * *', run: () => senders.reconcile.run() },
    redaction: {
      cron: '17 * * * *',
      run: async () => ({
        messages_redacted: await messages.retention.redact(),
        inbound_redacted: await inbound.redact(),
      }),
    },
    upkeep: { cron: '7 * * * *', run: () => upkeep(needs) },
    retention: { cron: '0 3 * * *', run: () => retention(needs) },
  }
}
