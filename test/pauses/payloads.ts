/** The requests that try to occupy the service: one list for every route, and a few for certain routes. */
import fc from 'fast-check'
import { newId, prefixes } from '../../src/ground/ids.ts'
import { type RequestOptions, requestsTo } from '../hostile/requests.ts'
import type { Entry, Surface } from '../hostile/surface.ts'
import type { Field, RawRequest } from '../hostile/wire.ts'
import { largestValue, makeRandom, memberNames, textUnits } from './largest.ts'

export type Payload = {
  /** What it sends, for the report. */
  name: string
  /** Made when it is sent, since all together would not fit in memory. */
  make: () => RawRequest
}

export type Plan = {
  surface: Surface
  key: string
  /** Existing ids by prefix. */
  ids: ReadonlyMap<string, string>
  seed: number
  /** Fewer payloads of each kind, for CI. */
  quick: boolean
}

const megabyte = 1_048_576

/** `unit,unit,…` of about so many bytes. */
const repeated = (unit: string, bytes: number): string => {
  const count = Math.floor(bytes / (unit.length + 1))
  return `${`${unit},`.repeat(count - 1)}${unit}`
}

const unknownMembers = (count: number): string =>
  `{${Array.from({ length: count }, (_, n) => `"${n.toString(36)}_":1`).join(',')}}`

const quoted = (unit: string, bytes: number): string => {
  const inJson = JSON.stringify(unit).slice(1, -1)
  return `"${inJson.repeat(Math.floor(bytes / inJson.length))}"`
}

type Body = { name: string; json: () => string; headers?: readonly Field[] }

const idempotent = (): readonly Field[] => [['Idempotency-Key', crypto.randomUUID()]]

/** Bodies that know nothing of the route. */
const anyBodies: Body[] = [
  {
    name: '480,000 unknown members with an idempotency key',
    json: () => unknownMembers(480_000),
    headers: idempotent(),
  },
  { name: '16 MB of "[],"', json: () => `[${repeated('[]', 15.9 * megabyte)}]` },
  { name: '5.9 MB of "[],"', json: () => `[${repeated('[]', 5.9 * megabyte)}]` },
  { name: '2,000,000 empty attachments', json: () => `{"attachments":[${'{},'.repeat(1_999_999)}{}]}` },
  { name: '3,000,000 opening brackets', json: () => '['.repeat(3_000_000) },
  {
    name: 'an array 150 levels deep, 15,000 times',
    json: () => `[${repeated(`${'['.repeat(150)}${']'.repeat(150)}`, 4.5 * megabyte)}]`,
  },
  { name: 'objects 3,000 levels deep', json: () => `${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}` },
  { name: '5.9 MB of escapes', json: () => `{"a":"${'\\u0001'.repeat(1_000_000)}"}` },
  { name: '5.9 MB of pairs, the last broken', json: () => `["${'\\ud83d\\ude00'.repeat(480_000)}","\\ud800"]` },
  { name: '5.9 MB of digits', json: () => '1'.repeat(5.9 * megabyte) },
  { name: '5.9 MB of spaces', json: () => ' '.repeat(5.9 * megabyte) },
]

/** Bodies in which one member of the route is far too large. */
const memberBodies = ({ body }: Entry, { surface: { resolve }, quick, random }: Seeded): Body[] => {
  const few = <T>(items: readonly T[], most: number): readonly T[] => {
    if (!quick || items.length <= most) return items
    const first = Math.floor(random() * items.length)
    return Array.from({ length: most }, (_, n) => items[(first + n) % items.length] as T)
  }
  const lists = few(memberNames(body, resolve, 'array'), 2).flatMap((name): Body[] => [
    { name: `1 MB of "1," in ${name}`, json: () => `{"${name}":[${repeated('1', megabyte)}]}` },
    { name: `5.9 MB of "1," in ${name}`, json: () => `{"${name}":[${repeated('1', 5.9 * megabyte)}]}` },
    { name: `5.9 MB of "{}," in ${name}`, json: () => `{"${name}":[${repeated('{}', 5.9 * megabyte)}]}` },
    { name: `5.9 MB of texts in ${name}`, json: () => `{"${name}":[${repeated('"a@b.test"', 5.9 * megabyte)}]}` },
  ])
  const maps = few(memberNames(body, resolve, 'object'), 1).map((name) => ({
    name: `480,000 members in ${name}`,
    json: () => `{"${name}":${unknownMembers(480_000)}}`,
  }))
  const texts = few(memberNames(body, resolve, 'string'), 2).flatMap((name) =>
    few(textUnits, 2).map((unit) => ({
      name: `5.9 MB of ${JSON.stringify(unit)} in ${name}`,
      json: () => `{"${name}":${quoted(unit, 5.9 * megabyte)}}`,
    })),
  )
  return [...few(lists, 3), ...maps, ...texts]
}

