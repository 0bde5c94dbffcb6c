/** The servers: HTTP with all its routes, SMTP submission, and SMTP for bounces. */
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, InjectOptions } from 'fastify'
import type { Area } from '../../interfaces/http/area.ts'
import { devRoutes } from '../../interfaces/http/dev/routes.ts'
import { makeAuthenticate } from '../../interfaces/http/doors/authenticate.ts'
import { makeBearerDoor } from '../../interfaces/http/doors/bearer-door.ts'
import { makeDirectoryDoor } from '../../interfaces/http/doors/directory-door.ts'
import { makeKeyDoor } from '../../interfaces/http/doors/key-door.ts'
import { makeLinkDoor, makeMachineDoor, makeOpenDoor } from '../../interfaces/http/doors/open-doors.ts'
import { makeSessionDoor } from '../../interfaces/http/doors/session-door.ts'
import {
  envelopeFormat,
  flatFormat,
  oauthFormat,
  scimFormat,
  uncachedHeaders,
} from '../../interfaces/http/error-format.ts'
import type { SendToSelf } from '../../interfaces/http/mcp/call-tool.ts'
import { mcpRoute } from '../../interfaces/http/mcp/mcp-route.ts'
import {
  authorizeRoute,
  clientBodyLimit,
  clientRoutes,
  discoveryRoutes,
} from '../../interfaces/http/oauth/oauth-routes.ts'
import { registerBillingCallback } from '../../interfaces/http/provider/billing-callback.ts'
import { inboundEmailIntake, inboundSmsIntake } from '../../interfaces/http/provider/inbound.ts'
import { registerIntakes } from '../../interfaces/http/provider/intake.ts'
import { reportIntake } from '../../interfaces/http/provider/report-intake.ts'
import { healthRoutes } from '../../interfaces/http/public/health.ts'
import { localBillingRoutes } from '../../interfaces/http/public/local-billing.ts'
import { referenceRoutes } from '../../interfaces/http/public/reference.ts'
import { registerRoot } from '../../interfaces/http/public/root.ts'
import { trackingRoutes } from '../../interfaces/http/public/tracking.ts'
import { makeReadBody, type ReadBody } from '../../interfaces/http/read-body.ts'
import type { DashboardRoute, PublicRoute, Route } from '../../interfaces/http/route.ts'
import { scimPrefix, scimRoutes } from '../../interfaces/http/scim/scim-routes.ts'
import { makeServe } from '../../interfaces/http/serve-route.ts'
import { makeServer } from '../../interfaces/http/server.ts'
import type { Stopping } from '../../interfaces/http/stopping.ts'
import { makeUploads } from '../../interfaces/http/uploads.ts'
import { describedEvents } from '../../interfaces/http/v1/webhooks.ts'
import { makeWebFiles, webFolderOf } from '../../interfaces/http/web/web-files.ts'
import { makeInboundSmtp } from '../../interfaces/inbound-smtp/inbound-server.ts'
import { makeFindInboundDomain, makeFindReturnPath } from '../../interfaces/inbound-smtp/mailboxes.ts'
import { makeTakeReport } from '../../interfaces/inbound-smtp/take-report.ts'
import { type MailParser, makeMailParser } from '../../interfaces/submission/mail-parser.ts'
import type { SmtpPort } from '../../interfaces/submission/smtp-port.ts'
import { makeSubmission } from '../../interfaces/submission/smtp-server.ts'
import { type Clock, systemClock } from '../../platform/ground/clock.ts'
import { megabyte } from '../../platform/ground/units.ts'
import { readServiceVersion } from '../../platform/ground/version.ts'
import { writeSetting } from '../../platform/settings/store.ts'
import { parseSesNotification } from '../../providers/email/ses-notifications.ts'
import { parseSesReceived } from '../../providers/email/ses-received.ts'
import { makeSnsIntake, type ParseSns } from '../../providers/email/sns-intake.ts'
import { makeReadOutbox } from '../../providers/outbox/read.ts'
import { makeParseSmsEvent } from '../../providers/sms/aws-events.ts'
import { parseAwsInbound } from '../../providers/sms/aws-inbound.ts'
import { feedbackHosts } from '../../senders/domains/records.ts'
import { makeSimulateDomain } from '../../senders/domains/simulate-domain.ts'
import { findReturnHost } from '../../senders/domains/store/sender-rows.ts'
import { makeSimulateDlt } from '../../senders/sms/dlt/simulate-dlt.ts'
import { findInboundDomains } from '../../sending/inbound/store/inbound-rows.ts'
import { feedbackHost } from '../../sending/messages/email/return-path.ts'
import { makeUnsubscribe } from '../../sending/tracking/unsubscribe.ts'
import { makeDashboardCookies } from './dashboard.ts'
import type { ServiceParts } from './service-parts.ts'
import type { Worker } from './worker.ts'

