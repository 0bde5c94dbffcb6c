import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { gatedProbe, senderProbe } from '../service/probes.ts'
import { startTestService, testService } from '../service/service.ts'
import { casesOf, type Place, placesIn, put, putPiece } from './bounds.ts'
import { echoProbe } from './echo-probe.ts'
import { checkResponse, expectSame } from './responses.ts'
import { type Entry, type Named, readSurface } from './surface.ts'
import { oddCursor, unstorable, validValue } from './values.ts'
import { type Answer, type Field, keepConnections, write } from './wire.ts'

const t = await startTestService({
  env: { RATE_LIMITER: 'off' },
  routes: (modules) => [echoProbe, gatedProbe(() => undefined), senderProbe(modules)],
})
const connections = keepConnections(t.url)
afterAll(async () => {
  connections.close()
  await t.stop()
})

const { keys } = await t.org()
const { entries, resolve } = await readSurface(t)
const described = entries.filter(({ codes }) => codes !== undefined)

type Given = { query?: string; headers?: Field[]; body?: string | Buffer }

/** Sends a request that is valid except for the given parts. */
const send = async (entry: Entry, { query = '', headers = [], body }: Given): Promise<Answer> => {
  const params = (text: string) => text.replace(/\{\w+\}/g, 'x')
  const payload = body ?? (entry.body && JSON.stringify(sampleOf(entry)))
  const { answers, end } = await connections.exchange(
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
  expectSame(end, 'answered')
  checkResponse(answers[0] as Answer)
  return answers[0] as Answer
}

/** Bodies of routes whose fields exclude each other, which a sample of all fields does not respect. */
const text = { from: 'TIDINGS', to: '+15125550100', body: 'Hello' }
const mail = { from: 'hello@example.test', to: ['ada@example.com'], subject: 'Hello', text: 'Hello' }
const wholeBodies: Record<string, unknown> = {
  'POST /api/v1/emails': mail,
  'POST /api/v1/emails/batch': [mail],
  'POST /api/v1/sms': text,
  'POST /api/v1/sms/batch': [text],
  'POST /api/v1/audiences/{id}/send': {
    channel: 'email',
    from: 'news@example.test',
    template: 'news',
    subject_variants: ['Hello', 'Hi'],
  },
  'POST /api/v1/verifications': { channel: 'sms', to: '+15125550100', from: 'TIDINGS' },
}

const sampleOf = (entry: Entry): unknown =>
  wholeBodies[`${entry.method} ${entry.path}`] ??
  (entry.body && fc.sample(validValue(entry.body, resolve, { full: true }), { numRuns: 1 })[0])

type Row = { path: (string | number)[]; code: string }
type Refusal = { code?: string; errors?: Row[]; ofItem?: true }
type Outcome = { error?: Refusal; data?: { error?: Refusal | null }[] }

/** An invalid item of a batch does not fail the request. Its own error names no fields. */
const refusalOf = ({ status, body }: Answer): Refusal => {
  const { error, data }: Outcome = JSON.parse(body.toString('utf8'))
  if (status >= 400) return error ?? {}
  const ofItem = Array.isArray(data) ? data[0]?.error : undefined
  return ofItem ? { ...ofItem, ofItem: true } : {}
}

const inputCodes = ['VALIDATION_ERROR', 'INVALID_CURSOR', 'INVALID_TENANT_REF', 'INVALID_EXTERNAL_REF']

/** Whether an error row concerns that place: at its path, or above it if a union failed. */
const isAbout = (row: Row, path: Row['path']): boolean =>
  row.path.every((part, i) => i >= path.length || part === path[i])

/** A value outside its bounds is refused. A value inside them may break another rule, but is not refused for its bounds. */
type CheckedCase = { label: string; refusal: Refusal; path: Row['path']; inside: boolean }

const checkCase = ({ label, refusal: { code = '', errors, ofItem }, path, inside }: CheckedCase) => {
  // Without the names of fields, it is unknown whether the item was refused for this one.
  if (inside && ofItem) return
  const about = errors?.filter((row) => isAbout(row, path)) ?? []
  const refused = inputCodes.includes(code) && (!errors || about.length > 0)
  const forBounds = refused && (!errors || about.some((row) => row.code !== 'custom'))
  expectSame(inside ? forBounds : refused, !inside, label)
}

const parameterTest = (kind: 'query' | 'headers') => async () => {
  const pathOf = ({ name }: Named) => (kind === 'query' ? [name] : ['headers', name])
  for (const entry of described) {
    for (const parameter of entry[kind]) {
      for (const { value, inside } of casesOf(parameter.schema, resolve)) {
        const text = String(value)
        // Longer than Node accepts in a request line.
        if (text.length > 15_000) continue
        const given: Given =
          kind === 'query'
            ? { query: `${encodeURIComponent(parameter.name)}=${encodeURIComponent(text)}` }
            : { headers: [[parameter.name, text]] }
        const refusal = refusalOf(await send(entry, given))
        const label = `${entry.method} ${entry.path} ${parameter.name}=${text.slice(0, 60)} (${text.length})`
        // An empty header counts as absent.
        if (kind === 'headers' && text === '') continue
        if (inside !== undefined) checkCase({ label, refusal, path: pathOf(parameter), inside })
      }
    }
  }
}

test('Every query parameter accepts values within its documented bounds and refuses others', parameterTest('query'))
test('Every header parameter accepts values within its documented bounds and refuses others', parameterTest('headers'))

/** Routes with a body, each with the places in it. Each route has its own test, so that a slow one does not delay others. */
const withBody = described.flatMap((entry) => {
  // A CSV file is checked after its audience, and one that is too large gets a 413.
  if (!entry.body || entry.path.endsWith('/import-csv')) return []
  const inItems = ({ path }: Place): boolean => typeof path[0] === 'number'
  const places = placesIn(entry.body, resolve)
  const name = `${entry.method} ${entry.path}`
  const items = places.filter(inItems)
  return [
    [name, entry, places.filter((place) => !inItems(place))] as const,
    ...(items.length > 0 ? [[`${name}, each item`, entry, items] as const] : []),
  ]
})

/** One body for all values of a place, because generating bodies of a large schema takes longer than sending them. */
const bodyOf = (bodies: fc.Arbitrary<unknown>): unknown => fc.sample(bodies, { numRuns: 1 })[0]

test.for(withBody)(
  '%s: every body property accepts values within its documented bounds and refuses others',
  async ([name, entry, places]) => {
    for (const place of places) {
      const sample = bodyOf(place.sample)
      const tries = casesOf(place.schema, resolve).map(async ({ value, inside }) => {
        const refusal = refusalOf(await send(entry, { body: JSON.stringify(put(sample, place.path, value)) }))
        const label = `${name} ${place.path.join('.')}=${JSON.stringify(value)?.slice(0, 60)}`
        if (inside !== undefined) checkCase({ label, refusal, path: place.path, inside })
      })
      await Promise.all(tries)
    }
  },
)

test('The test covers more than 50 cases of body properties', () => {
  const cases = withBody.flatMap(([, , places]) => places.flatMap(({ schema }) => casesOf(schema, resolve)))
  expect(cases.length).toBeGreaterThan(50)
})

const utf8 = (text: string) => Buffer.from(text)
const raw = (latin1: string) => Buffer.from(latin1, 'latin1')

/** Always refused: invalid UTF-8, text that a column cannot store, or too many levels. */
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
  '%s: values that no column can store never cause an internal error, in a full or minimal body',
  async ([, entry, places]) => {
    for (const { path, sample, least } of places) {
      for (const body of [bodyOf(sample), bodyOf(least)]) {
        const tries = [...never, ...worst].map(async (piece) => {
          const { status } = await send(entry, { body: putPiece(body, path, piece) })
          const label = `${entry.path} ${path.join('.')} ${piece.toString('latin1').slice(0, 40)}`
          if (never.includes(piece)) expectSame(status === 422 || status === 413, true, label)
        })
        await Promise.all(tries)
      }
    }
  },
)

test('Query values that no column can store never cause an internal error', async () => {
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

test('S-012 A cursor with an invalid instant is refused, and one with a valid instant is accepted', async () => {
  for (const entry of described.filter(({ query }) => query.some(({ name }) => name === 'cursor'))) {
    for (const cursor of fc.sample(oddCursor, { numRuns: 30 })) {
      const { c } = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as { c: string }
      const moment = new Date(c)
      const real = !Number.isNaN(moment.getTime()) && moment.toISOString() === c && c > '0001'
      const { code } = refusalOf(await send(entry, { query: `cursor=${cursor}` }))
      // For a list below an id, the cursor is read first, and then the parent is not found.
      const read = entry.path.includes('{') ? 'NOT_FOUND' : undefined
      expect([c, code]).toEqual([c, real ? read : 'INVALID_CURSOR'])
    }
  }
})

test('The development clock can be moved up to the last representable date and no further', async () => {
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
