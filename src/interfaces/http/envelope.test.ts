import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Reply, startTestService, type TestService } from '../../../test/service/service.ts'
import type { CreatedOrg } from '../../app/operator/create-org.ts'
import { type Code, catalogue, Failure, itemOnlyCodes, typeOf } from '../../platform/ground/errors.ts'
import { newId } from '../../platform/ground/ids.ts'
import { fromFramework } from './envelope.ts'
import { byKey, defineRoute } from './route.ts'

/** Each code with the status and type that the requirements define, by requirement id. */
const rows: [id: string, code: Code, status: number, type: string][] = [
  ['X-174', 'UNAUTHORIZED', 401, 'authentication_error'],
  ['X-175', 'INSUFFICIENT_SCOPE', 403, 'authentication_error'],
  ['X-176', 'IP_NOT_ALLOWED', 403, 'authentication_error'],
  ['X-177', 'TENANT_FORBIDDEN', 403, 'authentication_error'],
  ['X-178', 'TENANT_KEY_CANNOT_CREATE_TENANTS', 403, 'authentication_error'],
  ['X-179', 'TENANT_KEY_CANNOT_DELETE', 403, 'authentication_error'],
  ['X-180', 'TENANT_KEY_FORBIDDEN', 403, 'authentication_error'],
  ['X-181', 'TENANT_SUSPENDED', 403, 'authentication_error'],
  ['X-182', 'TENANT_ARCHIVED', 403, 'authentication_error'],
  ['X-183', 'TENANT_NOT_FOUND', 403, 'authentication_error'],
  ['X-184', 'TENANT_NOT_USABLE', 409, 'authentication_error'],
  ['X-185', 'DOMAIN_TENANT_MISMATCH', 403, 'authentication_error'],
  ['X-186', 'DOMAIN_NOT_ALLOWED_FOR_KEY', 403, 'authentication_error'],
  ['X-187', 'ORG_SUSPENDED', 403, 'authentication_error'],
  ['X-188', 'SMS_DESTINATION_NOT_ALLOWED', 403, 'authentication_error'],
  ['X-192', 'SENDER_DOMAIN_NOT_VERIFIED', 403, 'authentication_error'],
  ['X-193', 'SANDBOX_RECIPIENT_NOT_ALLOWED', 403, 'authentication_error'],
  ['X-196', 'SCOPE_ESCALATION', 403, 'authentication_error'],
  ['X-197', 'DOMAIN_SCOPE_ESCALATION', 403, 'authentication_error'],
  ['X-198', 'CIDR_SCOPE_ESCALATION', 403, 'authentication_error'],
  ['X-199', 'EXPIRY_ESCALATION', 403, 'authentication_error'],
  ['X-200', 'RATE_LIMIT_ESCALATION', 403, 'authentication_error'],
  ['X-201', 'ENVIRONMENT_ESCALATION', 403, 'authentication_error'],
  ['X-202', 'PROJECT_SCOPED_KEY', 403, 'authentication_error'],
  ['X-203', 'VALIDATION_ERROR', 422, 'validation_error'],
  ['X-207', 'INVALID_CURSOR', 422, 'validation_error'],
  ['X-208', 'INVALID_TENANT_REF', 422, 'validation_error'],
  ['X-209', 'INVALID_EXTERNAL_REF', 422, 'validation_error'],
  ['X-210', 'IDEMPOTENCY_MISMATCH', 409, 'validation_error'],
  ['X-212', 'IDEMPOTENCY_IN_FLIGHT', 409, 'rate_limit_error'],
  ['X-216', 'ALL_SUPPRESSED', 422, 'validation_error'],
  ['X-217', 'TO_ALL_SUPPRESSED', 422, 'validation_error'],
  ['X-218', 'SUPPRESSED', 422, 'validation_error'],
  ['X-220', 'UNSUBSCRIBE_REQUIRES_BROADCAST', 422, 'validation_error'],
  ['X-221', 'UNSUBSCRIBE_MULTI_RECIPIENT', 422, 'validation_error'],
  ['X-222', 'NOT_SCHEDULED', 409, 'validation_error'],
  ['X-223', 'SCHEDULED_AT_IN_PAST', 422, 'validation_error'],
  ['X-224', 'SCHEDULED_AT_TOO_FAR', 422, 'validation_error'],
  ['X-225', 'SCHEDULED_SINGLE_RECIPIENT', 422, 'validation_error'],
  ['X-226', 'SCHEDULED_NO_ATTACHMENTS', 422, 'validation_error'],
  ['X-227', 'ATTACHMENT_TOO_LARGE', 413, 'validation_error'],
  ['X-228', 'PAYLOAD_TOO_LARGE', 413, 'validation_error'],
  ['X-231', 'AUDIENCE_TOO_LARGE', 413, 'validation_error'],
  ['X-232', 'TEMPLATE_MISSING_VARIABLES', 422, 'validation_error'],
  ['X-234', 'TEMPLATE_TENANT_SCOPED', 422, 'validation_error'],
  ['X-235', 'INVALID_FROM', 422, 'validation_error'],
  ['X-236', 'NO_SENDER', 422, 'validation_error'],
  ['X-237', 'UNDELIVERABLE_DESTINATION', 422, 'validation_error'],
  ['X-238', 'HIGH_COST_DESTINATION', 422, 'validation_error'],
  ['X-239', 'MMS_TOO_MANY_ATTACHMENTS', 422, 'validation_error'],
  ['X-240', 'MMS_INVALID_MEDIA_URI', 422, 'validation_error'],
  ['X-241', 'DLT_TEMPLATE_REQUIRED', 422, 'validation_error'],
  ['X-242', 'DLT_TEMPLATE_NOT_FOUND', 422, 'validation_error'],
  ['X-243', 'DLT_TEMPLATE_NOT_APPROVED', 422, 'validation_error'],
  ['X-244', 'DLT_TEMPLATE_NOT_PROVISIONED', 422, 'validation_error'],
  ['X-245', 'SENDER_NOT_REGISTERED', 422, 'validation_error'],
  ['X-246', 'SENDER_NOT_VERIFIED', 422, 'validation_error'],
  ['X-247', 'COUNTRY_NOT_PROVISIONABLE', 422, 'validation_error'],
  ['X-248', 'SENDER_ALREADY_REGISTERED', 409, 'validation_error'],
  ['X-249', 'BRAND_NOT_FOUND', 422, 'validation_error'],
  ['X-250', 'CAMPAIGN_NOT_FOUND', 422, 'validation_error'],
  ['X-251', 'BRAND_NOT_VERIFIED', 422, 'validation_error'],
  ['X-252', 'CAMPAIGN_NOT_VERIFIED', 422, 'validation_error'],
  ['X-253', 'BRAND_IS_TEST_MODE', 422, 'validation_error'],
  ['X-254', 'CAMPAIGN_IS_TEST_MODE', 422, 'validation_error'],
  ['X-255', 'BRAND_IS_LIVE_MODE', 422, 'validation_error'],
  ['X-256', 'BRAND_HAS_CAMPAIGNS', 409, 'validation_error'],
  ['X-257', 'NUMBER_ALREADY_REGISTERED', 409, 'validation_error'],
  ['X-258', 'NO_FIELDS', 422, 'validation_error'],
  ['X-259', 'WEBHOOK_URL_NOT_ALLOWED', 422, 'validation_error'],
  ['X-260', 'SUPPRESSION_PROTECTED', 409, 'validation_error'],
  ['X-261', 'QUERY_BODY_CONFLICT', 422, 'validation_error'],
  ['X-262', 'TENANT_SLUG_CONFLICT', 409, 'validation_error'],
  ['X-263', 'TENANT_ACTIVE', 409, 'validation_error'],
  ['X-264', 'IP_POOL_PAUSED', 409, 'validation_error'],
  ['X-265', 'BY_KEY_NOT_AVAILABLE', 422, 'validation_error'],
  ['X-266', 'SELF_REVOKE_FORBIDDEN', 422, 'validation_error'],
  ['X-267', 'DOMAIN_ALREADY_ADDED', 409, 'validation_error'],
  ['X-268', 'DOMAIN_RESERVED', 422, 'validation_error'],
  ['X-269', 'PROJECT_NOT_EMPTY', 409, 'validation_error'],
  ['X-270', 'PROJECT_IS_DEFAULT', 409, 'validation_error'],
  ['X-271', 'PROJECT_SLUG_TAKEN', 409, 'validation_error'],
  ['X-272', 'UNAVAILABLE', 503, 'validation_error'],
  ['X-274', 'SEND_FAILED', 502, 'validation_error'],
  ['X-275', 'RATE_LIMITED', 429, 'rate_limit_error'],
  ['X-276', 'USAGE_LIMIT_EXCEEDED', 429, 'rate_limit_error'],
  ['X-277', 'TENANT_QUOTA_EXCEEDED', 429, 'rate_limit_error'],
  ['X-278', 'SPEND_CAP_EXCEEDED', 402, 'rate_limit_error'],
  ['X-279', 'PLAN_RESOURCE_LIMIT', 402, 'rate_limit_error'],
  ['X-280', 'DEDICATED_IP_LIMIT_EXCEEDED', 402, 'rate_limit_error'],
  ['X-281', 'WARMUP_LIMIT_EXCEEDED', 429, 'rate_limit_error'],
  ['X-282', 'SANDBOX_DAILY_LIMIT', 429, 'rate_limit_error'],
  ['X-283', 'REPLAY_RATE_LIMITED', 429, 'rate_limit_error'],
  ['X-284', 'TEST_FIRE_RATE_LIMITED', 429, 'rate_limit_error'],
  ['X-285', 'PROVISION_LIMIT_EXCEEDED', 429, 'rate_limit_error'],
  ['X-287', 'ENDPOINT_DISABLED', 409, 'validation_error'],
  ['X-288', 'NOT_FOUND', 404, 'not_found_error'],
  ['X-289', 'INTERNAL_ERROR', 500, 'server_error'],
  ['X-290', 'UNKNOWN', 500, 'server_error'],
  ['X-291', 'AUDIENCE_SEND_INCOMPLETE', 500, 'server_error'],
  ['X-292', 'PROVIDER_UNAVAILABLE', 502, 'server_error'],
  ['X-293', 'PROVIDER_EMPTY', 502, 'server_error'],
  ['X-294', 'PROVIDER_ERROR', 502, 'server_error'],
]

