/** Builds the house, top to bottom. The only place that knows every room. */
import type { FastifyInstance } from 'fastify'
import { makeSessions } from './accounts/sessions.ts'
import { makeAdmission } from './admission/admit.ts'
import { type Audit, makeAudit } from './audit/append.ts'
import { makeChain } from './audit/chain.ts'
import { makePruneAudit } from './audit/retention.ts'
import { listen } from './db/listen.ts'
import { guardNetwork, logOncePerPlace } from './db/network-guard.ts'
import { openDb } from './db/pool.ts'
import { makeCheckDomains } from './domains/check.ts'
import { newDkimKey, sealedFor } from './domains/dkim-key.ts'
import { makeCheckDns } from './domains/dns.ts'
import { makeManageDomains } from './domains/manage.ts'
import { makeManageIpPools } from './domains/manage-ip-pools.ts'
import { makeSenders, type Senders } from './domains/sender.ts'
import { makeSimulateDomain } from './domains/simulate-domain.ts'
import { type AppendEvents, makeAppendEvents } from './events/append-events.ts'
import { type Clock, movableClock, systemClock } from './ground/clock.ts'
import type { Config } from './ground/config.ts'
import { makeVault } from './ground/crypto.ts'
import type { Log } from './ground/log.ts'
import { readServiceVersion } from './ground/version.ts'
import { makeAdmitRequest } from './http/admit-request.ts'
import { makeServe } from './http/call.ts'
import { registerDashboardKeys } from './http/dashboard/api-keys.ts'
import { makeSessionGates } from './http/dashboard/session-gates.ts'
import { registerDevTools } from './http/dev/routes.ts'
import { makeMetrics } from './http/metrics.ts'
import { registerEmailIntake } from './http/provider/email.ts'
import { registerHealth } from './http/public/health.ts'
import { registerReference } from './http/public/reference.ts'
import { registerTracking } from './http/public/tracking.ts'
import type { Route } from './http/route.ts'
import { makeServer } from './http/server.ts'
import { domainRoutes } from './http/v1/domains.ts'
import { emailRoutes } from './http/v1/emails.ts'
import { ipPoolRoutes } from './http/v1/ip-pools.ts'
import { keyRoutes } from './http/v1/keys.ts'
import { projectRoutes } from './http/v1/projects.ts'
import { suppressionRoutes } from './http/v1/suppressions.ts'
import { templateRoutes } from './http/v1/templates.ts'
import { tenantRoutes } from './http/v1/tenants.ts'
import { usageRoutes } from './http/v1/usage.ts'
import { describedEvents, webhookRoutes } from './http/v1/webhooks.ts'
import { makeIdempotency } from './idempotency/claims.ts'
import { makeCallers } from './keys/callers.ts'
import { makeManageKeys } from './keys/manage.ts'
import type { Limiter } from './limits/limiter.ts'
import { makeMemoryLimiter } from './limits/memory.ts'
import { makeRedisLimiter } from './limits/redis.ts'
import { makeSendNotice } from './messages/notice.ts'
import { type Messages, openMessages } from './messages/open-messages.ts'
import { type GuardedAgent, makeGuardedAgent } from './outgoing/guarded.ts'
import { makeManageProjects } from './projects/manage.ts'
import type { EmailProvider } from './providers/email/email-provider.ts'
import { openEmailProvider } from './providers/email/open-email-provider.ts'
import { makeSesIntake } from './providers/email/ses-notifications.ts'
import { makeReadOutbox } from './providers/outbox/read.ts'
import { ping, readSetting, writeSetting } from './settings/store.ts'
import { makeSubmission, type Submission } from './submission/smtp-server.ts'
import { makeAddSuppressions } from './suppressions/add.ts'
import { makeRemoveSuppression } from './suppressions/remove.ts'
import { eraseTenantSuppressions } from './suppressions/store.ts'
import { makeSuppress, type Suppress } from './suppressions/suppress.ts'
import { makeManageTemplates } from './templates/manage.ts'
import { makeRenderTemplates, type RenderTemplates } from './templates/render.ts'
import { eraseTenantTemplates } from './templates/store.ts'
import { makeTenantsByReference } from './tenants/by-reference.ts'
import { makeCreateTenants } from './tenants/create.ts'
import { makeEraseTenant } from './tenants/erase.ts'
import { makeTenantLifecycle } from './tenants/lifecycle.ts'
import { makeCountHits } from './tracking/count.ts'
import { type Links, makeLinks } from './tracking/links.ts'
import { makeTokens } from './tracking/tokens.ts'
import { makeUnsubscribe } from './tracking/unsubscribe.ts'
import { makeReadUsage } from './usage/read.ts'
import { makeUsage, type Usage } from './usage/reserve.ts'
import { makeAttemptDelivery } from './webhooks/attempt.ts'
import { makeDeliverWebhooks, type NotifyOwners } from './webhooks/deliver.ts'
import { makeFanOut } from './webhooks/fan-out.ts'
import { makeFireWebhooks } from './webhooks/fire.ts'
import { makeWebhookLimits } from './webhooks/limits.ts'
import { makeManageWebhooks } from './webhooks/manage.ts'
import { makeKeepDeliveries } from './webhooks/retention.ts'
import { eraseTenantDeliveries, eraseTenantEndpoints } from './webhooks/store.ts'
import { makeClaimLoop } from './worker/claim-loop.ts'
import { makeLinkLoop } from './worker/link-audit.ts'
import { makeRecurring } from './worker/recurring.ts'
import { makeTasks } from './worker/tasks.ts'
import { makeWebhookLoop } from './worker/webhook-loop.ts'

