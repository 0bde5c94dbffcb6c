/** Runs the service under mixed load with faults, restarts and a moving clock, and collects the points. */
import { setTimeout as wait } from 'node:timers/promises'
import { type DnsServer, startDnsServer } from '../servers/dns-server.ts'
import { type Hooks, startHooks } from './hooks.ts'
import { type Journal, makeJournal } from './journal.ts'
import { makeLoad } from './load.ts'
import type { Fault, Plan } from './plan.ts'
import { type Relay, relayFaults, startRelay } from './relay.ts'
import { makeSampler, type SoakPoint } from './sampler.ts'
import { openSoakService, type SoakService } from './service.ts'
import { type Settled, settle } from './settle.ts'

export type SoakResult = {
  points: SoakPoint[]
  journal: Journal
  settled: Settled
  restarts: number
  webhookRequests: number
  clockSeconds: number
  database: SoakService['database']
}

/** Shorter than the claims of workers, which must not expire while they are in use. */
const clockStepSeconds = 60
const clockEverySeconds = 10
/** A send waits up to 10 seconds for a failing provider, and the service pauses a failing provider for 30. */
const settleSeconds = 30

type Parts = { service: SoakService; relay: Relay; hooks: Hooks; journal: Journal; key: string }

const post = async (
  service: SoakService,
  path: string,
  body: object,
  key?: string,
): Promise<Record<string, string>> => {
  const headers = { 'content-type': 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) }
  const response = await fetch(`${service.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  const answer = (await response.json()) as Record<string, string>
  if (!response.ok) throw new Error(`${path} got ${response.status} ${JSON.stringify(answer)}`)
  return answer
}

type Records = { data: { records: { type: string; name: string; value: string }[] }[] }

/** The service checks its sending domain in DNS. */
const publishDomain = async (service: SoakService, key: string, zones: DnsServer['zones']): Promise<void> => {
  const response = await fetch(`${service.url}/api/v1/domains`, { headers: { authorization: `Bearer ${key}` } })
  const { data } = (await response.json()) as Records
  for (const { type, name, value } of data.flatMap(({ records }) => records)) {
    if (type === 'TXT') zones.set(name, { TXT: [value] })
  }
}

const prepare = async ({ service, hooks, key }: Omit<Parts, 'journal'>): Promise<string> => {
  const { org } = await service.firstRun()
  await post(service, '/api/dev/billing', { org_id: org.id, plan: 'enterprise' })
  const html = '<p>Hello {{name}}</p><ul>{{#each items}}<li>{{this.title}}</li>{{/each}}</ul>'
  const template = { slug: 'soak', channel: 'email', subject: 'Hello {{name}}', html, text: 'Hello {{name}}' }
  await post(service, '/api/v1/templates', template, key)
  const ids = await Promise.all(
    hooks.urls.map(async (url) => (await post(service, '/api/v1/webhooks', { url, events: ['*'] }, key)).id ?? ''),
  )
  return ids[0] ?? ''
}

/** Runs `step` at each time, and resolves after the last one. */
const at = async (journal: Journal, seconds: number, step: () => unknown): Promise<void> => {
  await wait(Math.max(0, (seconds - journal.now()) * 1_000))
  await step()
}

const injectFaults = async ({ journal, relay, hooks }: Parts, faults: Fault[]): Promise<void> => {
  let count = 0
  for (const { kind, from, until } of faults) {
    if (kind === 'receiver') {
      await at(journal, from, () => hooks.fail(true))
      await at(journal, until, () => hooks.fail(false))
      continue
    }
    const fault = relayFaults[count++ % relayFaults.length]
    await wait(Math.max(0, (from - journal.now()) * 1_000))
    const end = journal.disturb(`relay ${fault}`, settleSeconds)
    relay.fail(fault)
    await at(journal, until, () => relay.fail(undefined))
    end()
  }
}

const makeClock = (service: SoakService) => {
  let offset = 0
  let moved = 0
  return {
    now: () => Date.now() + offset,
    moved: () => moved,
    advance: async (seconds: number): Promise<void> => {
      const { now } = await post(service, '/api/dev/clock', { advance_seconds: seconds })
      offset = new Date(now ?? 0).getTime() - Date.now()
      moved += seconds
    },
  }
}

type Ready = { parts: Omit<Parts, 'journal'>; endpointId: string }

/** Starts the service and the servers around it, and ends them after the work. */
const withParts = async <T>(work: (ready: Ready) => Promise<T>): Promise<T> => {
  const [relay, hooks, dns] = await Promise.all([startRelay(), startHooks(), startDnsServer()])
  const service = await openSoakService({
    EMAIL_PROVIDER: 'smtp',
    SMTP_URL: relay.url,
    ON_PROVIDER_OUTAGE: 'queue',
    DNS_SERVERS: dns.address,
    WEBHOOK_ALLOW_INSECURE: 'true',
  })
  try {
    await service.start()
    const { keys } = await service.firstRun()
    await publishDomain(service, keys.live, dns.zones)
    const parts = { service, relay, hooks, key: keys.live }
    return await work({ parts, endpointId: await prepare(parts) })
  } finally {
    await service.close()
    await Promise.all([relay.close(), hooks.close(), dns.close()])
  }
}

export const runSoak = (plan: Plan, clients: number, report: (line: string) => void): Promise<SoakResult> =>
  withParts(({ parts, endpointId }) =>
    drive({ ...parts, journal: makeJournal() }, { plan, clients, endpointId, report }),
  )

/** Returns what has started. */
export const startSoak = ({ seconds }: Plan): Promise<string> =>
  withParts(async ({ parts: { service, hooks } }) => {
    const probe = await service.startProbe()
    probe.stop()
    return `${service.database}, the service, a relay and ${hooks.urls.length} receivers, for ${seconds} seconds`
  })

type Drive = { plan: Plan; clients: number; endpointId: string; report: (line: string) => void }

const drive = async (parts: Parts, { plan, clients, endpointId, report }: Drive): Promise<SoakResult> => {
  const { service, relay, hooks, journal, key } = parts
  const clock = makeClock(service)
  const sampler = makeSampler(service, journal)
  let probe = await service.startProbe()
  const load = makeLoad({ url: service.url, key, endpointId, journal, relay, clock: clock.now, clients })
  const points: SoakPoint[] = []
  const isRunning = () => journal.now() < plan.seconds

  const restart = async (): Promise<void> => {
    const end = journal.disturb('restart', settleSeconds)
    probe.stop()
    const code = await service.stop()
    if (code !== 0) journal.faults.push(`the service stopped with ${code}: ${service.errors()}`)
    await service.start()
    probe = await service.startProbe()
    end()
    report(`restarted after ${Math.round(journal.now())} s`)
  }
  /** Repeats until the run ends. */
  const repeat = async (seconds: number, step: () => Promise<unknown>): Promise<void> => {
    for (let next = journal.now() + seconds; isRunning(); next += seconds) {
      await wait(Math.max(0, (Math.min(next, plan.seconds) - journal.now()) * 1_000))
      await step()
    }
  }
  const moveClock = async (): Promise<void> => {
    const from = journal.now()
    await clock.advance(clockStepSeconds).catch((error: Error) => {
      if (!journal.isDisturbed(from, journal.now())) journal.faults.push(`the clock did not move: ${error.message}`)
    })
  }
  const progress = async (): Promise<void> => {
    const { requests, acknowledged, errors, faults } = journal
    report(
      `${Math.round(journal.now() / 60)} min: ${requests} requests, ${acknowledged.size} messages acknowledged, ` +
        `${hooks.requests()} webhooks, ${errors.length} errors, ${faults.length} faults`,
    )
  }

  await Promise.all([
    repeat(plan.sampleSeconds, sampler.sample),
    repeat(0.2, () => sampler.probe(probe.url)),
    repeat(plan.pointSeconds, async () => points.push(await sampler.point())),
    repeat(clockEverySeconds, moveClock),
    repeat(60, progress),
    injectFaults(parts, plan.faults),
    (async () => {
      for (const seconds of plan.restartsAt) await at(journal, seconds, restart)
    })(),
  ])
  await load.stop()
  probe.stop()
  report('the load has stopped; sending what is scheduled')
  const tool = (name: string, body: object) => post(service, `/api/dev/${name}`, body)
  const settled = await settle({ journal, relay, hooks, sql: service.sql, tool })
  await sampler.close()
  return {
    points,
    journal,
    settled,
    restarts: plan.restartsAt.length,
    webhookRequests: hooks.requests(),
    clockSeconds: clock.moved(),
    database: service.database,
  }
}
