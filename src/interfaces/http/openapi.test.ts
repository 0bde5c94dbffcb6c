import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { startTestService, type TestService, testService } from '../../../test/service/service.ts'
import { eventNames } from '../../journal/events/names.ts'
import { type Code, catalogue } from '../../platform/ground/errors.ts'
import { newId, prefixes } from '../../platform/ground/ids.ts'
import { ErrorBody, exampleOf } from './openapi/refusals.ts'
import { describeApi, type OpenApiDocument, operationIdOf, type WebhookShape } from './openapi.ts'
import { pageOf, pageQuery } from './page.ts'
import { byKey, type PublicRoute } from './route.ts'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** Collects the URLs of all routes that are registered on servers created during the test. */
const watchRoutes = (onServer: (app: FastifyInstance) => void = () => undefined): Set<string> => {
  const urls = new Set<string>()
  const watch = (message: unknown): void => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook('onRoute', ({ url }) => void urls.add(url))
    onServer(fastify)
  }
  subscribe('fastify.initialization', watch)
  onTestFinished(() => void unsubscribe('fastify.initialization', watch))
  return urls
}

const underV1 = (urls: Iterable<string>): string[] =>
  [...urls]
    .filter((url) => url.startsWith('/api/v1'))
    .map((url) => url.replace(/:(\w+)/g, '{$1}'))
    .sort()

const problemsOf = async (document: OpenApiDocument): Promise<string[]> => {
  const config = await createConfig({ extends: ['recommended-strict'] })
  const source = JSON.stringify(document)
  const problems = await lintFromString({ source, absoluteRef: '/openapi.json', config })
  return problems.map(({ severity, ruleId, message, location }) =>
    [severity, ruleId, message, location[0]?.pointer].join(' '),
  )
}

const operationsOf = ({ paths }: OpenApiDocument) =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )

/** The value that a reference points to. */
const follow = (document: unknown, value: unknown): unknown => {
  const reference = (value as { $ref?: string } | undefined)?.$ref
  if (reference === undefined) return value
  const steps = reference.slice(2).split('/')
  return steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)?.[step], document)
}

const walk = (value: unknown, visit: (key: string, value: unknown) => void): void => {
  if (typeof value !== 'object' || value === null) return
  for (const [key, item] of Object.entries(value)) {
    visit(key, item)
    walk(item, visit)
  }
}

