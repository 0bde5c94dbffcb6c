import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { gatedProbe, senderProbe } from '../service/probes.ts'
import { startTestService, testService } from '../service/service.ts'
import { casesOf, placesIn, put, putPiece } from './bounds.ts'
import { judge } from './judge.ts'
import { keeperProbe } from './keeper.ts'
import { type Entry, type Named, readSurface } from './surface.ts'
import { asked, oddCursor, unstorable } from './values.ts'
import { type Answer, type Field, tell, write } from './wire.ts'

const t = await startTestService({
  env: { RATE_LIMITER: 'off' },
  routes: (modules) => [keeperProbe, gatedProbe(() => undefined), senderProbe(modules)],
})
afterAll(() => t.stop())

const { keys } = await t.org()
const { entries, resolve } = await readSurface(t)
const described = entries.filter(({ codes }) => codes !== undefined)

type Given = { query?: string; headers?: Field[]; body?: string | Buffer }

/** A request that is as it should be save for what is given. */
const send = async (entry: Entry, { query = '', headers = [], body }: Given): Promise<Answer> => {
  const params = (text: string) => text.replace(/\{\w+\}/g, 'x')
  const payload = body ?? (entry.body && JSON.stringify(sampleOf(entry)))
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
      body: payload === undefined ? undefined : Buffer.from(payload),
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
test('every header parameter takes its described bounds and refuses what lies beyond', parameterTest('headers'))

/** Routes that take a body, each with the places in it: a test for each, so that no route makes the others slow. */
const withBody = described.flatMap((entry) =>
  entry.body ? [[`${entry.method} ${entry.path}`, entry, placesIn(entry.body, resolve)] as const] : [],
)

/** One body for all that is tried in a place: making bodies of a large schema costs more than sending them. */
const bodyOf = (bodies: fc.Arbitrary<unknown>): unknown => fc.sample(bodies, { numRuns: 1 })[0]

test.for(withBody)(
  '%s: every body property takes its described bounds and refuses what lies beyond',
  async ([name, entry, places]) => {
    for (const place of places) {
      const sample = bodyOf(place.sample)
      const tries = casesOf(place.schema, resolve).map(async ({ value, inside }) => {
        const refusal = refusalOf(await send(entry, { body: JSON.stringify(put(sample, place.path, value)) }))
        const label = `${name} ${place.path.join('.')}=${JSON.stringify(value)?.slice(0, 60)}`
        if (inside !== undefined) judgeCase(label, refusal, place.path, inside)
      })
      await Promise.all(tries)
    }
  },
)

test('the bodies of the house have properties to try', () => {
  const cases = withBody.flatMap(([, , places]) => places.flatMap(({ schema }) => casesOf(schema, resolve)))
  expect(cases.length).toBeGreaterThan(50)
})

const utf8 = (text: string) => Buffer.from(text)
const raw = (latin1: string) => Buffer.from(latin1, 'latin1')

/** Always refused: no text, or no text that a column holds, or too deep to be anything. */
const never = [
  ...unstorable.map(utf8),
  ...['"\xff"', '"a\xc0\x80"', '"\xed\xa0\x80"', '"\xf5\x80\x80\x80"', '"\xe2\x82"', '"\0"'].map(raw),
  utf8(`${'['.repeat(250)}${']'.repeat(250)}`),
  utf8(`${'['.repeat(100_000)}${']'.repeat(100_000)}`),
]

const worst = [
  '1e999',
  '-0',
  'null',
  '[]',
  '""',
  '{"__proto__":{"a":1}}',
  '"__proto__"',
  '9223372036854775808',
  `"${'x'.repeat(100_000)}"`,
].map(utf8)

test.for(withBody)(
  '%s: every body property takes or refuses what no column can hold, alone and among others, without a fault',
  async ([, entry, places]) => {
    for (const { path, sample, least } of places) {
      for (const body of [bodyOf(sample), bodyOf(least)]) {
        const tries = [...never, ...worst].map(async (piece) => {
          const { status } = await send(entry, { body: putPiece(body, path, piece) })
          const label = `${entry.path} ${path.join('.')} ${piece.toString('latin1').slice(0, 40)}`
          if (never.includes(piece)) expect([label, status === 422 || status === 413]).toEqual([label, true])
        })
        await Promise.all(tries)
      }
    }
  },
)

test('every query parameter takes or refuses what no column can hold without a fault', async () => {
  const values = ['%00', 'a%00b', '%ff', '%ed%a0%80', '%', '', '%F4%8F%BF%BF', 'x'.repeat(8_000)]
  for (const entry of described) {
    const body = entry.body && '{}'
    for (const { name } of entry.query) {
      const tries = values.map(async (value) => {
        const given = { query: `${name}=${value}`, ...(body !== undefined && { body }) }
        const { status } = await send(entry, given)
        if (value.includes('%00')) expect([entry.path, name, status]).toEqual([entry.path, name, 422])
        await send(entry, { query: `${name}[]=${value}&${name}[a]=${value}&${name}=${value}&${name}=x` })
      })
      await Promise.all(tries)
    }
  }
})

test('S-012 every cursor that names no moment is unreadable, and every one that does is read', async () => {
  for (const entry of described.filter(({ query }) => query.some(({ name }) => name === 'cursor'))) {
    for (const cursor of fc.sample(oddCursor, { numRuns: 100 })) {
      const { c } = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as { c: string }
      const moment = new Date(c)
      const real = !Number.isNaN(moment.getTime()) && moment.toISOString() === c && c > '0001'
      const { code } = refusalOf(await send(entry, { query: `cursor=${cursor}` }))
      // A list under an id is read first, and then has nobody it could belong to.
      const read = entry.path.includes('{') ? 'NOT_FOUND' : undefined
      expect([c, code]).toEqual([c, real ? read : 'INVALID_CURSOR'])
    }
  }
})

test('the clock of the dev tools goes as far as dates can be shown, and no further', async () => {
  const service = await testService({ env: { RATE_LIMITER: 'off' } })
  const { keys: own } = await service.org()
  const statuses = new Set<number>()
  for (let i = 0; i < 120; i++) {
    const reply = await service.ask('POST', '/api/dev/clock', { body: { advance_seconds: 3_200_000_000 } })
    statuses.add(reply.status)
  }
  expect([...statuses]).toEqual([200, 422])
  for (const value of ['one@example.com', 'two@example.com']) {
    const made = await service.ask('POST', '/api/v1/suppressions', {
      key: own.live,
      body: { channel: 'email', value },
    })
    expect(made.status).toBe(201)
  }
  const page = await service.ask('GET', '/api/v1/suppressions?limit=1', { key: own.live })
  const next = await service.ask('GET', `/api/v1/suppressions?cursor=${page.body.next_cursor}`, {
    key: own.live,
  })
  expect(next.body.data).toHaveLength(1)
})
