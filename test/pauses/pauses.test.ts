import { expect, test } from 'vitest'
import { readSurface, surfaceOf } from '../hostile/surface.ts'
import { sharedTestService } from '../service/service.ts'
import { largestValue, makeRandom } from './largest.ts'
import type { Reading } from './meter.ts'
import { allPayloads, type Plan, planSending } from './payloads.ts'
import { readPaths } from './service.ts'
import { isInShortForm, kindOfRoute } from './short-form.ts'
import { isTooLong, leastPause } from './verdict.ts'

const t = await sharedTestService()

const planFor = async (quick: boolean): Promise<Plan> => ({
  surface: await readPaths(t.url),
  key: 'svc_test_x',
  ids: new Map(),
  seed: 1,
  quick,
})

test('The description of a service in another process leads to the same routes as its own route table', async () => {
  const ofDashboard = new Set(t.service.dashboardRoutes.map(({ method, path }) => `${method} ${path}`))
  const document = (await t.ask('GET', '/api/openapi.json')).body
  const byName = ({ entries }: { entries: { method: string; path: string }[] }) =>
    entries.toSorted((a, b) => `${a.path} ${a.method}`.localeCompare(`${b.path} ${b.method}`))
  const { entries } = await readSurface(t)
  // The description is of the API only.
  const ofApi = entries.filter(({ method, path }) => !ofDashboard.has(`${method} ${path}`))
  expect(byName(surfaceOf(document))).toEqual(byName({ entries: ofApi }))
})

test.each([true, false])(
  'Every route gets payloads in its body, its query or its headers (quick: %s)',
  async (quick) => {
    const plan = await planFor(quick)
    const sendings = planSending(plan)
    expect(sendings.length).toBeGreaterThan(t.service.routes.length)
    expect(sendings.map(({ entry }) => entry)).toEqual(plan.surface.entries)
    for (const { entry, payloads } of sendings) {
      const names = payloads.map(({ name }) => name)
      expect(new Set(names).size, entry.path).toBe(names.length)
      const groups = new Set(payloads.map(({ group }) => group))
      expect(groups, entry.path).toContain('generated')
      expect(groups, entry.path).toContain('head')
      if (entry.method !== 'GET') expect(groups, entry.path).toContain('body')
      if (entry.body) expect(groups, entry.path).toContain('largest')
    }
  },
)

test('The short form sends every kind of payload to every kind of route, in few requests', async () => {
  const plan = await planFor(true)
  const kindsSent = new Map<string, Set<string>>()
  const sendings = planSending(plan)
  for (const { entry, payloads } of sendings) {
    for (const { kind, group } of payloads) {
      const route = kindOfRoute(entry, group)
      kindsSent.set(route, (kindsSent.get(route) ?? new Set()).add(kind))
    }
  }
  expect(kindsSent.size).toBeGreaterThan(8)
  for (const entry of plan.surface.entries) {
    for (const { kind, group } of allPayloads(entry, plan)) {
      if (isInShortForm(entry, group)) expect(kindsSent.get(kindOfRoute(entry, group)), entry.path).toContain(kind)
    }
  }
  const requests = sendings.flatMap(({ payloads }) => payloads).length
  expect(requests).toBeLessThan(5 * sendings.length)
})

test('The largest body ends when its budget is spent', () => {
  const text = { type: 'string' }
  const schema = {
    type: 'object',
    properties: { list: { type: 'array', items: { type: 'object', properties: { a: text, b: text } } }, after: text },
  }
  const made = largestValue(schema, { resolve: () => ({}), random: makeRandom(1), budget: 3 })
  expect(made).toEqual({ list: [{ a: expect.stringMatching(/^[\s\S]{3}$/), b: '' }], after: '' })
})

test('The same seed makes the same payloads, and another seed makes others', async () => {
  const plan = await planFor(true)
  const bytesOf = (seed: number) =>
    plan.surface.entries
      .filter(({ path, body }) => body && !path.includes('{'))
      .slice(0, 2)
      .flatMap((entry) => allPayloads(entry, { ...plan, seed }))
      .filter(({ name }) => /^(?:generated|the largest)/.test(name))
      .map(({ make }) => make().body?.toString('base64').slice(0, 5_000))
  expect(bytesOf(7)).toEqual(bytesOf(7))
  expect(bytesOf(8)).not.toEqual(bytesOf(7))
})

const readings = (...values: number[]) => {
  const left = values.map((ms): Reading => ({ insideMs: ms, cpuMs: ms - 40, outsideMs: ms + 1 }))
  return { left, attempt: async () => left.shift() as Reading }
}

test.each([
  ['one short pause is enough', [100, 900, 900], 100, 2],
  ['a long pause is measured again', [900, 100, 900], 100, 1],
  ['three long pauses give the shortest of them', [900, 400, 600, 1], 400, 1],
])('Of the attempts, %s', async (_, values, inside, unused) => {
  const { left, attempt } = readings(...values)
  expect((await leastPause(attempt)).insideMs).toBe(inside)
  expect(left).toHaveLength(unused)
})

test('A long pause in which other programs had the processor is not too long', () => {
  expect(isTooLong({ insideMs: 900, cpuMs: 190, outsideMs: 920 })).toBe(false)
  expect(isTooLong({ insideMs: 240, cpuMs: 230, outsideMs: 249 })).toBe(false)
  expect(isTooLong({ insideMs: 240, cpuMs: 230, outsideMs: 260 })).toBe(true)
  expect(isTooLong({ insideMs: 900, cpuMs: 210, outsideMs: 900 })).toBe(true)
})

test('The generator of the seed gives numbers from 0 to 1', () => {
  const random = makeRandom(3)
  const numbers = Array.from({ length: 1_000 }, random)
  expect(numbers.every((n) => n >= 0 && n < 1)).toBe(true)
  expect(new Set(numbers).size).toBeGreaterThan(990)
})
