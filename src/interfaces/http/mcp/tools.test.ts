import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv-provider.js'
import { afterAll, expect, test } from 'vitest'
import { withTrail } from '../../../../test/audit/trail.ts'
import { callTool, connectClient, rpc } from '../../../../test/clients/mcp-client.ts'
import { getTokens } from '../../../../test/clients/oauth-client.ts'
import { person } from '../../../../test/clients/team-client.ts'
import { startTestService } from '../../../../test/service/service.ts'
import { offers } from './tools.ts'

const t = await startTestService()
afterAll(() => t.stop())

const acme = await t.org()
const orgId = acme.org.id
const { live } = acme.keys
const mail = { from: 'hello@example.test', to: ['ada@example.com'], subject: 'Hello', text: 'Hello, Ada' }

const schemas = new AjvJsonSchemaValidator()

type Shown = { name: string; description: string; inputSchema: Record<string, unknown>; annotations: object }
const listed = async (key: string): Promise<Shown[]> => (await rpc(t, key, 'tools/list')).body.result.tools

const readTools = [
  'list_emails',
  'get_email',
  'list_sms',
  'get_sms',
  'list_audiences',
  'list_contacts',
  'list_templates',
  'list_domains',
  'get_domain',
  'list_webhooks',
  'list_webhook_deliveries',
  'list_suppressions',
  'list_inbound',
  'get_analytics',
  'get_usage',
  'list_phone_numbers',
  'list_brands',
  'list_campaigns',
  'list_tenants',
]
const changeTools = [
  'send_email',
  'send_email_batch',
  'cancel_email',
  'send_sms',
  'send_sms_batch',
  'cancel_sms',
  'start_verification',
  'check_verification',
  'send_audience',
  'cancel_job',
  'create_contact',
  'add_domain',
  'verify_domain',
  'create_webhook',
  'update_webhook',
  'test_fire_webhook',
  'replay_failed_deliveries',
  'add_suppression',
  'remove_suppression',
]

test('XD-30 the client of the SDK lists every tool, sends, reads and gets errors as results', async () => {
  const client = await connectClient(t, live)
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name).sort()).toEqual([...readTools, ...changeTools].sort())
  const sent = await client.callTool({ name: 'send_email', arguments: { ...mail, idempotency_key: 'sdk-1' } })
  expect(sent.isError).toBeUndefined()
  expect(sent.structuredContent).toEqual({
    id: expect.stringMatching(/^msg_/),
    channel: 'email',
    status: 'sent',
    created_at: expect.any(String),
  })
  expect(sent.content).toEqual([{ type: 'text', text: JSON.stringify(sent.structuredContent) }])
  const { id } = sent.structuredContent as { id: string }
  const read = await client.callTool({ name: 'get_email', arguments: { id, include: 'body' } })
  expect(read.structuredContent).toMatchObject({ id, subject: 'Hello', text: 'Hello, Ada' })
  const failed = await client.callTool({ name: 'send_email', arguments: { ...mail, to: ['nobody'] } })
  expect(failed.isError).toBe(true)
  expect(failed.structuredContent).toEqual({
    status: 422,
    error: expect.objectContaining({ type: 'validation_error', code: 'VALIDATION_ERROR' }),
  })
  await expect(client.callTool({ name: 'delete_domain', arguments: {} })).rejects.toThrow('Unknown tool: delete_domain')
  await client.close()
})

/** Every name of a property and every value of a choice in a JSON Schema. */
const wordsIn = (schema: unknown): string[] => {
  if (Array.isArray(schema)) return schema.flatMap(wordsIn)
  if (typeof schema !== 'object' || schema === null) return []
  const { properties = {}, enum: values = [], const: value } = schema as Record<string, never>
  const own = [...Object.keys(properties), ...(values as unknown[]), value].filter((word) => typeof word === 'string')
  return [...own, ...Object.values(schema).flatMap(wordsIn)]
}

