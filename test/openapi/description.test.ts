/** The API description is complete enough for its readers and for generated clients. */
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { examplesOf } from '../../src/interfaces/http/openapi/examples.ts'
import { describeApi, type OpenApiDocument } from '../../src/interfaces/http/openapi.ts'
import { byKey, defineRoute, type PublicRoute } from '../../src/interfaces/http/route.ts'
import { sharedTestService, type TestService } from '../service/service.ts'
import { descriptionFaults, operationIdFaults, operationsOf } from './faults.ts'

let t: TestService
let document: OpenApiDocument
beforeAll(async () => {
  t = await sharedTestService()
  document = (await t.ask('GET', '/api/openapi.json')).body
})

const follow = (value: { $ref?: string } | undefined): unknown =>
  value?.$ref === undefined
    ? value
    : value.$ref
        .slice(2)
        .split('/')
        .reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document)

const bodyOf = (path: string, method: 'post' | 'patch' = 'post') =>
  document.paths[path]?.[method]?.requestBody?.content['application/json'].schema as Record<string, never>

describe('The description of the service', () => {
  test('describes every field and parameter, and has an example for every request and response', () => {
    expect(descriptionFaults(document)).toEqual([])
  })

  test('names every operation with a verb and nouns, and each name once', () => {
    expect(operationIdFaults(t.service.routes)).toEqual([])
    expect(
      operationsOf(document)
        .map(({ operation }) => operation.operationId)
        .sort(),
    ).toMatchInlineSnapshot(`
      [
        "addAudienceMember",
        "addSuppressions",
        "archiveTenant",
        "cancelEmail",
        "cancelEmailByPost",
        "cancelJob",
        "cancelSms",
        "checkVerification",
        "createAudience",
        "createBrand",
        "createCampaign",
        "createContact",
        "createDltEntity",
        "createDltHeader",
        "createDltTemplate",
        "createDomain",
        "createIpPool",
        "createKey",
        "createPhoneNumber",
        "createPool",
        "createProject",
        "createTemplate",
        "createTenant",
        "createWebhook",
        "deleteAudience",
        "deleteBrand",
        "deleteCampaign",
        "deleteContact",
        "deleteDltEntity",
        "deleteDltHeader",
        "deleteDltTemplate",
        "deleteDomain",
        "deleteIpPool",
        "deletePhoneNumber",
        "deletePool",
        "deleteProject",
        "deleteSuppression",
        "deleteSuppressionByTarget",
        "deleteTemplate",
        "deleteWebhook",
        "endDomainWarmup",
        "eraseTenant",
        "exportAudienceCsv",
        "getAnalytics",
        "getAudience",
        "getBrand",
        "getCampaign",
        "getContact",
        "getDltEntity",
        "getDltHeader",
        "getDltTemplate",
        "getDomain",
        "getEmail",
        "getInboundAttachment",
        "getInboundMessage",
        "getIpPool",
        "getJob",
        "getKey",
        "getPhoneNumber",
        "getPool",
        "getProject",
        "getSms",
        "getSuppression",
        "getTemplate",
        "getTenant",
        "getTenantUsage",
        "getUsage",
        "getWebhook",
        "getWebhookDelivery",
        "importAudienceCsv",
        "listAudienceMembers",
        "listAudiences",
        "listBrands",
        "listCampaigns",
        "listContacts",
        "listDltEntities",
        "listDltHeaders",
        "listDltTemplates",
        "listDomains",
        "listEmails",
        "listInboundMessages",
        "listIpPools",
        "listJobs",
        "listKeys",
        "listPhoneNumbers",
        "listPools",
        "listProjects",
        "listSms",
        "listSuppressions",
        "listTemplates",
        "listTenants",
        "listWebhookDeliveries",
        "listWebhookEvents",
        "listWebhooks",
        "previewTemplate",
        "removeAudienceMember",
        "replayFailedWebhookDeliveries",
        "replayWebhookDelivery",
        "restoreTenant",
        "revokeKey",
        "rotateWebhookSecret",
        "sendEmail",
        "sendEmailBatch",
        "sendSms",
        "sendSmsBatch",
        "sendToAudience",
        "startDomainWarmup",
        "startVerification",
        "suspendTenant",
        "testWebhook",
        "unsuspendTenant",
        "updateBrand",
        "updateContact",
        "updateDomain",
        "updateIpPool",
        "updateKey",
        "updatePhoneNumber",
        "updatePool",
        "updateProject",
        "updateTemplate",
        "updateTenant",
        "updateTenantQuota",
        "updateWebhook",
        "verifyDomain",
      ]
    `)
  })

  test('requires only the fields of an email that have no default', () => {
    const { title, required, properties } = bodyOf('/api/v1/emails')
    expect(title).toBe('SendEmail')
    expect(required).toEqual(['from', 'to'])
    expect(properties).toMatchObject({
      stream: { default: 'transactional' },
      cc: { default: [] },
      headers: { default: {} },
      attachments: { default: [] },
      variables: { default: {} },
      track_opens: { default: false },
    })
  })

  test('shows the fields of each item of a batch, although each item is validated alone', () => {
    const { anyOf } = bodyOf('/api/v1/emails/batch') as unknown as { anyOf: Record<string, unknown>[] }
    expect(anyOf.map(({ title }) => title)).toEqual(['BulkEmail', undefined])
    expect(anyOf[1]).toMatchObject({
      type: 'array',
      minItems: 1,
      maxItems: 100,
      items: { title: 'EmailBatchItem', required: ['from', 'to'], properties: { subject: { type: 'string' } } },
    })
  })

  test('has bounds on integers only where they mean something', () => {
    const { days } = bodyOf('/api/v1/domains/{id}/warmup').properties as unknown as Record<string, unknown>
    expect(days).toMatchObject({ type: 'integer', minimum: 1, maximum: 30, default: 14 })
    const { total } = (follow({ $ref: '#/components/schemas/BatchResult' }) as { properties: Record<string, object> })
      .properties
    expect(total).toEqual({ type: 'integer', description: 'The number of items.' })
  })

  test('has response examples that match their schemas', () => {
    for (const { method, path, responses, body, describedBody } of t.service.routes) {
      const schemas = Object.values(responses).map(({ schema }) => schema)
      for (const schema of [...schemas, describedBody ?? body]) {
        if (!schema) continue
        for (const example of examplesOf(schema)) {
          expect(schema.safeParse(example).error, `${method} ${path} ${JSON.stringify(example)}`).toBeUndefined()
        }
      }
    }
  })
})

