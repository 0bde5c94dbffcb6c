/** Builds the module: the email channel, sending, reading, canceling, provider reports and retention. */
import { findVerifiedMembers } from '../accounts/store.ts'
import type { Audit } from '../audit/append.ts'
import type { Db } from '../db/pool.ts'
import type { Senders } from '../domains/sender.ts'
import type { AppendEvents } from '../events/append-events.ts'
import type { Clock } from '../ground/clock.ts'
import type { Log } from '../ground/log.ts'
import type { Idempotency } from '../idempotency/claims.ts'
import type { SmsGeo } from '../orgs/sms-geo.ts'
import type { GuardedAgent } from '../outgoing/guarded.ts'
import { makeDefaultProject } from '../projects/default.ts'
import type { EmailProvider } from '../providers/email/email-provider.ts'
import { simulate } from '../providers/email/simulator.ts'
import type { SmsProvider } from '../providers/sms/sms-provider.ts'
import type { ResolveDlt } from '../senders/resolve-dlt.ts'
import type { SmsSenders } from '../senders/sms-senders.ts'
import { makeFindSuppressed } from '../suppressions/find-suppressed.ts'
import type { Suppress } from '../suppressions/suppress.ts'
import type { RenderTemplates } from '../templates/render.ts'
import type { Links } from '../tracking/links.ts'
import type { Usage } from '../usage/reserve.ts'
import { makeCancelMessage } from './cancel.ts'
import { makeFetchAttachments } from './email/attachments.ts'
import { makeDraftEmails } from './email/draft-emails.ts'
import { makeEmailChannel } from './email/email-channel.ts'
import { makeOutcomes } from './outcomes.ts'
import { makeReadMessages } from './read.ts'
import { makeRecordMessage } from './record.ts'
import { makeSimulateReport } from './report-by-hand.ts'
import { makeMessageRetention } from './retention.ts'
import { entryOf } from './rows.ts'
import { makeScheduler } from './scheduler.ts'
import { makeSendMessage } from './send.ts'
import { makeSendBatch } from './send-batch.ts'
import { makeDraftSms } from './sms/draft-sms.ts'
import { makeRescheduleLocal } from './sms/reschedule-local.ts'
import { makeSmsChannel } from './sms/sms-channel.ts'
import { cancelForTenant, eraseTenantEvents, eraseTenantMessages } from './store/end-messages.ts'

/** How many items of one batch are sent at the same time. */
const emailConcurrency = 50
const smsConcurrency = 10

type Needs = {
  db: Db
  clock: Clock
  log: Log
  usage: Usage
  audit: Audit
  appendEvents: AppendEvents
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
  contentDays: number | undefined
}

type TenantRows = { orgId: string; tenantId: string; limit: number }

export const openMessages = (needs: Needs) => {
  const { db, clock, log, usage, audit, appendEvents, idempotency, suppress, serviceDomain } = needs
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
    simulate: (mail) => simulate(mail, serviceDomain),
    findSuppressed,
    findMembers: async (orgId, addresses) => {
      const rows = await db.rows(findVerifiedMembers, { orgId, emails: addresses })
      return new Set(rows.map((row) => row.email))
    },
  })
  const sms = makeSmsChannel({
    clock,
    usage,
    templates: needs.templates,
    geo: needs.geo,
    resolveDlt: needs.resolveDlt,
    smsSenders: needs.smsSenders,
    provider: needs.smsProvider,
    findSuppressed,
  })
  const record = makeRecordMessage({ db, audit, idempotency })
  const sending = { usage, record, clock, log, applyReports: outcomes.applyInBackground }
  return {
    outcomes,
    emails: {
      drafts: makeDraftEmails({ clock, defaultProject }),
      send: makeSendMessage({ channel: email, ...sending }),
      sendBatch: makeSendBatch({ channel: email, db, audit, concurrency: emailConcurrency, ...sending }),
      fetchAttachments: makeFetchAttachments(needs.agent),
    },
    sms: {
      drafts: makeDraftSms({ clock, defaultProject }),
      send: makeSendMessage({ channel: sms, ...sending }),
      sendBatch: makeSendBatch({ channel: sms, db, audit, concurrency: smsConcurrency, ...sending }),
    },
    cancel: makeCancelMessage({ db, clock, audit }),
    read: makeReadMessages({ db }),
    notify: makeSimulateReport({ db, clock, log, outcomes }),
    scheduler: makeScheduler({
      db,
      channels: { email, sms },
      usage,
      clock,
      log,
      applyReports: outcomes.applyInBackground,
    }),
    /** Runs when the worker starts. */
    rescheduleLocal: makeRescheduleLocal({ db, clock, log }),
    retention: makeMessageRetention({ db, clock, contentDays: needs.contentDays }),
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
  }
}

export type Messages = ReturnType<typeof openMessages>
