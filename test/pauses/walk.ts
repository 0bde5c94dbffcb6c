/** Sends every payload to every route and measures the longest pause of the service during each. */
import { setTimeout as wait } from 'node:timers/promises'
import { exchange, write } from '../hostile/wire.ts'
import { type Meter, openMeter, type Reading } from './meter.ts'
import { type Payload, planSending } from './payloads.ts'
import { makeRows, openService, readPaths, type Service } from './service.ts'
import { isTooLong, leastPause, longestOf } from './verdict.ts'

export type Options = {
  seed: number
  quick: boolean
  /** Only routes and payloads whose name contains this text. */
  only: string
  report: (line: string) => void
}

export type Pause = Reading & { route: string; payload: string; status: number | string; seconds: number }

export type Walk = { routes: number; pauses: Pause[] }

const seconds = (value: number): string => `${value.toFixed(1)} s`

export const show = ({ route, payload, status, insideMs, cpuMs, outsideMs }: Pause): string =>
  `${Math.round(insideMs)} ms inside (${Math.round(cpuMs)} ms busy), ${Math.round(outsideMs)} ms outside: ${route}, ${payload} (${status})`

/** The work of a request may continue after its response. */
const settleMs = 40

/** The status is `silent` for a request that is not answered in this time. */
const waitMs = 60_000

type Measured = Reading & { status: number | string }

const measure = async (url: string, meter: Meter, bytes: Buffer): Promise<Measured> => {
  let status: number | string = ''
  const reading = await leastPause(async () => {
    await meter.read()
    const { answers, end } = await exchange(url, bytes, { waitMs })
    status = answers[0]?.status ?? end
    await wait(settleMs)
    return meter.read()
  })
  return { ...reading, status }
}

type Session = { service: Service; meter: Meter }

/** A payload that ends the process is the longest pause of all. The next ones get a new process. */
const measureOrRestart = async (session: Session, bytes: Buffer): Promise<Measured> => {
  const { service, meter } = session
  try {
    return await measure(service.url, meter, bytes)
  } catch (error) {
    await meter.close()
    await service.kill().catch(() => undefined)
    await service.start()
    session.meter = await openMeter(service.url)
    const never = Number.POSITIVE_INFINITY
    return { insideMs: never, cpuMs: never, outsideMs: never, status: `the service died: ${(error as Error).message}` }
  }
}

const measureRoute = async (session: Session, route: string, payloads: Payload[]): Promise<Pause[]> => {
  const pauses: Pause[] = []
  for (const { name, make } of payloads) {
    const bytes = write(make())
    const from = performance.now()
    const measured = await measureOrRestart(session, bytes)
    pauses.push({ ...measured, route, payload: name, seconds: (performance.now() - from) / 1_000 })
  }
  return pauses
}

export const longestPause = (pauses: Pause[]): Pause | undefined =>
  pauses.toSorted((a, b) => longestOf(b) - longestOf(a))[0]

const progressOf = (pauses: Pause[]): string => {
  const taken = pauses.reduce((sum, pause) => sum + pause.seconds, 0)
  const longest = longestPause(pauses)
  return `${pauses.length} requests in ${seconds(taken)}, longest pause ${Math.round(longest ? longestOf(longest) : 0)} ms`
}

const walkSession = async (session: Session, { seed, quick, only, report }: Options): Promise<Walk> => {
  const { service } = session
  const surface = await readPaths(service.url)
  const opening = { route: 'GET /api/openapi.json', payload: 'the first request', status: 200, seconds: 0 }
  const pauses: Pause[] = [{ ...(await session.meter.read()), ...opening }]
  const plan = { surface, key: service.key(), ids: await makeRows(service, surface), seed, quick }
  const sendings = planSending(plan)
    .map(({ entry, payloads }) => {
      const route = `${entry.method} ${entry.path}`
      return { route, payloads: payloads.filter(({ name }) => `${route} ${name}`.includes(only)) }
    })
    .filter(({ payloads }) => payloads.length > 0)
  for (const [n, { route, payloads }] of sendings.entries()) {
    const measured = await measureRoute(session, route, payloads)
    pauses.push(...measured)
    report(`${n + 1}/${sendings.length} ${route}: ${progressOf(measured)}`)
    for (const pause of measured.filter(isTooLong)) report(`too long: ${show(pause)}`)
  }
  return { routes: sendings.length, pauses }
}

const withSession = async <T>(work: (session: Session) => Promise<T>): Promise<T> => {
  const service = await openService()
  let session: Session | undefined
  try {
    await service.start()
    session = { service, meter: await openMeter(service.url) }
    return await work(session)
  } finally {
    await session?.meter.close()
    await service.close()
  }
}

export const walkRoutes = (options: Options): Promise<Walk> => {
  options.report('starting the service')
  return withSession((session) => walkSession(session, options))
}

/** Starts everything that a walk needs, and returns how many routes there are to walk. */
export const countRoutes = (): Promise<number> =>
  withSession(async ({ service, meter }) => {
    await meter.read()
    return (await readPaths(service.url)).entries.length
  })
