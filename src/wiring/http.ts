/** The two servers: HTTP with all its routes, and SMTP submission. */
import type { FastifyInstance } from 'fastify'
import { makeSimulateDomain } from '../domains/simulate-domain.ts'
import { readServiceVersion } from '../ground/version.ts'
import { makeAdmitRequest } from '../http/admit-request.ts'
import { makeServe } from '../http/call.ts'
import { registerDashboardKeys } from '../http/dashboard/api-keys.ts'
import { makeSessionGates } from '../http/dashboard/session-gates.ts'
import { registerDevTools } from '../http/dev/routes.ts'
import { registerEmailIntake } from '../http/provider/email.ts'
import { registerHealth } from '../http/public/health.ts'
import { registerReference } from '../http/public/reference.ts'
import { registerTracking } from '../http/public/tracking.ts'
import type { Route } from '../http/route.ts'
import { makeServer } from '../http/server.ts'
import { describedEvents } from '../http/v1/webhooks.ts'
import { makeSesIntake } from '../providers/email/ses-notifications.ts'
import { makeReadOutbox } from '../providers/outbox/read.ts'
import { writeSetting } from '../settings/store.ts'
import { makeSubmission, type Submission } from '../submission/smtp-server.ts'
import { makeUnsubscribe } from '../tracking/unsubscribe.ts'
import type { Foundation } from './foundation.ts'
import type { Platform } from './platform.ts'
import type { SmsRegistration } from './registration.ts'
import type { Replacements } from './replacements.ts'
import type { Sending } from './sending.ts'
import type { Worker } from './worker.ts'

type Needs = {
  foundation: Foundation
  platform: Platform
  sending: Sending
  senders: SmsRegistration
  worker: Worker
  routes: Route[]
  ready: () => Promise<void>
  replacements: Replacements
}

const makeApi = ({ foundation, platform, routes, replacements }: Needs): FastifyInstance => {
  const { config, log, metrics, idempotency } = foundation
  const { admission, tenants } = platform
  return makeServer({
    routes,
    admit: makeAdmitRequest({ admission, proxies: config }),
    serve: makeServe({ idempotency, tenants, log, checkResponses: replacements.checkResponses ?? false }),
    log,
    metrics,
    requestTimeoutMs: config.requestTimeoutMs,
  })
}

const registerPublic = (app: FastifyInstance, { foundation, sending, routes, ready, replacements }: Needs): void => {
  const { config, db, clock, log, metrics, appendEvents } = foundation
  const { tokens, countHits, suppress, messages } = sending
  registerHealth(app, { metrics, metricsToken: config.metricsToken, ready })
  registerReference(app, {
    routes,
    serviceVersion: readServiceVersion(),
    baseUrl: config.baseUrl,
    webhooks: describedEvents,
  })
  registerTracking(app, {
    tokens,
    count: countHits,
    log,
    proxies: config,
    unsubscribe: makeUnsubscribe({ db, clock, suppress, appendEvents }),
  })
  registerEmailIntake(app, {
    outcomes: messages.outcomes,
    log,
    ses: makeSesIntake({ topics: config.sesSnsTopics, clock, log, ...replacements.sns }),
  })
}

const registerDev = (app: FastifyInstance, { foundation, sending, senders, worker }: Needs): void => {
  const { db, clock, moved } = foundation
  if (!moved) return
  registerDevTools(app, {
    clock: moved,
    tasks: worker.tasks,
    readOutbox: makeReadOutbox({ db }),
    notify: sending.messages.notify,
    simulateDomain: makeSimulateDomain({ db, clock }),
    simulateRegistration: senders.simulateRegistration,
    keepOffset: async (offset) => {
      await db.change(writeSetting, { name: 'clock_offset_ms', value: JSON.stringify(offset), at: moved.now() })
    },
  })
}

export const makeHttp = (needs: Needs): FastifyInstance => {
  const { db, clock } = needs.foundation
  const app = makeApi(needs)
  registerPublic(app, needs)
  registerDashboardKeys(app, { db, clock, gates: makeSessionGates({ sessions: needs.platform.sessions }) })
  registerDev(app, needs)
  return app
}

/** Undefined unless SMTP submission is configured. */
export const makeSmtp = ({ foundation, platform, sending }: Needs): Submission | undefined => {
  const { config, log, idempotency } = foundation
  if (!config.submission) return undefined
  return makeSubmission({
    admission: platform.admission,
    tenants: platform.tenants,
    idempotency,
    log,
    serviceDomain: config.serviceDomain,
    config: config.submission,
    drafts: sending.messages.emails.drafts,
    send: sending.messages.emails.send,
    production: config.production,
  })
}
