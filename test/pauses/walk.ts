/** Sends every payload to every route and measures the longest pause of the service during each. */
import { setTimeout as wait } from 'node:timers/promises'
import { exchange, write } from '../hostile/wire.ts'
import { type Meter, openMeter, type Reading } from './meter.ts'
import { type Payload, payloadsOf } from './payloads.ts'
import { makeRows, openService, readPaths, type Service } from './service.ts'
import { isTooLong, leastPause, longestOf } from './verdict.ts'

export type Options = {
  seed: number
  quick: boolean
  /** Only routes and payloads whose name contains this text. */
  only: string
  report: (line: string) => void
}

export type Pause = Reading & { route: string; payload: string; status: number | string }

export type Walk = { requests: number; longest: Pause | undefined; faults: Pause[] }

export const show = ({ route, payload, status, insideMs, cpuMs, outsideMs }: Pause): string =>
  `${Math.round(insideMs)} ms inside (${Math.round(cpuMs)} ms busy), ${Math.round(outsideMs)} ms outside: ${route}, ${payload} (${status})`

/** The work of a request may continue after its response. */
const settleMs = 40

const measure = async (url: string, meter: Meter, payload: Payload): Promise<Reading & { status: number | string }> => {
  let status: number | string = ''
  const bytes = write(payload.make())
  const reading = await leastPause(async () => {
    await meter.read()
    const { answers, end } = await exchange(url, bytes, { waitMs: 60_000 })
    status = answers[0]?.status ?? end
    await wait(settleMs)
    return meter.read()
  })
  return { ...reading, status }
}

type Session = { service: Service; meter: Meter }

/** A payload that ends the process is the longest pause of all. The next ones get a new process. */
const measureOrRestart = async (session: Session, payload: Payload): Promise<Omit<Pause, 'route' | 'payload'>> => {
  const { service, meter } = session
  try {
    return await measure(service.url, meter, payload)
  } catch (error) {
    await meter.close()
    await service.kill().catch(() => undefined)
    await service.start()
    session.meter = await openMeter(service.url)
    const never = Number.POSITIVE_INFINITY
    return { insideMs: never, cpuMs: never, outsideMs: never, status: `the service died: ${(error as Error).message}` }
  }
}

const walkSession = async (session: Session, { seed, quick, only, report }: Options): Promise<Walk> => {
  const walk: Walk = { requests: 0, longest: undefined, faults: [] }
  const { service } = session
  const note = (pause: Pause): void => {
    walk.requests++
    if (!walk.longest || longestOf(pause) > longestOf(walk.longest)) walk.longest = pause
    if (!isTooLong(pause)) return
    walk.faults.push(pause)
    report(`too long: ${show(pause)}`)
  }
  const surface = await readPaths(service.url)
  note({ ...(await session.meter.read()), route: 'GET /api/openapi.json', payload: 'the first request', status: 200 })
  const plan = { surface, key: service.key(), ids: await makeRows(service, surface), seed, quick }
  for (const entry of surface.entries) {
    const route = `${entry.method} ${entry.path}`
    const payloads = payloadsOf(entry, plan).filter(({ name }) => `${route} ${name}`.includes(only))
    for (const payload of payloads) {
      note({ route, payload: payload.name, ...(await measureOrRestart(session, payload)) })
    }
    if (payloads.length > 0) report(`${route}: ${payloads.length} requests`)
  }
  return walk
}

export const walkRoutes = async (options: Options): Promise<Walk> => {
  const service = await openService()
  let session: Session | undefined
  try {
    await service.start()
    session = { service, meter: await openMeter(service.url) }
    return await walkSession(session, options)
  } finally {
    await session?.meter.close()
    await service.close()
  }
}
