/** Builds the house, top to bottom. The only place that knows every room. */
import type { FastifyInstance } from 'fastify'
import { makeSessions } from './accounts/sessions.ts'
import { type Audit, makeAudit } from './audit/append.ts'
import { makeChain } from './audit/chain.ts'
import { makePruneAudit } from './audit/retention.ts'
import { listen } from './db/listen.ts'
import { guardNetwork, logOncePerPlace } from './db/network-guard.ts'
import { openDb } from './db/pool.ts'
import { makeAllowedSenderDomains } from './domains/sender.ts'
import { type AppendEvents, makeAppendEvents } from './events/append.ts'
import { type Clock, movableClock, systemClock } from './ground/clock.ts'
import type { Config } from './ground/config.ts'
import { makeVault } from './ground/crypto.ts'
import type { Log } from './ground/log.ts'
import { readServiceVersion } from './ground/version.ts'
import { makeServe } from './http/call.ts'
import { registerDashboardKeys } from './http/dashboard/api-keys.ts'
import { makeDashboardDoor } from './http/dashboard/door.ts'
import { registerDevTools } from './http/dev/routes.ts'
import { makeDoor } from './http/door.ts'
import { makeMetrics } from './http/metrics.ts'
import { registerHealth } from './http/public/health.ts'
import { registerReference } from './http/public/reference.ts'
import type { Route } from './http/route.ts'
import { makeServer } from './http/server.ts'
import { keyRoutes } from './http/v1/keys.ts'
import { projectRoutes } from './http/v1/projects.ts'
import { suppressionRoutes } from './http/v1/suppressions.ts'
import { tenantRoutes } from './http/v1/tenants.ts'
import { usageRoutes } from './http/v1/usage.ts'
import { describedEvents, webhookRoutes } from './http/v1/webhooks.ts'
import { makeIdempotency } from './idempotency/claims.ts'
import { makeCallers } from './keys/callers.ts'
import { makeManageKeys } from './keys/manage.ts'
import type { Limiter } from './limits/contract.ts'
import { makeMemoryLimiter } from './limits/memory.ts'
import { makeRedisLimiter } from './limits/redis.ts'
import { type GuardedAgent, makeGuardedAgent } from './outgoing/guarded.ts'
import { makeManageProjects } from './projects/manage.ts'
import { ping, readSetting, writeSetting } from './settings/store.ts'
import { makeAddSuppressions } from './suppressions/add.ts'
import { makeRemoveSuppression } from './suppressions/remove.ts'
import { eraseTenantSuppressions } from './suppressions/store.ts'
import { makeTenantsByReference } from './tenants/by-reference.ts'
import { makeCreateTenants } from './tenants/create.ts'
import { makeEraseTenant } from './tenants/erase.ts'
import { makeTenantLifecycle } from './tenants/lifecycle.ts'
import { makeReadUsage } from './usage/read.ts'
import { makeUsage, type Usage } from './usage/reserve.ts'
import { makeSend } from './webhooks/attempt.ts'
import { makeDeliverWebhooks, type Notify } from './webhooks/deliver.ts'
import { makeFanOut } from './webhooks/fan-out.ts'
import { makeFireWebhooks } from './webhooks/fire.ts'
import { makeWebhookPace } from './webhooks/limits.ts'
import { makeManageWebhooks } from './webhooks/manage.ts'
import { makeKeepDeliveries } from './webhooks/retention.ts'
import { eraseTenantDeliveries, eraseTenantEndpoints } from './webhooks/store.ts'
import { makeLinkLoop } from './worker/link-audit.ts'
import { makeRecurring } from './worker/recurring.ts'
import { makeTasks } from './worker/tasks.ts'
import { makeWebhookLoop } from './worker/webhooks.ts'

export type Overrides = {
  /** Further routes through the same door; tests and benchmarks prove the door with them. */
  routes?: (rooms: Rooms) => Route[]
  checkAnswers?: boolean
  /** In place of the guarded way out and of the mail to owners and developers. */
  agent?: GuardedAgent
  notify?: Notify
}

/** What further routes may stand on. */
export type Rooms = {
  db: ReturnType<typeof openDb>
  clock: Clock
  usage: Usage
  audit: Audit
  appendEvents: AppendEvents
  allowedSenderDomains: ReturnType<typeof makeAllowedSenderDomains>
}

const openLimiter = async (config: Config, log: Log): Promise<Limiter | undefined> => {
  if (config.rateLimiter === 'off') return undefined
  const { redisUrl: url, redisPrefix: prefix } = config
  return url === undefined ? makeMemoryLimiter() : makeRedisLimiter({ url, log, prefix })
}

/** Outside production the clock can be moved, and a restart goes on from where it was moved to. */
const openClock = async (config: Config, db: ReturnType<typeof openDb>) => {
  if (!config.devTools) return { clock: systemClock, moved: undefined }
  const kept = await db.row(readSetting, 'clock_offset_ms')
  const moved = movableClock(Number(kept?.value ?? 0))
  return { clock: moved, moved }
}

