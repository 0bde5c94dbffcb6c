/** Calls a tool: one request to the service's own API, which applies every rule, limit and check. */
import type { IncomingHttpHeaders } from 'node:http'
import { envelope, Failure, malformed } from '../../../platform/ground/errors.ts'
import { isIdempotencyKey } from '../../../platform/idempotency/key.ts'
import { headerOf } from '../header-of.ts'
import { pathParameters, queryFields } from './tool-schema.ts'
import type { McpTool } from './tools.ts'

type SelfRequest = { method: string; url: string; headers: Record<string, string>; payload?: string }
type SelfResponse = { status: number; headers: Record<string, unknown>; body: string }
export type SendToSelf = (request: SelfRequest) => Promise<SelfResponse>

export type ToolResult = {
  content: { type: 'text'; text: string }[]
  structuredContent: Record<string, unknown>
  isError?: true
}

/** Larger results cost a model more than they are worth. */
const maxResult = 1_048_576

/** Headers that the inner request has from the outer one. */
const passedOn = ['authorization', 'x-service-tenant-ref', 'user-agent'] as const

const failed = (status: number, body: string): ToolResult => {
  const { error } = JSON.parse(body)
  return { content: [{ type: 'text', text: body }], structuredContent: { status, error }, isError: true }
}

export const failedWith = (failure: Failure, requestId: string): ToolResult =>
  failed(failure.status, envelope(failure, requestId))

type Arguments = Record<string, unknown>

/** An id that is not plain text is replaced by one that is malformed: the API answers to both alike. */
const pathOf = ({ route }: McpTool, given: Arguments): string =>
  route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = given[name]
    if (value === undefined || value === null) {
      throw new Failure('VALIDATION_ERROR', { errors: [{ path: [name], code: 'required', message: 'Required.' }] })
    }
    return typeof value === 'string' && /^[\w-]{1,200}$/.test(value) ? value : '-'
  })

const queryText = (name: string, value: unknown): string => {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw malformed('Must be a text, a number or a truth value.', [name])
}

/** The key in the arguments comes before the one in the header of the outer request. */
const idempotencyKeyOf = (given: Arguments, header: string | undefined): string | undefined => {
  const key = given.idempotency_key ?? header
  if (key === undefined || key === '') return undefined
  if (typeof key !== 'string' || !isIdempotencyKey(key)) throw new Failure('INVALID_IDEMPOTENCY_KEY')
  return key
}

export const requestOf = (tool: McpTool, given: Arguments, outer: IncomingHttpHeaders): SelfRequest => {
  const { route } = tool
  const own = new Set([...pathParameters(route), ...(route.idempotent ? ['idempotency_key'] : [])])
  const rest = Object.entries(given).filter(([name, value]) => !own.has(name) && value !== undefined)
  const inBody = route.body !== undefined && !(route.method === 'DELETE' && route.query)
  const known = inBody ? queryFields(route) : undefined
  const query = new URLSearchParams()
  const body: [string, unknown][] = []
  for (const [name, value] of rest) {
    if (known && !known.has(name)) body.push([name, value])
    else if (value !== null) query.append(name, queryText(name, value))
  }
  const headers: Record<string, string> = {}
  for (const name of passedOn) {
    const value = headerOf(outer, name)
    if (value !== undefined) headers[name] = value
  }
  const key = route.idempotent && idempotencyKeyOf(given, headerOf(outer, 'idempotency-key'))
  if (key) headers['idempotency-key'] = key
  const path = `/api/v1${pathOf(tool, given)}`
  const url = query.size > 0 ? `${path}?${query}` : path
  if (!inBody) return { method: route.method, url, headers }
  headers['content-type'] = 'application/json'
  return { method: route.method, url, headers, payload: JSON.stringify(Object.fromEntries(body)) }
}

export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const parseObject = (text: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The answer of the API as the result of the tool. */
export const resultOf = ({ status, body }: SelfResponse, requestId: string): ToolResult => {
  const answer = parseObject(body)
  if (!answer) return failedWith(new Failure('UNKNOWN'), requestId)
  if (status >= 400) return failed(status, body)
  if (body.length > maxResult) {
    const message = 'The result exceeds 1 MB. Ask for fewer items with a smaller limit, or read it through the API.'
    return failedWith(new Failure('PAYLOAD_TOO_LARGE', { message }), requestId)
  }
  return { content: [{ type: 'text', text: body }], structuredContent: answer }
}

/** Stops waiting after the time is over. The request itself goes on, so the error says that it may have taken effect. */
export const withinTime = async (timeoutMs: number, sent: Promise<SelfResponse>): Promise<SelfResponse> => {
  const { promise: timedOut, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Failure('MCP_UPSTREAM_TIMEOUT')), timeoutMs)
  try {
    return await Promise.race([sent, timedOut])
  } finally {
    clearTimeout(timer)
    sent.catch(() => undefined)
  }
}