describe('the description of the running service', () => {
  let running: TestService
  let document: OpenApiDocument
  beforeAll(async () => {
    running = await startTestService()
    document = (await running.ask('GET', '/api/openapi.json')).body
  })
  afterAll(() => running.stop())

  test('X-362 is OpenAPI 3.1, and a strict linter reports no errors or warnings', async () => {
    expect(document.openapi).toBe('3.1.0')
    expect(await problemsOf(document)).toEqual([])
  })

  test('X-362 the linter reports a dangling reference', async () => {
    const broken = structuredClone(document)
    delete broken.components.schemas.Error
    expect(await problemsOf(broken)).not.toEqual([])
  })

  test('X-362 describes every method and path served under /api/v1, and nothing else', async () => {
    const urls = watchRoutes()
    const { ask, org, service } = await testService()
    const { keys } = await org()
    const described = (await ask('GET', '/api/openapi.json')).body as OpenApiDocument
    expect(underV1(urls)).toEqual(Object.keys(described.paths).sort())
    expect(service.routes.map(({ method, path }) => `${method} /api/v1${path}`).sort()).toEqual(
      operationsOf(described)
        .map(({ method, path }) => `${method} ${path}`)
        .sort(),
    )
    for (const [path, item] of Object.entries(described.paths)) {
      const named = path.replace(/\{\w+\}/g, newId('request'))
      for (const method of methods) {
        const { status } = await ask(method, named, { key: keys.live })
        const expected = method.toLowerCase() in item ? expect(status).not : expect(status)
        expected.toBe(405)
      }
    }
  })

  test('X-362 the test detects a route that is registered outside the route table', async () => {
    const urls = watchRoutes((app) => {
      app.get('/api/v1/outside-the-table', async () => ({}))
    })
    const { ask } = await testService()
    const { paths } = (await ask('GET', '/api/openapi.json')).body as OpenApiDocument
    expect(underV1(urls)).toContain('/api/v1/outside-the-table')
    expect(Object.keys(paths)).not.toContain('/api/v1/outside-the-table')
  })

  test('R-04 the description names the address of provider notifications, which the service serves', async () => {
    const address = '/api/webhooks/provider/email'
    expect(document.info.description).toContain(`\`POST ${address}\``)
    expect((await running.ask('POST', address, { raw: '{}' })).status).toBe(403)
  })

  test('X-361 the path includes the version: /api/v1 is served, no version and other versions are not', async () => {
    const { keys } = await running.org()
    for (const path of Object.keys(document.paths)) expect(path).toMatch(/^\/api\/v1\/./)
    const statusAt = async (prefix: string) =>
      (await running.ask('GET', `${prefix}/suppressions`, { key: keys.live })).status
    expect(await statusAt('/api/v1')).toBe(200)
    expect(await statusAt('/api')).toBe(404)
    expect(await statusAt('/api/v2')).toBe(404)
    expect(document.info.description).toContain('`/api/v1`')
  })

  test('X-363 states that HTTP is the contract and that there are no client libraries', () => {
    expect(document.info.description).toMatch(/The HTTP interface is the whole contract/)
    expect(document.info.description).toMatch(/no client libraries/)
    expect(document.info.description).toContain('curl "$BASE_URL/api/v1/')
  })

  test('has a title, version, license, server URL and webhooks', () => {
    expect(document.info).toMatchObject({
      title: 'Tidings',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      license: { identifier: 'MIT' },
    })
    expect(document.servers.map(({ url }) => url)).toEqual(['/'])
    expect(Object.keys(document.webhooks)).toEqual([...eventNames, 'webhook.test'])
  })

  test('every operation requires a key, names its scope and accepts the tenant header', () => {
    for (const { operation } of operationsOf(document)) {
      expect(operation.security).toEqual([{ apiKey: [] }])
      for (const scope of [operation['x-required-scope']].flat()) expect(scope).toMatch(/^(read|write|send):/)
      expect(operation.parameters).toContainEqual({ $ref: '#/components/parameters/X-Service-Tenant-Ref' })
    }
    expect(document.components.securitySchemes.apiKey).toMatchObject({ type: 'http', scheme: 'bearer' })
  })

  test('every error response has the error schema and lists its codes', () => {
    for (const { operation } of operationsOf(document)) {
      const statuses = Object.keys(operation.responses)
      expect(statuses).toEqual(expect.arrayContaining(['401', '403', '422', '429', '500']))
      for (const [status, response] of Object.entries(operation.responses)) {
        if (Number(status) < 400) continue
        const errorResponse = follow(document, response) as {
          'x-error-codes': Code[]
          description: string
          content: Record<string, { schema: unknown }>
          headers: Record<string, unknown>
        }
        expect(errorResponse.content['application/json']?.schema).toEqual({ $ref: '#/components/schemas/Error' })
        expect(errorResponse['x-error-codes'].map((code) => catalogue[code].status)).toEqual(
          errorResponse['x-error-codes'].map(() => Number(status)),
        )
        for (const code of errorResponse['x-error-codes']) expect(errorResponse.description).toContain(`\`${code}\``)
        expect(errorResponse.headers).toHaveProperty('X-Request-Id')
        if (status === '429') expect(errorResponse.headers).toHaveProperty('Retry-After')
      }
    }
  })

  test('actual responses match their description', async () => {
    const { org, keys } = await running.org()
    const readOnly = await running.key(org.id, { scopes: ['read:suppressions'] })
    const target = { channel: 'email', value: 'ada@example.com' }
    const requests = [
      ['GET', '/suppressions', ''],
      ['GET', '/suppressions', keys.live],
      ['GET', '/suppressions?limit=0', keys.live],
      ['GET', '/suppressions?cursor=x', keys.live],
      ['POST', '/suppressions', readOnly],
      ['POST', '/suppressions', keys.live],
      ['GET', `/suppressions/${newId('suppression')}`, keys.live],
      ['DELETE', '/suppressions/none', keys.live],
    ] as const
    for (const [method, path, key] of requests) {
      const reply = await running.ask(method, `/api/v1${path}`, {
        key,
        ...(method === 'POST' && { body: target }),
      })
      const template = path.split('?')[0]?.replace(/\/(none|sup_\w+)$/, '/{id}')
      const item = document.paths[`/api/v1${template}`]
      const operation = item?.[method.toLowerCase() as 'get']
      const response = follow(document, operation?.responses[reply.status]) as Record<string, unknown>
      expect(response, `${method} ${path} ${reply.status}`).toBeDefined()
      if (reply.status >= 400) expect(response['x-error-codes']).toContain(reply.body.error.code)
      const headers = Object.keys(response.headers as object).map((name) => name.toLowerCase())
      const sent = Object.keys(reply.headers).filter((name) => name.startsWith('x-'))
      expect(headers).toEqual(expect.arrayContaining(sent))
    }
  })

  test('schemas have no $id or $schema of their own, and every reference resolves', () => {
    const schemas = Object.keys(document.components.schemas)
    expect(schemas).toEqual(expect.arrayContaining(['Error', 'Suppression', 'SuppressionInput']))
    walk(document, (key, value) => {
      expect(['$schema', '$id', '$defs', '~standard']).not.toContain(key)
      if (key === '$ref') expect(follow(document, { $ref: value }), String(value)).toBeDefined()
    })
  })
})

