import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import type { PublicRoute } from '../../src/interfaces/http/route.ts'
import { newId } from '../../src/platform/ground/ids.ts'
import { BatchItem } from '../../src/sending/messages/email/shapes.ts'
import { type Reply, startTestService } from '../service/service.ts'
import { nodesOf, type Step, unbounded } from './schemas.ts'
import { readSurface } from './surface.ts'
import type { Resolve, Schema } from './values.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const { keys } = await t.org()

/** Values whose size something other than their schema bounds, by part and path. */
const boundedElsewhere: Record<string, string> = {
  'body.html': 'the limit of the whole body',
  'body.text': 'the limit of the whole body',
  'body.attachments.0.content': 'the limit of all attachments together',
  'body.variables.(key)': 'the limit of 64 KB for all variables',
  'body.variables.(value)': 'the limits of size and depth for all variables',
  'body.(value)': 'the schema of the email or text message, which this test walks as well',
  'body.0': 'the schema of a batch item, which this test walks as well',
  'query.cursor': 'the cursor itself, which refuses a longer text with INVALID_CURSOR',
  'query.external_ref': 'the route, which refuses a longer text with INVALID_EXTERNAL_REF',
}

type Fault = { place: string; fault: string }

const faultsIn = (part: string, schema: z.ZodType): Fault[] =>
  nodesOf(schema).flatMap((node) => {
    const fault = unbounded(node)
    return fault === undefined ? [] : [{ place: [part, ...node.path].join('.'), fault }]
  })

const walked = [
  ...t.service.routes.flatMap(({ method, path, query, body }) => [
    { route: `${method} ${path}`, part: 'query', schema: query },
    { route: `${method} ${path}`, part: 'body', schema: body },
  ]),
  ...t.service.dashboardRoutes.flatMap(({ method, path, query, body }) => [
    { route: `${method} ${path}`, part: 'query', schema: query },
    { route: `${method} ${path}`, part: 'body', schema: body },
  ]),
  { route: 'each item of POST /emails/batch', part: 'body', schema: BatchItem },
]

test('Every list, text, map and number in every request has a bound', () => {
  const faults = walked.flatMap(({ route, part, schema }) =>
    schema ? faultsIn(part, schema).map((found) => ({ route, ...found })) : [],
  )
  const elsewhere = new Set(Object.keys(boundedElsewhere))
  expect(faults.filter(({ place }) => !elsewhere.has(place))).toEqual([])
  expect([...elsewhere].filter((place) => !faults.some((fault) => fault.place === place))).toEqual([])
})

/** The places in a JSON Schema whose list, map or text does not show its maximum. */
const hidden = (schema: Schema, resolve: Resolve, path: string): string[] => {
  if (typeof schema.$ref === 'string') return hidden(resolve(schema.$ref), resolve, path)
  const { type, items, additionalProperties, enum: choices } = schema
  const properties = (schema.properties ?? {}) as Record<string, Schema>
  const union = ((schema.anyOf ?? schema.oneOf ?? []) as Schema[]).flatMap((one) => hidden(one, resolve, path))
  const fields = Object.entries(properties).flatMap(([name, one]) => hidden(one, resolve, `${path}.${name}`))
  const elements = items ? hidden(items as Schema, resolve, `${path}.0`) : []
  const shown =
    (type !== 'array' || 'maxItems' in schema) &&
    (typeof additionalProperties !== 'object' || 'maxProperties' in schema) &&
    (type !== 'string' || 'maxLength' in schema || 'pattern' in schema || 'const' in schema || choices !== undefined)
  return [...(shown ? [] : [path]), ...union, ...fields, ...elements]
}

test('The OpenAPI document shows the maximum of every list, map and text in a request', async () => {
  const { entries, resolve } = await readSurface(t)
  const places = entries.flatMap(({ codes, query, body }) =>
    codes === undefined
      ? []
      : [
          ...query.flatMap(({ name, schema }) => hidden(schema, resolve, `query.${name}`)),
          ...(body ? hidden(body, resolve, 'body') : []),
        ],
  )
  // Only the size of the body limits the content of an email, alone or as an item of a batch.
  const unlimited = ['attachments.0.content', 'html', 'text']
  expect([...new Set(places)].sort()).toEqual([
    ...unlimited.map((place) => `body.0.${place}`),
    ...unlimited.map((place) => `body.${place}`),
  ])
})

const text = z.string().max(5)
const list = z.array(text).max(3)
const counted = <M extends z.ZodType>(map: M) =>
  z.preprocess(
    (value, context) => {
      if (Object.keys(Object(value)).length <= 2) return value
      context.addIssue('Too many keys.')
      return z.NEVER
    },
    map.meta({ maxProperties: 2 }),
  )

