/** Builds the module: the email channel, sending, reading, canceling, provider reports and retention. */
import { findVerifiedMembers } from '../../customers/accounts/store/account-rows.ts'
import type { SmsGeo } from '../../customers/orgs/sms-geo.ts'
import { makeDefaultProject } from '../../customers/projects/default.ts'
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
import type { Draft } from './draft.ts'
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
import { makeSentBy } from './sent-by.ts'
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
  /** The handle for requests that only read. */
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
  const { db, clock, log, usage, audit, appendEvents, announce, idempotency, suppress } = needs
  const { serviceDomain, onProviderOutage } = needs
  const outcomes = makeOutcomes({ db, clock, log, appendEvents, suppress })
  const findSuppressed = makeFindSuppressed({ db })
  const defaultProject = makeDefaultProject({ db })
  const email = makeEmailChannel({
    clock,
    usage,
    templates: needs.templates,
    links: needs.links,
    senders: needs.senders,
    provider: needs.emailProvider,
    returnPathOf: needs.returnPathOf,
    simulate: (mail) => simulate(mail, serviceDomain),
    findMembers: async (orgId, addresses) => {
      const rows = await db.rows(findVerifiedMembers, { orgId, emails: addresses })
      return new Set(rows.map((row) => row.email))
    },
  })
  const handovers = makeSmsHandovers()
  const sharedHandovers = makeSharedHandovers({ db, log, own: handovers })
  const sms = makeSmsChannel({
    clock,
    usage,
    templates: needs.templates,
    geo: needs.geo,
    resolveDlt: needs.resolveDlt,
    smsSenders: needs.smsSenders,
    provider: needs.smsProvider,
    findSuppressed,
    handovers,
  })
  const { record, recordChunk } = makeRecordMessages({ db, log, audit, idempotency, announce })
  const settleUsage = makeSettleUsage({ db, expired: makeExpiredReservations({ db, clock }) })
  const suppressRefused = makeSuppressRefused({ db, log, suppress })
  const settling = { usage, clock, log, applyReports: outcomes.applyInBackground, suppressRefused }
  const pipelineOf = <D extends Draft>(channel: ChannelAdapter<D>) => ({
    channel,
    admit: makeAdmitDraft({ channel, usage, findSuppressed }),
    beginHandOver: makeBeginHandOver({ channel, clock, log }),
    record,
    recordChunk,
    takeUp: makeTakeUpInterrupted({ db, settleUsage }),
    idempotency,
    onProviderOutage,
    ...settling,
  })
  const emailPipeline = pipelineOf(email)
  const smsPipeline = pipelineOf(sms)
  return {
    outcomes,
    /** `sendAtOnce` reports an outage of the provider at once, whatever the operator has set. */
    emails: {
      drafts: makeDraftEmails({ clock, defaultProject }),
      send: makeSendMessage(emailPipeline),
      sendAtOnce: makeSendMessage({ ...emailPipeline, onProviderOutage: 'refuse' }),
      sendBatch: makeSendBatch({ concurrency: emailConcurrency, ...emailPipeline }),
      fetchAttachments: makeFetchAttachments(needs.agent),
    },
    sms: {
      drafts: makeDraftSms({ clock, defaultProject }),
      send: makeSendMessage(smsPipeline),
      sendAtOnce: makeSendMessage({ ...smsPipeline, onProviderOutage: 'refuse' }),
      handovers: sharedHandovers,
      sendBatch: makeSendBatch({ concurrency: smsConcurrency, ...smsPipeline }),
    },
    /** The parts of the pipeline that one-time codes share with messages. */
    codes: {
      email: { channel: email, beginHandOver: emailPipeline.beginHandOver },
      sms: { channel: sms, beginHandOver: smsPipeline.beginHandOver },
      findSuppressed,
      suppressRefused,
      sentBy: makeSentBy(defaultProject),
    },
    cancel: makeCancelMessage({ db, clock, audit }),
    read: makeReadMessages({ db: needs.readDb }),
    browse: makeBrowseMessages({ db: needs.readDb }),
    resend: makeResendMessage({
      clock,
      links: needs.links,
      channels: {
        email: { channel: email, later: makeAcceptForLater(emailPipeline) },
        sms: { channel: sms, later: makeAcceptForLater(smsPipeline) },
      },
    }),
    notify: makeSimulateReport({ db, clock, log, outcomes }),
    scheduler: makeScheduler({
      db,
      channels: { email: emailPipeline, sms: smsPipeline },
      announce,
      heldUntil: needs.heldUntil,
      onSent: needs.onSent,
      ...settling,
    }),
    bulk: {
      email: makeBulkEmails({ channel: email, senders: needs.senders, links: needs.links }),
      sms: makeBulkSms({ channel: sms, geo: needs.geo, resolveDlt: needs.resolveDlt, smsSenders: needs.smsSenders }),
    },
    sentBy: makeSentBy(defaultProject),
    findSuppressed,
    settleUsage: settleUsage.expired,
    /** Runs when the worker starts. */
    rescheduleLocal: makeRescheduleLocal({ db, clock, log }),
    retention: makeMessageRetention({
      db,
      clock,
      log,
      contentDays: needs.contentDays,
      retentionDays: needs.retentionDays,
    }),
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
