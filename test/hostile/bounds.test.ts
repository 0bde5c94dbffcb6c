import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { startTestHouse } from '../house.ts'
import { gatedProbe } from '../probes.ts'
import { casesOf, type Place, placesIn, put } from './bounds.ts'
import { judge } from './judge.ts'
import { keeperProbe } from './keeper.ts'
import { type Entry, type Named, readSurface } from './surface.ts'
import { asked } from './values.ts'
import { type Answer, type Field, tell, write } from './wire.ts'

const t = await startTestHouse({
  env: { RATE_LIMITER: 'off' },
  routes: () => [keeperProbe, gatedProbe(() => undefined)],
})
afterAll(() => t.stop())

const { keys } = await t.org()
const { entries, resolve } = await readSurface(t)
const described = entries.filter(({ codes }) => codes !== undefined)

type Given = { query?: string; headers?: Field[]; body?: unknown }

/** A request that is as it should be save for what is given. */
const send = async (entry: Entry, { query = '', headers = [], body }: Given): Promise<Answer> => {
  const params = (text: string) => text.replace(/\{\w+\}/g, 'x')
  const payload = body ?? (entry.body && sampleOf(entry))
  const { answers, end } = await tell(
    t.url,
    write({
      method: entry.method,
      target: params(entry.path) + (query && `?${query}`),
      headers: [
        ['Authorization', `Bearer ${keys.live}`],
        ...headers,
        ...(payload === undefined ? [] : [['Content-Type', 'application/json'] as const]),
      ],
      body: payload === undefined ? undefined : Buffer.from(JSON.stringify(payload)),
    }),
  )
  expect(end).toBe('answered')
  judge(answers[0] as Answer)
  return answers[0] as Answer
}

const sampleOf = (entry: Entry): unknown =>
  entry.body && fc.sample(asked(entry.body, resolve, { full: true }), { numRuns: 1 })[0]

type Row = { path: (string | number)[]; code: string }
type Refusal = { code?: string; errors?: Row[] }
const refusalOf = ({ status, body }: Answer): Refusal =>
  status < 400 ? {} : (JSON.parse(body.toString('utf8')) as { error: Refusal }).error

const inputCodes = ['VALIDATION_ERROR', 'INVALID_CURSOR', 'INVALID_TENANT_REF']

/** Whether a row is about that place: at its path, or above it where a choice of shapes failed. */
const isAbout = (row: Row, path: Row['path']): boolean =>
  row.path.every((part, i) => i >= path.length || part === path[i])

/** What lies beyond its bounds is refused; what lies within them may meet a rule of the route, but not its bounds. */
const judgeCase = (label: string, { code = '', errors }: Refusal, path: Row['path'], inside: boolean) => {
  const about = errors?.filter((row) => isAbout(row, path)) ?? []
  const refused = inputCodes.includes(code) && (!errors || about.length > 0)
  const forBounds = refused && (!errors || about.some((row) => row.code !== 'custom'))
  expect([label, inside ? forBounds : refused]).toEqual([label, !inside])
}

const parameterTest = (kind: 'query' | 'headers') => async () => {
  const pathOf = ({ name }: Named) => (kind === 'query' ? [name] : ['headers', name])
  for (const entry of described) {
    for (const parameter of entry[kind]) {
      for (const { value, inside } of casesOf(parameter.schema, resolve)) {
        const text = String(value)
        const given: Given =
          kind === 'query'
            ? { query: `${encodeURIComponent(parameter.name)}=${encodeURIComponent(text)}` }
            : { headers: [[parameter.name, text]] }
        const refusal = refusalOf(await send(entry, given))
        const label = `${entry.method} ${entry.path} ${parameter.name}=${text.slice(0, 60)} (${text.length})`
        // An empty header is no header.
        if (kind === 'headers' && text === '') continue
        if (inside !== undefined) judgeCase(label, refusal, pathOf(parameter), inside)
      }
    }
  }
}

test('every query parameter takes its described bounds and refuses what lies beyond', parameterTest('query'))
test(
  'every header parameter takes its described bounds and refuses what lies beyond',
  parameterTest('headers'),
)

test('every body property takes its described bounds and refuses what lies beyond', async () => {
  let tried = 0
  for (const entry of described) {
    if (!entry.body) continue
    const places: Place[] = placesIn(entry.body, resolve)
    for (const place of places) {
      for (const { value, inside } of casesOf(place.schema, resolve)) {
        const [sample] = fc.sample(place.sample, { numRuns: 1 })
        const refusal = refusalOf(await send(entry, { body: put(sample, place.path, value) }))
        const label = `${entry.method} ${entry.path} ${place.path.join('.')}=${JSON.stringify(value)?.slice(0, 60)}`
        if (inside !== undefined) judgeCase(label, refusal, place.path, inside)
        tried++
      }
    }
  }
  expect(tried).toBeGreaterThan(50)
})