describe('The check of the description', () => {
  const bare: PublicRoute = defineRoute('POST', '/probes/{id}', byKey('read:usage'), {
    tag: 'Probes',
    summary: 'Probe',
    query: z.object({ deep: z.enum(['true']).optional() }),
    body: z.object({ count: z.int() }),
    responses: { 200: { schema: z.object({ total: z.int() }), description: 'Done.' } },
    handle: async () => ({ status: 200, body: {} }),
  })
  const faultsOf = (route: PublicRoute) => descriptionFaults(describeApi({ routes: [route], serviceVersion: '1.0.0' }))

  test('names each field, parameter, request and response that a new route leaves without a text or an example', () => {
    const add = 'Add .meta({ examples: [{ … }] }) to the schema, with a value that works on a running service.'
    expect(faultsOf(bare)).toEqual([
      "POST /api/v1/probes/{id} body.count has no description. Add .describe('…') to the field in its schema.",
      "POST /api/v1/probes/{id} 200.total has no description. Add .describe('…') to the field in its schema.",
      "POST /api/v1/probes/{id} ?id has no description. Add .describe('…') to it.",
      "POST /api/v1/probes/{id} ?deep has no description. Add .describe('…') to it.",
      `POST /api/v1/probes/{id}: the request body has no example. ${add}`,
      `POST /api/v1/probes/{id}: the 200 response has no example. ${add}`,
      'POST /api/v1/probes/{id}: the path parameter id has no example. Name its kind in params.',
    ])
  })

  test('accepts a route with texts and examples', () => {
    const whole: PublicRoute = {
      ...bare,
      params: { id: 'message' },
      query: z.object({ deep: z.enum(['true']).optional().describe('Includes everything.') }),
      body: z.object({ count: z.int().describe('How many.') }).meta({ examples: [{ count: 1 }] }),
      responses: {
        200: {
          schema: z.object({ total: z.int().describe('The sum.') }).meta({ examples: [{ total: 1 }] }),
          description: 'Done.',
        },
      },
    }
    expect(faultsOf(whole)).toEqual([])
  })

  test('rejects operation ids that are missing, repeated or not in camel case', () => {
    const named = (operationId: string): PublicRoute => ({ ...bare, operationId })
    expect(operationIdFaults([bare, named('probe'), named('probe'), named('Do_probe')])).toEqual([
      "POST /probes/{id} has no operationId. Add one, such as 'sendEmail'.",
      'POST /probes/{id}: the operationId probe is used 2 times.',
      'POST /probes/{id}: the operationId probe is used 2 times.',
      'Do_probe must be a verb and nouns in camel case.',
    ])
  })

  test('finds bounds of safe integers, required defaults and defaults in components', () => {
    const broken = describeApi({ routes: [bare], serviceVersion: '1.0.0' })
    broken.components.schemas.Probe = { properties: { count: { description: 'How many.', default: 1 } } }
    const media = broken.paths['/api/v1/probes/{id}']?.post?.requestBody?.content['application/json']
    if (media) {
      media.schema = {
        properties: { count: { description: 'How many.', maximum: Number.MAX_SAFE_INTEGER, default: 1 } },
        required: ['count'],
      }
    }
    const at = 'POST /api/v1/probes/{id} body.count'
    expect(descriptionFaults(broken)).toEqual(
      expect.arrayContaining([
        `${at} has the bound of a safe integer. Set a bound that means something, or none.`,
        `${at} has a default and is required. A caller must be able to omit it.`,
        'Probe.count has a default outside of a request body. Generated clients would require it.',
      ]),
    )
  })
})
