/** /api/mcp: the tool protocol over streamable HTTP. Each POST carries one message and gets its answer as JSON. */
import type { FastifyInstance, FastifyReply, FastifyRequest, InjectOptions } from 'fastify'
import { Failure } from '../../ground/errors.ts'
import { withRequestId } from '../../ground/request-context.ts'
import { isIdempotencyKey } from '../../idempotency/key.ts'
import { setRateHeaders } from '../admit-request.ts'
import type { Authenticate } from '../authenticate.ts'
import { jsonType } from '../broken-request.ts'
import { ordinaryValues, parseJson } from '../read-request.ts'
import type { Route } from '../route.ts'
import { withSelfCall } from '../self-call.ts'
import { failedWith, requestOf, resultOf, type SendToSelf, type ToolResult, withinTime } from './call-tool.ts'
import { isSpoken, versions } from './protocol-versions.ts'
import { type McpTool, makeMcpTools } from './tools.ts'

export type McpNeeds = {
  routes: readonly Route[]
  authenticate: Authenticate
  serviceVersion: string
  timeoutMs: number
  baseUrl: () => string
}

const megabyte = 1_048_576
const url = '/api/mcp'
/** The message around the arguments of a tool. */
const frame = 100

/** Errors of JSON-RPC that are answered before the message is read any further. */
const rpcError = (reply: FastifyReply, code: number, message: string): FastifyReply =>
  reply.code(400).type(jsonType).send({ jsonrpc: '2.0', error: { code, message }, id: null })

const headerOf = (request: FastifyRequest, name: string): string | undefined => {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The tool that a message calls. Undefined for any other message, and for a call that the SDK will refuse. */
const calledTool = (message: Record<string, unknown>, tools: Map<string, McpTool>): McpTool | undefined => {
  if (message.method !== 'tools/call' || message.id === undefined || !isObject(message.params)) return undefined
  const { name, arguments: given = {} } = message.params
  return typeof name === 'string' && isObject(given) ? tools.get(name) : undefined
}

/** Long-running tasks are not offered, so a request to make the call one is ignored, as the protocol demands. */
const withoutTask = (message: Record<string, unknown>): Record<string, unknown> => {
  if (!isObject(message.params) || !('task' in message.params)) return message
  const { task: _, ...params } = message.params
  return { ...message, params }
}

/** Answers before the body is read: who may not call, and messages of another site or version. */
const makeAdmit =
  ({ authenticate, baseUrl }: McpNeeds) =>
  async (request: FastifyRequest): Promise<void> => {
    const origin = headerOf(request, 'origin')
    if (origin !== undefined && origin !== new URL(baseUrl()).origin) throw new Failure('CROSS_SITE_REFUSED')
    request.admitted = { ...(await authenticate(request)), newTenantRef: undefined }
    const key = headerOf(request, 'idempotency-key')
    if (key && !isIdempotencyKey(key)) throw new Failure('INVALID_IDEMPOTENCY_KEY')
  }

const readMessage = async (request: FastifyRequest, values: number): Promise<unknown> => {
  const bytes = (request.body as Buffer | undefined) ?? Buffer.alloc(0)
  return parseJson(bytes, { values })
}

const sendToSelf =
  (app: FastifyInstance): SendToSelf =>
  async (request) => {
    const response = await app.inject(request as InjectOptions)
    return { status: response.statusCode, headers: response.headers, body: response.payload }
  }

const rateHeader = /^(?:x-ratelimit-|retry-after$)/

/** The rate that the inner request was counted in. */
const passOnRate = (reply: FastifyReply, headers: Record<string, unknown>): void => {
  for (const [name, value] of Object.entries(headers)) if (rateHeader.test(name)) reply.header(name, value as string)
}

const makeCall =
  (app: FastifyInstance, timeoutMs: number) =>
  async (request: FastifyRequest, reply: FastifyReply, tool: McpTool, given: object): Promise<ToolResult> => {
    const { id: requestId, admitted } = request
    try {
      const inner = requestOf(tool, given as Record<string, unknown>, request.headers)
      const selfCall = { requestId, address: admitted?.address ?? null }
      const sent = withSelfCall(selfCall, () => sendToSelf(app)(inner))
      const response = await withinTime(timeoutMs, sent)
      passOnRate(reply, response.headers)
      return resultOf(response, requestId)
    } catch (error) {
      if (error instanceof Failure) return failedWith(error, requestId)
      throw error
    }
  }

const makeHandler = (app: FastifyInstance, needs: McpNeeds) => {
  const { routes, authenticate, serviceVersion, timeoutMs } = needs
  const tools = makeMcpTools(routes)
  const values = frame + Math.max(...[...tools.values()].map(({ route }) => route.bounds?.values ?? ordinaryValues))
  const callTool = makeCall(app, timeoutMs)

  /** A call is counted by the API. Every other message is counted here. */
  const count = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    await authenticate(request, (rate) => setRateHeaders(reply, rate))
  }

  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const version = headerOf(request, 'mcp-protocol-version')
    if (version !== undefined && !isSpoken(version)) {
      await count(request, reply)
      return rpcError(reply, -32_000, `Unsupported protocol version. Supported: ${versions.join(', ')}.`)
    }
    const message = await readMessage(request, values).catch((error: unknown) => error)
    const tool = isObject(message) && !(message instanceof Error) ? calledTool(message, tools) : undefined
    if (!tool) await count(request, reply)
    if (message instanceof Failure)
      return rpcError(reply, -32_700, message.detail.errors?.[0]?.message ?? message.message)
    if (message instanceof Error) throw message
    if (!isObject(message)) return rpcError(reply, -32_600, 'Send one JSON-RPC message, not a list of them.')
    // Loaded with the first message, because most processes never serve one.
    const { answerMessage } = await import('./answer-message.ts')
    const answer = await answerMessage(withoutTask(message), {
      serviceVersion,
      offered: () => {
        const held = request.admitted?.caller.scopes
        return [...tools.values()].filter(({ scopes }) => scopes.some((scope) => held?.has(scope)))
      },
      find: (name) => tools.get(name),
      call: (called, given) => callTool(request, reply, called, given),
    })
    reply.code(answer.status)
    return answer.body === '' ? reply.send() : reply.type(jsonType).send(answer.body)
  }
}

export const serveMcp = (app: FastifyInstance, needs: McpNeeds): void => {
  const handle = makeHandler(app, needs)
  app.route({
    method: 'POST',
    url,
    // As large as the largest request of a tool, with the message around it.
    bodyLimit: 16 * megabyte + 65_536,
    onRequest: makeAdmit(needs),
    handler: (request, reply) => withRequestId(request.id, () => handle(request, reply)),
  })
  app.route({
    method: ['GET', 'PUT', 'PATCH', 'DELETE'],
    url,
    onRequest: async () => {
      throw new Failure('METHOD_NOT_ALLOWED', { headers: { allow: 'POST' } })
    },
    handler: () => undefined,
  })
}