test.each<[string, z.ZodType, string[]]>([
  ['a list', z.array(text), ['body']],
  [
    'a list that checks its length after its elements',
    z
      .array(text)
      .refine(() => true)
      .max(3),
    ['body'],
  ],
  ['a list in a list', z.array(z.array(text)).max(3), ['body.0']],
  ['a text', z.string().min(1), ['body']],
  [
    'a text with a pattern or a format',
    z.object({ a: z.string().regex(/^a{1,3}$/), b: z.url() }),
    ['body.a', 'body.b'],
  ],
  ['a number', z.object({ a: z.number().min(1), b: z.number().max(1), c: z.int() }), ['body.a', 'body.b', 'body.c']],
  ['a map', z.record(text, text), ['body']],
  ['a map that only states its maximum', z.record(text, text).meta({ maxProperties: 2 }), ['body']],
  ['the keys and values of a map', counted(z.record(z.string(), z.unknown())), ['body.(key)', 'body.(value)']],
  ['a value of any kind', z.object({ a: z.unknown(), b: z.any() }), ['body.a', 'body.b']],
  ['an optional, nullable or default value', z.object({ a: z.string().nullable().optional().default('') }), ['body.a']],
  ['a transformed value', z.string().transform((given) => given), ['body']],
  ['the result of a transformation', text.transform(Number).pipe(z.number()), ['body']],
  ['a member of a union', z.union([text, z.object({ a: z.string() })]), ['body.a']],
  ['further fields of an object', z.object({}).catchall(z.string()), ['body.(value)']],
])('The walk finds what has no bound: %s', (_, schema, places) => {
  expect(faultsIn('body', schema).map(({ place }) => place)).toEqual(places)
})

test('The walk accepts bounded values, and fails on a kind of schema that it does not know', () => {
  const bounded = z.strictObject({
    list,
    map: counted(z.record(text, text)).default({}),
    number: z.int().min(1).max(2).nullable(),
    choice: z.enum(['a', 'b']).optional(),
  })
  expect(faultsIn('body', bounded)).toEqual([])
  expect(() => faultsIn('body', z.date())).toThrow('The walk does not know schemas of type date.')
})

type Row = { path: Step[]; code: string; message: string }

const mark = 'the place of the large value'

/** The JSON of the smallest body with a large value at that path. */
const bodyWith = (path: Step[], large: string): string => {
  const body = path.reduceRight<unknown>((inner, step) => (step === 0 ? [inner] : { [step]: inner }), mark)
  return JSON.stringify(body).replace(JSON.stringify(mark), large)
}

const send = ({ method, path, params = {} }: PublicRoute, raw: string): Promise<Reply> => {
  const named = path.replace(/\{(\w+)\}/g, (_, name) => newId(params[name] ?? 'request'))
  return t.ask(method, `/api/v1${named}`, { key: keys.live, raw })
}

const placesOf = (type: 'array' | 'record') => {
  const places = t.service.routes.flatMap((route) =>
    route.body
      ? nodesOf(route.body)
          .filter(({ schema }) => schema._zod.def.type === type)
          .map(({ path }) => [`${route.method} ${route.path} ${['body', ...path].join('.')}`, route, path] as const)
      : [],
  )
  return [...new Map(places.map((place) => [place[0], place])).values()]
}

/** Fewer values than any route accepts in a body, so that the schema itself has to refuse them. */
const many = 9_000
const longList = `[${'1,'.repeat(many - 1)}1]`
const largeMap = `{${Array.from({ length: many }, (_, i) => `"k${i}":1`).join()}}`

const rowsAt = (reply: Reply, path: Step[]): Row[] => {
  expect([reply.status, reply.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
  const rows = reply.body.error.errors as Row[]
  expect(rows.length).toBeLessThanOrEqual(100)
  return rows.filter((row) => path.every((step, i) => row.path[i] === step))
}

test.each(placesOf('array'))('%s refuses a list of 9,000 elements with one row', async (_, route, path) => {
  const rows = rowsAt(await send(route, bodyWith(path, longList)), path)
  expect(rows).toEqual([
    { path, code: 'too_big', message: expect.stringMatching(/^Too big: expected array to have <=\d+ items$/) },
  ])
})

test.each(placesOf('record'))('%s refuses a map of 9,000 keys with one row', async (_, route, path) => {
  const rows = rowsAt(await send(route, bodyWith(path, largeMap)), path)
  expect(rows).toEqual([
    {
      path,
      code: expect.stringMatching(/^(?:custom|too_big)$/),
      message: expect.stringMatching(/^Must (?:have|be) at most \d+ /),
    },
  ])
})

/** Routes whose body is an object that may not have unknown fields. */
const strictBodies = t.service.routes.flatMap((route) =>
  route.body &&
  nodesOf(route.body).some(({ path, schema }) => path.join() === '(value)' && schema._zod.def.type === 'never')
    ? [[`${route.method} ${route.path}`, route] as const]
    : [],
)

test.each(strictBodies)('%s refuses a body of 9,000 unknown fields with 100 rows', async (_, route) => {
  const { status, body } = await send(route, largeMap)
  expect([status, body.error.code, body.error.errors.length]).toEqual([422, 'VALIDATION_ERROR', 100])
})

test('Each list in an item of a batch refuses 9,000 elements without an effect on the other items', async () => {
  const batch = t.service.routes.find(
    ({ method, path }) => method === 'POST' && path === '/emails/batch',
  ) as PublicRoute
  const lists = nodesOf(BatchItem).filter(({ schema }) => schema._zod.def.type === 'array')
  expect(lists.map(({ path }) => path.join('.'))).toEqual(['reply_to', 'tags', 'to', 'cc', 'bcc', 'attachments'])
  for (const { path } of lists) {
    const { status, body } = await send(batch, `[${bodyWith(path, longList)},{}]`)
    const failed = { id: null, status: 'failed', error: { code: 'VALIDATION_ERROR', message: expect.any(String) } }
    const data = [0, 1].map((index) => ({ index, ...failed }))
    expect([status, body]).toEqual([200, { data, total: 2, succeeded: 0, failed: 2 }])
  }
})
