/** Builds the module: the email channel, sending, reading, canceling, provider reports and retention. */
import { findVerifiedMembers } from '../accounts/store.ts'
import type { Audit } from '../audit/append.ts'
import type { Db } from '../db/pool.ts'
import type { Senders } from '../domains/sender.ts'
import type { AnnounceEvents } from '../events/announce-events.ts'
import type { AppendEvents } from '../events/append-events.ts'
import type { Clock } from '../ground/clock.ts'
import type { Log } from '../ground/log.ts'
import type { Idempotency } from '../idempotency/claims.ts'
import type { GuardedAgent } from '../outgoing/guarded.ts'
import { makeDefaultProject } from '../projects/default.ts'
import type { EmailProvider } from '../providers/email/email-provider.ts'
import { simulate } from '../providers/email/simulator.ts'
import { makeFindSuppressed } from '../suppressions/find-suppressed.ts'
import type { Suppress } from '../suppressions/suppress.ts'
import type { RenderTemplates } from '../templates/render.ts'
import type { Links } from '../tracking/links.ts'
import type { Usage } from '../usage/reserve.ts'
import { makeCancelMessage } from './cancel.ts'
import { makeFetchAttachments } from './email/attachments.ts'
import { makeDraftEmails } from './email/draft-emails.ts'
import { makeEmailChannel } from './email/email-channel.ts'
import type { ReturnPathOf } from './email/email-draft.ts'
import { makeBeginHandOver } from './hand-over.ts'
import { makeOutcomes } from './outcomes.ts'
import { makeReadMessages } from './read.ts'
import { makeRecordMessage } from './record.ts'
import { makeSimulateReport } from './report-by-hand.ts'
import { makeMessageRetention } from './retention.ts'
import { entryOf } from './rows.ts'
import { makeScheduler } from './scheduler.ts'
import { makeSendMessage } from './send.ts'
import { makeSendBatch } from './send-batch.ts'
import { cancelForTenant, eraseTenantEvents, eraseTenantMessages } from './store/end-messages.ts'
import { makeSuppressRefused } from './suppress-refused.ts'

/** How many items of one batch are sent at the same time. */
const batchConcurrency = 50

type Needs = {
  db: Db
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
  agent: Pick<GuardedAgent, 'request'>
  serviceDomain: string
  returnPathOf: ReturnPathOf
  contentDays: number | undefined
  onProviderOutage: 'refuse' | 'queue'
}

type TenantRows = { orgId: string; tenantId: string; limit: number }

export const openMessages = (needs: Needs) => {
  const { db, clock, log, usage, audit, appendEvents, announce, idempotency, suppress } = needs
  const { serviceDomain, onProviderOutage } = needs
  const outcomes = makeOutcomes({ db, clock, log, appendEvents, suppress })
  const email = makeEmailChannel({
    clock,
    usage,
    templates: needs.templates,
    links: needs.links,
    senders: needs.senders,
    provider: needs.emailProvider,
    returnPathOf: needs.returnPathOf,
    simulate: (mail) => simulate(mail, serviceDomain),
    findSuppressed: makeFindSuppressed({ db }),
    findMembers: async (orgId, addresses) => {
      const rows = await db.rows(findVerifiedMembers, { orgId, emails: addresses })
      return new Set(rows.map((row) => row.email))
    },
  })
  const record = makeRecordMessage({ db, audit, idempotency, announce })
  const suppressRefused = makeSuppressRefused({ db, log, suppress })
  const settling = { usage, clock, log, applyReports: outcomes.applyInBackground, suppressRefused }
  const sending = {
    channel: email,
    beginHandOver: makeBeginHandOver({ channel: email, clock, log }),
    record,
    ...settling,
  }
  return {
    outcomes,
    emails: {
      drafts: makeDraftEmails({ clock, defaultProject: makeDefaultProject({ db }) }),
      send: makeSendMessage({ onProviderOutage, ...sending }),
      sendBatch: makeSendBatch({ db, audit, concurrency: batchConcurrency, ...sending }),
      fetchAttachments: makeFetchAttachments(needs.agent),
    },
    cancel: makeCancelMessage({ db, clock, audit }),
    read: makeReadMessages({ db }),
    notify: makeSimulateReport({ db, clock, outcomes }),
    scheduler: makeScheduler({ db, channels: { email }, announce, ...settling }),
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
