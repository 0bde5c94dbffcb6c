/** Serves an admitted request: validates its input, claims its Idempotency-Key and calls the route's handler. */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Failure, malformed } from '../../platform/ground/errors.ts'
import { isId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import { currentRequest, withRequestId } from '../../platform/ground/request-context.ts'
import type { Idempotency, IdempotencyClaim, ReplayedResponse } from '../../platform/idempotency/claims.ts'
import type { Reads } from '../../platform/replica/reads.ts'
import type { Area, Door } from './area.ts'
import { fingerprintOf, makeEndClaims, readIdempotencyKey } from './claimed-request.ts'
import { isPosition, parseJson, readQuery, validate } from './read-request.ts'
import type { FileBody, Output, Route, RouteResponse } from './route.ts'

/** A field that is given twice could be read as either of its values. */
const parseForm = (bytes: Buffer): Record<string, string> => {
  const fields = [...new URLSearchParams(bytes.toString('utf8'))]
  if (new Set(fields.map(([name]) => name)).size < fields.length) throw malformed('A field is given twice.')
  return Object.fromEntries(fields)
}

/** A body over the size limit is rejected for its size, also when it is not valid JSON or exceeds another bound. */
const readBody = async ({ form, oversize, bounds }: Route, bytes: Buffer): Promise<unknown> => {
  if (form) return parseForm(bytes)
  if (!oversize || bytes.length <= oversize.above) return parseJson(bytes, bounds)
  throw oversize.failure(await Promise.try(parseJson, bytes, bounds).catch(() => undefined))
}

/** A patch with only optional fields that sets none of them is a mistake of the caller, such as a misspelled field. */
const checkChanges = ({ method, emptyPatch }: Route, body: unknown): void => {
  if (method !== 'PATCH' || emptyPatch || body === undefined) return
  if (Object.keys(body as object).length === 0) throw new Failure('NO_FIELDS')
}

const checkParams = ({ anyId, params = {}, positions = {} }: Route, given: Record<string, string>): void => {
  if (anyId) return
  for (const name in params) if (!isId(params[name]!, given[name] ?? '')) throw new Failure('NOT_FOUND')
  for (const name in positions) if (!isPosition(given[name] ?? '')) throw new Failure('NOT_FOUND')
}

const schemaOf = (output: Output): z.ZodType | 'file' | null => {
  if (output === null || output === 'file' || output instanceof z.ZodType) return output
  return output.contentType === undefined ? output.schema : 'file'
}

/** For tests: every response has the shape that its route declares. */
const checkShape = (route: Route, { status, body, file }: RouteResponse): void => {
  const declared = route.responses[status]
  if (declared === undefined) throw new Error(`${route.method} ${route.path} does not declare a ${status} response`)
  const schema = schemaOf(declared)
  if (file) {
    if (schema !== 'file') throw new Error(`${route.method} ${route.path} declares another body for ${status}`)
  } else if (schema === null) {
    if (body !== undefined) throw new Error(`${route.method} ${route.path} declares no body for ${status}`)
  } else if (schema !== 'file') schema.parse(JSON.parse(JSON.stringify(body)))
}

/** For tests. Sign-in through another party ends with a read that opens a session. */
const checkRead = ({ method, path, access, acts }: Route): void => {
  if (access.by !== 'session' || access.gate === 'public') return
  if (method !== 'GET' || acts || !currentRequest()?.changed) return
  throw new Error(`${method} ${path} changes something and does not declare that it acts`)
}

/** A recorded error is about this request too, so it has this request's id. Errors are recorded in the form of /api/v1. */
const replayedFailure = (body: string): Failure => {
  const { code, message, errors, type: _, request_id: __, ...extra } = JSON.parse(body).error
  return new Failure(code, { message, ...(errors && { errors }), extra })
}

/** The status is sent by then, so a fault can only end the connection. */
const servedContent = ({ content }: FileBody, log: Log): Readable | Buffer => {
  if (Buffer.isBuffer(content)) return content
  const stream = content instanceof Readable ? content : Readable.from(content)
  return stream.on('error', (error) => log.error({ err: error }, 'sending a file failed'))
}

type Needs = {
  idempotency: Idempotency
  reads: Pick<Reads, 'serve'>
  log: Log
  /** For tests: checks every response against the schema that its route declares, and that reads change nothing. */
  checkResponses: boolean
}

export type Served = string | Buffer | Readable

/** Sets the status and the headers of the reply, and returns its body. */
export type Serve = (
  route: Route,
  area: Area,
  door: Door,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<Served>

export const makeServe = ({ idempotency, reads, log, checkResponses }: Needs): Serve => {
  const { settle, release } = makeEndClaims({ idempotency, log })

  const handle = (route: Route, call: object, subjects: readonly string[] | undefined): Promise<RouteResponse> =>
    route.method === 'GET' && !route.acts && subjects
      ? reads.serve(subjects, () => route.handle(call))
      : route.handle(call)

  const replay = (replayed: ReplayedResponse, area: Area, request: FastifyRequest, reply: FastifyReply): string => {
    const { status, body } = replayed
    if (area.headers) reply.headers(area.headers())
    reply.header('idempotent-replayed', 'true').type(area.format.contentType).code(status)
    return status < 400 ? body : area.format.show(replayedFailure(body), request.id).body
  }

  const send = (response: RouteResponse, area: Area, reply: FastifyReply, text: string | undefined): Served => {
    const { status, body, file, contentType, headers, cookies } = response
    reply.code(status)
    if (area.headers) reply.headers(area.headers())
    if (headers) reply.headers(headers)
    if (cookies) for (const cookie of cookies) reply.header('set-cookie', cookie)
    if (file) {
      reply.type(file.contentType)
      return servedContent(file, log)
    }
    if (text === undefined) return ''
    reply.type(contentType ?? area.format.contentType)
    return contentType === undefined ? text : String(body)
  }

  return (route, area, door, request, reply) =>
    withRequestId(request.id, async () => {
      const query = route.query && validate(route.query, readQuery(request.query))
      const bytes = request.body as Buffer | undefined
      const raw = route.body && bytes && bytes.length > 0 ? await readBody(route, bytes) : undefined
      const body = route.body && validate(route.body, raw === undefined && route.emptyPatch ? {} : raw)
      checkChanges(route, body)
      const key = route.idempotent && readIdempotencyKey(request)
      route.check?.({ query, body })
      const fingerprint = key === undefined ? undefined : await fingerprintOf(request, raw)
      const params = request.params as Record<string, string>
      checkParams(route, params)

      const admitted = request.admitted as { address: string | null }
      const entering = door.enter(admitted, request, route)
      const entered = entering instanceof Promise ? await entering : entering

      let claim: IdempotencyClaim | undefined
      if (key !== undefined && fingerprint && door.claimantOf) {
        const outcome = await idempotency.claim(door.claimantOf(entered), key, fingerprint)
        if (outcome && 'replay' in outcome) return replay(outcome.replay, area, request, reply)
        claim = outcome?.claim
        // Such a route does not run without a lock either.
        if (!claim && route.databaseFault) throw route.databaseFault()
      }

      try {
        const call = {
          ...entered,
          method: request.method,
          url: request.url,
          query,
          body,
          params,
          headers: request.headers,
          requestId: request.id,
          address: admitted.address,
          userAgent: (request.headers['user-agent'] ?? '').slice(0, 512),
          claim,
          upload: { contentType: request.headers['content-type'] ?? '', bytes: bytes ?? Buffer.alloc(0) },
        }
        const response = await handle(route, call, door.subjectsOf?.(entered))
        if (checkResponses) {
          checkShape(route, response)
          checkRead(route)
        }
        const text = response.body === undefined ? undefined : JSON.stringify(response.body)
        if (claim) await settle(claim, response, text ?? '')
        return send(response, area, reply, text)
      } catch (error) {
        if (claim) await release(claim, error)
        throw error
      }
    })
}