/** The largest bodies that the route accepts, or nearly accepts. */
const largestBodies = ({ body }: Entry, { surface: { resolve }, quick, random }: Seeded): Body[] => {
  if (!body) return []
  return Array.from({ length: quick ? 1 : 12 }, (_, n) => {
    const seed = Math.floor(random() * 2 ** 32)
    return {
      name: `the largest body, variant ${n + 1}`,
      json: () => JSON.stringify(largestValue(body, { resolve, random: makeRandom(seed), budget: 5.5 * megabyte })),
      headers: n % 2 === 0 ? idempotent() : [],
    }
  })
}

const links = (count: number): string =>
  Array.from({ length: count }, (_, n) => `<a href=\\"http://x.test/${n}\\">x</a>`).join('')

const recipients = (count: number): string =>
  JSON.stringify(Array.from({ length: count }, (_, n) => `reader${n}@reader.test`))

const mail = (more: string): string => `{"from":"hello@example.test","subject":"A","track_clicks":true,${more}}`

/** Valid requests that are much work for their size. */
const routeBodies: Record<string, Body[]> = {
  'POST /api/v1/emails': [
    { name: '60,000 links', json: () => mail(`"to":"a@reader.test","html":"${links(60_000)}"`) },
    { name: '60,000 links, 50 recipients', json: () => mail(`"to":${recipients(50)},"html":"${links(60_000)}"`) },
    {
      name: '20,000 unclosed tags',
      json: () => mail(`"to":"a@reader.test","html":"${'<div><a href=x '.repeat(20_000)}"`),
    },
    { name: '4 MB of text', json: () => mail(`"to":"a@reader.test","text":"${'line of text\\n'.repeat(300_000)}"`) },
    {
      name: '20 attachments of 200 KB',
      json: () =>
        mail(
          `"to":"a@reader.test","text":"x","attachments":[${repeated(`{"filename":"a.bin","content":"${'QUJD'.repeat(66_000)}"}`, 5.4 * megabyte)}]`,
        ),
    },
  ],
  'POST /api/v1/emails/batch': [
    { name: '60,000 links, 100 recipients', json: () => mail(`"to":${recipients(100)},"html":"${links(60_000)}"`) },
    {
      name: '2 MB of text, 100 recipients',
      json: () => mail(`"to":${recipients(100)},"text":"${'line of text\\n'.repeat(150_000)}"`),
    },
    {
      name: '100 emails of 1,000 links',
      json: () =>
        `[${Array.from({ length: 100 }, () => mail(`"to":"a@reader.test","html":"${links(1_000)}"`)).join(',')}]`,
    },
    {
      name: '100 emails to 50 recipients',
      json: () => `[${Array.from({ length: 100 }, () => mail(`"to":${recipients(50)},"text":"x"`)).join(',')}]`,
    },
    {
      name: '100 emails with 5,000 unknown members',
      json: () => `[${Array.from({ length: 100 }, () => unknownMembers(5_000)).join(',')}]`,
    },
    {
      name: '100 emails with 10,000 faults',
      json: () =>
        `[${Array.from({ length: 100 }, () => `{"to":[${repeated('1', 20_000)}],"tags":[${repeated('1', 20_000)}]}`).join(',')}]`,
    },
  ],
}

const bodyRequests = (entry: Entry, seeded: Seeded): Body[] => {
  const own = routeBodies[`${entry.method} ${entry.path}`] ?? []
  const any = seeded.quick ? anyBodies.slice(0, entry.body ? 6 : 1) : anyBodies
  return [...any, ...memberBodies(entry, seeded), ...largestBodies(entry, seeded), ...own]
}