const scope = 'read:suppressions' as const
const handle = async () => ({ status: 200, body: {} })
const emptyResponses = { 200: { schema: z.object({}), description: 'Done.' } }

const described = (routes: PublicRoute[], more: Partial<Parameters<typeof describeApi>[0]> = {}): OpenApiDocument =>
  describeApi({ routes, serviceVersion: '1.2.3', ...more })

const probe = (more: Partial<PublicRoute> = {}): PublicRoute => ({
  method: 'GET',
  path: '/probes',
  tag: 'Probes',
  summary: 'Probe',
  access: byKey(scope),
  responses: emptyResponses,
  handle,
  ...more,
})

describe('an operation', () => {
  test('has the id that its route states, or one derived from its method and path', () => {
    expect(operationIdOf({ method: 'POST', path: '/emails', operationId: 'sendEmail' })).toBe('sendEmail')
    expect(operationIdOf({ method: 'GET', path: '/emails' })).toBe('getEmails')
    expect(operationIdOf({ method: 'POST', path: '/emails/{id}/cancel' })).toBe('postEmailsByIdCancel')
    expect(operationIdOf({ method: 'PUT', path: '/phone-numbers/{number_id}' })).toBe('putPhoneNumbersByNumberId')
  })

  test('describes the format of ids in its path, and generated ids match it', () => {
    for (const kind of Object.keys(prefixes) as (keyof typeof prefixes)[]) {
      const { paths } = described([probe({ path: '/probes/{id}', params: { id: kind } })])
      const [parameter] = (paths['/api/v1/probes/{id}']?.get?.parameters ?? []) as {
        schema: { pattern: string }
      }[]
      expect(parameter).toMatchObject({ name: 'id', in: 'path', required: true })
      expect(newId(kind)).toMatch(new RegExp(parameter?.schema.pattern ?? 'none'))
    }
  })

  test('describes query parameters as they are sent, not as they are parsed', () => {
    const query = pageQuery.extend({
      after: z.iso.datetime().transform((text) => new Date(text)),
      order: z.enum(['asc', 'desc']).default('desc'),
      deep: z
        .enum(['true', 'false'])
        .transform((text) => text === 'true')
        .default(false)
        .meta({ type: 'boolean', description: 'Includes nested items.' }),
    })
    const { paths } = described([probe({ query })])
    const parameters = paths['/api/v1/probes']?.get?.parameters?.slice(0, -1)
    expect(parameters).toEqual([
      {
        name: 'limit',
        in: 'query',
        required: false,
        description: 'The number of items per page, 1 to 100.',
        schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
      },
      expect.objectContaining({
        name: 'cursor',
        required: false,
        schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{0,512}$' },
      }),
      { name: 'after', in: 'query', required: true, schema: { type: 'string', format: 'date-time' } },
      {
        name: 'order',
        in: 'query',
        required: false,
        schema: { type: 'string', enum: ['asc', 'desc'], default: 'desc' },
      },
      {
        name: 'deep',
        in: 'query',
        required: false,
        description: 'Includes nested items.',
        schema: { type: 'boolean', default: false },
      },
    ])
  })

  test('describes the errors, headers and parameters that a body and an Idempotency-Key add', () => {
    const bare = described([probe()]).paths['/api/v1/probes']?.get
    expect(Object.keys(bare?.responses ?? {})).toEqual(['200', '401', '402', '403', '409', '422', '429', '500', '503'])
    expect(bare?.responses['402']).toMatchObject({ 'x-error-codes': ['PLAN_RESOURCE_LIMIT'] })
    expect(bare?.responses['409']).toMatchObject({ 'x-error-codes': ['TENANT_NOT_USABLE'] })
    expect(bare?.responses['422']).toMatchObject({ 'x-error-codes': ['INVALID_TENANT_REF'] })

    const document = described([
      probe({
        method: 'POST',
        path: '/probes/{id}',
        params: { id: 'message' },
        body: z.object({ n: z.number() }).optional(),
        idempotent: true,
        access: byKey(scope, { testKey: 'ENVIRONMENT_ESCALATION' }),
        errors: ['SPEND_CAP_EXCEEDED', 'USAGE_LIMIT_EXCEEDED'],
      }),
    ])
    const full = document.paths['/api/v1/probes/{id}']?.post
    expect(Object.keys(full?.responses ?? {})).toEqual([
      '200',
      '401',
      '402',
      '403',
      '404',
      '409',
      '413',
      '415',
      '422',
      '429',
      '500',
      '503',
    ])
    expect(full?.requestBody?.required).toBe(false)
    expect(full?.parameters).toContainEqual({ $ref: '#/components/parameters/Idempotency-Key' })
    expect(full?.responses['200']).toHaveProperty(['headers', 'Idempotent-Replayed'])
    expect(full?.responses['403']).toHaveProperty(
      'x-error-codes',
      expect.arrayContaining(['ENVIRONMENT_ESCALATION', 'INSUFFICIENT_SCOPE']),
    )
    expect(full?.responses['409']).toHaveProperty('x-error-codes', [
      'IDEMPOTENCY_MISMATCH',
      'IDEMPOTENCY_IN_FLIGHT',
      'TENANT_NOT_USABLE',
    ])
    expect(full?.responses['429']).toMatchObject({
      'x-error-codes': ['USAGE_LIMIT_EXCEEDED', 'RATE_LIMITED'],
    })
  })

  test('lists alternative scopes', () => {
    const { paths } = described([probe({ access: byKey(['read:usage', 'read:tenants']) })])
    expect(paths['/api/v1/probes']?.get).toMatchObject({
      'x-required-scope': ['read:usage', 'read:tenants'],
      description: 'Requires one of these scopes: `read:usage`, `read:tenants`.',
    })
  })
})

