import { afterAll, expect, test } from 'vitest'
import { callTool, rpc } from '../../../../test/clients/mcp-client.ts'
import { type Ask, startTestService, testService } from '../../../../test/service/service.ts'

const t = await startTestService({ env: { RATE_LIMITER: 'off' } })
afterAll(() => t.stop())

const acme = await t.org()
const { live } = acme.keys
const post = (more: Ask) => t.ask('POST', '/api/mcp', { key: live, ...more })
const message = (method: string, more: object = {}) => ({ jsonrpc: '2.0', id: 1, method, ...more })

const initialize = (protocolVersion: unknown) =>
  rpc(t, live, 'initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } })

test('XD-30 a client agrees on one of three versions, and another one in the header is 400', async () => {
  for (const version of ['2025-03-26', '2025-06-18', '2025-11-25']) {
    const reply = await initialize(version)
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(reply.body).toMatchObject({
      jsonrpc: '2.0',
      id: 1,
      result: { protocolVersion: version, capabilities: { tools: {} }, serverInfo: { name: 'tidings' } },
    })
    const ping = await rpc(t, live, 'ping', undefined, { headers: { 'mcp-protocol-version': version } })
    expect([ping.status, ping.body.result]).toEqual([200, {}])
  }
  for (const version of ['2024-11-05', '2026-07-28', 'nonsense']) {
    expect((await initialize(version)).body.result.protocolVersion).toBe('2025-11-25')
    const reply = await rpc(t, live, 'ping', undefined, { headers: { 'mcp-protocol-version': version } })
    expect([reply.status, reply.body]).toEqual([
      400,
      {
        jsonrpc: '2.0',
        error: {
          code: -32000,
          message: 'Unsupported protocol version. Supported: 2025-11-25, 2025-06-18, 2025-03-26.',
        },
        id: null,
      },
    ])
  }
})

test('XD-30 a notification and a response are 202 without a body, and no session is opened', async () => {
  for (const body of [
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
    { jsonrpc: '2.0', method: 'notifications/unknown' },
    { jsonrpc: '2.0', id: 9, result: {} },
  ]) {
    const reply = await post({ body })
    expect([reply.status, reply.text], JSON.stringify(body)).toEqual([202, ''])
  }
  expect((await initialize('2025-11-25')).headers['mcp-session-id']).toBeUndefined()
})

test('XD-30 other methods are 405, and other types than JSON are 415', async () => {
  for (const method of ['GET', 'DELETE', 'PUT', 'PATCH', 'HEAD']) {
    const reply = await t.ask(method, '/api/mcp', { key: live })
    expect([reply.status, reply.headers.allow], method).toEqual([405, 'POST'])
  }
  const reply = await post({ raw: 'x', headers: { 'content-type': 'text/plain' } })
  expect([reply.status, reply.body.error.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
})

test('AD-146 XD-30 without a valid credential it is 401 with the address of the metadata', async () => {
  const metadata = `resource_metadata="${t.url}/.well-known/oauth-protected-resource"`
  const without = await t.ask('POST', '/api/mcp', { body: message('tools/list') })
  expect([without.status, without.headers['www-authenticate'], without.body.error.code]).toEqual([
    401,
    `Bearer ${metadata}`,
    'UNAUTHORIZED',
  ])
  for (const key of ['nonsense', `svc_oat_${'x'.repeat(43)}`, `${live}x`]) {
    const reply = await rpc(t, key, 'tools/list')
    expect([reply.status, reply.headers['www-authenticate']]).toEqual([401, `Bearer ${metadata}`])
  }
})

test('XD-30 a foreign origin is 403, and the own one passes', async () => {
  for (const origin of ['https://evil.example', 'null', `${t.url}.evil.example`]) {
    const reply = await rpc(t, live, 'ping', undefined, { headers: { origin } })
    expect([reply.status, reply.body.error.code], origin).toEqual([403, 'CROSS_SITE_REFUSED'])
  }
  expect((await rpc(t, live, 'ping', undefined, { headers: { origin: t.url } })).status).toBe(200)
})

test('XD-31 a suspended org and a foreign address are refused before the message is read', async () => {
  const { org, keys } = await t.org({ name: 'Suspended' })
  const bound = await t.key(org.id, { allowedCidrs: ['203.0.113.0/24'] })
  expect((await rpc(t, bound, 'tools/list')).body.error.code).toBe('IP_NOT_ALLOWED')
  await t.database.sql(`update orgs set suspended_at = created_at, suspension_reason = 'x' where id = $1`, [org.id])
  const reply = await callTool(t, keys.live, 'get_usage')
  expect([reply.status, reply.body.error.code]).toEqual([403, 'ORG_SUSPENDED'])
})

test('XD-30 a list of messages is refused, and none of them has an effect', async () => {
  const send = { name: 'add_suppression', arguments: { channel: 'email', value: 'batch@example.com' } }
  for (const body of [[message('tools/call', { params: send }), message('ping')], [], [[]]]) {
    const reply = await post({ body })
    expect([reply.status, reply.body]).toEqual([
      400,
      { jsonrpc: '2.0', error: { code: -32600, message: 'Send one JSON-RPC message, not a list of them.' }, id: null },
    ])
  }
  const rows = await t.database.sql(`select 1 from suppressions where value = 'batch@example.com'`)
  expect(rows).toEqual([])
})

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

test('XD-30 hostile messages get an error of the protocol and never a 500', async () => {
  const raws = [
    '',
    '{',
    'null',
    '7',
    '"text"',
    'true',
    '{}',
    '{"jsonrpc":"1.0","id":1,"method":"ping"}',
    '{"jsonrpc":"2.0","id":null,"method":"ping"}',
    '{"jsonrpc":"2.0","id":{},"method":"ping"}',
    '{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    '{"jsonrpc":"2.0","id":1,"method":7}',
    '{"jsonrpc":"2.0","id":1}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","__proto__":{"x":1}}',
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${nested(150)}}`,
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${nested(5_000)}}`,
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_usage","arguments":${nested(150)}}}`,
    `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[${'1,'.repeat(200_000)}1]}}`,
    `{"jsonrpc":"2.0","id":1,"method":"${'x'.repeat(100_000)}"}`,
    `{"jsonrpc":"2.0","id":"${'x'.repeat(100_000)}","method":"ping"}`,
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\u0000"}}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\ud800"}}',
    '\u0000',
    'a=1&b=2',
  ]
  for (const raw of raws) {
    const reply = await post({ raw })
    expect([200, 400], raw.slice(0, 90)).toContain(reply.status)
    expect(reply.body.jsonrpc, raw.slice(0, 90)).toBe('2.0')
  }
  const notUtf8 = await post({ raw: Buffer.from([0x7b, 0xff, 0x7d]) })
  expect([notUtf8.status, notUtf8.body.error.code]).toEqual([400, -32700])
})

