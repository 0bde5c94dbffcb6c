import type { Chain } from '../../journal/audit/chain.ts'
import type { Idempotency } from '../../platform/idempotency/claims.ts'
import type { RollUp } from '../../reports/analytics/roll-up.ts'
import type { Health } from '../../reports/health/watch-parts.ts'
import type { CheckDomains } from '../../senders/domains/check.ts'
import type { PollStatus } from '../../senders/sms/registration/poll-status.ts'
import type { Reconcile } from '../../senders/sms/registration/reconcile.ts'
import type { FollowJobs } from '../../sending/blasts/follow-jobs.ts'
import type { MessageRetention } from '../../sending/messages/retention.ts'
import type { SettleUsage } from '../../sending/messages/settle-usage.ts'
import type { CountHits } from '../../sending/tracking/count.ts'
import type { VerificationRetention } from '../../sending/verifications/retention.ts'
import type { KeepDeliveries } from '../../webhooks/retention.ts'
import type { ClaimLoop } from './claim-loop.ts'
import type { WebhookLoop } from './webhook-loop.ts'

/** A background task. The worker runs it on its schedule, the development tools on demand. */
export type Task = {
  /** Five-field cron in UTC. Absent when a loop of the worker runs the task continuously. */
  cron?: string
  /** Runs until nothing is left to do, and returns counts of what it did. */
  run: () => Promise<Record<string, number>>
}

export type Tasks = Record<string, Task>

/** Returns how many rows it worked on. */
type Count = () => Promise<number>

type Needs = {
  ensureMonths: Count
  rollUp: RollUp
  idempotency: Idempotency
  chain: Chain
  pruneAudit: Count
  checkDomains: CheckDomains
  tracking: Pick<CountHits, 'sweepMarks' | 'sweepWindows'>
  sweepReceipts: Count
  sweepSignIn: Count
  sweepInvitations: Count
  sweepOAuth: Count
  purgeOrgs: Count
  billing: Task['run']
  sweepExports: Count
  health: Pick<Health, 'record' | 'sweep'>
  exporting: ClaimLoop
  messages: MessageRetention
  redactInbound: Count
  verifications: VerificationRetention
  takeOverdueSms: Count
  settleUsage: SettleUsage['expired']
  scheduling: ClaimLoop
  followJobs: Pick<FollowJobs, 'pass'>
  deliveries: KeepDeliveries
  webhooks: WebhookLoop
  pollStatus: PollStatus
  reconcile: Reconcile
  pollDlt: Task['run']
}

/** What cannot wait for the night: links of the audit chains, partitions, and rows that are of no use after minutes. */
const upkeep = async ({ chain, ensureMonths, deliveries, idempotency, tracking, verifications }: Needs) => {
  const audit_entries_linked = await chain.link()
  await chain.register()
  await chain.survey()
  return {
    audit_entries_linked,
    months_created: await ensureMonths(),
    idempotency_keys_deleted: await idempotency.sweep(),
    tracking_windows_deleted: await tracking.sweepWindows(),
    webhook_secrets_dropped: await deliveries.sweepSecrets(),
    verification_windows_deleted: await verifications.sweepWindows(),
  }
}

const retention = async (needs: Needs): Promise<Record<string, number>> => {
  const { tracking, sweepReceipts, messages, deliveries } = needs
  // Audit entries must be linked before they can be pruned.
  const kept = await upkeep(needs)
  const swept = {
    audit_entries_deleted: await needs.pruneAudit(),
    tracking_marks_deleted: await tracking.sweepMarks(),
    verifications_deleted: await needs.verifications.sweep(),
    provider_notifications_deleted: await messages.sweepNotifications(),
    sms_receipts_deleted: await sweepReceipts(),
    analytics_rows_deleted: await needs.rollUp.sweep(),
    sign_in_rows_deleted: await needs.sweepSignIn(),
    invitations_deleted: await needs.sweepInvitations(),
    oauth_rows_deleted: await needs.sweepOAuth(),
    export_files_deleted: await needs.sweepExports(),
    health_probes_deleted: await needs.health.sweep(),
  }
  const old = { deliveries: await deliveries.prune(), messages: await messages.remove() }
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
  const { checkDomains, messages } = needs
  return {
    webhooks: { run: () => needs.webhooks.pass() },
    scheduler: {
      run: async () => ({
        messages_worked_on: await needs.scheduling.pass(),
        jobs_completed: await needs.followJobs.pass(),
      }),
    },
    exports: { run: async () => ({ exports_worked_on: await needs.exporting.pass() }) },
    analytics: { run: async () => ({ events_counted: await needs.rollUp.run() }) },
    deletions: { cron: '* * * * *', run: async () => ({ orgs_deleted: await needs.purgeOrgs() }) },
    billing: { cron: '* * * * *', run: needs.billing },
    health: { cron: '* * * * *', run: async () => ({ parts_down: await needs.health.record() }) },
    usage: { cron: '* * * * *', run: async () => ({ reservations_settled: await needs.settleUsage() }) },
    long_sms: { cron: '* * * * *', run: async () => ({ incomplete_sms_taken: await needs.takeOverdueSms() }) },
    domains: { cron: '* * * * *', run: () => checkDomains.run() },
    status_poll: {
      cron: '*/5 * * * *',
      run: async () => ({ ...(await needs.pollStatus.run()), ...(await needs.pollDlt()) }),
    },
    reconcile: { cron: '*/15 * * * *', run: () => needs.reconcile.run() },
    redaction: {
      cron: '17 * * * *',
      run: async () => ({
        messages_redacted: await messages.redact(),
        inbound_redacted: await needs.redactInbound(),
      }),
    },
    upkeep: { cron: '7 * * * *', run: () => upkeep(needs) },
    retention: { cron: '0 3 * * *', run: () => retention(needs) },
  }
}
