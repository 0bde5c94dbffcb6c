/** Builds the module: the email channel, sending, reading, canceling, provider reports and retention. */
import { findVerifiedMembers } from '../../customers/accounts/store/account-rows.ts'
import type { SmsGeo } from '../../customers/orgs/sms-geo.ts'
import { makeDefaultProject } from '../../customers/projects/manage.ts'
import { makeExpiredReservations } from '../../customers/usage/expired-reservations.ts'
import type { Usage } from '../../customers/usage/reserve.ts'
import type { Audit } from '../../journal/audit/append.ts'
import type { AnnounceEvents } from '../../journal/events/announce-events.ts'
import type { AppendEvents } from '../../journal/events/append-events.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Log } from '../../platform/ground/log.ts'
import type { Idempotency } from '../../platform/idempotency/claims.ts'
import type { GuardedAgent } from '../../platform/outgoing/guarded.ts'
import type { EmailProvider } from '../../providers/email/email-provider.ts'
import { simulate } from '../../providers/email/simulator.ts'
import type { SmsProvider } from '../../providers/sms/sms-provider.ts'
import { makeFindSuppressed } from '../../recipients/suppressions/find-suppressed.ts'
import type { Suppress } from '../../recipients/suppressions/suppress.ts'
import type { Senders } from '../../senders/domains/sender.ts'
import type { ResolveDlt } from '../../senders/sms/resolve-dlt.ts'
import type { SmsSenders } from '../../senders/sms/sms-senders.ts'
import type { RenderTemplates } from '../templates/render.ts'
import type { Links } from '../tracking/links.ts'
import { makeAcceptForLater } from './accept-for-later.ts'
import { makeAdmitDraft } from './admit-draft.ts'
import { makeBrowseMessages } from './browse.ts'
import { makeCancelMessage } from './cancel.ts'
import type { ChannelAdapter } from './channel-adapter.ts'
import { type Draft, makeSentBy } from './draft.ts'
import { makeFetchAttachments } from './email/attachments.ts'
import { makeBulkEmails } from './email/bulk-emails.ts'
import { makeDraftEmails } from './email/draft-emails.ts'
import { makeEmailChannel } from './email/email-channel.ts'
import type { ReturnPathOf } from './email/email-draft.ts'
import { makeBeginHandOver } from './hand-over.ts'
import { makeTakeUpInterrupted } from './interrupted-request.ts'
import { makeOutcomes } from './outcomes.ts'
import { makeReadMessages } from './read.ts'
import { makeRecordMessages } from './record.ts'
import { makeSimulateReport } from './report-by-hand.ts'
import { makeResendMessage } from './resend.ts'
import { makeMessageRetention } from './retention.ts'
import { entryOf, orgDeleted } from './rows.ts'
import { makeScheduler } from './scheduler.ts'
import { makeSendMessage } from './send.ts'
import { makeSendBatch } from './send-batch.ts'
import type { HeldUntil, OnSent } from './settle-claimed.ts'
import { makeSettleUsage } from './settle-usage.ts'
import { makeBulkSms } from './sms/bulk-sms.ts'
import { makeDraftSms } from './sms/draft-sms.ts'
import { makeRescheduleLocal } from './sms/reschedule-local.ts'
import { makeSharedHandovers } from './sms/shared-handovers.ts'
import { makeSmsChannel } from './sms/sms-channel.ts'
import { makeSmsHandovers } from './sms/sms-handovers.ts'
import { cancelForOrg, cancelForTenant, eraseTenantEvents, eraseTenantMessages } from './store/end-messages.ts'
import { makeSuppressRefused } from './suppress-refused.ts'

/** How many items of one batch are sent at the same time. */
const emailConcurrency = 50
const smsConcurrency = 10

type Needs = {
  db: Db
  readDb: Db
  clock: Clock
  log: Log
  usage: Usage
  audit: Audit
  appendEvents: AppendEvents
  announce: AnnounceEvents
  idempotency: Idempotency
  templates: RenderTemplates
  senders: Senders
  links: Links
  suppress: Suppress
  emailProvider: EmailProvider
  geo: SmsGeo
  smsSenders: SmsSenders
  /** Null while DLT rules are not enforced. */
  resolveDlt: ResolveDlt | null
  smsProvider: SmsProvider
  agent: Pick<GuardedAgent, 'request'>
  serviceDomain: string
  returnPathOf: ReturnPathOf
  contentDays: number | undefined
  retentionDays: number | undefined
  heldUntil: HeldUntil
  onSent: OnSent
  onProviderOutage: 'refuse' | 'queue'
}

