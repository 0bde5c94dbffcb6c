/** Bodies that are large in bytes or in values, over HTTP and in the functions that read them. */
import { afterAll, describe, expect, test } from 'vitest'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { readSurface } from '../../../test/hostile/surface.ts'
import type { Resolve, Schema } from '../../../test/hostile/values.ts'
import { startTestService } from '../../../test/service/service.ts'
import { hashCanonical } from '../../platform/ground/canonical.ts'
import { ordinaryValues, parseJson } from './read-request.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const { keys } = await t.org()
const leavesNoTrace = await watchTables(t.database)

const withBody = t.service.routes
  .filter(({ body }) => body)
  .map((route) => [`${route.method} ${route.path}`, route] as const)
const members = (count: number) => `{${Array.from({ length: count }, (_, i) => `"k${i}":1`)}}`
type Bounded = (typeof withBody)[number][1]
const boundOf = (route: Bounded) => route.bounds?.values ?? ordinaryValues
/** In a list, each element can have as many. */
const boundOfBody = (route: Bounded) => boundOf(route) * (route.bounds?.elements ?? 1)

describe('every route with a body', () => {
  test.for(withBody)('%s refuses a body with more values than it can accept', async ([, route]) => {
    const values = boundOf(route)
    const each = route.bounds?.elements ? 'each element' : 'it'
    const message = `The body has too many values: ${each} can have ${values} at most.`
    const path = `/api/v1${route.path.replace(/\{\w+\}/g, 'x')}`
    await leavesNoTrace(async () => {
      const reply = await t.ask(route.method, path, {
        key: keys.live,
        raw: members(values),
        headers: { 'idempotency-key': 'many' },
      })
      expectRefusal(reply, 'VALIDATION_ERROR', { errors: [{ path: [], code: 'custom', message }] })
    })
  })

  /** The most values that a schema accepts, where it says so. */
  const mostValues = (schema: Schema, resolve: Resolve): number => {
    if (typeof schema.$ref === 'string') return mostValues(resolve(schema.$ref), resolve)
    const choices = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
    if (choices) return Math.max(...choices.map((choice) => mostValues(choice, resolve)))
    const inner = (of: unknown) => (typeof of === 'object' && of ? mostValues(of as Schema, resolve) : 1)
    if (schema.type === 'array') return 1 + Number(schema.maxItems ?? 0) * inner(schema.items)
    const fields = Object.values((schema.properties ?? {}) as Record<string, Schema>)
    const known = fields.reduce((sum, field) => sum + mostValues(field, resolve), 1)
    return known + Number(schema.maxProperties ?? 0) * inner(schema.additionalProperties)
  }

  test('The bound on values of each route leaves space for the largest body of its schema', async () => {
    const { entries, resolve } = await readSurface(t)
    for (const [name, route] of withBody) {
      const entry = entries.find(({ method, path }) => method === route.method && path === `/api/v1${route.path}`)
      const most = mostValues(entry?.body ?? {}, resolve)
      expect([name, most <= boundOfBody(route)]).toEqual([name, true])
    }
  })
})

describe('a body of an email', () => {
  const send = (path: string, raw: string) => t.ask('POST', `/api/v1${path}`, { key: keys.live, raw })

  test('S-108 X-333 is refused for its size above 6 MB, also if it has too many values or is not JSON', async () => {
    for (const raw of [`[${'[],'.repeat(5_500_000)}[]]`, '['.repeat(7_000_000), 'x'.repeat(7_000_000)]) {
      expectRefusal(await leavesNoTrace(() => send('/emails', raw)), 'PAYLOAD_TOO_LARGE', {
        message: 'The request body exceeds 6 MB. Send a smaller body.',
      })
    }
  })

  test('is refused with two million attachments or three million items', async () => {
    const attachments = await send('/emails', `{"attachments":[${'{},'.repeat(1_999_999)}{}]}`)
    expect([attachments.status, attachments.body.error.errors[0].path]).toEqual([422, []])
    for (const count of [101, 3_000_000]) {
      const items = await send('/emails/batch', `[${'{},'.repeat(count - 1)}{}]`)
      expect([items.status, items.body.error.errors]).toMatchObject([422, [{ path: [], code: 'too_big' }]])
    }
  })

  test('S-085 may have the most values that variables can have, in every item of a batch', async () => {
    const email = { from: 'a@example.com', to: ['a@reader.test'], subject: 's', text: 't' }
    const item = { ...email, variables: { a: Array(32_700).fill(1) } }
    const reply = await send('/emails/batch', JSON.stringify(Array(100).fill(item)))
    expect([reply.status, reply.body.total]).toEqual([200, 100])
    expect(reply.body.data[0].error.code).toBe('SENDER_NOT_VERIFIED')
  })
})

test('The path of an error shortens a long name that the caller chose', async () => {
  const reply = await t.ask('POST', '/api/v1/keys', { key: keys.live, body: { ['x'.repeat(100_000)]: 1 } })
  const unknown = reply.body.error.errors.find(({ code }: { code: string }) => code === 'unrecognized')
  expect([reply.status, unknown.path]).toEqual([422, [`${'x'.repeat(200)}…`]])
})

/** Counts the turns of the event loop that other work gets while a function runs. */
const turnsDuring = async (work: () => unknown): Promise<number> => {
  let turns = 0
  const count = (): void => {
    turns++
    pending = setImmediate(count)
  }
  let pending = setImmediate(count)
  await work()
  clearImmediate(pending)
  return turns
}

describe('a large list', () => {
  const list = Array.from({ length: 100 }, (_, i) => ({ i, many: Array(6_000).fill({}), text: `"é\\${i}` }))
  const bytes = Buffer.from(JSON.stringify(list))
  const bounds = { values: 100_000, elements: 100 }

  test('is parsed to the same value as at once, over several turns of the event loop', async () => {
    let parsed: unknown
    const turns = await turnsDuring(async () => {
      parsed = await parseJson(bytes, bounds)
    })
    // Comparing the values themselves would take much longer.
    expect(JSON.stringify(parsed) === bytes.toString()).toBe(true)
    // One for each 250,000 bytes of the scan, at least.
    expect(turns).toBeGreaterThanOrEqual(Math.floor(bytes.length / 250_000))
  })

  test('is refused with the path of a character that cannot be stored', async () => {
    const faulty = Buffer.from(JSON.stringify([...list.slice(0, 99), { text: '\0' }]))
    await expect(parseJson(faulty, bounds)).rejects.toMatchObject({ detail: { errors: [{ path: [99, 'text'] }] } })
  })

  test('is hashed over several turns of the event loop', async () => {
    expect(await turnsDuring(() => hashCanonical('', list))).toBeGreaterThan(1)
  })
})