type Head = { name: string; query?: string; headers?: readonly Field[] }

/** Requests without a body. All headers and the path together may have 16 KB. */
const heads = ({ query }: Entry): Head[] => [
  { name: '2,400 query parameters', query: Array.from({ length: 2_400 }, (_, n) => `${n.toString(36)}=1`).join('&') },
  { name: 'one query parameter 3,000 times', query: 'a=1&'.repeat(3_000) },
  { name: '4,800 percent escapes', query: `a=${'%61'.repeat(4_800)}` },
  ...query.map(({ name }) => ({ name: `14 KB in ${name}`, query: `${name}=${'a'.repeat(14_000)}` })),
  { name: '1,400 headers', headers: Array.from({ length: 1_400 }, (_, n) => [`x${n.toString(36)}`, '1'] as const) },
  { name: '14 KB of addresses in X-Forwarded-For', headers: [['X-Forwarded-For', '1.2.3.4,'.repeat(1_700)]] },
  { name: '14 KB of commas in X-Forwarded-For', headers: [['X-Forwarded-For', ','.repeat(14_000)]] },
  { name: '14 KB in X-Service-Tenant-Ref', headers: [['X-Service-Tenant-Ref', 'a'.repeat(14_000)]] },
  { name: '14 KB in Idempotency-Key', headers: [['Idempotency-Key', 'a'.repeat(14_000)]] },
  { name: '14 KB in Cookie', headers: [['Cookie', 'a=b; '.repeat(2_800)]] },
  { name: '14 KB in Accept', headers: [['Accept', 'a/b;q=0.1,'.repeat(1_400)]] },
  { name: '14 KB in Accept-Encoding', headers: [['Accept-Encoding', 'a;q=0.1,'.repeat(1_700)]] },
  { name: '14 KB in Content-Type', headers: [['Content-Type', `application/json${';charset='.repeat(1_500)}`]] },
]

type Seeded = Plan & { random: () => number }

/** A number from the route itself, so that a new route does not change the payloads of the others. */
const seedOf = ({ method, path }: Entry, seed: number): number =>
  [...`${method} ${path}`].reduce((mixed, letter) => Math.imul(mixed ^ letter.charCodeAt(0), 16_777_619), seed * 2 + 1)

/** Requests of the generator that the tests with hostile input use. */
const generated = (entry: Entry, { surface: { resolve }, key, ids, quick, seed }: Plan): Payload[] => {
  const options: RequestOptions = {
    resolve,
    ids: (prefix) => [ids.get(prefix)].filter((id) => id !== undefined),
    headers: fc.constant([['Authorization', `Bearer ${key}`]]),
  }
  const requests = requestsTo(entry, options)
  return Array.from({ length: quick ? 2 : 40 }, (_, n) => ({
    name: `generated request ${n + 1}`,
    make: () => fc.sample(requests, { seed: seedOf(entry, seed + n), numRuns: 1 })[0] as RawRequest,
  }))
}

export const payloadsOf = (entry: Entry, plan: Plan): Payload[] => {
  const { key, ids, quick } = plan
  const random = makeRandom(seedOf(entry, plan.seed))
  const path = entry.path.replace(/\{(\w+)\}/g, (_, name) => {
    const kind = entry.params[name]
    return kind ? (ids.get(prefixes[kind]) ?? newId(kind)) : 'a'.repeat(300)
  })
  const own: Field[] = [['Authorization', `Bearer ${key}`]]
  const base = { method: entry.method, target: path }
  const bodies = bodyRequests(entry, { ...plan, random }).map(({ name, json, headers = [] }) => ({
    name,
    make: () => ({
      ...base,
      headers: [...own, ['Content-Type', 'application/json'] as const, ...headers],
      body: Buffer.from(json()),
    }),
  }))
  const bodyless = heads(entry).map(({ name, query, headers = [] }) => ({
    name,
    make: () => ({
      ...base,
      target: query === undefined ? path : `${path}?${query}`,
      headers: [...own, ...headers],
      body: undefined,
    }),
  }))
  const skip = Math.floor(random() * 4)
  const some = quick ? bodyless.filter((_, n) => n % 4 === skip) : bodyless
  return [...(entry.method === 'GET' && quick ? [] : bodies), ...some, ...generated(entry, plan)]
}
