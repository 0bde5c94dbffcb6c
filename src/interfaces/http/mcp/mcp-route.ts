/** /api/mcp: the tool protocol over streamable HTTP. Each POST carries one message and gets its answer as JSON. */
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { Failure } from '../../../platform/ground/errors.ts'
import { megabyte } from '../../../platform/ground/units.ts'
import { jsonType } from '../broken-request.ts'
import { headerOf } from '../header-of.ts'
import { ordinaryValues, parseJson } from '../read-request.ts'
import {
  type BearerAccess,
  byBearer,
  type Call,
  defineRoute,
  type PublicRoute,
  type Route,
  type RouteResponse,
} from '../route.ts'
import { withSelfCall } from '../self-call.ts'
import {
  failedWith,
  isJsonObject,
  requestOf,
  resultOf,
  type SendToSelf,
  type ToolResult,
  withinTime,
} from './call-tool.ts'
import { isSpoken, versions } from './protocol-versions.ts'
import { type McpTool, makeMcpTools } from './tools.ts'

type McpNeeds = {
  routes: readonly PublicRoute[]
  /** Sends a request to this service. */
  sendToSelf: SendToSelf
  serviceVersion: string
  timeoutMs: number
}

type McpCall = Call<BearerAccess, unknown, unknown, unknown>

/** The message around the arguments of a tool. */
const frame = 100

/** Errors of JSON-RPC that are answered before the message is read any further. */
const rpcError = (code: number, message: string): RouteResponse => ({
  status: 400,
  body: { jsonrpc: '2.0', error: { code, message }, id: null },
})

/** The tool that a message calls. Undefined for any other message, and for a call that the SDK will refuse. */
const calledTool = (message: Record<string, unknown>, tools: Map<string, McpTool>): McpTool | undefined => {
  if (message.method !== 'tools/call' || message.id === undefined || !isJsonObject(message.params)) return undefined
  const { name, arguments: given = {} } = message.params
  return typeof name === 'string' && isJsonObject(given) ? tools.get(name) : undefined
}

/** Long-running tasks are not offered, so a request to make the call one is ignored, as the protocol demands. */
const withoutTask = (message: Record<string, unknown>): Record<string, unknown> => {
  if (!isJsonObject(message.params) || !('task' in message.params)) return message
  const { task: _, ...params } = message.params
  return { ...message, params }
}

const rateHeader = /^(?:x-ratelimit-|retry-after$)/

/** The rate that the inner request was counted in. */
const rateIn = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => rateHeader.test(name))
      .map(([name, value]) => [name, String(value)]),
  )

type Called = { result: ToolResult; headers: Record<string, string> }

const makeCallTool =
  ({ sendToSelf, timeoutMs }: Pick<McpNeeds, 'sendToSelf' | 'timeoutMs'>) =>
  async ({ headers, requestId, address }: McpCall, tool: McpTool, given: object): Promise<Called> => {
    try {
      const inner = requestOf(tool, given as Record<string, unknown>, headers)
      const sent = withSelfCall({ requestId, address }, () => sendToSelf(inner))
      const response = await withinTime(timeoutMs, sent)
      return { result: resultOf(response, requestId), headers: rateIn(response.headers as IncomingHttpHeaders) }
    } catch (error) {
      if (error instanceof Failure) return { result: failedWith(error, requestId), headers: {} }
      throw error
    }
  }

const makeAnswer = (needs: McpNeeds) => {
  const { routes, serviceVersion } = needs
  const tools = makeMcpTools(routes)
  const values = frame + Math.max(...[...tools.values()].map(({ route }) => route.bounds?.values ?? ordinaryValues))
  const callTool = makeCallTool(needs)
  const readMessage = async ({ upload }: McpCall): Promise<unknown> => parseJson(upload.bytes, { values })

  return async (call: McpCall): Promise<RouteResponse> => {
    const version = headerOf(call.headers, 'mcp-protocol-version')
    if (version !== undefined && !isSpoken(version)) {
      await call.count()
      return rpcError(-32_000, `Unsupported protocol version. Supported: ${versions.join(', ')}.`)
    }
    const message = await readMessage(call).catch((error: unknown) => error)
    const tool = isJsonObject(message) && !(message instanceof Error) ? calledTool(message, tools) : undefined
    // A call of a tool is counted by the API. Every other message is counted here.
    if (!tool) await call.count()
    if (message instanceof Failure) return rpcError(-32_700, message.detail.errors?.[0]?.message ?? message.message)
    if (message instanceof Error) throw message
    if (!isJsonObject(message)) return rpcError(-32_600, 'Send one JSON-RPC message, not a list of them.')
    // Loaded with the first message, because most processes never serve one.
    const { answerMessage } = await import('./answer-message.ts')
    let headers: Record<string, string> = {}
    const { status, body } = await answerMessage(withoutTask(message), {
      serviceVersion,
      offered: () => [...tools.values()].filter(({ scopes }) => scopes.some((scope) => call.caller.scopes.has(scope))),
      find: (name) => tools.get(name),
      call: async (called, given) => {
        const done = await callTool(call, called, given)
        headers = done.headers
        return done.result
      },
    })
    return { status, headers, ...(body !== '' && { body, contentType: jsonType }) }
  }
}

export const mcpRoute = (needs: McpNeeds): Route =>
  defineRoute('POST', '/api/mcp', byBearer, {
    // As large as the largest request of a tool, with the message around it.
    bodyLimit: 16 * megabyte + 65_536,
    responses: { 200: z.string(), 202: null, 400: z.unknown() },
    handle: makeAnswer(needs),
  })