test('XD-30 unknown methods and wrong parameters are errors of JSON-RPC', async () => {
  const codeOf = async (method: string, params?: unknown) => {
    const reply = await rpc(t, live, method, params)
    return [reply.status, reply.body.error?.code]
  }
  for (const method of ['resources/list', 'prompts/list', 'completion/complete', 'logging/setLevel', 'nonsense', '']) {
    expect(await codeOf(method), method).toEqual([200, -32601])
  }
  expect(await codeOf('tools/call', { name: 'no_such_tool' })).toEqual([200, -32602])
  expect(await codeOf('tools/call', { name: 'constructor' })).toEqual([200, -32602])
  for (const params of [{}, { name: 7 }, { name: 'get_usage', arguments: [] }, { name: 'get_usage', arguments: 'x' }]) {
    const [status, code] = await codeOf('tools/call', params)
    expect([status, [-32602, -32603].includes(code)], JSON.stringify(params)).toEqual([200, true])
  }
})

test('XD-30 a call that asks to run as a task runs once as an ordinary call', async () => {
  const params = {
    name: 'add_suppression',
    arguments: { channel: 'email', value: 'task@example.com' },
    task: { ttl: 60_000 },
  }
  const reply = await rpc(t, live, 'tools/call', params)
  expect(reply.body.result.structuredContent).toMatchObject({ value: 'task@example.com', reason: 'manual' })
})

test('XD-30 hostile names of arguments reach the API as fields of their own', async () => {
  const raw = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add_suppression","arguments":
    {"__proto__":{"channel":"email"},"constructor":1,"channel":"email","value":"proto@example.com"}}}`
  const reply = await post({ raw })
  expect(reply.status).toBe(200)
  expect(({} as { channel?: string }).channel).toBeUndefined()
})

test('X-365 X-366 a call past the budget is MCP_UPSTREAM_TIMEOUT, and says that it may have taken effect', async () => {
  const slow = await testService({ env: { MCP_SELF_CALL_TIMEOUT_MS: '50', RATE_LIMITER: 'off' } })
  const { keys } = await slow.org()
  const reply = await callTool(slow, keys.live, 'send_email', {
    from: 'hello@example.test',
    to: ['slow@simulator.tidings.test'],
    subject: 'Slow',
    text: 'Slow',
    idempotency_key: 'slow-1',
  })
  expect(reply.status).toBe(200)
  expect(reply.body.result).toMatchObject({
    isError: true,
    structuredContent: {
      status: 504,
      error: {
        type: 'server_error',
        code: 'MCP_UPSTREAM_TIMEOUT',
        message: 'The request timed out and may have taken effect. Retry with the same idempotency key.',
        request_id: reply.headers['x-request-id'],
      },
    },
  })
})

test('XD-30 a result over 1 MB is refused with the advice to ask for less', async () => {
  const large = await t.key(acme.org.id)
  const text = 'x'.repeat(1_200_000)
  const sent = await callTool(t, large, 'send_email', {
    from: 'hello@example.test',
    to: ['ada@example.com'],
    subject: 'Large',
    text,
  })
  const { id } = sent.body.result.structuredContent
  const reply = await callTool(t, large, 'get_email', { id, include: 'body' })
  expect(reply.body.result).toMatchObject({
    isError: true,
    structuredContent: {
      status: 413,
      error: {
        code: 'PAYLOAD_TOO_LARGE',
        message: 'The result exceeds 1 MB. Ask for fewer items with a smaller limit, or read it through the API.',
      },
    },
  })
  expect(reply.text.length).toBeLessThan(10_000)
  expect((await callTool(t, large, 'get_email', { id })).body.result.structuredContent.id).toBe(id)
})