/** Codes that the decisions add to the catalogue. */
const added: [code: Code, status: number, type: string][] = [
  ['KEY_CREATION_RATE_LIMITED', 429, 'rate_limit_error'],
  ['TEST_DAILY_LIMIT', 429, 'rate_limit_error'],
  ['KEY_REVOKED', 409, 'validation_error'],
  ['TENANT_NOT_ACTIVE', 409, 'validation_error'],
  ['TENANT_NOT_SUSPENDED', 409, 'validation_error'],
  ['TENANT_NOT_ARCHIVED', 409, 'validation_error'],
  ['TENANT_ERASED', 409, 'validation_error'],
  ['TENANT_EXTERNAL_REF_CONFLICT', 409, 'validation_error'],
  ['WARMUP_ALREADY_ACTIVE', 409, 'validation_error'],
  ['IP_POOL_IN_USE', 409, 'validation_error'],
  ['POOL_SLUG_TAKEN', 409, 'validation_error'],
  ['DLT_IN_USE', 409, 'validation_error'],
  ['TEMPLATE_SLUG_TAKEN', 409, 'validation_error'],
  ['AUDIENCE_SLUG_TAKEN', 409, 'validation_error'],
  ['CONTACT_ALREADY_EXISTS', 409, 'validation_error'],
  ['METHOD_NOT_ALLOWED', 405, 'validation_error'],
  ['UNSUPPORTED_MEDIA_TYPE', 415, 'validation_error'],
  ['INVALID_IDEMPOTENCY_KEY', 400, 'validation_error'],
  ['MCP_UPSTREAM_TIMEOUT', 504, 'server_error'],
  ['OWNER_ROLE_REQUIRED', 403, 'authentication_error'],
  ['DEVELOPER_ROLE_REQUIRED', 403, 'authentication_error'],
  ['WRITE_ACCESS_REQUIRED', 403, 'authentication_error'],
  ['CROSS_SITE_REFUSED', 403, 'authentication_error'],
  ['INVALID_CODE', 400, 'validation_error'],
  ['INVALID_TOKEN', 400, 'validation_error'],
  ['CONFIRMATION_FAILED', 403, 'authentication_error'],
  ['TWO_FACTOR_ENABLED', 409, 'validation_error'],
  ['TWO_FACTOR_NOT_ENABLED', 409, 'validation_error'],
  ['MAIL_UNAVAILABLE', 503, 'server_error'],
  ['TEXT_UNAVAILABLE', 503, 'server_error'],
  ['NOT_PRIMARY_OWNER', 403, 'authentication_error'],
  ['PRIMARY_OWNER', 409, 'validation_error'],
  ['SELF_REMOVE', 409, 'validation_error'],
  ['ALREADY_MEMBER', 409, 'validation_error'],
  ['INVITATION_EXPIRED', 410, 'validation_error'],
  ['INVITATION_EMAIL_MISMATCH', 403, 'authentication_error'],
  ['SOLE_OWNER', 409, 'validation_error'],
  ['ATTACHMENTS_NOT_STORED', 409, 'validation_error'],
  ['CONTENT_REDACTED', 409, 'validation_error'],
  ['DOMAIN_NOT_VERIFIED', 409, 'validation_error'],
  ['NOT_RESENDABLE', 409, 'validation_error'],
  ['PLAN_NOT_HIGHER', 409, 'validation_error'],
  ['EXPORT_NOT_READY', 409, 'validation_error'],
  ['EXPORT_EXPIRED', 410, 'validation_error'],
  ['EXPORT_UNAVAILABLE', 503, 'server_error'],
  ['RANGE_NOT_SATISFIABLE', 416, 'validation_error'],
  ['SSO_REQUIRED', 403, 'authentication_error'],
  ['STEP_UP_REQUIRED', 403, 'authentication_error'],
  ['UNLOCK_REQUIRED', 429, 'rate_limit_error'],
  ['SSO_NOT_TESTED', 409, 'validation_error'],
  ['SSO_NO_DOMAIN', 409, 'validation_error'],
  ['ORG_SLUG_TAKEN', 409, 'validation_error'],
  ['SCIM_TOKEN_LIMIT', 409, 'validation_error'],
  ['OWNER_NOT_MAPPABLE', 422, 'validation_error'],
  ['INVALID_TIME_RANGE', 422, 'validation_error'],
  ['AUDIT_SIGNING_DISABLED', 503, 'server_error'],
  ['SCOPE_NOT_GRANTABLE', 422, 'validation_error'],
]

