/** The parts that every module builds on: database, clock, caches, limiter, metrics, audit entries and events. */
import { type Metrics, makeMetrics } from '../../interfaces/http/metrics.ts'
import { type Audit, makeAudit } from '../../journal/audit/append.ts'
import { makeWrittenEntries } from '../../journal/audit/watch-written.ts'
import { makeEventAnnouncer } from '../../journal/events/announce-events.ts'
import { makeAppendEvents } from '../../journal/events/append-events.ts'
import { guardNetwork, logOncePerPlace } from '../../platform/db/network-guard.ts'
import { openOrgCaches } from '../../platform/db/org-caches.ts'
import { type Db, openDb } from '../../platform/db/pool.ts'
import { makeRefusedWrites } from '../../platform/db/refused-writes.ts'
import { type Clock, movableClock, systemClock } from '../../platform/ground/clock.ts'
import type { Config } from '../../platform/ground/config/config.ts'
import { makeVault } from '../../platform/ground/crypto.ts'
import { longPauseMs, watchEventLoop } from '../../platform/ground/event-loop.ts'
import type { Log } from '../../platform/ground/log.ts'
import { startTracing } from '../../platform/ground/tracing.ts'
import { makeIdempotency } from '../../platform/idempotency/claims.ts'
import { makeLiveProcesses } from '../../platform/idempotency/live-processes.ts'
import type { Limiter } from '../../platform/limits/limiter.ts'
import { makeMemoryLimiter } from '../../platform/limits/memory.ts'
import type { Peers } from '../../platform/processes/peers.ts'
import { readSetting } from '../../platform/settings/store.ts'
import { openTracer } from '../../platform/traces/open-tracer.ts'
import { makeMeasurements, measureDatabase } from './measurements.ts'
import { openReads } from './replica.ts'

/** The configuration with the master key, which is configured or was made at the first start. */
export type ServiceConfig = Config & { masterKey: Buffer }

type LimiterNeeds = { config: Config; log: Log; countFault: () => void; peers: Peers | undefined }

const openLimiter = async ({ config, log, countFault, peers }: LimiterNeeds): Promise<Limiter | undefined> => {
  if (config.rateLimiter === 'off') return undefined
  const { redisUrl: url, redisPrefix: prefix } = config
  if (url === undefined) return peers?.limiter ?? makeMemoryLimiter()
  const { makeRedisLimiter } = await import('../../platform/limits/redis.ts')
  return makeRedisLimiter({ url, log, prefix, countFault })
}

/** Outside production the clock can be moved. A restarted service continues at the moved time. */
const openClock = async (config: Config, db: Db, peers?: Peers) => {
  if (!config.devTools) return { clock: systemClock, moved: undefined }
  const offset = await db.row(readSetting, { name: 'clock_offset_ms' })
  const moved = movableClock(Number(offset?.value ?? 0))
  peers?.followOffset((ms) => {
    moved.reset()
    moved.advance(ms)
  })
  return { clock: moved, moved }
}

/** The address in links and in the first run's greeting. Without BASE_URL it needs the port that was bound. */
const makeBaseUrl = (config: Config) => {
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  let { port } = config
  return {
    read: (): string => config.baseUrl ?? `http://${host}:${port}`,
    boundTo: (bound: number): void => {
      port = bound
    },
  }
}

/** One of several processes returns the sums over all of them. */
const openMetrics = (peers?: Peers): Metrics => {
  const own = makeMetrics()
  if (!peers) return own
  peers.provideMetrics(own.values)
  return { ...own, text: peers.metricsText }
}

/**
 * Exports the pauses of the event loop from `begin` on: nobody waits for a process that is still starting. Each scrape
 * starts a new window.
 */
