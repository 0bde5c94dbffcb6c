/** Answers one message of the tool protocol with the SDK. Nothing is remembered between messages. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CallToolRequestSchema,
  ErrorCode,
  InitializeRequestSchema,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv-provider.js'
import type { ToolResult } from './call-tool.ts'
import { latestVersion, versions } from './protocol-versions.ts'
import type { McpTool } from './tools.ts'

type MessageNeeds = {
  serviceVersion: string
  /** The tools that the caller may use. */
  offered: () => McpTool[]
  find: (name: string) => McpTool | undefined
  call: (tool: McpTool, given: Record<string, unknown>) => Promise<ToolResult>
}

const instructions =
  'Tidings sends email, text messages and one-time codes. Sends are live unless the credential is a test key: confirm recipients and content with the user first, and pass an idempotency_key so that a retry does not send twice.'

/** The server of the SDK makes a validator of its own for each instance otherwise. */
const jsonSchemaValidator = new AjvJsonSchemaValidator()

const makeMcpServer = ({ serviceVersion, offered, find, call }: MessageNeeds): Server => {
  const serverInfo = { name: 'tidings', title: 'Tidings', version: serviceVersion }
  const capabilities = { tools: {} }
  const server = new Server(serverInfo, { capabilities, instructions, jsonSchemaValidator })
  // The SDK would also agree on versions that this service does not speak.
  server.setRequestHandler(InitializeRequestSchema, ({ params }) => ({
    protocolVersion: versions.find((version) => version === params.protocolVersion) ?? latestVersion,
    capabilities,
    serverInfo,
    instructions,
  }))
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: offered().map((tool) => tool.shown()) }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const tool = find(params.name)
    if (!tool) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${params.name.slice(0, 100)}`)
    return call(tool, params.arguments ?? {})
  })
  return server
}

type MessageAnswer = { status: number; body: string }

/** `message` is parsed and has the form of one JSON-RPC message. */
export const answerMessage = async (message: unknown, needs: MessageNeeds): Promise<MessageAnswer> => {
  const server = makeMcpServer(needs)
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport as Transport)
  try {
    const request = new Request('http://localhost/api/mcp', {
      method: 'POST',
      // Answers are always JSON, whatever the client prefers.
      headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
    })
    const response = await transport.handleRequest(request, { parsedBody: message })
    return { status: response.status, body: await response.text() }
  } finally {
    await server.close()
  }
}
