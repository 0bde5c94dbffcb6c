/** The service: its routes, its servers and its worker on top of its layers. */
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { DashboardRoute, PublicRoute } from '../../interfaces/http/route.ts'
import { makeStopping } from '../../interfaces/http/stopping.ts'
import type { SmtpPort } from '../../interfaces/submission/smtp-port.ts'
import type { Log } from '../../platform/ground/log.ts'
import { freeStartMemory } from '../../platform/ground/start-memory.ts'
import type { Peers } from '../../platform/processes/peers.ts'
import { makeReadiness } from '../../platform/settings/readiness.ts'
import { makeDashboardRoutes } from './dashboard.ts'
import type { ServiceConfig } from './foundation.ts'
import { makeBounces, makeHttp, makeSmtp, makeWorkerHttp } from './http.ts'
import type { Replacements } from './replacements.ts'
import { type Modules, makeRoutes } from './routes.ts'
import { openParts } from './service-parts.ts'
import { makeWorker } from './worker.ts'

export type Overrides = Replacements & {
  /** Additional routes, which pass the same gates as all others. */
  routes?: (modules: Modules) => PublicRoute[]
  /** The same for the dashboard. */
  dashboardRoutes?: DashboardRoute[]
  /** The other processes of the same primary. */
  peers?: Peers
}

const retireMs = 2_000

export const build = async (config: ServiceConfig, url: string, log: Log, overrides: Overrides = {}) => {
  const { routes: addRoutes, dashboardRoutes: addDashboardRoutes = [], peers, ...replacements } = overrides
  const parts = await openParts({ config, url, log, peers, replacements })
  const { foundation, platform, sending, senders, people, sso } = parts
  const worker = makeWorker(parts)
  const modules: Modules = { ...foundation, ...platform, ...sending }
  const routes = [...makeRoutes(parts), ...(addRoutes?.(modules) ?? [])]
  const dashboardRoutes = [...makeDashboardRoutes(parts), ...addDashboardRoutes]
  let withWorker = false
  const stopping = makeStopping()
  const ready = makeReadiness({
    db: foundation.db,
    clock: foundation.clock,
    refusedWrites: foundation.refusedWrites,
    workerRuns: () => (!withWorker || worker.isRunning()) && (withWorker || (peers?.workersRun() ?? true)),
    stopping: stopping.begun,
  })
  const served = { ...parts, worker, routes, dashboardRoutes, ready, stopping }
  let app: FastifyInstance | undefined
  let submission: SmtpPort | undefined
  let bounces: SmtpPort | undefined
  let workerHttp: FastifyInstance | undefined

  return {
    db: foundation.db,
    clock: foundation.clock,
    routes,
    dashboardRoutes,
    sessions: platform.sessions,
    people,
    sso,
    tasks: worker.tasks,
    modules,
    chain: platform.chain,
    /**
     * Starts to listen, and resolves with the URL that clients on this machine can use. With `worker`, the service is
     * not ready until the worker runs too.
     */
    startApi: async (run: { worker: boolean } = { worker: false }): Promise<string> => {
      withWorker = run.worker
      await foundation.processes.start()
      app = makeHttp(served)
      await app.ready()
      freeStartMemory()
      await app.listen({ host: config.host, port: config.port })
      const bound = app.server.address()
      if (typeof bound === 'object' && bound) foundation.baseUrl.boundTo(bound.port)
      submission = makeSmtp(served)
      await submission?.start()
      bounces = makeBounces(served)
      await bounces?.start()
      foundation.beginPauses()
      return foundation.baseUrl.read()
    },
    /** Opens the port for health and metrics of a process that runs only the worker. Resolves with that port. */
    startWorkerHttp: async (port: number): Promise<number> => {
      withWorker = true
      workerHttp = makeWorkerHttp(served)
      await workerHttp.listen({ host: config.host, port })
      return (workerHttp.server.address() as AddressInfo).port
    },
    /** The port of the API, once it has started. */
    httpPort: () => (app?.server.address() as AddressInfo | null | undefined)?.port,
    /** The port of SMTP submission, once the API has started; undefined when it is off. */
    submissionPort: () => submission?.port(),
    /** The port that receives bounces, once the API has started; undefined when it is off. */
    inboundSmtpPort: () => bounces?.port(),
    startWorker: (): Promise<void> => {
      if (!app) freeStartMemory()
      foundation.beginPauses()
      return worker.start()
    },
    /** Reports that it is not ready, so that a load balancer sends requests elsewhere, and serves until the delay is over. */
    leave: async (): Promise<void> => {
      stopping.begin()
      if (app) await wait(config.drainDelayMs)
    },
    /**
     * Another process takes over: accepts no more connections, and serves those that are open until their clients have
     * read a response that closes them. A client that says nothing for `retireMs` has to connect again.
     */
    retire: async (): Promise<void> => {
      stopping.begin()
      if (app) await Promise.race([app.stopListening(), wait(Math.max(retireMs, config.drainDelayMs))])
    },
    /** Accepts nothing new, finishes what it has accepted, then closes every connection. */
    stop: async (): Promise<void> => {
      await Promise.all([app?.close(), submission?.stop(), bounces?.stop(), worker.stopTasks()])
      await foundation.processes.stop()
      await platform.usage.stop()
      await worker.drain()
      await people.background.drained()
      // Answers until the work is done, so that a supervisor does not kill a worker that drains.
      await workerHttp?.close()
      await platform.chain.close()
      await Promise.all([
        platform.callers.drained(),
        platform.tokenCallers.drained(),
        platform.sessions.drained(),
        sending.countHits.drained(),
        sending.verifications.outcomes.drained(),
      ])
      const { emailProvider, smsProvider, closeIdentities, agent } = sending
      await Promise.all([emailProvider.close(), smsProvider.close(), closeIdentities(), agent.close()])
      await Promise.all([senders.registries.close(), sso.close()])
      await sending.messages.sms.handovers.close()
      await foundation.close()
    },
  }
}

export type Service = Awaited<ReturnType<typeof build>>