describe('schemas', () => {
  test('a named schema becomes one component, however often it is used', () => {
    const Thing = z.object({ id: z.string() }).meta({ id: 'ProbeThing' })
    const document = described([
      probe({ responses: { 200: { schema: pageOf(Thing), description: 'A page.' } } }),
      probe({ method: 'POST', body: Thing, responses: { 200: { schema: Thing, description: 'The thing.' } } }),
    ])
    expect(Object.keys(document.components.schemas)).toEqual(['Error', 'FieldFault', 'ProbeThing'])
    const { get, post } = document.paths['/api/v1/probes'] ?? {}
    const reference = { $ref: '#/components/schemas/ProbeThing' }
    expect(post?.requestBody?.content['application/json'].schema).toEqual(reference)
    expect(post?.responses['200']).toMatchObject({ content: { 'application/json': { schema: reference } } })
    expect(get?.responses['200']).toMatchObject({
      content: { 'application/json': { schema: { properties: { data: { items: reference } } } } },
    })
  })

  test('a named schema that differs between request and response becomes two components', () => {
    const Leaf = z.object({ at: z.string().transform(() => true) }).meta({ id: 'ProbeLeaf' })
    const Tree = z.object({ leaf: Leaf }).meta({ id: 'ProbeTree' })
    const { components, paths } = described([
      probe({ method: 'POST', body: Tree, responses: { 200: { schema: Tree, description: 'The thing.' } } }),
    ])
    expect(components.schemas).toMatchObject({
      ProbeLeaf: { properties: { at: {} } },
      ProbeLeafInput: { properties: { at: { type: 'string' } } },
      ProbeTree: { properties: { leaf: { $ref: '#/components/schemas/ProbeLeaf' } } },
      ProbeTreeInput: { properties: { leaf: { $ref: '#/components/schemas/ProbeLeafInput' } } },
    })
    expect(paths['/api/v1/probes']?.post?.requestBody?.content['application/json'].schema).toEqual({
      $ref: '#/components/schemas/ProbeTreeInput',
    })
  })

  test('a request schema with defaults is written out in the body, with its name as title', () => {
    const Leaf = z.object({ at: z.string().default('now') }).meta({ id: 'ProbeLeaf' })
    const Tree = z.object({ leaf: Leaf }).meta({ id: 'ProbeTree' })
    const { components, paths } = described([
      probe({ method: 'POST', body: Tree, responses: { 200: { schema: Tree, description: 'The thing.' } } }),
    ])
    const leaf = { title: 'ProbeLeaf', type: 'object', properties: { at: { type: 'string', default: 'now' } } }
    expect(paths['/api/v1/probes']?.post?.requestBody?.content['application/json'].schema).toEqual({
      title: 'ProbeTree',
      type: 'object',
      properties: { leaf },
      required: ['leaf'],
    })
    expect(Object.keys(components.schemas)).toEqual(['Error', 'FieldFault', 'ProbeLeaf', 'ProbeTree'])
    expect(components.schemas.ProbeLeaf).toMatchObject({ required: ['at'] })
  })

  test('a request schema with defaults that contains itself is rejected', () => {
    const Tree = z
      .object({
        at: z.string().default('now'),
        get parts() {
          return z.array(Tree).max(2)
        },
      })
      .meta({ id: 'ProbeTree' })
    expect(() => described([probe({ method: 'POST', body: Tree })])).toThrow(
      'The recursive request schema ProbeTree cannot have defaults.',
    )
  })

  test('responses allow additional properties, and a strict request body does not', () => {
    const closed = z.strictObject({ n: z.number() })
    const { paths } = described([
      probe({ method: 'POST', body: closed, responses: { 200: { schema: closed, description: 'The thing.' } } }),
    ])
    const post = paths['/api/v1/probes']?.post
    expect(post?.requestBody?.content['application/json'].schema).toHaveProperty('additionalProperties', false)
    expect(post?.responses['200']).not.toHaveProperty(['content', 'application/json', 'schema', 'additionalProperties'])
  })

  test('examples of transformed input are kept', () => {
    const address = z
      .string()
      .transform((text) => text.toLowerCase())
      .meta({ examples: ['Ada@example.com'] })
    const { paths } = described([probe({ method: 'POST', body: z.object({ address }) })])
    expect(paths['/api/v1/probes']?.post?.requestBody?.content['application/json'].schema).toMatchObject({
      properties: { address: { type: 'string', examples: ['Ada@example.com'] } },
    })
  })

  test('two schemas with the same name and an unnamed recursive schema are rejected', () => {
    const one = z.object({ a: z.string() }).meta({ id: 'ProbeTwice' })
    const two = z.object({ b: z.string() }).meta({ id: 'ProbeTwice' })
    const routes = [probe({ method: 'POST', body: one }), probe({ method: 'PUT', body: two })]
    expect(() => described(routes)).toThrow('Two different schemas are named ProbeTwice')
    expect(() => described([probe({ method: 'POST', body: z.object({ any: z.json() }) })])).toThrow('needs a name')
  })

  test('the error schema matches every code of the catalogue', () => {
    for (const code of Object.keys(catalogue) as Code[]) {
      expect(ErrorBody.safeParse(exampleOf(code).value).error).toBeUndefined()
    }
  })
})

test('the description includes the public URL and the webhook events, and stays valid', async () => {
  const hook: WebhookShape = {
    event: 'email.delivered',
    tag: 'Suppressions',
    summary: 'An email was delivered',
    description: 'Sent once per recipient.',
    body: z.object({ id: z.string(), type: z.literal('email.delivered') }).meta({ id: 'ProbeEvent' }),
  }
  const document = described(
    [probe({ method: 'POST', tag: 'Suppressions', body: z.object({ n: z.number() }), idempotent: true })],
    { baseUrl: 'https://tidings.invalid', webhooks: [hook] },
  )
  expect(document.servers[0]?.url).toBe('https://tidings.invalid')
  expect(document.webhooks['email.delivered']?.post).toMatchObject({
    summary: 'An email was delivered',
    security: [],
    requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/ProbeEvent' } } } },
  })
  expect(await problemsOf(document)).toEqual([])
})