export type Overrides = {
  /** Further routes through the same door; tests and benchmarks prove the door with them. */
  routes?: (modules: Modules) => Route[]
  checkAnswers?: boolean
  /** How DKIM keys are made; tests share one, since making it takes a while. */
  newDkimKey?: typeof newDkimKey
  /** Where certificates come from and subscriptions are confirmed; tests have their own Amazon. */
  sns?: Pick<Parameters<typeof makeSesIntake>[0], 'fetchCertificate' | 'confirm'>
  /** In place of the guarded way out and of the mail to owners and developers. */
  agent?: GuardedAgent
  notify?: NotifyOwners
}

/** What further routes may stand on. */
export type Modules = {
  db: ReturnType<typeof openDb>
  clock: Clock
  usage: Usage
  audit: Audit
  appendEvents: AppendEvents
  templates: RenderTemplates
  emailProvider: EmailProvider
  senders: Senders
  suppress: Suppress
  links: Links
  messages: Messages
}

const openLimiter = async (config: Config, log: Log): Promise<Limiter | undefined> => {
  if (config.rateLimiter === 'off') return undefined
  const { redisUrl: url, redisPrefix: prefix } = config
  return url === undefined ? makeMemoryLimiter() : makeRedisLimiter({ url, log, prefix })
}

/** Outside production the clock can be moved, and a restart goes on from where it was moved to. */
const openClock = async (config: Config, db: ReturnType<typeof openDb>) => {
  if (!config.devTools) return { clock: systemClock, moved: undefined }
  const kept = await db.row(readSetting, { name: 'clock_offset_ms' })
  const moved = movableClock(Number(kept?.value ?? 0))
  return { clock: moved, moved }
}

/** The master key is configured, or made once and kept: whoever starts the house finds it first. */
export type ServiceConfig = Config & { masterKey: Buffer }