/** The master key is configured, or made once and kept: whoever starts the house finds it first. */
export type HouseConfig = Config & { masterKey: Buffer }

export const build = async (config: HouseConfig, url: string, log: Log, overrides: Overrides = {}) => {
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
  const keepers = [callers, tenants, usage]
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
  const agent =
    overrides.agent ??
    makeGuardedAgent({
      allowInsecure: config.webhookAllowInsecure,
      ...(config.dnsServers && { dnsServers: config.dnsServers }),
    })
  const vault = makeVault(config.masterKey, config.masterKeyPrevious)
  const send = makeSend({ agent, clock })
  const notify: Notify =
    overrides.notify ??
    (async ({ orgId, subject }) => log.warn({ org_id: orgId, subject }, 'a notice to owners and developers'))
  const webhooks = makeWebhookLoop({
    fanOut: makeFanOut({ db, clock }),
    deliver: makeDeliverWebhooks({ db, clock, vault, send, audit, appendEvents, notify, log }),
    log,
  })
  const deliveries = makeKeepDeliveries({ db, clock })
  const tasks = makeTasks({ idempotency, chain, pruneAudit, deliveries, webhooks })
  const rooms: Rooms = {
    db,
    clock,
    usage,
    audit,
    appendEvents,
    allowedSenderDomains: makeAllowedSenderDomains({ db }),
  }

  // Slices that hold work or rows of a tenant join these lists.
  const lifecycle = makeTenantLifecycle({ db, clock, audit, forget, cancelScheduled: [] })
  const erase = makeEraseTenant({
    ...{ db, clock, audit, appendEvents, forget },
    steps: [
      { run: (tx, ...tenant) => tx.change(eraseTenantSuppressions, ...tenant) },
      { run: (tx, ...tenant) => tx.change(eraseTenantEndpoints, ...tenant) },
      { run: (tx, ...tenant) => tx.change(eraseTenantDeliveries, ...tenant) },
    ],
  })

  const routes: Route[] = [
    ...keyRoutes({ db, manage: makeManageKeys({ db, clock, audit, forget }) }),
    ...projectRoutes({ db, manage: makeManageProjects({ db, clock }) }),
    ...suppressionRoutes({
      db,
      add: makeAddSuppressions({ db, clock, audit }),
      remove: makeRemoveSuppression({ db, audit, log }),
    }),
    ...tenantRoutes({ db, create: createTenants, lifecycle, erase }),
    ...usageRoutes({ clock, read: makeReadUsage({ db, usage }), tenants: lifecycle }),
    ...webhookRoutes({
      db,
      manage: makeManageWebhooks({ db, clock, audit, vault, agent }),
      fire: makeFireWebhooks({
        ...{ db, clock, audit, vault, send, wake: webhooks.wake },
        pace: makeWebhookPace({ limiter, clock }),
      }),
    }),
    ...(overrides.routes?.(rooms) ?? []),
  ]

  const makeApp = (): FastifyInstance => {
    const app = makeServer({
      routes,
      door: makeDoor({ callers, tenants, limiter, clock, trustedProxyHops: config.trustedProxyHops }),
      serve: makeServe({ idempotency, tenants, log, checkAnswers: overrides.checkAnswers ?? false }),
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
      ...{ routes, serviceVersion: readServiceVersion(), baseUrl: config.baseUrl },
      webhooks: describedEvents,
    })
    registerDashboardKeys(app, { db, clock, door: makeDashboardDoor({ sessions }) })
    if (moved) {
      registerDevTools(app, {
        clock: moved,
        tasks,
        keepOffset: async (offset) => {
          await db.change(writeSetting, 'clock_offset_ms', JSON.stringify(offset), moved.now())
        },
      })
    }
    return app
  }

  const recurring = makeRecurring({ url, log, tasks })
  const linking = makeLinkLoop({ chain, log })
  let app: FastifyInstance | undefined

  return {
    db,
    clock,
    routes,
    sessions,
    tasks,
    rooms,
    chain,
    /** Listens and resolves with the address clients on this machine can use. */
    startApi: async (): Promise<string> => {
      app = makeApp()
      await app.listen({ host: config.host, port: config.port })
      const bound = app.server.address()
      const port = typeof bound === 'object' && bound ? bound.port : config.port
      return (
        config.baseUrl ?? `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`
      )
    },
    startWorker: async () => {
      await deliveries.prepare()
      linking.start()
      webhooks.start()
      await recurring.start()
    },
    /** Takes nothing new, finishes what was taken, then lets go of everything. */
    stop: async (): Promise<void> => {
      await Promise.all([app?.close(), recurring.stop(), linking.drain(), webhooks.drain()])
      await callers.drained()
      await listener.close()
      await limiter?.close()
      await agent.close()
      await db.close()
      endGuard()
    },
  }
}

export type House = Awaited<ReturnType<typeof build>>
