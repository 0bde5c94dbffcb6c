/** The servers: HTTP with all its routes, SMTP submission, and SMTP for bounces. */
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { feedbackHosts } from '../domains/records.ts'
import { makeSimulateDomain } from '../domains/simulate-domain.ts'
import { findReturnHost } from '../domains/store/sender-rows.ts'
import { systemClock } from '../ground/clock.ts'
import { Failure } from '../ground/errors.ts'
import { readServiceVersion } from '../ground/version.ts'
import { makeAdmitRequest } from '../http/admit-request.ts'
import { makeAuthenticate } from '../http/authenticate.ts'
import { makeServe } from '../http/call.ts'
import type { DashboardRoute } from '../http/dashboard/dashboard-route.ts'
import { makeEntrance } from '../http/dashboard/entrance.ts'
import { makeRunClaimed } from '../http/dashboard/run-claimed.ts'
import { serveDashboard } from '../http/dashboard/serve-routes.ts'
import { registerDevTools } from '../http/dev/routes.ts'
import { serveMcp } from '../http/mcp/serve-mcp.ts'
import { serveOAuth } from '../http/oauth/serve-oauth.ts'
import { registerBillingCallback } from '../http/provider/billing-callback.ts'
import { emailIntake } from '../http/provider/email.ts'
import { inboundEmailIntake, inboundSmsIntake } from '../http/provider/inbound.ts'
import { registerIntakes } from '../http/provider/intake.ts'
import { smsIntake } from '../http/provider/sms.ts'
import { registerHealth } from '../http/public/health.ts'
import { registerLocalBilling } from '../http/public/local-billing.ts'
import { registerReference } from '../http/public/reference.ts'
import { registerRoot } from '../http/public/root.ts'
import { registerTracking } from '../http/public/tracking.ts'
import { makeReadBody, type ReadBody } from '../http/read-body.ts'
import type { Route } from '../http/route.ts'
import { scimRoutes } from '../http/scim/scim-routes.ts'
import { serveDirectory } from '../http/scim/serve-directory.ts'
import { makeServer, type WebPages } from '../http/server.ts'
import type { Stopping } from '../http/stopping.ts'
import { makeUploads } from '../http/uploads.ts'
import { describedEvents } from '../http/v1/webhooks.ts'
import { makeWebFiles, webFolderOf } from '../http/web/web-files.ts'
import { findInboundDomains } from '../inbound/store.ts'
import { makeFindInboundDomain } from '../inbound-smtp/inbound-domains.ts'
import { type InboundSmtp, makeInboundSmtp } from '../inbound-smtp/inbound-server.ts'
import { makeFindReturnPath } from '../inbound-smtp/mailboxes.ts'
import { makeTakeReport } from '../inbound-smtp/take-report.ts'
import { feedbackHost } from '../messages/email/return-path.ts'
import { makeSesIntake } from '../providers/email/ses-notifications.ts'
import { makeSesReceivedIntake } from '../providers/email/ses-received.ts'
import type { SnsIntake, SnsIntakeNeeds } from '../providers/email/sns-intake.ts'
import { makeReadOutbox } from '../providers/outbox/read.ts'
import { makeSmsEventIntake } from '../providers/sms/aws-events.ts'
import { makeSmsInboundIntake } from '../providers/sms/aws-inbound.ts'
import { makeSimulateDlt } from '../senders/dlt/simulate-dlt.ts'
import { writeSetting } from '../settings/store.ts'
import { type MailParser, makeMailParser } from '../submission/mail-parser.ts'
import { makeSubmission, type Submission } from '../submission/smtp-server.ts'
import { makeUnsubscribe } from '../tracking/unsubscribe.ts'
import type { BillingModule } from './billing.ts'
import { makeDashboardCookies } from './dashboard.ts'
import type { Foundation } from './foundation.ts'
import type { OAuth } from './oauth.ts'
import type { People } from './people.ts'
import type { Platform } from './platform.ts'
import type { SmsRegistration } from './registration.ts'
import type { Replacements } from './replacements.ts'
import type { Scim } from './scim.ts'
import type { Sending } from './sending.ts'
import type { Worker } from './worker.ts'

type Needs = {
  foundation: Foundation
  platform: Platform
  sending: Sending
  people: People
  senders: SmsRegistration
  billing: BillingModule
  scim: Scim
  worker: Worker
  oauth: OAuth
  routes: Route[]
  dashboardRoutes: DashboardRoute[]
  ready: () => Promise<void>
  stopping: Stopping
  replacements: Replacements
}

