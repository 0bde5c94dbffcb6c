import { afterAll, expect, test } from 'vitest'
import type { z } from 'zod'
import type { PublicRoute } from '../../src/interfaces/http/route.ts'
import { Failure, type FieldError } from '../../src/platform/ground/errors.ts'
import { newId } from '../../src/platform/ground/ids.ts'
import { validate } from '../../src/platform/ground/validate.ts'
import { BatchItem } from '../../src/sending/messages/email/shapes.ts'
import { expectRefusal, watchTables } from '../expect/refusal.ts'
import { startTestService } from '../service/service.ts'
import { nodesOf, type Step } from './schemas.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())
const { keys } = await t.org()
const leavesNoTrace = await watchTables(t.database)

const camelCase = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

/** Other spellings of a name: in camel case, in capitals, with an underscore more, and without underscores. */
const misspellingsOf = (name: string): string[] => {
  const spellings = [camelCase(name), name.toUpperCase(), `_${name}`, name.replaceAll('_', '')]
  return [...new Set(spellings)].filter((spelling) => spelling !== name)
}

type Described = { path: Step[]; names: string[] }

/** The objects in a schema, each with the names of its fields. Objects of a union at one path count as one. */
const objectsIn = (schema: z.ZodType): Described[] => {
  const byPath = new Map<string, Described>()
  for (const { path, schema: node } of nodesOf(schema)) {
    const { def } = node._zod
    if (def.type !== 'object') continue
    const known = byPath.get(path.join('.'))?.names ?? []
    byPath.set(path.join('.'), { path, names: [...new Set([...known, ...Object.keys(def.shape)])] })
  }
  return [...byPath.values()]
}

const nested = (path: Step[], value: unknown): unknown =>
  path.reduceRight((inner, step) => (step === 0 ? [inner] : { [step]: inner }), value)

const rowsFor = (path: Step[], name: string): FieldError[] =>
  misspellingsOf(name).map((spelling) => ({
    path: [...path, spelling],
    code: 'unrecognized',
    message: `Unknown field. Did you mean ${name}?`,
  }))

const send = ({ method, path, params = {} }: PublicRoute, { query = '', body }: { query?: string; body?: unknown }) => {
  const named = path.replace(/\{(\w+)\}/g, (_, name) => newId(params[name] ?? 'request'))
  return t.ask(method, `/api/v1${named}${query}`, { key: keys.live, ...(body !== undefined && { body }) })
}

const bodies = t.service.routes.flatMap((route) =>
  route.body
    ? objectsIn(route.body).map(
        (object) => [`${route.method} ${route.path} ${['body', ...object.path].join('.')}`, route, object] as const,
      )
    : [],
)

test.each(bodies)(
  'R-19 %s refuses every field in another spelling and names the right one',
  async (_, route, object) => {
    const { path, names } = object
    for (const name of names) {
      const given = Object.fromEntries(misspellingsOf(name).map((spelling) => [spelling, 1]))
      const reply = await send(route, { body: nested(path, given) })
      expect([reply.status, reply.body.error.code], name).toEqual([422, 'VALIDATION_ERROR'])
      const rows = (reply.body.error.errors as FieldError[]).filter(({ code }) => code === 'unrecognized')
      expect(rows, name).toEqual(rowsFor(path, name))
    }
  },
)

const queries = t.service.routes.flatMap((route) =>
  route.query ? [[`${route.method} ${route.path}`, route, objectsIn(route.query)] as const] : [],
)

test.each(queries)('R-19 %s refuses every query parameter in another spelling', async (_, route, objects) => {
  const names = objects.flatMap((object) => object.names)
  const query = `?${names.flatMap(misspellingsOf).join('=1&')}=1`
  const reply = await leavesNoTrace(() => send(route, { query }))
  expect([reply.status, reply.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
  const rows = (reply.body.error.errors as FieldError[]).filter(({ code }) => code === 'unrecognized')
  expect(rows).toEqual(names.flatMap((name) => rowsFor([], name)))
})

test('R-19 an item of a batch refuses every field in another spelling, at every depth', () => {
  const objects = objectsIn(BatchItem)
  expect(objects.map(({ path }) => path.join('.'))).toEqual(['', 'attachments.0'])
  for (const { path, names } of objects) {
    for (const spelling of names.flatMap(misspellingsOf)) {
      const read = () => validate(BatchItem, nested(path, { [spelling]: 1 }))
      expect(read, spelling).toThrow(Failure)
    }
  }
})

test('R-19 an email with a misspelled field is not sent, and one with an unknown field is', async () => {
  const email = { from: 'Acme <hello@example.com>', to: ['ada@example.com'], subject: 'Hi', text: 'Hello' }
  const errors = [
    { path: ['scheduledAt'], code: 'unrecognized', message: 'Unknown field. Did you mean scheduled_at?' },
    { path: ['Reply_To'], code: 'unrecognized', message: 'Unknown field. Did you mean reply_to?' },
  ]
  const post = (path: string, body: unknown, key: string) => t.ask('POST', `/api/v1${path}`, { key, body })
  const misspelled = { ...email, scheduledAt: '2030-01-01T00:00:00Z', Reply_To: 'a@example.com' }
  expectRefusal(await leavesNoTrace(() => post('/emails', misspelled, keys.test)), 'VALIDATION_ERROR', { errors })
  const unknown = { ...email, priority: 'high', reply: 'to' }
  expect((await post('/emails', unknown, keys.test)).status).toBe(200)
  const { body } = await post('/emails/batch', [misspelled, unknown], keys.test)
  expect(body.data).toMatchObject([
    { status: 'failed', error: { code: 'VALIDATION_ERROR' } },
    { status: 'sent', error: null },
  ])
})

test('SD-03 a batch refuses fields that would change what it sends or when', async () => {
  const email = { from: 'Acme <hello@example.com>', to: ['ada@example.com'], subject: 'Hi', text: 'Hello' }
  for (const name of ['template', 'scheduled_at', 'scheduled_local', 'from_pool']) {
    const post = (body: unknown) => t.ask('POST', '/api/v1/emails/batch', { key: keys.test, body })
    const errors = [{ path: [name], code: 'invalid_type', message: 'Not supported in a batch.' }]
    const given = { ...email, [name]: 'x' }
    expectRefusal(await leavesNoTrace(() => post(given)), 'VALIDATION_ERROR', { errors })
    const items = await leavesNoTrace(() => post([given]))
    expect(items.body.data).toMatchObject([{ status: 'failed', error: { code: 'VALIDATION_ERROR' } }])
  }
})

const patches = t.service.routes
  .filter(({ method }) => method === 'PATCH')
  .map((route) => [`${route.method} ${route.path}`, route] as const)

test.each(patches)('R-52 %s refuses a body without fields', async (_, route) => {
  expectRefusal(await leavesNoTrace(() => send(route, { body: {} })), 'NO_FIELDS')
})