export const build = async (config: ServiceConfig, url: string, log: Log, overrides: Overrides = {}) => {
  const vault = makeVault(config.masterKey, config.masterKeyPrevious)
  const db = openDb({ url, log, poolSize: config.databasePoolSize })
  const endGuard = guardNetwork(logOncePerPlace(log))
  const { clock, moved } = await openClock(config, db)
  const limiter = await openLimiter(config, log)
  const metrics = makeMetrics()

  // Copies of callers are used only while changes to them can be heard.
  const trusted = () => listener.healthy()
  const callers = makeCallers({ db, log, trusted })
  const audit = makeAudit({ clock, log, secret: config.auditSigningSecret })
  const appendEvents = makeAppendEvents({ clock })
  const usage = makeUsage({ db, clock, trusted })
  const createTenants = makeCreateTenants({ db, clock, audit })
  const tenants = makeTenantsByReference({ db, create: createTenants, trusted })
  const templates = makeRenderTemplates({ db, trusted })
  const { serviceDomain } = config
  const open = (sealed: string, domainId: string) => vault.open(sealed, sealedFor(domainId))
  const senders = makeSenders({ db, trusted, serviceDomain, open })
  const keepers = [callers, tenants, usage, senders, templates]
  const forget = (orgId: string) => {
    for (const keeper of keepers) keeper.forgetOrg(orgId)
  }
  const listener = await listen({
    connect: db.connect,
    log,
    channel: 'callers_changed',
    onMessage: forget,
    onGap: () => {
      for (const keeper of keepers) keeper.forgetAll()
    },
  })

  const idempotency = makeIdempotency({
    db,
    clock,
    log,
    ttlHours: config.idempotencyTtlHours,
    production: config.production,
  })
  const sessions = makeSessions({ db, clock })
  const secret = config.auditSigningSecret
  const chain = makeChain({ db, clock, log, secret })
  const pruneAudit = makePruneAudit({ db, clock, secret, days: config.auditRetentionDays })
  const emailProvider = openEmailProvider({ config, db, clock, log })
  metrics.gauge('email_providers_failing', 'Email providers left alone after failures in a row', () => {
    return emailProvider.states().filter(({ state }) => state !== 'closed').length
  })
  const simulated = config.emailProviders.includes('local')
  const checkDomains = makeCheckDomains({
    db,
    clock,
    log,
    audit,
    appendEvents,
    serviceDomain,
    simulated,
    forget,
    checkDns: makeCheckDns({ servers: config.dnsServers }),
  })
  const manageDomains = makeManageDomains({
    db,
    clock,
    audit,
    appendEvents,
    check: checkDomains,
    limiter,
    vault,
    serviceDomain,
    forget,
    newKey: overrides.newDkimKey ?? newDkimKey,
  })
  const count = makeCountHits({ db, clock })
  const suppress = makeSuppress({ clock })
  const tokens = makeTokens({ masterKey: config.masterKey, previous: config.masterKeyPrevious })
  const hostInUrls = config.host.includes(':') ? `[${config.host}]` : config.host
  let port = config.port
  const baseUrl = (): string => config.baseUrl ?? `http://${hostInUrls}:${port}`
  const links = makeLinks({ tokens, baseUrl })
  const agent =
    overrides.agent ??
    makeGuardedAgent({
      allowInsecure: config.webhookAllowInsecure,
      ...(config.dnsServers && { dnsServers: config.dnsServers }),
    })
  const messages = openMessages({
    db,
    clock,
    log,
    usage,
    audit,
    appendEvents,
    idempotency,
    templates,
    senders,
    links,
    suppress,
    emailProvider,
    agent,
    serviceDomain,
    contentDays: config.messageContentDays,
  })
  const scheduling = makeClaimLoop({
    name: 'scheduler',
    log,
    claim: messages.scheduler.claim,
    work: messages.scheduler.fire,
    batch: 200,
    concurrency: 200,
  })
  const send = makeAttemptDelivery({ agent, clock })
  const notify: NotifyOwners = overrides.notify ?? makeSendNotice({ db, clock, provider: emailProvider, serviceDomain })
  const webhooks = makeWebhookLoop({
    fanOut: makeFanOut({ db, clock }),
    deliver: makeDeliverWebhooks({ db, clock, vault, send, audit, appendEvents, notify, log }),
    log,
  })
  const deliveries = makeKeepDeliveries({ db, clock })
  const tasks = makeTasks({
    idempotency,
    chain,
    pruneAudit,
    checkDomains,
    scheduling,
    webhooks,
    deliveries,
    messages: messages.retention,
    sweepMarks: count.sweepMarks,
  })
  const modules: Modules = {
    db,
    clock,
    usage,
    audit,
    appendEvents,
    templates,
    emailProvider,
    senders,
    suppress,
    links,
    messages,
  }

  // Slices that hold work or rows of a tenant join these lists.
  const lifecycle = makeTenantLifecycle({
    db,
    clock,
    audit,
    forget,
    cancelScheduled: [messages.ofTenant.cancel],
  })
  const erase = makeEraseTenant({
    db,
    clock,
    audit,
    appendEvents,
    forget,
    steps: [
      { counts: 'messages_redacted', run: messages.ofTenant.eraseMessages },
      { counts: 'message_events_deleted', run: messages.ofTenant.eraseEvents },
      { run: (tx, rows) => tx.change(eraseTenantSuppressions, rows) },
      { run: (tx, rows) => tx.change(eraseTenantTemplates, rows) },
      { run: (tx, rows) => tx.change(eraseTenantEndpoints, rows) },
      { run: (tx, rows) => tx.change(eraseTenantDeliveries, rows) },
    ],
  })

  const routes: Route[] = [
    ...domainRoutes({ manage: manageDomains, serviceDomain }),
    ...emailRoutes({ ...messages.emails, cancel: messages.cancel, read: messages.read }),
    ...ipPoolRoutes({ db, manage: makeManageIpPools({ db, clock, audit, simulated, forget }) }),
    ...keyRoutes({ db, manage: makeManageKeys({ db, clock, audit, forget }) }),
    ...projectRoutes({ db, manage: makeManageProjects({ db, clock }) }),
    ...suppressionRoutes({
      db,
      add: makeAddSuppressions({ db, clock, audit }),
      remove: makeRemoveSuppression({ db, clock, audit, log }),
    }),
    ...templateRoutes({ db, manage: makeManageTemplates({ db, clock, audit, forget }), render: templates }),
    ...tenantRoutes({ db, create: createTenants, lifecycle, erase }),
    ...usageRoutes({ clock, read: makeReadUsage({ db, usage }), tenants: lifecycle }),
    ...webhookRoutes({
      db,
      manage: makeManageWebhooks({ db, clock, audit, vault, agent }),
      fire: makeFireWebhooks({
        db,
        clock,
        audit,
        vault,
        send,
        wake: webhooks.wake,
        pace: makeWebhookLimits({ limiter, clock }),
      }),
    }),
    ...(overrides.routes?.(modules) ?? []),
  ]

  const admission = makeAdmission({ callers, tenants, limiter, clock })
  const openSubmission = (): Submission | undefined =>
    config.submission &&
    makeSubmission({
      admission,
      tenants,
      idempotency,
      log,
      serviceDomain,
      config: config.submission,
      drafts: messages.emails.drafts,
      send: messages.emails.send,
      production: config.production,
    })

  const makeApp = (): FastifyInstance => {
    const app = makeServer({
      routes,
      admit: makeAdmitRequest({ admission, trustedProxyHops: config.trustedProxyHops }),
      serve: makeServe({ idempotency, tenants, log, checkResponses: overrides.checkAnswers ?? false }),
      log,
      metrics,
      requestTimeoutMs: config.requestTimeoutMs,
    })
    registerHealth(app, {
      metrics,
      metricsToken: config.metricsToken,
      ready: async () => {
        await db.row(ping)
      },
    })
    registerReference(app, {
      routes,
      serviceVersion: readServiceVersion(),
      baseUrl: config.baseUrl,
      webhooks: describedEvents,
    })
    registerTracking(app, {
      tokens,
      count,
      log,
      trustedProxyHops: config.trustedProxyHops,
      unsubscribe: makeUnsubscribe({ db, clock, suppress, appendEvents }),
    })
    registerEmailIntake(app, {
      outcomes: messages.outcomes,
      log,
      ses: makeSesIntake({ topics: config.sesSnsTopics, clock, log, ...overrides.sns }),
    })
    registerDashboardKeys(app, { db, clock, gates: makeSessionGates({ sessions }) })
    if (moved) {
      registerDevTools(app, {
        clock: moved,
        tasks,
        readOutbox: makeReadOutbox({ db }),
        notify: messages.notify,
        simulateDomain: makeSimulateDomain({ db, clock }),
        keepOffset: async (offset) => {
          await db.change(writeSetting, { name: 'clock_offset_ms', value: JSON.stringify(offset), at: moved.now() })
        },
      })
    }
    return app
  }

  const recurring = makeRecurring({ url, log, tasks })
  const linking = makeLinkLoop({ chain, log })
  let app: FastifyInstance | undefined
  let submission: Submission | undefined

  return {
    db,
    clock,
    routes,
    sessions,
    tasks,
    modules,
    chain,
    /** Listens and resolves with the address clients on this machine can use. */
    startApi: async (): Promise<string> => {
      app = makeApp()
      await app.listen({ host: config.host, port: config.port })
      const bound = app.server.address()
      if (typeof bound === 'object' && bound) port = bound.port
      submission = openSubmission()
      await submission?.start()
      return baseUrl()
    },
    /** Where mail programs are listened to, once the API has started; undefined when they are not. */
    submissionPort: () => submission?.port(),
    startWorker: async () => {
      await messages.retention.ensurePartitions()
      await deliveries.prepare()
      linking.start()
      scheduling.start()
      webhooks.start()
      await recurring.start()
    },
    /** Takes nothing new, finishes what was taken, then lets go of everything. */
    stop: async (): Promise<void> => {
      await Promise.all([app?.close(), submission?.stop(), recurring.stop()])
      await Promise.all([linking.drain(), scheduling.drain(), webhooks.drain()])
      await Promise.all([callers.drained(), count.drained(), messages.outcomes.drained()])
      await Promise.all([emailProvider.close(), agent.close()])
      await listener.close()
      await limiter?.close()
      await db.close()
      endGuard()
    },
  }
}

export type Service = Awaited<ReturnType<typeof build>>