const makeApi = (needs: Needs, readBody: ReadBody, web: WebPages | undefined): FastifyInstance => {
  const { foundation, platform, routes, stopping, replacements } = needs
  const { config, log, metrics, idempotency, reads } = foundation
  const { httpAdmission: admission, tenants } = platform
  return makeServer({
    routes,
    admit: makeAdmitRequest({ admission, authenticate: makeHttpAuthenticate(needs) }),
    serve: makeServe({ idempotency, tenants, reads, log, checkResponses: replacements.checkResponses ?? false }),
    wrote: reads.wrote,
    log,
    metrics,
    requestTimeoutMs: config.requestTimeoutMs,
    readBody,
    stopping,
    web,
  })
}

const makeHttpAuthenticate = ({ foundation, platform }: Needs) =>
  makeAuthenticate({
    admission: platform.httpAdmission,
    proxies: foundation.config,
    baseUrl: foundation.baseUrl.read,
  })

const registerMcp = (app: FastifyInstance, needs: Needs): void => {
  const { config, baseUrl } = needs.foundation
  serveMcp(app, {
    routes: needs.routes,
    authenticate: makeHttpAuthenticate(needs),
    serviceVersion: readServiceVersion(),
    timeoutMs: config.mcpSelfCallTimeoutMs,
    baseUrl: baseUrl.read,
  })
}

type PublicParts = { readBody: ReadBody; web: WebPages | undefined }

const registerPublic = (app: FastifyInstance, needs: Needs, { readBody, web }: PublicParts): void => {
  const { foundation, sending, routes, ready } = needs
  const { config, db, clock, log, metrics, appendEvents } = foundation
  const { tokens, countHits, suppress } = sending
  registerHealth(app, { metrics, metricsToken: config.metricsToken, ready })
  const serviceVersion = readServiceVersion()
  registerRoot(app, serviceVersion, web)
  registerReference(app, {
    routes,
    serviceVersion,
    baseUrl: config.baseUrl,
    webhooks: describedEvents,
  })
  registerTracking(app, {
    tokens,
    count: countHits,
    log,
    proxies: config,
    readBody,
    unsubscribe: makeUnsubscribe({ db, clock, suppress, appendEvents }),
  })
}

/** The threads of the parser start with the first email. */
type Receiving = { readBody: ReadBody; parser: MailParser }

const registerProviders = (app: FastifyInstance, needs: Needs, { readBody, parser }: Receiving): void => {
  const { config, clock, log, limiter } = needs.foundation
  const { outcomes } = needs.sending.verifications
  const { takeEmail, takeSms } = needs.sending.inbound
  const { sesSnsTopics, smsSnsTopics } = config
  // Certificates are valid in real time.
  const sns = { clock: systemClock, log, ...needs.replacements.sns }
  const overSns = <T>(topics: readonly string[], make: (needs: SnsIntakeNeeds) => SnsIntake<T>) =>
    topics.length > 0 ? make({ topics, ...sns }) : undefined
  const ses = overSns(sesSnsTopics, makeSesIntake)
  const received = overSns(sesSnsTopics, makeSesReceivedIntake)
  const events = overSns(smsSnsTopics, makeSmsEventIntake)
  const sms = overSns(smsSnsTopics, makeSmsInboundIntake)
  const intake = { limiter, clock, log, proxies: config, readBody }
  registerIntakes(
    app,
    [
      emailIntake({ ses, outcomes }),
      inboundEmailIntake({ ses: received, parser, takeEmail }),
      smsIntake({ events, outcomes }),
      inboundSmsIntake({ sms, takeSms }),
    ],
    intake,
  )
  registerBillingCallback(app, { ...intake, takeCallback: needs.billing.takeCallback })
  if (needs.billing.local) registerLocalBilling(app, { ...needs.billing.local, readBody })
}

const registerDev = (app: FastifyInstance, needs: Needs, parser: MailParser): void => {
  const { foundation, sending, people, senders, worker } = needs
  const { db, clock, moved, peers } = foundation
  if (!moved) return
  const read = makeReadOutbox({ db, outbox: sending.outbox, otherCodes: peers?.otherCodes })
  registerDevTools(app, {
    clock: moved,
    tasks: worker.tasks,
    // Some mails are sent after the response that announced them.
    readOutbox: async (query) => {
      await people.background.drained()
      return read(query)
    },
    notify: sending.messages.notify,
    simulateDomain: makeSimulateDomain({ db, clock }),
    simulateRegistration: senders.simulateRegistration,
    simulateDlt: makeSimulateDlt({ db, clock }),
    playPayments: needs.billing.local?.play,
    takeSms: sending.inbound.takeSms,
    takeEmail: sending.inbound.takeEmail,
    parser,
    keepOffset: async (offset) => {
      await db.change(writeSetting, { name: 'clock_offset_ms', value: JSON.stringify(offset), at: moved.now() })
      await peers?.shareOffset(offset)
    },
  })
}