test('XD-30 each tool says what it does, when to use it and what it returns, in words of its schemas', async () => {
  const { paths, components } = (await t.ask('GET', '/api/openapi.json')).body
  const responses = (operation: string): unknown[] =>
    Object.values(paths as Record<string, Record<string, { operationId?: string; responses?: object }>>)
      .flatMap((methods) => Object.values(methods))
      .filter(({ operationId }) => operationId === operation)
      .map(({ responses: shown }) => shown)
  const partOf = (ref: string) =>
    ref
      .split('/')
      .slice(2)
      .reduce((part, step) => part[step], components)
  const resolve = (schema: unknown): unknown =>
    JSON.parse(JSON.stringify(schema), (_, value) =>
      typeof value?.$ref === 'string' ? resolve(partOf(value.$ref)) : value,
    )
  const tools = (await listed(live)).map(({ name, description, inputSchema }) => ({
    name,
    description,
    words: [...wordsIn(inputSchema), ...wordsIn(resolve(responses(offers[name]?.operation as string)))],
  }))
  const anywhere = new Set([...Object.keys(offers), ...tools.flatMap(({ words }) => words)])
  const texts = new Set<string>()
  for (const { name, description, words } of tools) {
    const [, does = '', when = '', returns = ''] = /^(.+?\.) (Use it .+?) (Returns .+)$/s.exec(description) ?? []
    expect(Math.min(does.length, when.length, returns.length), name).toBeGreaterThan(20)
    expect(description.length, name).toBeLessThan(900)
    texts.add(does).add(when)
    const unknown = (text: string, known: Set<string>) =>
      [...text.matchAll(/`([^`]+)`/g)].map(([, word]) => word as string).filter((word) => !known.has(word))
    expect(unknown(`${does} ${when}`, anywhere), name).toEqual([])
    // What it returns is in its own response.
    expect(unknown(returns, new Set([...Object.keys(offers), ...words])), name).toEqual([])
  }
  // No two tools have the same text, except for the two kinds of batch.
  expect(texts.size).toBeGreaterThan(2 * Object.keys(offers).length - 3)
})

test('XD-30 annotations say which tools only read, and descriptions say which send live messages', async () => {
  for (const { name, description, annotations } of await listed(live)) {
    if (readTools.includes(name)) expect(annotations, name).toMatchObject({ readOnlyHint: true })
    else {
      expect(annotations, name).toMatchObject({
        readOnlyHint: false,
        destructiveHint: expect.any(Boolean),
        idempotentHint: expect.any(Boolean),
      })
    }
    const sends = /^send_|^start_/.test(name)
    expect(/With a live credential this sends/.test(description), name).toBe(sends)
    if (sends) expect(annotations).toMatchObject({ destructiveHint: true, idempotentHint: false })
  }
})

test('XD-30 R-51 each schema is one valid object schema with the fields of its operation', async () => {
  const { body: openapi } = await t.ask('GET', '/api/openapi.json')
  type Operation = { operationId: string; parameters?: { $ref?: string; name: string; in: string }[] }
  const operations = Object.values(openapi.paths).flatMap((path) => Object.values(path as Record<string, Operation>))
  for (const { name, inputSchema } of await listed(live)) {
    schemas.getValidator(inputSchema)
    expect([inputSchema.type, inputSchema.anyOf, inputSchema.oneOf, inputSchema.$ref], name).toEqual([
      'object',
      undefined,
      undefined,
      undefined,
    ])
    const operation = operations.find(({ operationId }) => operationId === offers[name]?.operation)
    const fields = Object.keys(inputSchema.properties as object)
    const parameters = (operation?.parameters ?? []).filter((one) => one.in === 'path' || one.in === 'query')
    expect(fields, name).toEqual(expect.arrayContaining(parameters.map((one) => one.name)))
    expect(fields.includes('idempotency_key'), name).toBe(/^send_|^start_|^add_suppression$/.test(name))
  }
})

test('XD-30 R-51 the schema of a send takes its own example, and a batch is the bulk object only', async () => {
  const tools = await listed(live)
  const accepts = (name: string, value: unknown) =>
    schemas.getValidator(tools.find((tool) => tool.name === name)?.inputSchema as object)(value).valid
  expect(accepts('send_email', { ...mail, idempotency_key: 'a' })).toBe(true)
  expect(accepts('send_email', { subject: 'x' })).toBe(false)
  expect(accepts('send_email_batch', { ...mail, to: ['ada@example.com', 'grace@example.com'] })).toBe(true)
  expect(accepts('send_email_batch', [mail])).toBe(false)
  expect(accepts('add_suppression', { channel: 'sms', value: '+14155550100' })).toBe(true)
  const reply = await callTool(t, live, 'send_email_batch', { ...mail, to: ['ada@example.com', 'grace@example.com'] })
  expect(reply.body.result.structuredContent).toMatchObject({ data: [{ status: 'sent' }, { status: 'sent' }] })
})

test('XD-30 tools/list shows only tools whose scope the credential holds, and the others answer 403', async () => {
  const key = await t.key(orgId, { scopes: ['read:usage', 'send:sms'] })
  expect((await listed(key)).map(({ name }) => name)).toEqual(['send_sms', 'send_sms_batch', 'cancel_sms', 'get_usage'])
  const reply = await callTool(t, key, 'send_email', mail)
  expect(reply.body.result).toMatchObject({
    isError: true,
    structuredContent: { status: 403, error: { code: 'INSUFFICIENT_SCOPE' } },
  })
  expect((await listed(await t.key(orgId, { scopes: [] }))).length).toBe(0)
})

test('AD-150 AD-151 X-365 an OAuth token calls tools within the present role, and the audit log names the person', async () => {
  const ann = await person(t, { orgId, role: 'developer' })
  const scopes = ['send:email', 'read:usage']
  const { access, clientId } = await getTokens(t, { cookie: ann.cookie, orgId, scopes })
  const { result, trail } = await withTrail(t.database, orgId, () => callTool(t, access, 'send_email', mail))
  expect(result.body.result.structuredContent.status).toBe('sent')
  expect(trail).toEqual([
    expect.objectContaining({
      actor_user_id: ann.userId,
      action: 'message.sent',
      ip_address: '127.0.0.1',
      metadata: expect.objectContaining({ via: 'oauth', client_id: clientId }),
    }),
  ])
  await t.database.sql(`update memberships set role = 'viewer' where id = $1`, [ann.membershipId])
  expect((await listed(access)).map(({ name }) => name)).toEqual(['get_usage'])
  const refused = await callTool(t, access, 'send_email', mail)
  expect(refused.body.result.structuredContent).toMatchObject({ status: 403, error: { code: 'INSUFFICIENT_SCOPE' } })
})

test('X-365 a tool call is one request to the API with the same request id, tenant and rate count', async () => {
  const { org, keys } = await t.org({ name: 'Counted' })
  await t.database.sql('update orgs set rate_limit_per_minute = 4 where id = $1', [org.id])
  const first = await callTool(
    t,
    keys.live,
    'add_suppression',
    { channel: 'email', value: 'a@example.com' },
    {
      headers: { 'x-service-tenant-ref': 'their-own' },
    },
  )
  const { tenant_id: tenantId } = first.body.result.structuredContent
  expect(tenantId).toMatch(/^ten_/)
  expect(first.headers['x-ratelimit-remaining']).toBe('3')
  const missing = await callTool(t, keys.live, 'get_domain', { id: 'dom_00000000000000000000000000' })
  expect(missing.body.result.structuredContent.error.request_id).toBe(missing.headers['x-request-id'])
  expect(missing.headers['x-ratelimit-remaining']).toBe('2')
  const ping = await rpc(t, keys.live, 'ping')
  expect([ping.body.result, ping.headers['x-ratelimit-remaining']]).toEqual([{}, '1'])
  expect((await callTool(t, keys.live, 'no_such_tool')).headers['x-ratelimit-remaining']).toBe('0')
  const limited = await callTool(t, keys.live, 'get_usage')
  expect(limited.status).toBe(200)
  expect(limited.body.result.structuredContent).toMatchObject({ status: 429, error: { code: 'RATE_LIMITED' } })
  expect(Number(limited.headers['retry-after'])).toBeGreaterThan(0)
  const list = await rpc(t, keys.live, 'tools/list')
  expect([list.status, list.body.error.code]).toEqual([429, 'RATE_LIMITED'])
})

test('XD-30 a repeated call with the same idempotency key takes effect once, as an argument or a header', async () => {
  const sent = async (given: object, headers: Record<string, string> = {}) =>
    (await callTool(t, live, 'send_email', { ...mail, ...given }, { headers })).body.result.structuredContent
  const first = await sent({ idempotency_key: 'once' })
  expect(await sent({ idempotency_key: 'once' })).toEqual(first)
  expect(await sent({}, { 'idempotency-key': 'once' })).toEqual(first)
  expect((await sent({ subject: 'Other', idempotency_key: 'once' })).error.code).toBe('IDEMPOTENCY_MISMATCH')
  expect((await sent({ idempotency_key: 'other' }, { 'idempotency-key': 'once' })).id).not.toBe(first.id)
})

test('X-364 an idempotency key with other characters is refused before anything is sent', async () => {
  const sent = () => t.database.sql('select 1 from messages where org_id = $1', [orgId])
  const before = (await sent()).length
  for (const key of ['tab\there', 'ключ', 'x'.repeat(256), 7, { a: 1 }, 'nul\0']) {
    const reply = await callTool(t, live, 'send_email', { ...mail, idempotency_key: key })
    const { result } = reply.body
    if (key === 'nul\0') expect(reply.status).toBe(400)
    else
      expect([result.isError, result.structuredContent.status, result.structuredContent.error.code]).toEqual([
        true,
        400,
        'INVALID_IDEMPOTENCY_KEY',
      ])
  }
  for (const key of ['x'.repeat(256), 'caf\u00e9', 'tab\there']) {
    const reply = await callTool(t, live, 'send_email', mail, { headers: { 'idempotency-key': key } })
    expect([reply.status, reply.body.error?.code], key).toEqual([400, 'INVALID_IDEMPOTENCY_KEY'])
  }
  expect((await sent()).length).toBe(before)
})

test('XD-30 arguments go to path, query and body, and wrong ones are the answers of the API', async () => {
  const made = await callTool(t, live, 'create_webhook', { url: 'https://example.com/hook', events: ['message.sent'] })
  const { id } = made.body.result.structuredContent
  const renamed = await callTool(t, live, 'update_webhook', { id, description: 'Renamed' })
  expect(renamed.body.result.structuredContent).toMatchObject({ id, description: 'Renamed' })
  const codes = async (name: string, given: unknown) => {
    const { result } = (await callTool(t, live, name, given)).body
    return [result.structuredContent.status, result.structuredContent.error?.code]
  }
  expect(await codes('update_webhook', { id })).toEqual([422, 'NO_FIELDS'])
  expect(await codes('update_webhook', { description: 'x' })).toEqual([422, 'VALIDATION_ERROR'])
  for (const bad of ['..', '../keys', '.', '%2e%2e', 'a/b', '', 7, {}, 'x'.repeat(500)]) {
    expect(await codes('get_domain', { id: bad }), JSON.stringify(bad)).toEqual([404, 'NOT_FOUND'])
  }
  expect(await codes('get_domain', { id: null })).toEqual([422, 'VALIDATION_ERROR'])
  expect(await codes('list_emails', { limit: 1_000 })).toEqual([422, 'VALIDATION_ERROR'])
  expect(await codes('list_emails', { limit: [1] })).toEqual([422, 'VALIDATION_ERROR'])
  expect(await codes('list_emails', { cursor: 'nonsense' })).toEqual([422, 'INVALID_CURSOR'])
  expect(await codes('list_emails', { limit: 1, tag: null })).toEqual([undefined, undefined])
  const added = await callTool(t, live, 'add_suppression', { channel: 'email', value: 'gone@example.com' })
  expect(added.body.result.structuredContent.reason).toBe('manual')
  expect(await codes('remove_suppression', { channel: 'email', value: 'gone@example.com' })).toEqual([
    undefined,
    undefined,
  ])
  expect(await codes('remove_suppression', { channel: 'email', value: 'gone@example.com' })).toEqual([404, 'NOT_FOUND'])
})
