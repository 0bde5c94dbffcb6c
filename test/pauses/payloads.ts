/** The requests that try to occupy the service: a list for every route. */
import fc from 'fast-check'
import { newId, prefixes } from '../../src/platform/ground/ids.ts'
import { type RequestOptions, requestsTo } from '../hostile/requests.ts'
import type { Entry, Surface } from '../hostile/surface.ts'
import type { Field, RawRequest } from '../hostile/wire.ts'
import { anyBodies, type Body, largestBodies, memberBodies, ownBodies } from './bodies.ts'
import { makeRandom } from './largest.ts'
import { chooseFew } from './short-form.ts'

export type Payload = {
  /** What it sends, for the report. */
  name: string
  /** The short form sends each kind to one route of each kind. */
  kind: string
  /** The short form sends one payload of each group to every route, and all payloads of the group `own`. */
  group: 'body' | 'member' | 'largest' | 'own' | 'head' | 'generated'
  /** Made when it is sent, since all together would not fit in memory. */
  make: () => RawRequest
}

export type Plan = {
  surface: Surface
  key: string
  /** Existing ids by prefix. */
  ids: ReadonlyMap<string, string>
  seed: number
  /** Fewer payloads, for CI. */
  quick: boolean
}

type Head = { name: string; kind?: string; query?: string; headers?: readonly Field[] }

/** Requests without a body. All headers and the path together may have 16 KB. */
const heads = ({ query }: Entry): Head[] => [
  { name: '2,400 query parameters', query: Array.from({ length: 2_400 }, (_, n) => `${n.toString(36)}=1`).join('&') },
  { name: 'one query parameter 3,000 times', query: 'a=1&'.repeat(3_000) },
  { name: '4,800 percent escapes', query: `a=${'%61'.repeat(4_800)}` },
  ...query.map(({ name }) => ({
    name: `14 KB in ${name}`,
    kind: '14 KB in a parameter',
    query: `${name}=${'a'.repeat(14_000)}`,
  })),
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

/** A number from the route itself, so that a new route does not change the payloads of the others. */
const seedOf = ({ method, path }: Entry, seed: number): number =>
  [...`${method} ${path}`].reduce((mixed, letter) => Math.imul(mixed ^ letter.charCodeAt(0), 16_777_619), seed * 2 + 1)

/** Requests of the generator that the tests with hostile input use. */
const generated = (entry: Entry, { surface: { resolve }, key, ids, seed }: Plan): Payload[] => {
  const options: RequestOptions = {
    resolve,
    ids: (prefix) => [ids.get(prefix)].filter((id) => id !== undefined),
    headers: fc.constant([['Authorization', `Bearer ${key}`]]),
  }
  const requests = requestsTo(entry, options)
  return Array.from({ length: 40 }, (_, n) => ({
    name: `generated request ${n + 1}`,
    kind: 'a generated request',
    group: 'generated',
    make: () => fc.sample(requests, { seed: seedOf(entry, seed + n), numRuns: 1 })[0] as RawRequest,
  }))
}

/** Everything that can be sent to a route. */
export const allPayloads = (entry: Entry, plan: Plan): Payload[] => {
  const { key, ids, quick, surface } = plan
  const path = entry.path.replace(/\{(\w+)\}/g, (_, name) => {
    const kind = entry.params[name]
    return kind ? (ids.get(prefixes[kind]) ?? newId(kind)) : 'a'.repeat(300)
  })
  const own: Field[] = [['Authorization', `Bearer ${key}`]]
  const base = { method: entry.method, target: path }
  const withBodies = (group: Payload['group'], bodies: readonly Body[]): Payload[] =>
    bodies.map(({ name, kind, json, headers = () => [] }) => ({
      name,
      kind,
      group,
      make: () => ({
        ...base,
        headers: [...own, ['Content-Type', 'application/json'] as const, ...headers()],
        body: Buffer.from(json()),
      }),
    }))
  const bodyless = heads(entry).map(
    ({ name, kind = name, query, headers = [] }): Payload => ({
      name,
      kind,
      group: 'head',
      make: () => ({
        ...base,
        target: query === undefined ? path : `${path}?${query}`,
        headers: [...own, ...headers],
        body: undefined,
      }),
    }),
  )
  return [
    ...withBodies('body', anyBodies),
    ...withBodies('member', memberBodies(entry, surface.resolve)),
    ...withBodies('largest', largestBodies(entry, surface.resolve, makeRandom(seedOf(entry, plan.seed)))),
    ...withBodies('own', ownBodies(entry, quick)),
    ...bodyless,
    ...generated(entry, plan),
  ]
}

export type Sending = { entry: Entry; payloads: Payload[] }

/** What is sent to each route, in the order of the routes. */
export const planSending = (plan: Plan): Sending[] => {
  const all = plan.surface.entries.map((entry) => ({ entry, payloads: allPayloads(entry, plan) }))
  return plan.quick ? chooseFew(all) : all
}