const registerDashboard = (app: FastifyInstance, needs: Needs, readBody: ReadBody): void => {
  const { foundation, platform, oauth, dashboardRoutes: routes, replacements } = needs
  const { config: proxies, clock, limiter, log, reads } = foundation
  const baseUrl = foundation.baseUrl.read
  const entrance = makeEntrance({
    sessions: platform.sessions,
    cookies: makeDashboardCookies(foundation),
    baseUrl,
  })
  const checkResponses = replacements.checkResponses ?? false
  const runClaimed = makeRunClaimed({ idempotency: foundation.idempotency, log })
  serveDashboard(app, { routes, entrance, proxies, readBody, runClaimed, reads, log, checkResponses })
  serveOAuth(app, { ...oauth, findSession: entrance.find, clock, limiter, baseUrl, proxies, readBody })
}

const registerDirectory = (app: FastifyInstance, { foundation, scim }: Needs, readBody: ReadBody): void => {
  const { config: proxies, limiter, clock, log, baseUrl, reads } = foundation
  const { tokens } = scim
  const shared = { limiter, clock, log, proxies, readBody, baseUrl: baseUrl.read, wrote: reads.wrote }
  serveDirectory(app, { routes: scimRoutes(scim), tokens, ...shared })
}

export const makeHttp = (needs: Needs): FastifyInstance => {
  const { config, metrics } = needs.foundation
  const uploads = makeUploads(config.uploads)
  metrics.gauge('http_upload_bytes', 'Bytes of request bodies that have not arrived completely', uploads.held, 'sum')
  const readBody = makeReadBody({ uploads, proxies: config })
  const web = makeWebFiles(needs.replacements.webFolder ?? webFolderOf(dirname(fileURLToPath(import.meta.url))))
  const app = makeApi(needs, readBody, web)
  registerPublic(app, needs, { readBody, web })
  const parser = makeMailParser()
  app.addHook('onClose', () => parser.close())
  registerProviders(app, needs, { readBody, parser })
  registerDashboard(app, needs, readBody)
  registerMcp(app, needs)
  registerDirectory(app, needs, readBody)
  registerDev(app, needs, parser)
  return app
}

const notFound = async (): Promise<never> => {
  throw new Failure('NOT_FOUND')
}

/** Health and metrics alone, for a process that runs only the worker. Every other path is NOT_FOUND. */
export const makeWorkerHttp = ({ foundation, stopping, ready }: Needs): FastifyInstance => {
  const { config, log, metrics } = foundation
  const { requestTimeoutMs, metricsToken } = config
  const readBody = makeReadBody({ uploads: makeUploads(config.uploads), proxies: config })
  const app = makeServer({
    routes: [],
    admit: notFound,
    serve: notFound,
    log,
    metrics,
    requestTimeoutMs,
    readBody,
    stopping,
  })
  registerHealth(app, { metrics, metricsToken, ready })
  return app
}

/** Undefined unless SMTP submission is configured. */
export const makeSmtp = ({ foundation, platform, sending }: Needs): Submission | undefined => {
  const { config, clock, log, idempotency } = foundation
  if (!config.submission) return undefined
  return makeSubmission({
    admission: platform.admission,
    callers: platform.callers,
    clock,
    tenants: platform.tenants,
    idempotency,
    log,
    serviceDomain: config.serviceDomain,
    config: config.submission,
    drafts: sending.messages.emails.drafts,
    send: sending.messages.emails.send,
    wrote: foundation.reads.wrote,
    production: config.production,
  })
}

/** Undefined unless mail is received over SMTP. */
export const makeBounces = ({ foundation, sending }: Needs): InboundSmtp | undefined => {
  const { config, db, clock, log } = foundation
  if (!config.inboundSmtp) return undefined
  const { serviceDomain } = config
  const findReturnPath = makeFindReturnPath({
    tokens: sending.returnTokens,
    takeReport: makeTakeReport({ outcomes: sending.verifications.outcomes, clock, log }),
    hosts: new Set(feedbackHosts(serviceDomain)),
    isReturnHost: async (orgId, host) => (await db.row(findReturnHost, { orgId, host })) !== undefined,
  })
  return makeInboundSmtp({
    config: config.inboundSmtp,
    host: feedbackHost(serviceDomain),
    mailboxes: [
      findReturnPath,
      makeFindInboundDomain({
        findDomain: (name) => db.row(findInboundDomains, { names: [name] }),
        takeEmail: sending.inbound.takeEmail,
        clock,
      }),
    ],
    log,
  })
}