const measurePauses = (metrics: Metrics, log: Log) => {
  const long = metrics.counter('event_loop_long_pauses_total', `Pauses of the event loop longer than ${longPauseMs} ms`)
  let watch: ReturnType<typeof watchEventLoop> | undefined
  let window = { max: 0, maxCpu: 0, p99: 0 }
  // Metrics are read in the order in which they are declared.
  metrics.gauge('event_loop_pause_max_seconds', 'Longest pause of the event loop since the previous scrape', () => {
    window = watch?.takeWindow() ?? window
    return window.max
  })
  metrics.gauge('event_loop_pause_max_cpu_seconds', 'Processor time during that longest pause', () => window.maxCpu)
  metrics.gauge(
    'event_loop_pause_p99_seconds',
    'The 99th percentile of the pauses of the event loop since the previous scrape',
    () => window.p99,
  )
  return {
    begin: (): void => {
      watch ??= watchEventLoop({ log, countLong: () => long.add() })
    },
    end: (): void => watch?.stop(),
  }
}

/** The audit, and the memory of what it wrote. Without a secret nothing can be proven, so nothing is remembered. */
const openAudit = (config: Config, db: Db, clock: Clock, log: Log) => {
  const { auditSigningSecret: secret, auditSecrets: secrets, auditRetentionDays: days } = config
  const writtenEntries = makeWrittenEntries({ db, clock, log, days, secrets, audit: (): Audit => audit })
  const audit = makeAudit({ clock, log, secret, ...(secret !== undefined && { committed: writtenEntries.note }) })
  return { audit, writtenEntries }
}

/** `peers` are the other processes of the same primary, if there is one. */
export const openFoundation = async (config: ServiceConfig, url: string, log: Log, peers?: Peers) => {
  const tracer = config.tracing && (await openTracer({ config: config.tracing, log }))
  const endTracing = tracer && startTracing(tracer)
  const metrics = openMetrics(peers)
  const measure = makeMeasurements(metrics)
  const refusedWrites = makeRefusedWrites()
  const db = openDb({
    url,
    log,
    poolSize: config.databasePoolSize,
    connectTimeoutMs: config.databaseConnectTimeoutMs,
    poolWaited: measure.poolWait,
    failed: refusedWrites.note,
  })
  const endGuard = guardNetwork(logOncePerPlace(log))
  const pauses = measurePauses(metrics, log)
  const { clock, moved } = await openClock(config, db, peers)
  measureDatabase(metrics, { db, clock })
  const { reads, close: closeReads } = await openReads({ config, url, db, log, metrics, peers })
  const limiter = await openLimiter({ config, log, countFault: measure.limiterFault, peers })
  const caches = await openOrgCaches({ db, log })
  const { audit, writtenEntries } = openAudit(config, db, clock, log)
  const announcer = makeEventAnnouncer({ db, log })
  const processes = makeLiveProcesses({ db, log })
  return {
    config,
    url,
    log,
    db,
    refusedWrites,
    /** For requests that only read: from the replica, if there is one. */
    reads,
    peers,
    clock,
    /** The same clock where it can be moved. */
    moved,
    limiter,
    caches,
    /** Drops what this process has cached of an org. */
    forget: caches.forget,
    metrics,
    measure,
    /** Called once this process works for somebody. */
    beginPauses: pauses.begin,
    vault: makeVault(config.masterKey, config.masterKeyPrevious),
    baseUrl: makeBaseUrl(config),
    audit,
    auditNeeds: { db, clock, log, secrets: config.auditSecrets, cutover: config.auditCutover.at },
    writtenEntries,
    announcer,
    appendEvents: makeAppendEvents({ clock, announce: announcer.announce }),
    idempotency: makeIdempotency({
      db,
      clock,
      log,
      ttlHours: config.idempotencyTtlHours,
      production: config.production,
      processes,
    }),
    /** Only processes that serve requests start this. */
    processes,
    close: async (): Promise<void> => {
      writtenEntries.close()
      await announcer.close()
      await caches.close()
      await limiter?.close()
      await closeReads()
      await db.close()
      pauses.end()
      endTracing?.()
      await tracer?.close()
      endGuard()
    },
  }
}

export type Foundation = Awaited<ReturnType<typeof openFoundation>>
