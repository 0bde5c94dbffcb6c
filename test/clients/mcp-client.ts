/** The tool protocol over plain HTTP, and the client of the SDK. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { Ask, Reply, TestService } from '../service/service.ts'

export const rpc = (t: TestService, key: string, method: string, params?: unknown, more: Ask = {}): Promise<Reply> =>
  t.ask('POST', '/api/mcp', {
    key,
    body: { jsonrpc: '2.0', id: 1, method, ...(params !== undefined && { params }) },
    ...more,
  })

export const callTool = (t: TestService, key: string, name: string, given?: unknown, more: Ask = {}): Promise<Reply> =>
  rpc(t, key, 'tools/call', { name, ...(given !== undefined && { arguments: given }) }, more)

/** A connected client of the SDK. */
export const connectClient = async (t: TestService, key: string): Promise<Client> => {
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(`${t.url}/api/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  })
  await client.connect(transport as Transport)
  return client
}