type Needs = ServiceParts & {
  worker: Worker
  routes: PublicRoute[]
  dashboardRoutes: DashboardRoute[]
  ready: () => Promise<void>
  stopping: Stopping
}

const makeDoors = (needs: Needs) => {
  const { foundation, platform, scim } = needs
  const { config: proxies, clock, limiter, reads } = foundation
  const baseUrl = foundation.baseUrl.read
  const authenticate = makeAuthenticate({ admission: platform.httpAdmission, proxies, baseUrl })
  return {
    key: makeKeyDoor({ admission: platform.httpAdmission, authenticate, tenants: platform.tenants, reads }),
    bearer: makeBearerDoor({ authenticate, baseUrl }),
    session: makeSessionDoor({
      sessions: platform.sessions,
      cookies: makeDashboardCookies(foundation),
      proxies,
      baseUrl,
    }),
    directory: makeDirectoryDoor({ tokens: scim.tokens, limiter, clock, proxies }),
    link: makeLinkDoor(proxies),
    machine: makeMachineDoor(proxies),
    anyone: makeOpenDoor(proxies),
  }
}

const devTools = (needs: Needs, parser: MailParser): Route[] => {
  const { foundation, sending, people, senders, worker } = needs
  const { db, clock, moved, peers } = foundation
  if (!moved) return []
  const read = makeReadOutbox({ db, outbox: sending.outbox, otherCodes: peers?.otherCodes })
  return devRoutes({
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

/** The routes that belong to no other area: health, the reference, links in emails, and tools. */
const otherRoutes = (needs: Needs, parser: MailParser, sendToSelf: SendToSelf): Route[] => {
  const { foundation, sending, routes, ready, billing } = needs
  const { config, db, clock, log, metrics, appendEvents, baseUrl } = foundation
  const { tokens, countHits, suppress } = sending
  const serviceVersion = readServiceVersion()
  return [
    ...healthRoutes({ metrics, metricsToken: config.metricsToken, ready }),
    ...referenceRoutes({ routes, serviceVersion, baseUrl: config.baseUrl, webhooks: describedEvents }),
    ...trackingRoutes({
      tokens,
      count: countHits,
      log,
      unsubscribe: makeUnsubscribe({ db, clock, suppress, appendEvents }),
    }),
    ...discoveryRoutes(baseUrl.read),
    mcpRoute({ routes, sendToSelf, serviceVersion, timeoutMs: config.mcpSelfCallTimeoutMs }),
    ...(billing.local ? localBillingRoutes(billing.local) : []),
    ...devTools(needs, parser),
  ]
}

/** A page of a signed-in user must not be found in a cache by the next user of the machine. */
const dashboardHeaders = (clock: Clock) => (): Record<string, string> => ({
  'cache-control': 'no-store',
  'x-service-time': clock.now().toISOString(),
})

const areasOf = (needs: Needs, doors: ReturnType<typeof makeDoors>, others: Route[]): Area[] => {
  const { routes, dashboardRoutes, foundation, oauth, scim } = needs
  const { clock, limiter } = foundation
  const baseUrl = foundation.baseUrl.read
  const dashboard = (prefix: string, gate: 'public' | 'requireUserSession'): Area => ({
    prefix,
    base: '',
    routes: dashboardRoutes.filter(({ path }) => path.startsWith(`${prefix}/`)),
    format: flatFormat,
    bodyLimit: megabyte,
    headers: dashboardHeaders(clock),
    admitUnknown: doors.session.admitUnknown(gate),
  })
  return [
    {
      prefix: '/api/v1',
      base: '/api/v1',
      routes,
      format: envelopeFormat,
      bodyLimit: 6 * megabyte,
      admitUnknown: doors.key.admitUnknown,
    },
    dashboard('/api/internal', 'requireUserSession'),
    dashboard('/api/auth', 'public'),
    {
      prefix: scimPrefix,
      base: scimPrefix,
      routes: scimRoutes({ ...scim, baseUrl }),
      format: scimFormat,
      bodyLimit: megabyte,
      headers: () => ({ 'cache-control': 'no-store' }),
      admitUnknown: doors.directory.admitUnknown,
      unknownMessage: 'There is no such resource.',
    },
    {
      prefix: '/api/oauth/authorize',
      base: '/api/oauth',
      routes: [authorizeRoute(oauth)],
      format: envelopeFormat,
      bodyLimit: megabyte,
    },
    {
      prefix: '/api/oauth',
      base: '/api/oauth',
      routes: clientRoutes({ ...oauth, clock, limiter, baseUrl }),
      format: oauthFormat,
      bodyLimit: clientBodyLimit,
      headers: () => uncachedHeaders,
    },
    { prefix: '', base: '', routes: others, format: envelopeFormat, bodyLimit: 6 * megabyte },
  ]
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
  const overSns = <T>(topics: readonly string[], parse: ParseSns<T>) =>
    topics.length > 0 ? makeSnsIntake({ topics, ...sns }, parse) : undefined
  const ses = overSns(sesSnsTopics, parseSesNotification)
  const received = overSns(sesSnsTopics, parseSesReceived)
  const events = overSns(smsSnsTopics, makeParseSmsEvent(log))
  const sms = overSns(smsSnsTopics, parseAwsInbound)
  const intake = { limiter, clock, log, proxies: config, readBody }
  registerIntakes(
    app,
    [
      reportIntake('email', { provider: 'ses', reports: ses, outcomes }),
      inboundEmailIntake({ ses: received, parser, takeEmail }),
      reportIntake('sms', { provider: 'aws', reports: events, outcomes }),
      inboundSmsIntake({ sms, takeSms }),
    ],
    intake,
  )
  registerBillingCallback(app, { ...intake, takeCallback: needs.billing.takeCallback })
}

export const makeHttp = (needs: Needs): FastifyInstance => {
  const { config, metrics, log, idempotency, reads } = needs.foundation
  const uploads = makeUploads(config.uploads)
  metrics.gauge('http_upload_bytes', 'Bytes of request bodies that have not arrived completely', uploads.held, 'sum')
  const readBody = makeReadBody({ uploads, proxies: config })
  const web = makeWebFiles(needs.replacements.webFolder ?? webFolderOf(dirname(fileURLToPath(import.meta.url))))
  const parser = makeMailParser()
  const doors = makeDoors(needs)
  const sendToSelf: SendToSelf = async (request) => {
    const response = await app.inject(request as InjectOptions)
    return { status: response.statusCode, headers: response.headers, body: response.payload }
  }
  const app: FastifyInstance = makeServer({
    areas: areasOf(needs, doors, otherRoutes(needs, parser, sendToSelf)),
    doors,
    serve: makeServe({ idempotency, reads, log, checkResponses: needs.replacements.checkResponses ?? false }),
    wrote: reads.wrote,
    log,
    metrics,
    requestTimeoutMs: config.requestTimeoutMs,
    readBody,
    stopping: needs.stopping,
    web,
  })
  app.addHook('onClose', () => parser.close())
  registerRoot(app, readServiceVersion(), web)
  registerProviders(app, needs, { readBody, parser })
  return app
}

/** Health and metrics alone, for a process that runs only the worker. Every other path is NOT_FOUND. */
export const makeWorkerHttp = (needs: Needs): FastifyInstance => {
  const { foundation, stopping, ready } = needs
  const { config, log, metrics, idempotency, reads } = foundation
  const { requestTimeoutMs, metricsToken } = config
  const routes = healthRoutes({ metrics, metricsToken, ready })
  return makeServer({
    areas: [{ prefix: '', base: '', routes, format: envelopeFormat, bodyLimit: megabyte }],
    doors: makeDoors(needs),
    serve: makeServe({ idempotency, reads, log, checkResponses: false }),
    log,
    metrics,
    requestTimeoutMs,
    readBody: makeReadBody({ uploads: makeUploads(config.uploads), proxies: config }),
    stopping,
  })
}

/** Undefined unless SMTP submission is configured. */
export const makeSmtp = ({ foundation, platform, sending }: Needs): SmtpPort | undefined => {
  const { submission, serviceDomain, production } = foundation.config
  if (!submission) return undefined
  return makeSubmission({
    ...foundation,
    ...platform,
    config: submission,
    serviceDomain,
    production,
    drafts: sending.messages.emails.drafts,
    send: sending.messages.emails.send,
    wrote: foundation.reads.wrote,
  })
}

/** Undefined unless mail is received over SMTP. */
export const makeBounces = ({ foundation, sending }: Needs): SmtpPort | undefined => {
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
