/** Serves an admitted request: validates its input, claims its Idempotency-Key and calls the route's handler. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '../ground/errors.ts'
import { isId } from '../ground/ids.ts'
import type { Log } from '../ground/log.ts'
import { withRequestId } from '../ground/request-context.ts'
import type { Idempotency, IdempotencyClaim, ReplayedResponse } from '../idempotency/claims.ts'
import type { Reads } from '../replica/reads.ts'
import type { TenantsByReference } from '../tenants/by-reference.ts'
import { callerActor } from './actor.ts'
import type { Admitted } from './admit-request.ts'
import { fingerprintOf, makeEndClaims, readIdempotencyKey } from './claimed-request.ts'
import { isPosition, parseJson, readQuery, validate } from './read-request.ts'
import type { Route, RouteResponse } from './route.ts'
import { type ServedFile, servedFile } from './served-file.ts'

/** A recorded error is about this request too, so it has this request's id. */
const replayedBody = ({ status, body }: ReplayedResponse, requestId: string): string => {
  if (status < 400) return body
  const { error } = JSON.parse(body)
  return JSON.stringify({ error: { ...error, request_id: requestId } })
}

/** A body over the size limit is rejected for its size, also when it is not valid JSON or exceeds another bound. */
const readBody = async ({ oversize, bounds }: Route, bytes: Buffer): Promise<unknown> => {
  if (!oversize || bytes.length <= oversize.above) return parseJson(bytes, bounds)
  throw oversize.failure(await Promise.try(parseJson, bytes, bounds).catch(() => undefined))
}

/** A patch with only optional fields that sets none of them is a mistake of the caller, such as a misspelled field. */
const checkChanges = ({ method }: Route, body: unknown): void => {
  if (method === 'PATCH' && body !== undefined && Object.keys(body as object).length === 0) {
    throw new Failure('NO_FIELDS')
  }
}

const checkParams = (route: Route, params: Record<string, string>): void => {
  for (const [name, kind] of Object.entries(route.params ?? {})) {
    if (!isId(kind, params[name] ?? '')) throw new Failure('NOT_FOUND')
  }
  for (const name of Object.keys(route.positions ?? {})) {
    if (!isPosition(params[name] ?? '')) throw new Failure('NOT_FOUND')
  }
}

type Needs = {
  idempotency: Idempotency
  tenants: TenantsByReference
  reads: Pick<Reads, 'serve' | 'wrote'>
  log: Log
  /** For tests: checks every response against the schema that its route declares. */
  checkResponses: boolean
}

/** The body of a response: JSON, or a file with its media type. */
export type Served = string | ServedFile

export type Serve = (route: Route, request: FastifyRequest, reply: FastifyReply, admitted: Admitted) => Promise<Served>

export const makeServe = ({ idempotency, tenants, reads, log, checkResponses }: Needs): Serve => {
  const { settle, release } = makeEndClaims({ idempotency, log })

  /** A read that has just created its tenant has written. */
  const handle = async (
    { method, handle: work }: Route,
    call: Parameters<Route['handle']>[0],
    isNewTenant: boolean,
  ) => {
    const { orgId } = call.caller
    if (isNewTenant) await reads.wrote?.([orgId])
    return method === 'GET' ? reads.serve([orgId], () => work(call)) : work(call)
  }

  const checkShape = (route: Route, response: RouteResponse): void => {
    const shape = route.responses[response.status]
    if (shape && response.file) return
    if (!shape) throw new Error(`${route.method} ${route.path} does not declare a ${response.status} response`)
    shape.schema.parse(JSON.parse(JSON.stringify(response.body)))
  }

  return (route, request, reply, admitted) =>
    withRequestId(request.id, async () => {
      const query = route.query && validate(route.query, readQuery(request.query))
      const bytes = request.body as Buffer | undefined
      const raw = route.body && bytes && bytes.length > 0 ? await readBody(route, bytes) : undefined
      const body = route.body && validate(route.body, raw)
      checkChanges(route, body)
      const key = route.idempotent && readIdempotencyKey(request)
      route.check?.({ query, body })
      const fingerprint = key === undefined ? undefined : await fingerprintOf(request, raw)
      const params = request.params as Record<string, string>
      if (!route.anyId) checkParams(route, params)

      let { caller } = admitted
      const userAgent = (request.headers['user-agent'] ?? '').slice(0, 512)
      const actor = callerActor(caller, admitted.address, userAgent)
      if (admitted.newTenantRef !== undefined) {
        caller = { ...caller, tenantId: await tenants.findOrCreate(caller, actor, admitted.newTenantRef) }
      }

      let claim: IdempotencyClaim | undefined
      if (key !== undefined && fingerprint) {
        const outcome = await idempotency.claim(caller, key, fingerprint)
        if (outcome && 'replay' in outcome) {
          reply.code(outcome.replay.status).header('idempotent-replayed', 'true')
          return replayedBody(outcome.replay, request.id)
        }
        claim = outcome?.claim
        // Such a route does not run without a lock either.
        if (!claim && route.databaseFault) throw route.databaseFault()
      }

      try {
        const call = {
          caller,
          query,
          body,
          params,
          requestId: request.id,
          address: admitted.address,
          userAgent,
          claim,
          upload: { contentType: request.headers['content-type'] ?? '', bytes: bytes ?? Buffer.alloc(0) },
        }
        const response = await handle(route, call, admitted.newTenantRef !== undefined)
        if (checkResponses) checkShape(route, response)
        reply.code(response.status)
        if (response.headers) reply.headers(response.headers)
        if (response.file) return servedFile(response.file, log)
        const text = JSON.stringify(response.body)
        if (claim) await settle(claim, response, text)
        return text
      } catch (error) {
        if (claim) await release(claim, error)
        throw error
      }
    })
}