let t: TestService
let acme: CreatedOrg

/** Fails with the code that the body names, so that every code is tested over HTTP. */
const failingRoute = defineRoute('POST', '/probe/fail', byKey('read:keys'), {
  tag: 'Probe',
  summary: 'Fails',
  body: z.object({ code: z.string() }),
  responses: { 200: { schema: z.object({}), description: 'Never.' } },
  handle: async ({ body }) => {
    if (body.code === 'crash') throw new Error('internal detail: password=hunter2')
    throw new Failure(body.code as Code)
  },
})

beforeAll(async () => {
  t = await startTestService({ routes: () => [failingRoute] })
  acme = await t.org()
})
afterAll(() => t.stop())

const failWith = (code: string) => t.ask('POST', '/api/v1/probe/fail', { key: acme.keys.live, body: { code } })

const expectFailure = (reply: Reply, code: Code, status: number, type: string) => {
  expect(reply.status).toBe(status)
  expect(reply.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(reply.body).toEqual({
    error: { type, message: catalogue[code].text, code, request_id: reply.headers['x-request-id'] },
  })
}

describe('error codes over HTTP', () => {
  test.each(rows)('%s %s returns status %i and type %s', async (_id, code, status, type) => {
    expectFailure(await failWith(code), code, status, type)
  })

  test.each(added)('%s returns status %i and type %s', async (code, status, type) => {
    expectFailure(await failWith(code), code, status, type)
  })

  test('X-330 X-331 every 429 except SANDBOX_DAILY_LIMIT has Retry-After', async () => {
    const limits = rows
      .concat(added.map(([code, status, type]) => ['', code, status, type]))
      .filter(([, , status]) => status === 429)
    const without: string[] = []
    for (const [, code] of limits) {
      const { headers } = await failWith(code)
      if (headers['retry-after'] === undefined) without.push(code)
      else expect(headers['retry-after']).toMatch(/^[1-9]\d*$/)
    }
    expect(limits.length).toBeGreaterThan(8)
    expect(without).toEqual(['SANDBOX_DAILY_LIMIT'])
  })

  const idsBetween = (first: number, last: number) =>
    Array.from({ length: last - first + 1 }, (_, i) => `X-${first + i}`)
  const ids = rows.map(([id]) => id)

  test('X-174..X-188, X-192..X-193 every permission code is in the table', () => {
    expect(ids).toEqual(expect.arrayContaining([...idsBetween(174, 188), ...idsBetween(192, 193)]))
  })
  test('X-196..X-203, X-207..X-210 every escalation and input code is in the table', () => {
    expect(ids).toEqual(expect.arrayContaining([...idsBetween(196, 203), ...idsBetween(207, 210)]))
  })
  test('X-212, X-216..X-218 every in-flight and suppression code is in the table', () => {
    expect(ids).toEqual(expect.arrayContaining(['X-212', ...idsBetween(216, 218)]))
  })
  test('X-220..X-228, X-231..X-232 every scheduling and size code is in the table', () => {
    expect(ids).toEqual(expect.arrayContaining([...idsBetween(220, 228), ...idsBetween(231, 232)]))
  })
  test('X-234..X-272, X-274..X-285 every validation, conflict and limit code is in the table', () => {
    expect(ids).toEqual(expect.arrayContaining([...idsBetween(234, 272), ...idsBetween(274, 285)]))
  })
  test('X-287..X-294 every not-found, server and provider code is in the table', () => {
    expect(ids).toEqual(expect.arrayContaining(idsBetween(287, 294)))
  })
  test('the table has more than 100 codes, each of them once', () => {
    expect(rows.length).toBeGreaterThan(100)
    expect(new Set(rows.map(([, code]) => code)).size).toBe(rows.length)
  })

  test('X-295..X-298 the codes of batch items exist, and those used only on items have no status', () => {
    expect(itemOnlyCodes).toEqual(['MESSAGE_NOT_RECORDED'])
    expect(catalogue).not.toHaveProperty('MESSAGE_NOT_RECORDED')
    expect(catalogue).toHaveProperty('PROVIDER_ERROR')
    expect(catalogue).toHaveProperty('SENDER_NOT_VERIFIED')
  })

  test('the catalogue contains these codes and no others', () => {
    const listed = [...rows.map(([, code]) => code), ...added.map(([code]) => code)]
    expect(Object.keys(catalogue).sort()).toEqual(listed.sort())
  })
})

describe('error types', () => {
  const codes = Object.keys(catalogue) as Code[]
  const typesOf = (status: number) => new Set(codes.filter((code) => catalogue[code].status === status).map(typeOf))

  test('X-158 there are five types', () => {
    expect([...new Set(codes.map(typeOf))].sort()).toEqual([
      'authentication_error',
      'not_found_error',
      'rate_limit_error',
      'server_error',
      'validation_error',
    ])
  })
  test('X-162 401 and 403 are authentication errors', () => {
    expect([...typesOf(401), ...typesOf(403)]).toEqual(['authentication_error', 'authentication_error'])
  })
  test('X-163 TENANT_NOT_USABLE is an authentication error', () => {
    expect(typeOf('TENANT_NOT_USABLE')).toBe('authentication_error')
  })
  test('X-164 422, 413 and state conflicts are validation errors', () => {
    expect([...typesOf(422), ...typesOf(413)]).toEqual(['validation_error', 'validation_error'])
    const conflicts = codes.filter((code) => catalogue[code].status === 409)
    const others = conflicts.filter((code) => typeOf(code) !== 'validation_error')
    expect(others.sort()).toEqual(['IDEMPOTENCY_IN_FLIGHT', 'TENANT_NOT_USABLE'])
  })
  test('X-165 SEND_FAILED and UNAVAILABLE are validation errors', () => {
    expect([typeOf('SEND_FAILED'), typeOf('UNAVAILABLE')]).toEqual(['validation_error', 'validation_error'])
  })
  test('X-166 X-167 X-168 429, 402 and IDEMPOTENCY_IN_FLIGHT are rate limit errors', () => {
    expect([...typesOf(429), ...typesOf(402)]).toEqual(['rate_limit_error', 'rate_limit_error'])
    expect(typeOf('IDEMPOTENCY_IN_FLIGHT')).toBe('rate_limit_error')
  })
  test('X-169 X-170 404 is not found; 500 and the provider errors of 502 are server errors', () => {
    expect([...typesOf(404)]).toEqual(['not_found_error'])
    expect([...typesOf(500)]).toEqual(['server_error'])
    expect([typeOf('PROVIDER_UNAVAILABLE'), typeOf('PROVIDER_EMPTY')]).toEqual(['server_error', 'server_error'])
  })
})

describe('the error body', () => {
  test('X-157 X-159 S-013 every error has a unique request id in its body and header', async () => {
    const replies = [
      await t.ask('GET', '/api/v1/suppressions'),
      await t.ask('GET', '/api/v1/nowhere', { key: acme.keys.live }),
      await t.ask('POST', '/api/v1/suppressions', { key: acme.keys.live, raw: '{' }),
      await t.ask('PATCH', '/api/v1/suppressions', { key: acme.keys.live }),
      await failWith('crash'),
    ]
    const ids = replies.map((reply) => reply.body.error.request_id)
    expect(new Set(ids).size).toBe(replies.length)
    for (const reply of replies) {
      expect(reply.body.error.request_id).toMatch(/^req_[0-9a-z]{26}$/)
      expect(reply.headers['x-request-id']).toBe(reply.body.error.request_id)
      expect(Object.keys(reply.body)).toEqual(['error'])
    }
  })

  test('successful responses have X-Request-Id, and a value sent by the caller is ignored', async () => {
    const mine = newId('request')
    const reply = await t.ask('GET', '/api/v1/suppressions', {
      key: acme.keys.live,
      headers: { 'x-request-id': mine },
    })
    expect(reply.headers['x-request-id']).toMatch(/^req_[0-9a-z]{26}$/)
    expect(reply.headers['x-request-id']).not.toBe(mine)
  })

  test('X-160 X-203 a validation error lists every invalid field with its path as an array', async () => {
    const reply = await t.ask('POST', '/api/v1/suppressions', {
      key: acme.keys.live,
      body: {
        items: [{ channel: 'email', value: 'a@example.com' }, { channel: 'fax', value: 'x' }, { channel: 'sms' }],
      },
    })
    expect(reply.status).toBe(422)
    expect(reply.body.error.code).toBe('VALIDATION_ERROR')
    for (const row of reply.body.error.errors) {
      expect(Object.keys(row)).toEqual(['path', 'code', 'message'])
      expect(Array.isArray(row.path)).toBe(true)
    }
    const query = await t.ask('GET', '/api/v1/suppressions?limit=500&channel=fax&reason=', {
      key: acme.keys.live,
    })
    expect(query.body.error.errors).toEqual([
      { path: ['limit'], code: 'too_big', message: 'Must be 1 to 100.' },
      { path: ['channel'], code: 'invalid_enum', message: expect.any(String) },
      { path: ['reason'], code: 'invalid_enum', message: expect.any(String) },
    ])
  })

  test('X-160 for a body with several forms the errors are those of the closest form', async () => {
    const errorsOf = async (body: unknown) =>
      (await t.ask('POST', '/api/v1/suppressions', { key: acme.keys.live, body })).body.error.errors.map(
        (row: { path: unknown; code: string }) => [row.path, row.code],
      )
    expect(await errorsOf({})).toEqual([[['channel'], 'required']])
    expect(await errorsOf({ channel: 'fax' })).toEqual([[['channel'], 'invalid_enum']])
    expect(await errorsOf({ channel: 'email', value: 'x' })).toEqual([[['value'], 'invalid_string']])
    expect(await errorsOf({ items: [{ channel: 'sms', value: 'x' }, { channel: 'sms' }] })).toEqual([
      [['items', 0, 'value'], 'invalid_string'],
      [['items', 1, 'value'], 'required'],
    ])
  })

  test('X-160 unparseable JSON is a validation error with an empty path', async () => {
    for (const raw of ['{', '[1,', 'nul', '\u0000', Buffer.from([0x22, 0xff, 0x22])]) {
      const reply = await t.ask('POST', '/api/v1/suppressions', { key: acme.keys.live, raw })
      expect([reply.status, reply.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
      expect(reply.body.error.errors).toEqual([{ path: [], code: 'custom', message: expect.any(String) }])
    }
  })

  test('X-161 other errors have no errors field', async () => {
    for (const code of ['NOT_FOUND', 'SUPPRESSED', 'RATE_LIMITED', 'ORG_SUSPENDED'] as const) {
      expect((await failWith(code)).body.error).not.toHaveProperty('errors')
    }
  })

  test('X-289 an unexpected failure returns 500 and reveals no details', async () => {
    const reply = await failWith('crash')
    expectFailure(reply, 'INTERNAL_ERROR', 500, 'server_error')
    expect(reply.text).not.toMatch(/hunter2|detail|stack/)
  })

  test('a body with a content type other than JSON returns 415', async () => {
    for (const type of [
      'text/plain',
      'application/xml',
      'multipart/form-data; boundary=x',
      'application/x-www-form-urlencoded',
      'nonsense',
    ]) {
      const reply = await t.ask('POST', '/api/v1/suppressions', {
        key: acme.keys.live,
        raw: 'a=b',
        headers: { 'content-type': type },
      })
      expect([reply.status, reply.body.error.code, reply.body.error.type], type).toEqual([
        415,
        'UNSUPPORTED_MEDIA_TYPE',
        'validation_error',
      ])
    }
    const json = await t.ask('POST', '/api/v1/suppressions', {
      key: acme.keys.live,
      raw: '{"channel":"email","value":"type@example.com"}',
      headers: { 'content-type': 'application/json; charset=utf-8' },
    })
    expect(json.status).toBe(201)
  })

  test('X-228 a body of 6 MB is accepted and a larger one returns 413, with and without Content-Length', async () => {
    const limit = 6 * 1_048_576
    const body = (bytes: number) => {
      const [head, tail] = ['{"channel":"email","value":"big@example.com","note":"', '"}']
      return head + 'x'.repeat(bytes - head.length - tail.length) + tail
    }
    const ask = (bytes: number, headers: Record<string, string> = {}) =>
      t.ask('POST', '/api/v1/suppressions', { key: acme.keys.live, raw: body(bytes), headers })
    expect((await ask(limit)).status).toBeLessThan(300)
    const over = await ask(limit + 1)
    expect([over.status, over.body.error.code]).toEqual([413, 'PAYLOAD_TOO_LARGE'])
    const response = await fetch(`${t.url}/api/v1/suppressions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${acme.keys.live}`, 'content-type': 'application/json' },
      body: new Blob([body(limit + 1)]).stream(),
      duplex: 'half',
    } as RequestInit)
    expect([response.status, ((await response.json()) as Reply['body']).error.code]).toEqual([413, 'PAYLOAD_TOO_LARGE'])
  })
})

describe('/api/internal', () => {
  const session = async () => {
    const [org] = await t.database.sql<{ owner_user_id: string }>('select owner_user_id from orgs where id = $1', [
      acme.org.id,
    ])
    const token = await t.service.sessions.open(org?.owner_user_id as string, {
      method: 'credentials',
      ip: null,
      userAgent: '',
    })
    return { cookie: `service_session=${token}` }
  }

  test('X-171 errors have a flat body', async () => {
    const stranger = await t.ask('GET', '/api/internal/api-keys')
    expect([stranger.status, stranger.body]).toEqual([401, { error: 'Unauthorized' }])
    const unknown = await t.ask('GET', '/api/internal/nowhere', { headers: await session() })
    expect([unknown.status, unknown.body]).toEqual([404, { error: 'Not found' }])
    expect(stranger.headers['x-request-id']).toMatch(/^req_/)
  })

  test('X-172 X-207 an invalid cursor returns 400, and under /v1 422 INVALID_CURSOR; an empty one returns the first page', async () => {
    const headers = await session()
    const flat = await t.ask('GET', '/api/internal/api-keys?cursor=nonsense', { headers })
    expect([flat.status, flat.body]).toEqual([400, { error: 'Invalid cursor' }])
    const v1 = await t.ask('GET', '/api/v1/suppressions?cursor=nonsense', { key: acme.keys.live })
    expectFailure(v1, 'INVALID_CURSOR', 422, 'validation_error')
    expect((await t.ask('GET', '/api/internal/api-keys?cursor=', { headers })).status).toBe(200)
  })

  test('keys are listed newest first, in pages, without their secrets', async () => {
    const headers = await session()
    const first = await t.ask('GET', '/api/internal/api-keys?limit=1', { headers })
    expect(first.body.data).toHaveLength(1)
    expect(first.body.has_more).toBe(true)
    const second = await t.ask('GET', `/api/internal/api-keys?limit=1&cursor=${first.body.next_cursor}`, {
      headers,
    })
    expect(second.body).toMatchObject({ has_more: false, next_cursor: null })
    const names = [first.body.data[0].name, second.body.data[0].name]
    expect(names).toEqual(['First test key', 'First live key'])
    expect(first.text).not.toContain(acme.keys.test)
    expect(Object.keys(first.body.data[0])).toEqual([
      'id',
      'name',
      'environment',
      'prefix',
      'last_four',
      'scopes',
      'tenant_id',
      'project_id',
      'allowed_domain_ids',
      'allowed_cidrs',
      'rate_limit_per_minute',
      'expires_at',
      'last_used_at',
      'created_at',
      'revoked_at',
      'created_by',
    ])
  })

  test('a session that is expired, superseded or without a membership is rejected', async () => {
    const headers = await session()
    const ask = () => t.ask('GET', '/api/internal/api-keys', { headers })
    expect((await ask()).status).toBe(200)
    await t.database.sql('update users set session_version = session_version + 1')
    expect((await ask()).status).toBe(401)
    const fresh = await session()
    await t.database.sql("update memberships set role = 'emperor'")
    expect((await t.ask('GET', '/api/internal/api-keys', { headers: fresh })).status).toBe(401)
    await t.database.sql("update memberships set role = 'viewer'")
    expect((await t.ask('GET', '/api/internal/api-keys', { headers: fresh })).status).toBe(200)
    const elsewhere = { cookie: `${fresh.cookie}; service_active_org=org_01m7ekszz4e8brbwp01pb7h1dp` }
    expect((await t.ask('GET', '/api/internal/api-keys', { headers: elsewhere })).status).toBe(401)
    await t.database.sql('update sessions set expires_at = created_at')
    expect((await t.ask('GET', '/api/internal/api-keys', { headers: fresh })).status).toBe(401)
  })
})

describe('documentation', () => {
  const page = (name: string) => readFile(new URL(`../../../docs/${name}`, import.meta.url), 'utf8')

  test('X-173 docs/errors.md advises clients to handle errors by code and status', async () => {
    const text = await page('errors.md')
    expect(text).toContain('`code` and the HTTP status are stable. Use them to handle errors')
    expect(text).toContain('does not always follow from the HTTP status')
    for (const [, code, status] of rows) expect(text).toContain(`| \`${code}\` | ${status} |`)
  })

  test('X-332 docs/errors.md advises waiting until the reset or backing off exponentially with jitter', async () => {
    const text = (await page('errors.md')).replace(/\s+/g, ' ')
    expect(text).toContain(
      'wait for the number of seconds in `Retry-After` or until `X-RateLimit-Reset` (Unix time in milliseconds)',
    )
    expect(text).toContain('back off exponentially with jitter')
  })
})

test('a lost outgoing connection is not reported as an incomplete body', () => {
  const lost = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  expect(fromFramework(lost)).toBeUndefined()
  expect(fromFramework(Object.assign(lost, { statusCode: 400 }))?.code).toBe('VALIDATION_ERROR')
})