type TenantRows = { orgId: string; tenantId: string; limit: number }

export const openMessages = (needs: Needs) => {
  const { db, clock, log, usage, idempotency, serviceDomain, onProviderOutage } = needs
  const outcomes = makeOutcomes(needs)
  const findSuppressed = makeFindSuppressed(needs)
  const sentBy = makeSentBy(makeDefaultProject({ db }))
  const email = makeEmailChannel({
    ...needs,
    provider: needs.emailProvider,
    simulate: (mail) => simulate(mail, serviceDomain),
    findMembers: async (orgId, addresses) => {
      const rows = await db.rows(findVerifiedMembers, { orgId, emails: addresses })
      return new Set(rows.map((row) => row.email))
    },
  })
  const handovers = makeSmsHandovers()
  const sharedHandovers = makeSharedHandovers({ db, log, own: handovers })
  const sms = makeSmsChannel({ ...needs, provider: needs.smsProvider, findSuppressed, handovers })
  const { record, recordChunk } = makeRecordMessages(needs)
  const settleUsage = makeSettleUsage({ db, expired: makeExpiredReservations(needs) })
  const suppressRefused = makeSuppressRefused(needs)
  const settling = { usage, clock, log, applyReports: outcomes.applyInBackground, suppressRefused }
  const pipelineOf = <D extends Draft>(channel: ChannelAdapter<D>) => ({
    channel,
    admit: makeAdmitDraft({ channel, usage, findSuppressed }),
    beginHandOver: makeBeginHandOver({ channel, clock, log }),
    later: makeAcceptForLater({ channel, usage, record, clock, log }),
    record,
    recordChunk,
    takeUp: makeTakeUpInterrupted({ db, settleUsage }),
    idempotency,
    onProviderOutage,
    ...settling,
  })
  const channels = { email: pipelineOf(email), sms: pipelineOf(sms) }
  const sendsOf = <D extends Draft>(pipeline: ReturnType<typeof pipelineOf<D>>, concurrency: number) => ({
    send: makeSendMessage(pipeline),
    /** Reports an outage of the provider at once, whatever the operator has set. */
    sendAtOnce: makeSendMessage({ ...pipeline, onProviderOutage: 'refuse' }),
    sendBatch: makeSendBatch({ ...pipeline, concurrency }),
  })
  return {
    outcomes,
    emails: {
      drafts: makeDraftEmails({ clock, sentBy }),
      ...sendsOf(channels.email, emailConcurrency),
      fetchAttachments: makeFetchAttachments(needs.agent),
    },
    sms: {
      drafts: makeDraftSms({ clock, sentBy }),
      ...sendsOf(channels.sms, smsConcurrency),
      handovers: sharedHandovers,
    },
    /** The parts of the pipeline that one-time codes share with messages. */
    codes: { ...channels, findSuppressed, suppressRefused, sentBy },
    cancel: makeCancelMessage(needs),
    read: makeReadMessages({ db: needs.readDb }),
    browse: makeBrowseMessages({ db: needs.readDb }),
    resend: makeResendMessage({ ...needs, channels }),
    notify: makeSimulateReport({ db, clock, log, outcomes }),
    scheduler: makeScheduler({ ...needs, ...settling, channels }),
    bulk: {
      email: makeBulkEmails({ ...needs, channel: email }),
      sms: makeBulkSms({ ...needs, channel: sms }),
    },
    sentBy,
    findSuppressed,
    settleUsage: settleUsage.expired,
    rescheduleLocal: makeRescheduleLocal(needs),
    retention: makeMessageRetention(needs),
    /** For suspended, archived and erased tenants. */
    forTenant: {
      cancel: (tx: Pick<Db, 'change'>, work: { orgId: string; tenantId: string; reason: string }) => {
        const at = clock.now()
        const entry = JSON.stringify([entryOf('canceled', at, work.reason)])
        return tx.change(cancelForTenant, { ...work, at, entry })
      },
      eraseMessages: (tx: Pick<Db, 'change'>, rows: TenantRows) =>
        tx.change(eraseTenantMessages, { ...rows, at: clock.now() }),
      eraseEvents: (tx: Pick<Db, 'change'>, rows: TenantRows) => tx.change(eraseTenantEvents, rows),
    },
    /** For an org that is deleted. */
    cancelOfOrg: (tx: Pick<Db, 'change'>, { orgId, at }: { orgId: string; at: Date }) =>
      tx.change(cancelForOrg, { orgId, at, entry: JSON.stringify([entryOf('canceled', at, orgDeleted)]) }),
  }
}

export type Messages = ReturnType<typeof openMessages>
